"""A set of 3I-shaped tasks as a benchmark: the domain's own tools, database and environment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

from bench2robust.benchmarks.tau2.benchmark import DomainBenchmark, Parts
from bench2robust.core.episode import Task
from bench2robust.core.plan import Plan

from .combined import shipped_for
from .forbidden import Watched
from .plans import Compile, compile_intent


@dataclass(frozen=True, slots=True)
class Ground:
    """The τ² domain that tasks are on."""

    domain: str
    """Its name."""
    parts: Parts
    refusal: Compile
    """The compiler of infeasible tasks."""
    id_pattern: str
    """What the database's ids look like (for the conformance check)."""


class IntentBenchmark(DomainBenchmark):
    """Tasks of some source, on a τ² domain.

    Args:
        name: the benchmark's name.
        ground: the domain.
        source: returns the tasks when they are first asked for.
    """

    def __init__(self, name: str, ground: Ground, source: Callable[[], Sequence[Task]]) -> None:
        parts = ground.parts
        super().__init__(replace(parts, compile=compile_intent(parts.compile, ground.refusal)))
        self.name = name
        self.domain = ground.domain
        self.id_pattern = ground.id_pattern
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
        if not forbidden:
            return environment
        return Watched(environment, forbidden, [action.call.name for action in task.gold])

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
