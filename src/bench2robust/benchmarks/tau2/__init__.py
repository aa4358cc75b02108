"""τ²-bench: its data and tools behind core's port, on a fast store."""

from __future__ import annotations

from functools import cache

from . import provider
from .retail import RetailBenchmark


@cache
def retail() -> RetailBenchmark:
    """Return the τ²-bench retail benchmark (one instance a process; the entry point ``tau2-retail``).

    Nothing of τ² is imported before the benchmark is first asked for something.

    Raises:
        NotInstalledError: τ² is not installed.
    """
    provider.require()
    return RetailBenchmark()
