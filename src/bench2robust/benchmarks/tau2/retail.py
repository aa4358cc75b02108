"""τ²-bench retail as a benchmark: 114 tasks, 16 standard tools, five alternatives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

from bench2robust.core.episode import Action, Task
from bench2robust.core.errors import BenchmarkError
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolCall, ToolKind, ToolSpec

from .alternatives import ALTERNATIVES, AddedTools
from .environment import RetailEnvironment, Shop
from .plan import compile_plan
from .provider import retail_code, retail_data, status
from .store import Base, Key, World

_ESCALATION = "transfer_to_human_agents"
_ITEM = "get_item_details"
_KINDS = {"read": ToolKind.READ, "write": ToolKind.WRITE}
"""τ²'s tool types that carry over; its generic and think tools touch no record and are utilities."""


class RetailBenchmark:
    """τ²-bench retail. Everything is loaded on first use and shared by the process."""

    name = "tau2-retail"
    domain = "retail"

    def __init__(self) -> None:
        self._plans: dict[str, tuple[Task, Plan]] = {}
        self._gold: dict[str, tuple[tuple[Action, ...], Mapping[Key, str]]] = {}

    @cached_property
    def version(self) -> str:
        """Distribution and version of the installed τ²."""
        found = status()
        return f"{found.distribution} {found.version}"

    def tasks(self) -> Sequence[Task]:
        """Return the 114 tasks of τ²'s split ``base``, in file order."""
        return self._tasks

    def tools(self, alternatives: bool) -> Sequence[ToolSpec]:  # noqa: FBT001
        """Return τ²'s 15 tools and ``get_item_details``; with `alternatives` the five of Table 8 too."""
        return [spec for spec in self._specs if alternatives or not spec.alternative]

    def policy(self, alternatives: bool) -> str:  # noqa: FBT001
        """Return τ²'s policy; with `alternatives` the addendum that names the five tools follows it."""
        text = retail_data().policy
        return f"{text.rstrip()}\n\n{addendum()}" if alternatives else text

    def open(self, task: Task, *, alternatives: bool = True) -> RetailEnvironment:
        """Return a fresh environment for one episode of the task.

        Args:
            task: a task of this domain; it need not be one of `tasks`.
            alternatives: whether the alternative tools exist; without them a call to one is answered
                as τ² answers a call to any tool it does not have.
        """
        return RetailEnvironment(
            self._shop, lambda: self._gold_changes(task), task.tell, alternatives=alternatives
        )

    def plan(self, task: Task) -> Plan:
        """Return the compiled reference solution of the task (compiled once, on the pristine database)."""
        known = self._plans.get(task.id)
        if known is None or known[0] != task:
            plan = compile_plan(retail_data().db, task, self.open(task).call)
            known = self._plans[task.id] = task, plan
        return known[1]

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return tuple(_task(raw) for raw in retail_data().tasks)

    @cached_property
    def _specs(self) -> tuple[ToolSpec, ...]:
        return tuple(self._describe())

    @cached_property
    def _shop(self) -> Shop:
        code = retail_code()
        toolkit = code.tools(None)
        kinds = {name: _kind(name, toolkit.tool_type(name).value) for name in toolkit.tools}
        added = frozenset((*ALTERNATIVES, _ITEM)) - kinds.keys()
        return Shop(
            code=code,
            base=Base(retail_data().db, code.records),
            standard=frozenset(kinds),
            reads=added.union(name for name, kind in kinds.items() if kind is ToolKind.READ),
            writes=frozenset(name for name, kind in kinds.items() if kind is ToolKind.WRITE),
            added=added,
        )

    def _describe(self) -> Iterator[ToolSpec]:
        shop = self._shop
        world = World(shop.base)
        toolkit, added = shop.code.tools(world), AddedTools(world)
        for name, method in toolkit.tools.items():
            yield _spec(shop.code.describe(method), _kind(name, toolkit.tool_type(name).value))
            if name == "get_product_details" and _ITEM in shop.added:
                yield _spec(shop.code.describe(added.get_item_details), ToolKind.READ)
        for name in ALTERNATIVES:
            yield _spec(shop.code.describe(getattr(added, name)), ToolKind.READ, alternative=True)

    def _gold_changes(self, task: Task) -> Mapping[Key, str]:
        """Return what the gold actions change. As upstream does, gold calls that error are passed over."""
        known = self._gold.get(task.id)
        if known is None or known[0] != task.gold:
            environment = self.open(task)
            for action in task.gold:
                environment.call(action.call)
            known = self._gold[task.id] = task.gold, environment.changes()
        return known[1]


def addendum() -> str:
    """Return the policy addendum of the modes with alternatives."""
    return files(__package__).joinpath("addendum.md").read_text(encoding="utf-8").rstrip("\n")


def _kind(name: str, tool_type: str) -> ToolKind:
    return ToolKind.ESCALATION if name == _ESCALATION else _KINDS.get(tool_type, ToolKind.UTILITY)


def _spec(tool: Any, kind: ToolKind, *, alternative: bool = False) -> ToolSpec:
    function = tool.openai_schema["function"]
    return ToolSpec(function["name"], function["description"], function["parameters"], kind, alternative)


def _task(raw: Mapping[str, Any]) -> Task:
    if raw.get("initial_state") is not None:
        raise BenchmarkError(f"expected a retail task without initial_state, found one in id={raw['id']!r}")
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
