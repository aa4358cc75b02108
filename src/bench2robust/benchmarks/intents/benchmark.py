"""A set of 3I-shaped tasks as a benchmark: the domain's own tools, database and environment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

from bench2robust.benchmarks.tau2.benchmark import DomainBenchmark, Parts
from bench2robust.core.episode import Task
from bench2robust.core.plan import Plan

from .combined import shipped_for
from .forbidden import Watched
from .plans import Compile, compile_intent


class IntentBenchmark(DomainBenchmark):
    """Tasks of some source, on a τ² domain.

    Args:
        name: the benchmark's name.
        domain: the domain's name.
        parts: the domain's.
        refusal: the compiler of infeasible tasks.
        source: returns the tasks when they are first asked for.
    """

    def __init__(
        self, name: str, domain: str, parts: Parts, refusal: Compile, source: Callable[[], Sequence[Task]]
    ) -> None:
        super().__init__(replace(parts, compile=compile_intent(parts.compile, refusal)))
        self.name = name
        self.domain = domain
        self._source = source

    @cached_property
    def version(self) -> str:
        """Version of τ², and a hash of the tasks."""
        text = json.dumps([task.data for task in self.tasks()], sort_keys=True)
        return f"{super().version}, tasks {blake2b(text.encode(), digest_size=6).hexdigest()}"

    def tasks(self) -> Sequence[Task]:
        """Return the tasks."""
        return self._sourced

    def open(self, task: Task, *, alternatives: bool = True) -> Any:
        """Return a fresh environment; that of an infeasible task watches for the forbidden call."""
        environment = super().open(task, alternatives=alternatives)
        forbidden = task.data.get("forbidden")
        return Watched(environment, forbidden) if forbidden else environment

    def compile(self, task: Task) -> Plan:
        """Return the task's plan, compiled afresh and not kept (`plan` keeps what it compiles)."""
        return self._parts.compile(self._parts.data().db, task, super().open(task).call)

    @cached_property
    def _sourced(self) -> Sequence[Task]:
        return tuple(self._source())


class SplitBenchmark(IntentBenchmark):
    """A set of which some tasks are held out."""

    def split(self) -> Mapping[str, object]:
        """Return the shipped split of these tasks (`evaluation.splits.HasSplit`)."""
        return shipped_for(self.tasks())
