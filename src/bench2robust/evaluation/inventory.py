"""What a benchmark offers, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from . import registry
from .certificate import certify


@dataclass(frozen=True, slots=True)
class Inventory:
    """One benchmark in numbers."""

    benchmark: str
    tasks: int
    standard: int
    """Tools that always exist."""
    alternative: int
    """Tools that exist in the modes with alternatives only."""
    gold_calls: float
    """Calls of the reference solution, the mean over tasks."""
    s2: int
    """Tasks eligible for S2 (switch needed)."""
    s3: int
    """Tasks eligible for S3 (impossible)."""


def take_inventory(benchmark: str) -> Inventory:
    """Count what a benchmark offers; its certificates are established for it.

    Raises:
        UnknownNameError: nothing is registered under the name.
        NotInstalledError: what the benchmark needs is not installed.
        BenchmarkError: the plugin itself is broken.
    """
    subject = registry.load(benchmark)
    tasks = subject.tasks()
    tools = subject.tools(alternatives=True)
    found = certify(benchmark).values()
    return Inventory(
        benchmark=benchmark,
        tasks=len(tasks),
        standard=sum(not tool.alternative for tool in tools),
        alternative=sum(tool.alternative for tool in tools),
        gold_calls=sum(len(task.gold) for task in tasks) / len(tasks) if tasks else 0.0,
        s2=sum(eligibility.s2 for eligibility in found),
        s3=sum(bool(eligibility.s3) for eligibility in found),
    )
