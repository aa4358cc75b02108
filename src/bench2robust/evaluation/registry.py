"""Benchmarks by name.

A benchmark is an entry point of the group ``bench2robust.benchmarks``: a callable without arguments
that returns a `Benchmark`. Built-in ones are found the same way as anybody's. Nothing is imported
until it is asked for by name, so a plugin that is broken or not installed does not stop the others.

What follows a colon in a name (``retail-3i:tasks.json``) is handed to the callable as its only argument;
what it means is the benchmark's business.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from pathlib import Path

from bench2robust.core.errors import B2RError, BenchmarkError, SpecError, UnknownNameError
from bench2robust.core.ports import Benchmark

GROUP = "bench2robust.benchmarks"


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def names() -> tuple[str, ...]:
    """Return the name of every benchmark that is registered, sorted; nothing is imported."""
    return tuple(sorted(_plugins()))


Stamps = tuple[tuple[int, ...], ...]


def load(name: str) -> Benchmark:
    """Return the benchmark of that name, the same object every time (another one when its files change).

    Raises:
        UnknownNameError: nothing is registered under the name.
        SpecError: the benchmark takes no argument, or not this one.
        NotInstalledError: what the benchmark needs is not installed.
        BenchmarkError: the plugin itself is broken.
    """
    return _load(name, stamps(name))


def stamps(name: str) -> Stamps:
    """Return what changes with the files that a name holds after its colon: two loads of equal ones are one."""
    parts = name.partition(":")[2].split("@")
    return tuple(found for part in parts if part and (found := _stamp(Path(part))))


def _stamp(file: Path) -> tuple[int, ...]:
    try:
        found = file.stat()
    except (OSError, ValueError):  # no file, which is for the benchmark to say
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@cache
def _load(name: str, _: Stamps) -> Benchmark:
    plugins = _plugins()
    plain, colon, argument = name.partition(":")
    if plain not in plugins:
        raise UnknownNameError("benchmark", plain, sorted(plugins))
    try:
        make = plugins[plain].load()
        if colon:
            _check_argument(plain, make, argument)
        benchmark: Benchmark = make(argument) if colon else make()
    except B2RError:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise BenchmarkError(f"the plugin of benchmark={name!r} is broken ({problem})") from error
    return benchmark


def _check_argument(name: str, make: Callable[..., Benchmark], argument: str) -> None:
    takes_one = bool(signature(make).parameters)
    if takes_one and not argument:
        raise SpecError(f"expected a file after the colon of {name + ':'!r}, or {name!r} alone, got none")
    if not takes_one:
        raise SpecError(f"expected a benchmark's name alone, got {argument!r} after the colon of {name!r}")
