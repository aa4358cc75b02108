"""τ²-bench telecom: dual control (the user has tools too), scored by assertions on the live world."""

from __future__ import annotations

from functools import cache

from bench2robust.benchmarks.tau2 import provider

from .benchmark import TelecomBenchmark


@cache
def telecom() -> TelecomBenchmark:
    """Return the τ²-bench telecom benchmark (one instance a process; the entry point ``tau2-telecom``).

    Nothing of τ² is imported before the benchmark is first asked for something.

    Raises:
        NotInstalledError: τ² is not installed.
    """
    provider.require()
    return TelecomBenchmark()
