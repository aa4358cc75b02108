"""Finds the expression that gives a gold value from what the user said and what was delivered before.

Guided by gold, and never by what a task is: words first, then fields, then simple expressions over them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .expressions import (
    Expression,
    Field,
    Items,
    Joined,
    Key,
    Members,
    Nth,
    NumberIn,
    Piece,
    Said,
    Sum,
    Text,
    computed,
    numbers,
    pieces,
)
from .speech import Speech

_MOST_LEAVES = 400
_SEPARATORS = ("\n", "/", ".", ",", "|", ":", " ")
_SHORTEST = 3
"""Shorter texts of a field are found in anything."""


@dataclass(frozen=True, slots=True)
class Known:
    """A fact on the pristine run."""

    fact: str
    value: Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value inside a fact."""

    at: Field
    value: Any


def leaves(known: Known) -> Iterator[Leaf]:
    """Return the values inside a fact, lists and keys of records too, at most a few hundred."""
    found = _leaves(known.value, Field(known.fact))
    for _, leaf in zip(range(_MOST_LEAVES), found, strict=False):
        yield leaf


def _leaves(value: Any, at: Field) -> Iterator[Leaf]:
    yield Leaf(at, value)
    if isinstance(value, dict):
        for place, (key, item) in enumerate(value.items()):
            by_id = isinstance(item, dict | list) and any(c.isdigit() for c in key)
            nth = -1 if place == len(value) - 1 else place  # the last one is the newest
            if isinstance(item, dict) or by_id:
                yield Leaf(Field(at.fact, (*at.path, Key(nth))), key)
            yield from _leaves(item, Field(at.fact, (*at.path, Nth(nth) if by_id else key)))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            last = place == len(value) - 1 and place > 0
            yield from _leaves(item, Field(at.fact, (*at.path, -1 if last else place)))


