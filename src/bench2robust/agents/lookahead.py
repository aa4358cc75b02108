"""Which way to a fact is worth trying next, or none: expected reward over everything that may come of it.

A small dynamic program. An option is a way to the fact, as the tools that are still to be called; a state
is how far each option has come and how often its next call has failed. What is blocked stays hidden all the
way: after every imagined answer or failure the scenarios are weighed anew. It is exact but for three things:
the injection limits are taken as they stand now (the consecutive one is counted on), further calls of a tool
that has answered take as many steps as is to be expected, and after `_HORIZON` imagined failures the next
call of an option that is open is taken to be answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from .worth import Worth

_HORIZON = 4


class Try(NamedTuple):
    """The calls of one tool that an option takes."""

    fails: float
    """Probability that it fails, where its tool is not blocked."""
    left: int
    """Failures in a row that the limits still allow."""
    made: int
    """How often the first of these very calls has been made before."""
    calls: int
    """How many they are."""


class Odds(NamedTuple):
    """A group of scenarios that block the same of the calls at hand."""

    weight: float
    blocked: frozenset[tuple[int, int]]
    """Option and tool, by place."""
    impossible: bool
    """Whether no option can work and the task cannot be done, so that abstaining is right."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """Where a policy stands when it wants a fact."""

    options: tuple[tuple[Try, ...], ...]
    odds: tuple[Odds, ...]
    steps: int
    """Steps made, and those that are still needed once the fact is there."""
    most: int
    """How often the most repeated call of the episode was made."""
    worth: Worth


class _Place(NamedTuple):
    """A state of the program."""

    options: tuple[tuple[int, int], ...]
    """For each option, tools that have answered and failures of the next one."""
    steps: float
    most: int


@lru_cache(maxsize=4096)  # episodes begin alike
def choose(prospect: Prospect) -> int | None:
    """Return the place of the option whose next call is worth most, or None when abstaining is.

    Where two are worth the same, the earlier one, and any before abstaining.
    """
    program = _Program(prospect)
    start = _Place(((0, 0),) * len(prospect.options), 0, prospect.most)
    best, value = None, 0.0
    for option in range(len(prospect.options)):
        worth = program.call(start, option)
        if worth is not None and worth > value + 1e-12:
            best, value = option, worth
    return best if best is not None and value >= program.abstain(start) else None


class _Program:
    def __init__(self, prospect: Prospect) -> None:
        self._it = prospect
        self._values: dict[_Place, float] = {}

    def value(self, place: _Place) -> float:
        """Return the expected reward of going on in the best way."""
        if place not in self._values:
            calls = (self.call(place, option) for option in range(len(place.options)))
            self._values[place] = max(self.abstain(place), *(c for c in calls if c is not None), 0.0)
        return self._values[place]

    def abstain(self, place: _Place) -> float:
        """Return the expected reward of handing over now."""
        weights = self._weights(place.options)
        impossible = sum(w for w, odds in zip(weights, self._it.odds, strict=True) if odds.impossible) / sum(
            weights
        )
        it = self._it
        return it.worth.abstaining * impossible * it.worth.of(it.steps + place.steps, place.most)

    def call(self, place: _Place, option: int) -> float | None:
        """Return the expected reward of an option's next call; None when it can bring nothing."""
        it = self._it
        answered, failed = place.options[option]
        at = it.options[option][answered]
        weights = self._weights(place.options)
        works = sum(
            w for w, odds in zip(weights, it.odds, strict=True) if (option, answered) not in odds.blocked
        ) / sum(weights)
        last = sum(failures for _, failures in place.options) >= _HORIZON
        good = works if last or failed >= at.left else works * (1.0 - at.fails)
        if good <= 0.0:
            return None
        most = max(place.most, at.made + failed + 1)
        called = place._replace(steps=place.steps + 1, most=most)
        # What an answering tool is called again for takes some more failures, on the average.
        done = called._replace(steps=called.steps + round((at.calls - 1) / (1.0 - at.fails), 3))
        if answered + 1 == len(it.options[option]):
            value = good * it.worth.of(it.steps + done.steps, most)
        else:
            value = good * self.value(self._moved(done, option, (answered + 1, 0)))
        if good < 1.0 and not last:
            value += (1.0 - good) * self.value(self._moved(called, option, (answered, failed + 1)))
        return value

    def _moved(self, place: _Place, option: int, to: tuple[int, int]) -> _Place:
        options = place.options
        return place._replace(options=(*options[:option], to, *options[option + 1 :]))

    def _weights(self, options: Sequence[tuple[int, int]]) -> list[float]:
        """Return the joint weight of each group of scenarios with what is imagined to have come."""
        weights = []
        for odds in self._it.odds:
            weight = odds.weight
            for option, (answered, failed) in enumerate(options):
                calls = self._it.options[option]
                for place in range(answered):
                    weight *= 0.0 if (option, place) in odds.blocked else 1.0
                if failed and (option, answered) not in odds.blocked:
                    weight *= calls[answered].fails ** failed if failed <= calls[answered].left else 0.0
            weights.append(weight)
        return weights
