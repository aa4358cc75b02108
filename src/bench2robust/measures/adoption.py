"""Whether an agent passed on a value that a silent error had made false (DESIGN 4.11).

A corrupted response counts as *adopted* when, later on, one of its false values is an argument of a write,
or the user is told it, and the agent can have it from nowhere else: neither another response nor the
user had that value by then. A number that a utility (a calculator) was given makes its result false too.
What an agent computes in its head, or does because of a false value without repeating it, is not seen:
the count is a lower bound. An emptied field (*partial*) is adopted when a write is given an empty value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bench2robust.core.episode import Role, Trajectory
from bench2robust.core.noise import SILENT
from bench2robust.core.reading import parse
from bench2robust.core.tools import CallRecord, ToolKind

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_EMPTY = "\0empty"


def adopted(trajectory: Trajectory, kinds: Mapping[str, ToolKind]) -> tuple[int, ...]:
    """Count the silently corrupted responses of which a false value was passed on, by `core.noise.SILENT`."""
    counts = dict.fromkeys(SILENT, 0)
    if any(record.corrupted for record in trajectory.records):
        watch = _Watch(kinds)
        watch.go_through(trajectory)
        for index in watch.passed_on:
            counts[trajectory.records[index].noise] += 1
    return tuple(counts.values())


class _Watch:
    """Follows false values through an episode."""

    def __init__(self, kinds: Mapping[str, ToolKind]) -> None:
        self._kinds = kinds
        self._false: dict[int, set[str]] = {}
        """Index of a corrupted response to its false values."""
        self._known: set[str] = set()
        """Values that the agent has from elsewhere."""
        self.passed_on: set[int] = set()

    def go_through(self, trajectory: Trajectory) -> None:
        for message in trajectory.messages:
            if message.role is Role.USER:
                self._known.update(_in_text(message.text))
            elif message.role is Role.ASSISTANT:
                if message.record is None:
                    self._told(message.text)
                else:
                    self._called(trajectory.records[message.record])

    def _told(self, text: str) -> None:
        values, low = _in_text(text), f" {text.lower()} "
        for index, false in self._open():
            if any(value in values or _says(low, value) for value in false):
                self.passed_on.add(index)

    def _called(self, record: CallRecord) -> None:
        kind = self._kinds.get(record.call.name)
        given = set(_leaves(dict(record.call.arguments)))
        if kind is ToolKind.WRITE:
            self.passed_on.update(index for index, false in self._open() if false & given)
        answer = set(_leaves(parse(record.delivered.text)))
        if kind is ToolKind.UTILITY and record.call.arguments and not record.delivered.error:
            used = given.union(*(_in_text(v) for v in record.call.arguments.values() if isinstance(v, str)))
            tainted = [index for index, false in self._false.items() if (false - self._known) & used]
            for index in tainted:
                self._false[index] |= answer - self._known
            if tainted:
                return
        if record.corrupted:
            false = {value for field in record.corrupted for value in _false(field.true, field.delivered)}
            self._false[record.index] = false
            self._known |= answer - false
        elif not record.delivered.error:
            self._known |= answer - {_EMPTY}

    def _open(self) -> Iterator[tuple[int, set[str]]]:
        """Give the corrupted responses not passed on yet, with what can only be from them."""
        for index, false in self._false.items():
            if index not in self.passed_on and (only := false - self._known):
                yield index, only


def _false(true: Any, delivered: Any) -> Iterable[str]:
    return set(_leaves(delivered)) - set(_leaves(true))


def _leaves(value: Any) -> Iterator[str]:
    """Give every plain value inside a JSON value, in a form in which equal values are equal."""
    if isinstance(value, dict):
        if not value:
            yield _EMPTY
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        if not value:
            yield _EMPTY
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield _number(value) or value.lower() or _EMPTY
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:.10g}"


def _number(text: str) -> str:
    try:
        return f"{float(text):.10g}"
    except ValueError:
        return ""


def _in_text(text: str) -> set[str]:
    """Return the numbers in a text."""
    return {_number(match.replace(",", "")) for match in _NUMBER.findall(text)}


def _says(text: str, value: str) -> bool:
    """Whether a lower-case text holds a value that is no number, as a word."""
    if value == _EMPTY or _number(value) or value not in text:
        return False
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
