"""3I-shaped tasks: the general, ambiguous and changing intents of the paper's Retail-3I and Airline-3I.

The authors' task files are not public. What is generated here has their form and their numbers, and is
always called 3I-*shaped*; files of theirs can be loaded (``retail-3i:FILE`` as a benchmark's name, with
``@DATABASE`` after it where they were made for another database than τ²'s).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from bench2robust.benchmarks.tau2 import provider
from bench2robust.core.episode import Task
from bench2robust.core.errors import SpecError

from .benchmark import IntentBenchmark, SplitBenchmark


def retail_3i(argument: str = "") -> IntentBenchmark:
    """Return the 3I-shaped retail tasks (the entry point ``retail-3i``).

    Args:
        argument: ``FILE`` or ``FILE@DATABASE`` for tasks of a file; empty for the generated set.

    Raises:
        NotInstalledError: τ² is not installed.
        SpecError: a file that does not fit.
    """
    if argument:
        return _of_file("retail", argument)
    return _split("retail-3i", lambda: _generated("retail"))


def airline_3i(argument: str = "") -> IntentBenchmark:
    """Return the 3I-shaped airline tasks (the entry point ``airline-3i``).

    Args:
        argument: ``FILE`` or ``FILE@DATABASE`` for tasks of a file; empty for the generated set.

    Raises:
        NotInstalledError: τ² is not installed.
        SpecError: a file that does not fit.
    """
    if argument:
        return _of_file("airline", argument)
    from .domains import AIRLINE, benchmark_of

    provider.require()
    return benchmark_of(AIRLINE, "airline-3i", lambda: _generated("airline"))


def combined_retail() -> IntentBenchmark:
    """Return τ²-bench retail and the 3I-shaped retail tasks together (the entry point ``combined-retail``).

    Raises:
        NotInstalledError: τ² is not installed.
    """
    from .combined import combine

    return _split("combined-retail", lambda: combine(_generated("retail")))


def _split(name: str, source: Callable[[], Sequence[Task]]) -> IntentBenchmark:
    from .domains import RETAIL

    provider.require()
    return SplitBenchmark(name, RETAIL.ground, source)


def _of_file(domain: str, argument: str) -> IntentBenchmark:
    from .domains import domain_named, from_file, on_database

    provider.require()
    file, _, database = argument.partition("@")
    if not file:
        raise SpecError(f"expected a task file before the @, got {domain}-3i:{argument}")
    there = on_database(domain_named(domain), Path(database) if database else None)
    return from_file(there, f"{domain}-3i:{argument}", Path(file))


@cache
def _generated(domain: str) -> tuple[Task, ...]:
    from .domains import as_tasks, domain_named
    from .kept import records

    return as_tasks(records(domain_named(domain)))
