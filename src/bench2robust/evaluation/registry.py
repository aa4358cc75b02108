"""Benchmarks by name.

A benchmark is an entry point of the group ``bench2robust.benchmarks``: a callable without arguments
that returns a `Benchmark`. Built-in ones are found the same way as anybody's. Nothing is imported
until it is asked for by name, so a plugin that is broken or not installed does not stop the others.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from bench2robust.core.errors import B2RError, BenchmarkError, UnknownNameError
from bench2robust.core.ports import Benchmark

GROUP = "bench2robust.benchmarks"


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def names() -> tuple[str, ...]:
    """Return the name of every benchmark that is registered, sorted; nothing is imported."""
    return tuple(sorted(_plugins()))


@cache
def load(name: str) -> Benchmark:
    """Return the benchmark of that name, the same object every time.

    Raises:
        UnknownNameError: nothing is registered under the name.
        NotInstalledError: what the benchmark needs is not installed.
        BenchmarkError: the plugin itself is broken.
    """
    plugins = _plugins()
    if name not in plugins:
        raise UnknownNameError("benchmark", name, sorted(plugins))
    try:
        benchmark: Benchmark = plugins[name].load()()
    except B2RError:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise BenchmarkError(f"the plugin of benchmark={name!r} is broken ({problem})") from error
    return benchmark
