"""BFCL multi-turn as four benchmarks of one class: base, miss_func, miss_param, long_context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files

from bench2robust.core.episode import Action, Script, Task
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolSpec

from .environment import BfclEnvironment
from .functions import ESCALATION, every_function, parse
from .plan import compile_plan
from .provider import Category, Entry, entries, status
from .truth import Truth, establish
from .world import Blueprint

EXCLUDED = {
    "4": "gold posts an alphabetised text that no tool gives: sorting a file of one line changes nothing",
    "18": "gold drops the line break that diff gives",
    "173": "the id of the ticket to close is never shown, and no tool lists the ticket",
    "176": "the user dictates the year 2026, gold says 2023",
    "187": "gold invents a ticket's description and priority",
}
"""Number of a task that cannot honestly be passed, in all four categories, to the reason."""

NEW_FUNCTIONS = "I have updated some more functions you can choose from. What about now?"
"""What BFCL's user says when a turn brings functions (``DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC``)."""


class BfclBenchmark:
    """One category of BFCL multi-turn. Everything is loaded on first use and shared by the process.

    A task's id is the number that its entry has in every category, so ranges of tasks can be chosen.

    Args:
        name: the benchmark's name.
        category: the wheel's category.
        unabridged: whether the five tasks of `EXCLUDED` are among the tasks.
    """

    domain = "bfcl"
    id_pattern = r"\bUSR\d{3}\b|\b\d{6,12}\b"
    """Users, tickets, bookings, transactions, cards, tokens."""

    def __init__(self, name: str, category: Category, *, unabridged: bool = False) -> None:
        self.name = name
        self.category = category
        self._unabridged = unabridged
        self._blueprints: dict[str, Blueprint] = {}
        self._truths: dict[str, Truth] = {}
        self._plans: dict[str, Plan] = {}

    @cached_property
    def version(self) -> str:
        """Distribution and version of the installed wheel."""
        found = status()
        return f"{found.distribution} {found.version}"

    @property
    def exceptions(self) -> Mapping[str, str]:
        """The tasks among them that cannot honestly be passed, and why (for `bench2robust.testing`)."""
        return EXCLUDED if self._unabridged else {}

    def tasks(self) -> Sequence[Task]:
        """Return the 195 tasks that can honestly be passed (or all 200), in file order."""
        return self._tasks

    def tools(self, alternatives: bool) -> Sequence[ToolSpec]:  # noqa: FBT001
        """Return all 128 functions and the tool that hands over; a task has those that its environment has `offered`.

        BFCL's alternatives are among its own functions, so `alternatives` adds none.
        """
        return self._tools

    def policy(self, alternatives: bool) -> str:  # noqa: FBT001
        """Return BFCL's own system prompt, without what it says on how to write a call."""
        return files(__package__).joinpath("policy.md").read_text(encoding="utf-8").rstrip("\n")

    def open(self, task: Task, *, alternatives: bool = True) -> BfclEnvironment:
        """Return a fresh environment for one episode of the task."""
        return BfclEnvironment(self.blueprint(task), lambda: self.truth(task), task)

    def plan(self, task: Task) -> Plan:
        """Return the compiled reference solution of the task (compiled once, on the pristine state)."""
        plan = self._plans.get(task.id)
        if plan is None:
            plan = self._plans[task.id] = compile_plan(self.blueprint(task), self.truth(task), _words(task))
        return plan

    def blueprint(self, task: Task) -> Blueprint:
        """Return what every episode of a task starts from."""
        known = self._blueprints.get(task.id)
        if known is None:
            known = self._blueprints[task.id] = Blueprint(self._entries[task.id])
        return known

    def truth(self, task: Task) -> Truth:
        """Return the ground truth of a task, with the equivalences that hold in it."""
        known = self._truths.get(task.id)
        if known is None:
            known = self._truths[task.id] = establish(self.blueprint(task))
        return known

    @cached_property
    def _entries(self) -> dict[str, Entry]:
        return {entry.number: entry for entry in entries(self.category)}

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        kept = (e for e in self._entries.values() if self._unabridged or e.number not in EXCLUDED)
        return tuple(_task(entry) for entry in kept)

    @cached_property
    def _tools(self) -> tuple[ToolSpec, ...]:
        return (*(function.spec for function in every_function().values()), ESCALATION)


def _task(entry: Entry) -> Task:
    words = tuple(
        said or (NEW_FUNCTIONS if turn in entry.missed else "") for turn, said in enumerate(entry.question)
    )
    return Task(
        id=entry.number,
        instructions="\n".join(words),
        gold=tuple(Action(parse(line), turn=turn) for turn, lines in enumerate(entry.gold) for line in lines),
        data={"id": entry.id, "classes": entry.classes},
        script=Script(words[0], turns=words[1:]),
    )


def _words(task: Task) -> tuple[str, ...]:
    assert task.script is not None
    return (task.script.opening, *task.script.turns)
