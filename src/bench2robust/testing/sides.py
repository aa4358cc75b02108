"""Checks that the sides of a class say the same of the same world."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bench2robust.core.domain import EquivalenceClass, Side
from bench2robust.core.episode import Assignment, Mode, Scenario, Task
from bench2robust.core.tools import ToolKind

from .subject import Subject

_Said = Mapping[str, frozenset[str]]
"""Field to the values that were read in it."""


def sides(subject: Subject, task: Task) -> Iterator[str]:
    """Check each two sides that a task can use, by what omniscient reads of either before it writes.

    What has a state or a number by the domain file (`FieldRules`) must be found on both sides: one of two
    sides may tell of more records, but where both tell of a field they have some value in common.
    """
    for cls in subject.domain.classes:
        counting = subject.certificate(task).sides.get(cls.name, ())
        said = {s.name: _read(subject, task, cls, s) for s in cls.sides if s.name in counting}
        names = list(said)
        for first, second in ((a, b) for n, a in enumerate(names) for b in names[n + 1 :]):
            for field in sorted(said[first].keys() & said[second].keys()):
                ours, theirs = said[first][field], said[second][field]
                if ours.isdisjoint(theirs):
                    yield (
                        f"{cls.name} by {first} says {field}={_shown(ours)}, by {second} {field}={_shown(theirs)}"
                    )


def _read(subject: Subject, task: Task, cls: EquivalenceClass, side: Side) -> _Said:
    """Return what omniscient reads of one side while the others are blocked, up to the first write."""
    others = frozenset(tool for s in cls.sides if s is not side for tool in s.tools)
    blocked = others - frozenset(side.tools) - subject.domain.exempt
    block = Assignment(Scenario.S2, Scenario.S2, blocked, cls.name, side.name)
    found: dict[str, set[str]] = {}
    for record in subject.play(task, "omniscient", Mode.INJECT_ALT, block).trajectory.records:
        if record.true is None or record.true.error:
            continue
        tool = record.call.name
        if subject.kinds.get(tool) is ToolKind.WRITE:
            break
        rules = subject.domain.fields.get(tool)
        if tool in side.tools and rules is not None:
            for pattern in (*rules.state, *rules.numeric):
                path = pattern.split(".")
                name = next((key for key in reversed(path) if key not in ("*", "$")), "")
                if name:
                    found.setdefault(name, set()).update(_at(_parsed(record.true.text), path))
    return {name: frozenset(values) for name, values in found.items() if values}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _at(value: Any, path: list[str]) -> Iterator[str]:
    if not path:
        if isinstance(value, str | int | float):
            yield f"{value:g}" if isinstance(value, int | float) else value
    elif path[0] == "$":
        yield from _at(value, path[1:])
    elif path[0] == "*":
        for inner in (
            value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
        ):
            yield from _at(inner, path[1:])
    elif isinstance(value, Mapping) and path[0] in value:
        yield from _at(value[path[0]], path[1:])


def _shown(values: frozenset[str]) -> str:
    first, *rest = sorted(values)
    return f"{first!r} and {len(rest)} more" if rest else repr(first)
