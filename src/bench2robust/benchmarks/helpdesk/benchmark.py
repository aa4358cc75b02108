"""The helpdesk as a benchmark: `core.ports.Benchmark`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from bench2robust.core.episode import Task
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolSpec

from .desk import Desk
from .generator import tasks
from .plans import plan
from .tools import ADDENDUM, POLICY, TOOLS
from .world import ID_PATTERN

RELEASE = "1"
"""Goes up when a task, a tool or an answer changes."""


class HelpdeskBenchmark:
    """The helpdesk with the first tasks of one seed.

    Tasks of any other seed or index can be opened and planned too (`generator.task`).

    Args:
        n: how many tasks.
        seed: of the tasks; nothing to do with the seeds of a run.

    Raises:
        SpecError: fewer than no tasks.
    """

    name = "helpdesk"
    domain = "helpdesk"
    id_pattern = ID_PATTERN
    """What ids look like (for `bench2robust.testing`)."""

    def __init__(self, n: int = 200, seed: int = 0) -> None:
        self._n, self._seed = n, seed
        self.version = f"{RELEASE}, {n} tasks of seed {seed}"

    def tasks(self) -> Sequence[Task]:
        """Return the tasks (made on first use)."""
        return self._tasks

    def tools(self, alternatives: bool) -> Sequence[ToolSpec]:  # noqa: FBT001
        """Return the ten standard tools; with `alternatives` three more."""
        return [tool for tool in TOOLS if alternatives or not tool.alternative]

    def policy(self, alternatives: bool) -> str:  # noqa: FBT001
        """Return the rules of the helpdesk; with `alternatives` two lines on the three tools."""
        return POLICY + ADDENDUM if alternatives else POLICY

    def open(self, task: Task, *, alternatives: bool = True) -> Desk:
        """Return a fresh environment for one episode of a task of the generator."""
        return Desk(task, alternatives=alternatives)

    def plan(self, task: Task) -> Plan:
        """Return how to go about a task of the generator."""
        return plan(task)

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return tasks(self._n, self._seed)
