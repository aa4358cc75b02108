"""What has to be known beside a trajectory to measure it: tool kinds, the domain, gold actions.

A run folder keeps it (`facts.json`), so that a run can be measured where its benchmark is not installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench2robust.core.domain import Domain, EquivalenceClass, FieldRules, Side
from bench2robust.core.episode import Action, Task
from bench2robust.core.tools import ToolCall, ToolKind, ToolSpec


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run's trajectories are measured by."""

    kinds: Mapping[str, ToolKind]
    """Every tool of the benchmark, the alternative ones included, to what calling it may do."""
    domain: Domain = field(default_factory=lambda: Domain(""))
    gold: Mapping[str, tuple[Action, ...]] = field(default_factory=dict)
    """Task to the calls of its reference solution."""
    intents: Mapping[str, str] = field(default_factory=dict)
    """Task to the kind of user it has (``general``, ``ambiguous``, …), where the benchmark says so."""

    @classmethod
    def of(cls, tools: Iterable[ToolSpec], domain: Domain, tasks: Iterable[Task]) -> RunFacts:
        """Return the facts of a benchmark's tools, domain and (some of its) tasks."""
        tasks = list(tasks)
        said = {task.id: task.data.get("intent") for task in tasks}
        intents = {task: intent for task, intent in said.items() if isinstance(intent, str)}
        return cls({t.name: t.kind for t in tools}, domain, {t.id: t.gold for t in tasks}, intents)

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON values; equal facts give equal ones, keys in order."""
        return {
            "kinds": {name: str(kind) for name, kind in self.kinds.items()},
            "domain": domain_to_dict(self.domain),
            "gold": {task: [_action(a) for a in actions] for task, actions in self.gold.items()},
            "intents": dict(self.intents),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RunFacts:
        """Read what `to_dict` wrote.

        Raises:
            KeyError, TypeError, ValueError: something else was written there.
        """
        return cls(
            {name: ToolKind(kind) for name, kind in data["kinds"].items()},
            domain_from_dict(data["domain"]),
            {task: tuple(map(_read_action, actions)) for task, actions in data["gold"].items()},
            dict(data["intents"]),
        )


def _action(action: Action) -> list[Any]:
    return [action.call.name, dict(action.call.arguments), action.by_user, action.turn]


def _read_action(data: Sequence[Any]) -> Action:
    name, arguments, by_user, turn = data
    return Action(ToolCall(name, arguments), by_user, turn)


def domain_to_dict(domain: Domain) -> dict[str, Any]:
    """Return a domain as JSON values."""
    return {
        "name": domain.name,
        "classes": {c.name: {s.name: list(s.tools) for s in c.sides} for c in domain.classes},
        "needs": {tool: list(classes) for tool, classes in domain.needs.items()},
        "granularity": dict(domain.granularity),
        "fields": {
            tool: {"critical": list(f.critical), "state": list(f.state), "numeric": list(f.numeric)}
            for tool, f in domain.fields.items()
        },
        "earlier": {state: list(before) for state, before in domain.earlier.items()},
        "exempt": sorted(domain.exempt),
        "constraints": None if domain.constraints is None else list(domain.constraints),
        "tools": list(domain.tools),
    }


def domain_from_dict(data: Mapping[str, Any]) -> Domain:
    """Read what `domain_to_dict` wrote."""
    return Domain(
        data["name"],
        tuple(
            EquivalenceClass(name, tuple(Side(side, tuple(tools)) for side, tools in sides.items()))
            for name, sides in data["classes"].items()
        ),
        {tool: tuple(classes) for tool, classes in data["needs"].items()},
        dict(data["granularity"]),
        {
            tool: FieldRules(*(tuple(rules[kind]) for kind in ("critical", "state", "numeric")))
            for tool, rules in data["fields"].items()
        },
        {state: tuple(before) for state, before in data["earlier"].items()},
        frozenset(data["exempt"]),
        None if data["constraints"] is None else tuple(data["constraints"]),
        tuple(data["tools"]),
    )
