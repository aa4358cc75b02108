"""A τ² domain as a benchmark: everything that retail and airline have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from bench2robust.core.episode import Action, Task
from bench2robust.core.errors import BenchmarkError
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse, ToolSpec

from .environment import DomainEnvironment, Shared
from .provider import DomainCode, DomainData, status
from .store import Base, Key, World

_ESCALATION = "transfer_to_human_agents"
_KINDS = {"read": ToolKind.READ, "write": ToolKind.WRITE}
"""τ²'s tool types that carry over; its generic and think tools touch no record and are utilities."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What makes a τ² domain a benchmark. Everything is loaded when it is first asked for."""

    data: Callable[[], DomainData]
    code: Callable[[], DomainCode]
    supply: Callable[[World], Any]
    """Makes the object whose methods our own tools are."""
    alternatives: tuple[str, ...]
    """Our tools that exist only in the modes with alternatives."""
    addendum: Callable[[], str]
    """The policy text that names them."""
    compile: Callable[[dict[str, Any], Task, Callable[[ToolCall], ToolResponse]], Plan]
    """The plan compiler."""
    substitutes: Mapping[str, str] = field(default_factory=dict)
    """Standard tool that the installed τ² may lack, and which we then supply, to the tool before it."""


class DomainBenchmark:
    """A τ² domain. Everything is loaded on first use and shared by the process."""

    name: str
    domain: str
    max_errors = 10
    """τ²'s own cap (`core.ports.ErrorCap`)."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._plans: dict[str, tuple[Task, Plan]] = {}
        self._gold: dict[str, tuple[tuple[Action, ...], Mapping[Key, str]]] = {}

    @cached_property
    def version(self) -> str:
        """Distribution and version of the installed τ²."""
        found = status()
        return f"{found.distribution} {found.version}"

    def tasks(self) -> Sequence[Task]:
        """Return the tasks of τ²'s split ``base``, in file order."""
        return self._tasks

    def tools(self, alternatives: bool) -> Sequence[ToolSpec]:  # noqa: FBT001
        """Return τ²'s tools, those it may lack included; with `alternatives` the added ones too."""
        return [spec for spec in self._specs if alternatives or not spec.alternative]

    def policy(self, alternatives: bool) -> str:  # noqa: FBT001
        """Return τ²'s policy; with `alternatives` the addendum that names the added tools follows it."""
        text = self._parts.data().policy
        return f"{text.rstrip()}\n\n{self._parts.addendum()}" if alternatives else text

    def open(self, task: Task, *, alternatives: bool = True) -> DomainEnvironment:
        """Return a fresh environment for one episode of the task.

        Args:
            task: a task of this domain; it need not be one of `tasks`.
            alternatives: whether the alternative tools exist; without them a call to one is answered
                as τ² answers a call to any tool it does not have.
        """
        return DomainEnvironment(
            self._shared, lambda: self._gold_changes(task), task.tell, alternatives=alternatives
        )

    def plan(self, task: Task) -> Plan:
        """Return the compiled reference solution of the task (compiled once, on the pristine database)."""
        known = self._plans.get(task.id)
        if known is None or known[0] != task:
            plan = self._parts.compile(self._parts.data().db, task, self.open(task).call)
            known = self._plans[task.id] = task, plan
        return known[1]

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return tuple(task_of(raw) for raw in self._parts.data().tasks)

    @cached_property
    def _specs(self) -> tuple[ToolSpec, ...]:
        return tuple(self._describe())

    @cached_property
    def _shared(self) -> Shared:
        parts, code = self._parts, self._parts.code()
        toolkit = code.tools(None)
        kinds = {name: _kind(name, toolkit.tool_type(name).value) for name in toolkit.tools}
        added = frozenset((*parts.alternatives, *parts.substitutes)) - kinds.keys()
        return Shared(
            code=code,
            base=Base(parts.data().db, code.records),
            standard=frozenset(kinds),
            reads=added.union(name for name, kind in kinds.items() if kind is ToolKind.READ),
            writes=frozenset(name for name, kind in kinds.items() if kind is ToolKind.WRITE),
            added=added,
            alternatives=frozenset(parts.alternatives),
            supply=parts.supply,
        )

    def _describe(self) -> Iterator[ToolSpec]:
        parts, shared = self._parts, self._shared
        world = World(shared.base)
        toolkit, added = shared.code.tools(world), parts.supply(world)
        for name, method in toolkit.tools.items():
            yield _spec(shared.code.describe(method), _kind(name, toolkit.tool_type(name).value))
            for lacking, before in parts.substitutes.items():
                if before == name and lacking in shared.added:
                    yield _spec(shared.code.describe(getattr(added, lacking)), ToolKind.READ)
        for name in parts.alternatives:
            yield _spec(shared.code.describe(getattr(added, name)), ToolKind.READ, alternative=True)

    def _gold_changes(self, task: Task) -> Mapping[Key, str]:
        """Return what the gold actions change. As upstream does, gold calls that error are passed over."""
        known = self._gold.get(task.id)
        if known is None or known[0] != task.gold:
            environment = self.open(task)
            for action in task.gold:
                environment.call(action.call)
            known = self._gold[task.id] = task.gold, environment.changes()
        return known[1]


def _kind(name: str, tool_type: str) -> ToolKind:
    return ToolKind.ESCALATION if name == _ESCALATION else _KINDS.get(tool_type, ToolKind.UTILITY)


def _spec(tool: Any, kind: ToolKind, *, alternative: bool = False) -> ToolSpec:
    function = tool.openai_schema["function"]
    return ToolSpec(function["name"], function["description"], function["parameters"], kind, alternative)


def task_of(raw: Mapping[str, Any]) -> Task:
    """Read a task in τ²'s form (a database domain's, without an initial state)."""
    if raw.get("initial_state") is not None:
        raise BenchmarkError(f"expected a task without initial_state, found one in id={raw['id']!r}")
    criteria = raw["evaluation_criteria"]
    return Task(
        id=str(raw["id"]),
        instructions=_instructions(raw["user_scenario"]["instructions"]),
        gold=tuple(Action(ToolCall(a["name"], a["arguments"])) for a in criteria["actions"] or ()),
        tell=tuple(criteria.get("communicate_info") or ()),
        data=raw,
    )


def _instructions(words: Mapping[str, str | None]) -> str:
    """Join the user's words under τ²'s own labels; what the user lacks is left out."""
    labels = {
        "reason_for_call": "Reason for call",
        "known_info": "Known info",
        "unknown_info": "Unknown info",
        "task_instructions": "Task instructions",
    }
    return "\n".join(f"{label}: {words[key]}" for key, label in labels.items() if words.get(key))
