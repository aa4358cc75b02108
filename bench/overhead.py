"""What injection costs: ``python -m bench.overhead [--calls N]``.

Each section is one function that returns rows; `SECTIONS` lists them in the order they are printed.
Times are CPU time, the best of several repetitions, so that a busy machine disturbs them least.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from bench import bfcl, episodes
from bench2robust.benchmarks.tau2.airline import airline
from bench2robust.core.domain import Domain, FieldRules
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.tools import CallRecord, ToolCall, ToolResponse, ToolSpec
from bench2robust.injection import InjectionSpec, Injector, Limits, NoiseProfile

REPETITIONS = 5
BATCH = 1000
"""Calls between two drains, and calls of one timed loop."""


class Row(NamedTuple):
    """One line of the report."""

    what: str
    value: str
    bound: str = ""


DOMAIN = Domain(
    "bench",
    fields={"get_order": FieldRules(("items", "items.*.options"), ("status",), ("total", "items.*.price"))},
    earlier={"delivered": ("processed", "pending")},
)
TOOL = ToolSpec(
    "get_order", "Get an order.", {"type": "object", "properties": {"order_id": {"type": "string"}}}
)
SMALL = json.dumps(
    {
        "order_id": "#W1",
        "status": "delivered",
        "items": [{"item_id": "1", "price": 47.84, "options": {"color": "blue"}}],
        "total": 47.84,
    }
)
CALL = ToolCall("get_order", {"order_id": "#W1"})


def execute(call: ToolCall) -> ToolResponse:
    """Stand for the real tool; it costs next to nothing, so that only our own cost is seen."""
    return ToolResponse(SMALL)


def bare() -> None:
    for _ in range(BATCH):
        execute(CALL)


def baseline() -> None:
    """Run the bare call with the least that keyed injection with a record could do: one hash, one record."""
    records = []
    for ordinal in range(BATCH):
        response = execute(CALL)
        blake2b(b"0 task noise get_order %d" % ordinal, digest_size=64).digest()
        records.append(
            CallRecord(ordinal, CALL, ordinal, response, response, NoiseType.CLEAN, NoiseType.CLEAN)
        )


def injected(profile: NoiseProfile) -> Callable[[], None]:
    spec = InjectionSpec(profile, Limits.unlimited())

    def loop() -> None:
        injector = Injector(spec, 0, "task", domain=DOMAIN, tools=(TOOL,))
        call = injector.call
        for _ in range(BATCH):
            call(CALL, execute)

    return loop


def construction() -> None:
    spec, tools = InjectionSpec(), tuple(ToolSpec(f"tool {i}", "", {}) for i in range(21))
    for _ in range(BATCH):
        Injector(spec, 0, "task", domain=DOMAIN, tools=tools)


def microseconds(loop: Callable[[], None]) -> float:
    """Return the CPU time of one call in µs: the best of the repetitions, after one to warm up."""
    loop()
    best = float("inf")
    for _ in range(REPETITIONS * 4):
        start = time.process_time_ns()
        loop()
        best = min(best, time.process_time_ns() - start)
    return best / BATCH / 1000


def rss_mib() -> float:
    """Return the memory this process holds now, in MiB (its peak where /proc is missing)."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def growth(calls: int) -> float:
    """Return by how many MiB the process grows over `calls` injected calls whose records are drained."""
    injector = Injector(InjectionSpec(limits=Limits.unlimited()), 0, "task", domain=DOMAIN, tools=(TOOL,))

    def run(n: int) -> None:
        for start in range(0, n, BATCH):
            for _ in range(min(BATCH, n - start)):
                injector.call(CALL, execute)
            injector.drain()

    run(10 * BATCH)
    before = rss_mib()
    run(calls)
    return rss_mib() - before


