"""τ²-bench airline: its data and tools behind core's port, on the fast store."""

from __future__ import annotations

from functools import cache

from bench2robust.benchmarks.tau2 import provider

from .benchmark import AirlineBenchmark


@cache
def airline() -> AirlineBenchmark:
    """Return the τ²-bench airline benchmark (one instance a process; the entry point ``tau2-airline``).

    Nothing of τ² is imported before the benchmark is first asked for something.

    Raises:
        NotInstalledError: τ² is not installed.
    """
    provider.require()
    return AirlineBenchmark()