@dataclass(frozen=True, slots=True)
class Search:
    """What a value may come from.

    Args:
        now: the words of this turn.
        before: the words of the turns before it.
        known: the facts, newest first.
        figures: numbers that the tool's documentation names, such as the size of a tank.
    """

    now: Speech
    before: Speech
    known: Sequence[Known]
    figures: frozenset[float] = frozenset()

    def find(self, value: Any) -> Expression | None:
        """Return an expression for a value, or None."""
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, dict):
            found = {key: self.find(item) for key, item in value.items()}
            return (
                None if None in found.values() else Members({k: v for k, v in found.items() if v is not None})
            )
        if self.now.says(value):
            return Said(value)
        if isinstance(value, str) and len(value) >= _SHORTEST and self.before.says(value):
            return Said(value)
        return self.delivered(value) or (Said(value) if self.before.says(value) else self._composed(value))

    def delivered(self, value: Any, besides: Collection[Expression] = ()) -> Expression | None:
        """Return an expression over fields alone, or None; rather a field that is not among those `besides`."""
        every = [leaf for known in self.known for leaf in leaves(known)]
        every.sort(key=lambda leaf: leaf.at in besides)
        for way in (self._equal, self._number, self._part):
            for leaf in every:
                found = way(leaf, value)
                if found is not None:
                    return found
        return None

    def _list(self, value: list[Any]) -> Expression | None:
        whole = next(
            (leaf.at for k in self.known for leaf in leaves(k) if leaf.value == value and value), None
        )
        if whole is not None:
            return whole
        return self._each(value, self.delivered) or self._each(value, lambda item, besides: self.find(item))

    def _each(
        self, value: list[Any], way: Callable[[Any, Collection[Expression]], Expression | None]
    ) -> Expression | None:
        """Return an expression for each item; equal items are different fields where there are some."""
        found: list[Expression] = []
        for item in value:
            one = way(item, found)
            if one is None:
                return None
            found.append(one)
        return Items(tuple(found))

    def _equal(self, leaf: Leaf, value: Any) -> Expression | None:
        same = leaf.value == value and isinstance(leaf.value, bool) == isinstance(value, bool)
        return leaf.at if same and value != "" else None

    def _number(self, leaf: Leaf, value: Any) -> Expression | None:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        if isinstance(leaf.value, str):
            found = [] if leaf.value.isdigit() else numbers(leaf.value)  # an id or a zip code is no number
            sources: list[tuple[Expression, float]] = [
                (NumberIn(leaf.at, place), number) for place, number in enumerate(found)
            ]
        elif isinstance(leaf.value, int | float) and not isinstance(leaf.value, bool):
            sources = [(leaf.at, leaf.value)]
        else:
            return None
        for source, number in sources:
            if number == value:
                return source
            found_sum = self._sum(source, number, value)
            if found_sum is not None:
                return found_sum
        return None

    def _sum(self, source: Expression, number: float, value: float) -> Sum | None:
        said = sorted(self.now.numbers | self.before.numbers)
        factors = [(1.0, 0.0), *((n, 0.0) for n in said if n > 1)]
        constants = [(-1.0, figure) for figure in sorted(self.figures)]
        for factor, constant in (*factors, *constants):
            for digits in (None, 2, 1, 0):
                if computed(number, factor, constant, digits) == value:
                    return Sum(source, factor, constant, digits)
        return None

    def _part(self, leaf: Leaf, value: Any) -> Expression | None:
        """Return a text that is part of a field, or a field shown as a text."""
        if not isinstance(value, str):
            return None
        if isinstance(leaf.value, list):
            for separator in (", ", "\n", " ", ","):
                if leaf.value and separator.join(map(str, leaf.value)) == value:
                    return Joined(leaf.at, separator)
        if isinstance(leaf.value, str) and value in leaf.value:
            for separator in _SEPARATORS:
                found = pieces(leaf.value, separator)
                if value in found:
                    place = found.index(value)
                    return Piece(leaf.at, separator, -1 if place == len(found) - 1 else place)
        return None

    def _composed(self, value: Any) -> Expression | None:
        """Return a text made of fields and of words that the user said."""
        if not isinstance(value, str):
            return None
        parts: list[str | Expression] = [value]
        texts = sorted(self._texts(), key=lambda one: -len(one[0]))
        for once in (True, False):  # first every field in one place, so that equal ones are all used
            for text, expression in texts:
                parts = _inserted(parts, text, expression, once=once)
        rest = [part for part in parts if isinstance(part, str)]
        if len(rest) == len(parts) or not all(self._spoken(part) for part in rest):
            return None
        return Text(tuple(parts), short=True)

    def _texts(self) -> Iterator[tuple[str, Expression]]:
        """Return every text that a field, or a number in one, is shown as."""
        for known in self.known:
            for leaf in leaves(known):
                if isinstance(leaf.value, bool):
                    continue
                if isinstance(leaf.value, int | float):
                    yield from self._figures(leaf.at, leaf.value)
                elif isinstance(leaf.value, str):
                    if len(leaf.value) >= _SHORTEST:
                        yield leaf.value, leaf.at
                    stem, dot, _ = leaf.value.partition(".")
                    if dot and " " not in leaf.value and len(stem) >= _SHORTEST:
                        yield stem, Piece(leaf.at, ".", 0)
                    for place, number in enumerate(numbers(leaf.value)):
                        yield from self._figures(NumberIn(leaf.at, place), number)

    def _figures(self, source: Expression, number: float) -> Iterator[tuple[str, Expression]]:
        yield str(number), Text((source,))
        if isinstance(number, float):
            if number.is_integer():
                yield str(int(number)), source
            else:
                yield str(round(number)), Sum(source, digits=0)
                yield str(round(number, 2)), Sum(source, digits=2)

    def _spoken(self, text: str) -> bool:
        bare = text.strip(" .,:;!?-+#@$%()'\"\n")
        return len(bare) <= 1 or self.now.says(bare) or self.before.says(bare)


def _inserted(
    parts: list[str | Expression], text: str, expression: Expression, *, once: bool
) -> list[str | Expression]:
    """Put an expression where the texts of `parts` hold what it shows, as a whole word; in one place if `once`."""
    made: list[str | Expression] = []
    placed = False
    for part in parts:
        start = part.find(text) if isinstance(part, str) and not (once and placed) else -1
        if not isinstance(part, str) or start < 0:
            made.append(part)
            continue
        before, after = part[:start], part[start + len(text) :]
        if before[-1:].isalnum() or after[:1].isalnum():
            made.append(part)
            continue
        made += [*([before] if before else []), expression]
        placed = True
        if after:
            made += [after] if once else _inserted([after], text, expression, once=False)
    return made
