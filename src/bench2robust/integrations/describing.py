"""A user's own tools, described: what is equivalent to what, and what each write needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench2robust import domains
from bench2robust.core.domain import Domain, EquivalenceClass, FieldRules, Side
from bench2robust.core.errors import SpecError, UnknownNameError

_RULES: Final = ("critical", "state", "numeric")

Sides = Mapping[str, Iterable[str]] | Iterable[str | Iterable[str]]
"""The sides of a class: names to their tools, or only the tools (each a side of its own; a list of tools is
one side that needs them all)."""


@dataclass(frozen=True)
class Description:
    """What a user says of their tools; `domain` reads it.

    Raises:
        SpecError: a class with fewer than two sides, or something that is not of the form expected.
        UnknownNameError: a write that needs a class which does not exist.
    """

    name: str = "own"
    classes: Mapping[str, Sides] = field(default_factory=dict)
    """Class to its sides, such as ``{"order": ["get_order", "list_orders"]}``."""
    needs: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """Write tool to the classes whose information it needs; S3 blocks these writes too."""
    exempt: Iterable[str] = ()
    """Tools that never fail, such as the one that hands over to a human."""
    fields: Mapping[str, Mapping[str, Iterable[str]]] = field(default_factory=dict)
    """Tool to what a silent corruption may touch: ``critical``, ``state`` and ``numeric`` path patterns
    (``items.*.price``). Of tools that are not named, what looks harmless to change is found by itself."""
    states: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """State to the states before it, nearest first; *stale* needs them."""
    tools: Iterable[str] = ()
    """Every tool there is; the names above are checked against it when it is given."""

    def domain(self) -> Domain:
        """Return the domain that is described."""
        exempt = frozenset(_names("exempt", self.exempt))
        classes = tuple(
            _class(name, sides, exempt) for name, sides in _table("classes", self.classes).items()
        )
        known = [cls.name for cls in classes]
        needs = {}
        for tool, wanted in _table("needs", self.needs).items():
            needs[tool] = _names(f"needs.{tool}", wanted)
            for name in needs[tool]:
                if name not in known:
                    raise UnknownNameError(f"class in needs.{tool}", name, known)
        found = Domain(
            name=self.name,
            classes=classes,
            needs=needs,
            fields={tool: _rules(tool, rules) for tool, rules in _table("fields", self.fields).items()},
            earlier={s: _names(f"states.{s}", b) for s, b in _table("states", self.states).items()},
            exempt=exempt,
            tools=_names("tools", self.tools),
        )
        named = (*(t for cls in classes for t in sorted(cls.tools)), *needs, *found.fields, *sorted(exempt))
        for tool in named if found.tools else ():
            if tool not in found.tools:
                raise UnknownNameError("tool", tool, found.tools)
        return found


def domain_of(value: Domain | Mapping[str, Any] | Path | str | None) -> Domain:
    """Return a domain from what a user may give.

    Args:
        value: a `Domain`, a mapping with the words of `Description`, the path of a domain TOML file, the name
            of a domain that comes with the package, or None for one of which nothing is known.

    Raises:
        UsageError: it does not fit.
    """
    if value is None:
        return Domain("own")
    if isinstance(value, Domain):
        return value
    if isinstance(value, Mapping):
        words = tuple(Description.__dataclass_fields__)
        for key in value:
            if key not in words:
                raise SpecError(str(UnknownNameError("key in domain", str(key), words)))
        return Description(**value).domain()
    if isinstance(value, Path) or (isinstance(value, str) and value.endswith(".toml")):
        return domains.load_file(value)
    if isinstance(value, str):
        return domains.load(value)
    raise SpecError(f"expected a domain, a mapping or a TOML file, got domain={value!r}")


def _table(key: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise SpecError(f"expected a mapping, got {key}={value!r}")
    return value


def _names(key: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SpecError(f"expected a list of names, got {key}={value!r}")
    names = tuple(value)
    if not all(isinstance(name, str) and name for name in names):
        raise SpecError(f"expected a list of names, got {key}={value!r}")
    return names


def _class(name: str, sides: Any, exempt: frozenset[str]) -> EquivalenceClass:
    key = f"classes.{name}"
    if isinstance(sides, Mapping):
        found = tuple(Side(side, _names(f"{key}.{side}", tools)) for side, tools in sides.items())
    elif isinstance(sides, str) or not isinstance(sides, Iterable):
        raise SpecError(f"expected two or more sides, got {key}={sides!r}")
    else:
        each = [(side,) if isinstance(side, str) else _names(key, side) for side in sides]
        found = tuple(Side(" + ".join(tools), tools) for tools in each)
    if len(found) < 2 or not all(side.tools for side in found):
        raise SpecError(f"expected two or more sides with tools, got {key}={sides!r}")
    for tool in (tool for side in found for tool in side.tools):
        if tool in exempt:
            raise SpecError(f"expected tools that can be blocked, got the exempt {tool!r} in {key}")
    return EquivalenceClass(name, found)


def _rules(tool: str, rules: Any) -> FieldRules:
    table = _table(f"fields.{tool}", rules)
    for kind in table:
        if kind not in _RULES:
            raise SpecError(str(UnknownNameError(f"key in fields.{tool}", str(kind), _RULES)))
    return FieldRules(*(_names(f"fields.{tool}.{kind}", table.get(kind, ())) for kind in _RULES))
