"""How long a person waits for ``b2r --help``, and for the first episode; the budget of help is half a second.

python -m bench.startup
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

BUDGET = 0.5
"""Seconds."""
COMMANDS = (
    ("--help",),
    ("run", "--help"),
    ("run", "--benchmark", "tau2-retail", "--tasks", "0", "--seeds", "1", "--dry-run"),
)


def seconds(arguments: tuple[str, ...], rounds: int = 7) -> float:
    """Return the median time of the command in a process of its own."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "bench2robust.cli.main", *arguments], stdout=subprocess.DEVNULL, check=True
        )
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> int:
    for arguments in COMMANDS:
        print(f"b2r {' '.join(arguments)}: {seconds(arguments):.3f} s")
    within = seconds(("--help",)) <= BUDGET
    print(f"help within {BUDGET} s: {'yes' if within else 'NO'}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
