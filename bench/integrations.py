"""What a fault scope costs around a Python function: ``python -m bench.integrations [--peers FOLDER]``.

Peers are measured in the same run, taking turns with ours, where they can be imported. They need not be
installed here: ``pip install --target /tmp/peers faultbench balagan-agent agent-reliability-ci`` and give that
folder. Times are CPU time, the best of many turns, so that a busy machine disturbs them least.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench2robust import faults, inject

BATCH = 2000
TURNS = 25
RARELY = 1e-12
ALWAYS = {"budget": None, "max_consecutive": None}
ORDER = {
    "order_id": "#W1",
    "status": "delivered",
    "items": [{"item_id": "1", "price": 47.84}],
    "total": 47.84,
}


def get_order(order_id: str) -> dict[str, object]:
    """Stand for the real tool."""
    return ORDER


async def aget_order(order_id: str) -> dict[str, object]:
    """Stand for a real tool that is awaited."""
    return ORDER


Loop = Callable[[], None]


def repeated(call: Callable[[str], object]) -> Loop:
    def loop() -> None:
        for _ in range(BATCH):
            call("#W1")

    return loop


def scoped(profile: object, tool: Callable[[str], object] = get_order, **options: object) -> Loop:
    wrapped = inject(tool)

    def loop() -> None:
        with faults(profile, **{**ALWAYS, **options}):
            for _ in range(BATCH):
                wrapped("#W1")

    return loop


def awaited(profile: object | None) -> Loop:
    tool = aget_order if profile is None else inject(aget_order)

    async def run() -> None:
        with contextlib.nullcontext() if profile is None else faults(profile, **ALWAYS):
            for _ in range(BATCH):
                await tool("#W1")

    return lambda: asyncio.run(run())


def ours() -> dict[str, Loop]:
    return {
        "bare call": repeated(get_order),
        "inject, outside a scope": repeated(inject(get_order)),
        "inject, empty profile": scoped("none"),
        "inject, clean path, drawn": scoped(
            dict.fromkeys(("timeout", "rate_limit", "partial"), RARELY) | {"clean": 1 - 3 * RARELY}
        ),
        "inject, paper's profile (40 % faulted)": scoped("severe"),
        "inject, every call times out": scoped({"timeout": 1.0}),
        "inject, every answer changed silently": scoped({"factual_error": 1.0}),
        "bare await": awaited(None),
        "inject, awaited, clean path": awaited({"timeout": RARELY}),
    }


def faultbench(kinds: int) -> Loop:
    """Its injector and its recorder, as its own MCP server uses them."""
    from faultbench.faults import FaultProfile, Injector
    from faultbench.trace.recorder import Recorder

    names = ("timeout", "http_500", "http_429", "not_found", "empty_result", "malformed_json")[:kinds]
    rules = {"default": {"errors": dict.fromkeys(names, RARELY)}} if kinds else {}
    injector = Injector(FaultProfile.from_dict(rules))

    def loop() -> None:
        recorder = Recorder()

        def call(order_id: str) -> object:
            decided: list[object] = []
            result = injector.call(
                "shop", "get_order", lambda: get_order(order_id), on_decision=lambda *d: decided.extend(d)
            )
            recorder.record(
                tool="get_order",
                args={"order_id": order_id},
                ok=True,
                world_rev=0,
                fault=decided[0],
                latency_ms=decided[1],
                result=result,
            )
            return result

        for _ in range(BATCH):
            call("#W1")

    return loop


def balagan() -> Loop:
    """Its tool proxy, which keeps a history, with its tool failures switched on and improbable."""
    from balaganagent.injectors.tool_failure import ToolFailureConfig, ToolFailureInjector
    from balaganagent.wrapper import ToolProxy

    def loop() -> None:
        proxy = ToolProxy(get_order)
        proxy.add_injector(ToolFailureInjector(ToolFailureConfig(probability=RARELY)))
        for _ in range(BATCH):
            proxy("#W1")

    return loop


def arci() -> Loop:
    """Its perturbation at one call that never comes, with the call and result models that it records."""
    from arci.perturb import REGISTRY
    from arci.schema import FaultSpec, ToolCall, ToolResult

    fault = REGISTRY["tool_timeout"](FaultSpec(name="tool_timeout", bucket="benign", at_occurrence=10**9))

    def loop() -> None:
        records = []
        for n in range(BATCH):
            call = ToolCall(call_id="1", tool="get_order", arguments={"order_id": "#W1"}, occurrence=n)
            result = fault.before(call, None)  # type: ignore[arg-type]
            if result is None:
                result = ToolResult(call_id="1", tool="get_order", ok=True, value=get_order("#W1"))
                result = fault.after(call, result, None)  # type: ignore[arg-type]
            records.append((call, result))

    return loop


def peers() -> dict[str, Loop]:
    made = {
        "faultbench, no rules": lambda: faultbench(0),
        "faultbench, six kinds": lambda: faultbench(6),
        "balagan-agent": balagan,
        "agent-reliability-ci": arci,
    }
    found = {}
    for name, make in made.items():
        try:
            loop = make()
            loop()
        except ImportError:
            continue
        found[f"peer: {name}"] = loop
    return found


def measured(loops: dict[str, Loop]) -> dict[str, float]:
    """Return µs of CPU time a call, the best of turns in which all of them took part."""
    best = dict.fromkeys(loops, float("inf"))
    for _ in range(TURNS):
        for name, loop in loops.items():
            start = time.process_time_ns()
            loop()
            best[name] = min(best[name], (time.process_time_ns() - start) / BATCH / 1000)
    return best


def resident() -> float:
    """Return the memory this process holds now, in MiB."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def growth(calls: int, profile: str = "severe") -> float:
    """Return by how many MiB the process grows over different calls in one episode."""
    tool = inject(get_order)
    with faults(profile, **ALWAYS):
        for i in range(40_000):
            tool(f"#{i}")
        before = resident()
        for i in range(calls):
            tool(f"#{i}")
        return resident() - before


def main() -> None:
    """Print one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=1_000_000, help="calls over which memory must not grow")
    parser.add_argument("--peers", default="", help="a folder into which peers were installed")
    given = parser.parse_args()
    if given.peers:
        sys.path.append(given.peers)
    theirs = peers()
    best = measured({**ours(), **theirs})
    clean = best["inject, clean path, drawn"]
    for name, value in best.items():
        bound = "  (at most 8 µs)" if name == "inject, clean path, drawn" else ""
        print(f"{name:42} {value:7.2f} µs{bound}")
    for name in theirs:
        print(f"{name:42} {best[name] / clean:7.2f} × ours")
    print(f"{f'growth over {given.calls:,} calls':42} {growth(given.calls):+7.2f} MiB")


if __name__ == "__main__":
    main()