def injector_section(calls: int) -> list[Row]:
    """Measure one call, clean and faulted, against the bare call and the baseline."""
    faulted = NoiseProfile({noise: 1 / len(NOISE_TYPES) for noise in NOISE_TYPES})
    b, base = microseconds(bare), microseconds(baseline)
    clean = microseconds(injected(NoiseProfile({NoiseType.CLEAN: 1 - 1e-12, NoiseType.TIMEOUT: 1e-12})))
    rows = [
        Row("bare call", f"{b:.2f} µs"),
        Row("baseline: bare call + keyed hash + record", f"{base:.2f} µs"),
        Row("injected, clean path", f"{clean:.2f} µs", "at most 8 µs"),
        Row("  against the baseline", f"{clean / base:.2f} ×", "at most 2.5 ×"),
    ]
    mean = microseconds(injected(faulted))
    rows += [
        Row("injected, faulted path, nine types alike", f"{mean:.2f} µs", "at most 15 µs"),
        Row("  against the baseline", f"{mean / base:.2f} ×"),
    ]
    for noise in NOISE_TYPES:
        rows.append(Row(f"  {noise}", f"{microseconds(injected(NoiseProfile({noise: 1.0}))):.2f} µs"))
    severe = microseconds(injected(NoiseProfile.severe()))
    rows += [
        Row("injected, paper's profile (40 % faulted)", f"{severe:.2f} µs"),
        Row("injector for 21 tools, constructed", f"{microseconds(construction):.2f} µs", "at most 50 µs"),
        Row(f"growth over {calls:,} calls, records drained", f"{growth(calls):+.2f} MiB", "none"),
    ]
    return rows


def episodes_section(calls: int) -> list[Row]:
    """Measure scored retail episodes against τ²-bench's own replay and evaluation of the gold plans."""
    cost, strategic = episodes.measure(), episodes.strategic_seconds()
    return [
        Row("upstream: gold plan replayed and evaluated", f"{1 / cost.upstream:.1f} / CPU s"),
        Row("ours: gold plan replayed and scored", f"{1 / cost.ours:,.0f} / CPU s"),
        Row("ours: strategic policy, inject_alt, scored", f"{1 / strategic:,.0f} / CPU s"),
        Row(
            "  strategic episodes here for one replay there",
            f"{cost.upstream / strategic:,.0f} ×",
            "at least 200 ×",
        ),
        Row("  every gold plan passed on both sides", "yes" if cost.passed else "NO", "yes"),
    ]


def airline_section(calls: int) -> list[Row]:
    """Measure scored airline episodes, and opening an environment, against τ²-bench's own."""
    cost, strategic = episodes.measure(airline), episodes.strategic_seconds("tau2-airline")
    return [
        Row("upstream: environment opened", f"{cost.upstream_opening * 1e3:,.0f} CPU ms"),
        Row("ours: environment opened", f"{cost.opening * 1e6:,.1f} CPU µs"),
        Row("  of ours for one there", f"{cost.upstream_opening / cost.opening:,.0f} ×", "at least 100 ×"),
        Row("upstream: gold plan replayed and evaluated", f"{1 / cost.upstream:.1f} / CPU s"),
        Row("ours: gold plan replayed and scored", f"{1 / cost.ours:,.0f} / CPU s"),
        Row("  of ours for one there", f"{cost.ratio:,.0f} ×", "at least 100 ×"),
        Row("ours: strategic policy, inject_alt, scored", f"{1 / strategic:,.0f} / CPU s"),
        Row("  every gold plan passed on both sides", "yes" if cost.passed else "NO", "yes"),
    ]


def bfcl_section(calls: int) -> list[Row]:
    """Measure gold calls and scored episodes of BFCL multi-turn against its own executor and checker."""
    rows = []
    for category in bfcl.Category:
        cost = bfcl.measure(category)
        base = category is bfcl.Category.BASE
        rows += [
            Row(f"{category.removeprefix('multi_turn_')}: a call there", f"{cost.upstream * 1e6:.0f} µs"),
            Row("  a call here, state included", f"{cost.ours * 1e6:.0f} µs"),
            Row("  calls here for one there", f"{cost.ratio:.1f} ×", "at least 5 ×" if base else ""),
        ]
    strategic = bfcl.strategic_seconds()
    rows.append(Row("ours: strategic policy, inject_alt, scored", f"{1 / strategic:,.0f} / CPU s"))
    return rows


SECTIONS: dict[str, Callable[[int], list[Row]]] = {
    "Injector": injector_section,
    "τ²-bench retail episodes": episodes_section,
    "τ²-bench airline episodes": airline_section,
    "BFCL multi-turn calls": bfcl_section,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=1_000_000, help="calls of the memory measurement")
    calls = parser.parse_args().calls
    for title, section in SECTIONS.items():
        print(title, flush=True)
        try:
            rows = section(calls)
        except ModuleNotFoundError as missing:
            rows = [Row("not measured", "", f"needs {missing.name}: pip install --group dev, b2r setup all")]
        for row in rows:
            print(f"  {row.what:<48} {row.value:>14}   {row.bound}".rstrip())
        print()


if __name__ == "__main__":
    main()
