"""Facts about a domain that injection, memory and metrics share: classes, needs, fields.

The values live in TOML files (`bench2robust.domains`); these are their types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Side:
    """One self-sufficient way to a class's information; blocking a side blocks all its tools."""

    name: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """Tools that give the same information by different paths (two or more sides)."""

    name: str
    sides: tuple[Side, ...]

    @property
    def tools(self) -> frozenset[str]:
        """Every tool of every side."""
        return frozenset(tool for side in self.sides for tool in side.tools)


@dataclass(frozen=True, slots=True)
class FieldRules:
    """What silent corruption may touch in the responses of a tool.

    Each is a path pattern: dotted keys, ``*`` for every list element or dict value, ``$`` for the
    root (``items.*.price``).
    """

    critical: tuple[str, ...] = ()
    """Fields that *partial* empties (lists, objects, non-enum strings)."""
    state: tuple[str, ...] = ()
    """Fields that *stale* moves back."""
    numeric: tuple[str, ...] = ()
    """Fields that *factual_error* perturbs (JSON numbers, or the text of a number at ``$``)."""


@dataclass(frozen=True, slots=True)
class Domain:
    """One domain's facts."""

    name: str
    classes: tuple[EquivalenceClass, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Write tool to the classes whose information it needs."""
    granularity: Mapping[str, str] = field(default_factory=dict)
    """Tool to a note on what it gives and lacks compared with the usual one."""
    fields: Mapping[str, FieldRules] = field(default_factory=dict)
    """Tool to its field rules."""
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """State to the states that come before it, nearest first."""
    exempt: frozenset[str] = frozenset()
    """Tools that are never injected and never blocked (the escalation tool at least)."""
    constraints: tuple[str, ...] | None = None
    """What an agent is told to keep to while it recovers, one sentence or more each, in order; None for
    the template's six (`bench2robust.memory.structure`)."""
    tools: tuple[str, ...] = ()
    """Every tool there is, standard ones first; empty where nobody has listed them."""

    def equivalence(self, name: str) -> EquivalenceClass:
        """Return the class of that name; KeyError when there is none."""
        for cls in self.classes:
            if cls.name == name:
                return cls
        raise KeyError(name)

    def sides_of(self, tool: str) -> tuple[tuple[str, str], ...]:
        """Return every (class, side) that `tool` belongs to."""
        return tuple((c.name, s.name) for c in self.classes for s in c.sides if tool in s.tools)

    def switches(self, source: str, target: str) -> bool:
        """Return whether going from one tool to the other is a switch: to another side of a class."""
        return source != target and any(
            source in side.tools and target in other.tools
            for cls in self.classes
            for side in cls.sides
            for other in cls.sides
            if side is not other
        )
