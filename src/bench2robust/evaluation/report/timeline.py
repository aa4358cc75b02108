"""What the explorer shows of one episode: short rows that refer to texts by number.

Texts repeat: every policy reads the same order, five seeds ask the same question. So an episode holds
numbers, and each text is kept once (`Texts`). What the numbers mean is said in one place, here; the
page's ``timeline.js`` reads the same rows.

A timeline is ``[messages, calls, assignment, parts]``:

- a message is ``[0, text]`` (user), ``[1, text]`` (assistant), ``[2, call]`` or ``[2, call, text]`` (a call and
  what was said beside it), or ``[3, tool, arguments, answer]`` (a call that the user made);
- a call is ``[tool, arguments, flags, delivered, true, noise, drawn, withheld, corrupted, note]``, cut after the
  last value that says something; `flags` adds up `EXECUTED` and the like, -1 stands for "none", `corrupted` is a
  list of ``[path, true, delivered]``;
- the assignment is ``[class, side, [blocked tool, …]]``, and parts are ``[name, verdict]``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from bench2robust.core.episode import Assignment, Message, Role
from bench2robust.core.noise import NOISE_TYPES
from bench2robust.core.tools import CallRecord
from bench2robust.evaluation.lines import Episode

EXECUTED, ERROR, BLOCKED, GENUINE = 1, 2, 4, 8
NONE: Final = -1
LONGEST: Final = 6000
"""Characters of one text that the report carries; what is longer is cut, and says so."""
_USER, _ASSISTANT, _CALL, _USER_CALL = range(4)
_PLACE: Final = {noise: place for place, noise in enumerate(NOISE_TYPES)}


class Texts:
    """Every text once, by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.cut = 0
        """Texts that were cut."""

    def number(self, text: str) -> int:
        """Return the number of a text, which is cut to what the report carries."""
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more characters: b2r show has them)"
            self.cut += text not in self._numbers
        return self._numbers.setdefault(text, len(self._numbers))

    def json(self, value: Any) -> int:
        """Return the number of a value's JSON."""
        return self.number(json.dumps(value, ensure_ascii=False, default=str))

    def __len__(self) -> int:
        return len(self._numbers)

    def all(self) -> list[str]:
        """Return the texts in the order of their numbers."""
        return list(self._numbers)


def timeline(episode: Episode, texts: Texts) -> list[Any]:
    """Return an episode's timeline; its texts are added to `texts`."""
    trajectory, result = episode.trajectory, episode.result
    return [
        [_message(m, texts) for m in trajectory.messages if m.role is not Role.TOOL],
        [_call(record, texts) for record in trajectory.records],
        _assignment(result.assignment, texts),
        [[texts.number(name), int(verdict)] for name, verdict in result.outcome.score.parts.items()],
    ]


def numbers(row: list[Any]) -> set[int]:
    """Return the number of every text that a timeline refers to."""
    found: set[int] = set()

    def seen(number: int) -> int:
        found.add(number)
        return number

    renumbered(row, seen)
    return found


def renumbered(row: list[Any], new: Callable[[int], int]) -> list[Any]:
    """Return the timeline with ``new(number)`` in place of each text's number."""
    messages, calls, (class_, side, blocked), parts = row
    return [
        [_renumbered_message(message, new) for message in messages],
        [_renumbered_call(call, new) for call in calls],
        [new(class_), new(side), [new(tool) for tool in blocked]],
        [[new(name), verdict] for name, verdict in parts],
    ]


def _renumbered_message(message: list[int], new: Callable[[int], int]) -> list[int]:
    kind, *rest = message
    if kind == _CALL:
        return [kind, rest[0], *map(new, rest[1:])]
    return [kind, *map(new, rest)]


def _renumbered_call(call: list[Any], new: Callable[[int], int]) -> list[Any]:
    full = [*call, *_REST[len(call) - _FIXED :]]
    tool, arguments, flags, delivered, true, noise, drawn, withheld, corrupted, note = full
    return _trimmed(
        [
            *(new(tool), new(arguments), flags, new(delivered)),
            *(true if true == NONE else new(true), noise, drawn),
            withheld if withheld == NONE else new(withheld),
            [list(map(new, field)) for field in corrupted],
            note if note == NONE else new(note),
        ]
    )


def _message(message: Message, texts: Texts) -> list[int]:
    if message.record is not None:
        aside = [texts.number(message.text)] if message.text else []
        return [_CALL, message.record, *aside]
    if (call := message.call) is not None:
        written = (texts.number(call.name), texts.json(dict(call.arguments)), texts.number(message.text))
        return [_USER_CALL, *written]
    return [_USER if message.role is Role.USER else _ASSISTANT, texts.number(message.text)]


_FIXED: Final = 4
_REST: Final[tuple[Any, ...]] = (NONE, NONE, NONE, NONE, [], NONE)
"""What a call's values after the first four are when they say nothing."""


def _call(record: CallRecord, texts: Texts) -> list[Any]:
    differs = record.true is not None and record.true.text != record.delivered.text
    flags = EXECUTED * record.executed + ERROR * record.delivered.error
    flags += BLOCKED * record.blocked + GENUINE * record.genuine_error
    return _trimmed(
        [
            texts.number(record.call.name),
            texts.json(dict(record.call.arguments)),
            flags,
            texts.number(record.delivered.text),
            texts.number(record.true.text) if differs and record.true else NONE,
            _PLACE.get(record.noise, NONE),
            NONE if record.drawn is None else _PLACE.get(record.drawn, NONE),
            NONE if record.withheld is None else texts.number(record.withheld),
            [[texts.number(c.path), texts.json(c.true), texts.json(c.delivered)] for c in record.corrupted],
            texts.number(record.note) if record.note else NONE,
        ]
    )


def _trimmed(call: list[Any]) -> list[Any]:
    while len(call) > _FIXED and call[-1] == _REST[len(call) - _FIXED - 1]:
        call.pop()
    return call


def _assignment(assignment: Assignment, texts: Texts) -> list[Any]:
    blocked = [texts.number(tool) for tool in sorted(assignment.blocked)]
    return [texts.number(assignment.equivalence), texts.number(assignment.side), blocked]
