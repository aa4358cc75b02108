"""What it costs to ask models: ``python -m bench.runner [--tasks N] [--flight N]``.

A reference policy is served from a process of its own, and τ²-bench retail is played on it over HTTP.

- *Overhead*: CPU time of this process per step (one request, its answer, what is done about it), beyond what
  it takes to write the request as JSON. Bound: 3 ms.
- *Memory*: how much this process grows while 2,000 episodes are in flight. Bound: 200 MB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench2robust.agents.chat.spec import ChatSpec
from bench2robust.core.episode import Mode
from bench2robust.evaluation import Means, Models, RunSpec, Schedule, run

AGENT = "chat:strategic"
BENCHMARK = "tau2-retail"
MOST_MS = 3.0
MOST_MB = 200.0


@contextmanager
def served(*options: str) -> Iterator[str]:
    """Serve a policy; gives the base URL."""
    command = [sys.executable, "-m", "bench2robust.cli.main", "serve-policy", "--benchmark", BENCHMARK]
    process = subprocess.Popen(
        [*command, "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def spec_of(url: str, tasks: str, seeds: int) -> RunSpec:
    return RunSpec(
        BENCHMARK,
        agents=(AGENT,),
        modes=(Mode.INJECT,),
        seeds=tuple(range(seeds)),
        tasks=(tasks,),
        models=Models({AGENT: ChatSpec("strategic", base_url=url)}),
    )


def serialising(spec: RunSpec) -> float:
    """Return the CPU seconds that it takes to write an average request as JSON: prompt, tools, half a talk."""
    schedule = Schedule(spec)
    benchmark = schedule.benchmark
    talk = [{"role": "tool", "tool_call_id": "call", "content": "x" * 1500}] * 4
    messages = [{"role": "system", "content": benchmark.policy(alternatives=False)}, *talk]
    body = {
        "model": "m",
        "messages": messages,
        "tools": [tool.openai() for tool in benchmark.tools(alternatives=False)],
    }
    start = time.process_time()
    for _ in range(200):
        json.dumps(body).encode()
    return (time.process_time() - start) / 200


def overhead(tasks: int) -> tuple[float, float]:
    """Return the CPU milliseconds of a step, and those of writing its request."""
    with served() as url, tempfile.TemporaryDirectory() as folder:
        spec = spec_of(url, f"0-{tasks - 1}", 1)
        run(spec_of(url, "0-1", 1), Path(folder) / "warm")
        start = time.process_time()
        done = run(spec, Path(folder) / "run")
        seconds = time.process_time() - start
        steps = sum(row.requests * row.episodes for row in done.rows)
    return 1000 * seconds / steps, 1000 * serialising(spec)


def resident() -> float:
    """Return this process's memory, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def growth(flight: int) -> tuple[float, int]:
    """Return by how many MB this process grows at most with so many episodes in flight, and how many there were."""
    highest, most = 0.0, 0
    with served("--faults", "slow=1", "--slow", "4") as url, tempfile.TemporaryDirectory() as folder:
        spec = spec_of(url, "all", -(-flight // 114))
        run(spec_of(url, "0", 1), Path(folder) / "warm")
        before = resident()

        def watch(status: object) -> None:
            nonlocal highest, most
            highest, most = max(highest, resident()), max(most, getattr(status, "in_flight", 0))

        run(spec, Path(folder) / "run", means=Means(concurrency=flight), watch=watch)
    return highest - before, most


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--flight", type=int, default=2000)
    given = parser.parse_args()
    step, written = overhead(given.tasks)
    print(f"CPU of a step: {step:.2f} ms, of which {written:.2f} ms write the request")
    print(f"overhead of a step: {step - written:.2f} ms (bound {MOST_MS:g} ms)")
    grown, most = growth(given.flight)
    print(f"memory with {most:,} episodes in flight: +{grown:.0f} MB (bound {MOST_MB:g} MB)")
    return 0 if step - written <= MOST_MS and grown <= MOST_MB else 1


if __name__ == "__main__":
    sys.exit(main())
