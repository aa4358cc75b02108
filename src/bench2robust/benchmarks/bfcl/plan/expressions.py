"""Where an argument's value comes from: the user's words, a field of what was delivered, or both in an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench2robust.core.plan import Facts

NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
"""A number in a text, thousands separated or not."""


class Missing(Exception):
    """A fact is not known yet; the argument is its name."""


class Lost(Exception):
    """A fact does not hold what an expression needs; the argument is its name."""


class Expression(Protocol):
    """Something that has a value once its facts are known."""

    def value(self, facts: Facts) -> Any:
        """Return the value.

        Raises:
            Missing: a fact is not known yet.
            Lost: a fact does not hold it.
        """
        ...

    def facts(self) -> Iterator[str]:
        """Return the names of the facts it looks at."""
        ...


@dataclass(frozen=True, slots=True)
class Said:
    """What the user said, or what the choice of a tool and its documentation leave no doubt about."""

    literal: Any

    def value(self, facts: Facts) -> Any:
        """Return it."""
        return self.literal

    def facts(self) -> Iterator[str]:
        """Return none."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Key:
    """The n-th key of an object, as a step of a path (records by id)."""

    place: int


@dataclass(frozen=True, slots=True)
class Nth:
    """The value under the n-th key of an object, as a step of a path."""

    place: int


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a fact."""

    fact: str
    path: tuple[str | int | Key | Nth, ...] = ()

    def value(self, facts: Facts) -> Any:
        """Follow the path."""
        found = known(facts, self.fact)
        try:
            for step in self.path:
                if isinstance(step, Key):
                    found = list(found)[step.place]
                else:
                    found = list(found.values())[step.place] if isinstance(step, Nth) else found[step]
        except (KeyError, IndexError, TypeError, AttributeError):
            raise Lost(self.fact) from None
        return found

    def facts(self) -> Iterator[str]:
        """Return the one."""
        yield self.fact


@dataclass(frozen=True, slots=True)
class NumberIn:
    """The n-th number in a text."""

    text: Expression
    place: int

    def value(self, facts: Facts) -> Any:
        """Read it: an integer where it is written as one."""
        found = numbers(str(self.text.value(facts)))
        if not -len(found) <= self.place < len(found):
            raise Lost(next(self.text.facts(), ""))
        return found[self.place]

    def facts(self) -> Iterator[str]:
        """Return those of the text."""
        return self.text.facts()


@dataclass(frozen=True, slots=True)
class Piece:
    """The n-th piece of a text between separators."""

    text: Expression
    separator: str
    place: int

    def value(self, facts: Facts) -> Any:
        """Cut it out."""
        found = pieces(str(self.text.value(facts)), self.separator)
        if not -len(found) <= self.place < len(found):
            raise Lost(next(self.text.facts(), ""))
        return found[self.place]

    def facts(self) -> Iterator[str]:
        """Return those of the text."""
        return self.text.facts()


@dataclass(frozen=True, slots=True)
class Sum:
    """``constant + factor * number``, rounded where the user or the tool says so."""

    number: Expression
    factor: float = 1
    constant: float = 0
    digits: int | None = None
    """Decimals kept; None keeps all."""

    def value(self, facts: Facts) -> Any:
        """Compute it."""
        number = self.number.value(facts)
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise Lost(next(self.number.facts(), ""))
        return computed(number, self.factor, self.constant, self.digits)

    def facts(self) -> Iterator[str]:
        """Return those of the number."""
        return self.number.facts()


@dataclass(frozen=True, slots=True)
class Text:
    """Texts and values put together; a number is shown without a needless ``.0`` if `short`."""

    parts: tuple[str | Expression, ...]
    short: bool = False

    def value(self, facts: Facts) -> Any:
        """Put it together."""
        return "".join(
            part if isinstance(part, str) else shown(part.value(facts), self.short) for part in self.parts
        )

    def facts(self) -> Iterator[str]:
        """Return those of the parts."""
        for part in self.parts:
            if not isinstance(part, str):
                yield from part.facts()


@dataclass(frozen=True, slots=True)
class Joined:
    """The elements of a list, written one after the other."""

    elements: Expression
    separator: str

    def value(self, facts: Facts) -> Any:
        """Write them."""
        found = self.elements.value(facts)
        if not isinstance(found, list):
            raise Lost(next(self.elements.facts(), ""))
        return self.separator.join(map(str, found))

    def facts(self) -> Iterator[str]:
        """Return those of the list."""
        return self.elements.facts()


@dataclass(frozen=True, slots=True)
class Items:
    """A list of expressions."""

    items: tuple[Expression, ...]

    def value(self, facts: Facts) -> Any:
        """Return the list of their values."""
        return [item.value(facts) for item in self.items]

    def facts(self) -> Iterator[str]:
        """Return those of all."""
        for item in self.items:
            yield from item.facts()


@dataclass(frozen=True, slots=True)
class Members:
    """An object of expressions."""

    members: Mapping[str, Expression]

    def value(self, facts: Facts) -> Any:
        """Return the object of their values."""
        return {key: item.value(facts) for key, item in self.members.items()}

    def facts(self) -> Iterator[str]:
        """Return those of all."""
        for item in self.members.values():
            yield from item.facts()


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a write answered; where that answer was lost, the same from a read."""

    answer: Expression
    read: Expression

    def value(self, facts: Facts) -> Any:
        """Return the answer's if it was delivered, else the read's."""
        try:
            return self.answer.value(facts)
        except (Missing, Lost):
            return self.read.value(facts)

    def facts(self) -> Iterator[str]:
        """Return those of both."""
        yield from self.answer.facts()
        yield from self.read.facts()


def known(facts: Facts, fact: str) -> Any:
    """Return a fact's value.

    Raises:
        Missing: it is not known yet.
        Lost: no way gave it.
    """
    if fact not in facts:
        raise Missing(fact)
    if facts[fact] is None:
        raise Lost(fact)
    return facts[fact]


def numbers(text: str) -> Sequence[int | float]:
    """Return the numbers in a text."""
    found = (match.replace(",", "") for match in NUMBER.findall(text))
    return [float(n) if "." in n else int(n) for n in found]


def pieces(text: str, separator: str) -> Sequence[str]:
    """Return the parts of a text between separators, without what surrounds them; a sentence keeps its stop."""
    if separator == "." and " " in text:
        return [sentence.strip() for sentence in re.findall(r"[^.]+\.?", text) if sentence.strip()]
    return [part.strip() for part in text.split(separator)]


def computed(number: float, factor: float, constant: float, digits: int | None) -> int | float:
    """Return ``constant + factor * number``, rounded."""
    result = number if factor == 1 and constant == 0 else constant + factor * number
    return result if digits is None else round(result, digits or None)


def shown(value: Any, short: bool) -> str:  # noqa: FBT001
    """Return a value as a text shows it."""
    if short and isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
