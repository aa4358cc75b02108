"""Which strategy to deploy: the best expected pass rate, and among those it cannot be told from the cheapest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bench2robust.core.errors import SpecError
from bench2robust.evaluation.tables.layouts import clean_probability
from bench2robust.evaluation.tables.table import Unit, number

from .evidence import Conditions, Evidence
from .model import Interval, Model

MARGIN: Final = 0.005
"""A difference in pass rate that nobody would pay for: half a point."""
_FEW: Final = 30
"""Tasks below which an interval over tasks is too short."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Raises:
        SpecError: a limit on tokens that cannot be.
    """

    conditions: Conditions
    max_tokens: float | None = None
    """Most tokens an episode may take on average; None for no limit."""

    def __post_init__(self) -> None:
        if self.max_tokens is not None and not self.max_tokens > 0:
            raise SpecError(f"expected more than 0, got max-tokens={self.max_tokens!r}")


@dataclass(frozen=True, slots=True)
class Option:
    """A strategy under the conditions that were asked for."""

    strategy: str
    rate: Interval
    """Expected pass rate."""
    cost: float | None
    """Expected cost of an episode; None where it is not known."""
    behind: Interval
    """By how much it is behind the best one."""
    tied: bool
    """Whether it cannot be told from the best one: the interval holds 0, or the difference is below `MARGIN`."""
    excluded: bool = False
    """Whether it costs more than is allowed."""


@dataclass(frozen=True, slots=True)
class Advice:
    """An answer."""

    question: Question
    chosen: Option
    options: tuple[Option, ...]
    """Every strategy, best first."""
    unit: str
    source: str
    basis: str
    """What the numbers are made from."""
    prior: bool
    settings: dict[str, object] = field(default_factory=dict)
    """With which ``b2r run`` plays the chosen strategy."""
    warnings: tuple[str, ...] = ()

    @property
    def tie(self) -> tuple[Option, ...]:
        """The other options that the chosen one cannot be told from, or was preferred to for its cost."""
        allowed = [one for one in self.options if one.tied and not one.excluded]
        return tuple(one for one in allowed if one is not self.chosen) if len(allowed) > 1 else ()

    def lines(self) -> tuple[str, str, str]:
        """Return the answer in three lines: what, compared with what, and from what."""
        best, conditions = self.chosen, self.question.conditions
        first = f"deploy {best.strategy}: {_interval(best.rate)} of episodes pass, expected at {conditions}"
        return first, self._comparison(), self.basis

    def _comparison(self) -> str:
        best = self.chosen
        others = [one for one in self.options if one is not best and not one.excluded]
        if not others:
            return "nothing to compare it with: no other strategy is in the evidence and within the limit"
        if self.tie:
            names = ", ".join(f"{one.strategy} ({_percent(one.rate.mean)})" for one in self.tie)
            costs = ", ".join(f"{one.strategy} {self.price(one)}" for one in (best, *self.tie))
            return f"a tie with {names}: the cheaper is taken ({self.unit} an episode: {costs})"
        second = others[0]
        return (
            f"next is {second.strategy} with {_interval(second.rate)}: {_points(second.behind)} behind; "
            f"{self.unit} an episode: {self.price(best)} against {self.price(second)}"
        )

    def price(self, option: Option) -> str:
        """Return what an option costs, as text."""
        if option.cost is None:
            return "unknown"
        return number(option.cost, Unit.TOKENS if self.unit == "tokens" else Unit.NUMBER)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values."""
        conditions = self.question.conditions
        return {
            "strategy": self.chosen.strategy,
            "conditions": {
                "clean_probability": conditions.clean_probability,
                "max_consecutive": conditions.max_consecutive,
                "budget": conditions.budget,
                "alternatives": conditions.alternatives,
            },
            "max_tokens": self.question.max_tokens,
            "tie": [one.strategy for one in self.tie],
            "options": [
                {
                    "strategy": one.strategy,
                    "pass_rate": _plain(one.rate),
                    "behind": _plain(one.behind),
                    "cost": one.cost,
                    "tied": one.tied,
                    "excluded": one.excluded,
                }
                for one in self.options
            ],
            "unit": self.unit,
            "source": self.source,
            "prior": self.prior,
            "explanation": list(self.lines()),
            "warnings": list(self.warnings),
            "settings": dict(self.settings),
        }


class Advisor:
    """Answers questions from evidence; the model is fitted once.

    Args:
        evidence: one's own runs, or `evidence.from_paper()`.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.model = Model(evidence)

    def answer(self, question: Question) -> Advice:
        """Return which strategy to deploy.

        Raises:
            SpecError: a limit on tokens where tokens are not known, or one that nothing keeps.
        """
        ranked = self._ranked(question)
        allowed = [one for one in ranked if not one.excluded]
        if not allowed:
            dearest = min((one.cost for one in ranked if one.cost is not None), default=0.0)
            raise SpecError(
                f"expected a limit that some strategy keeps, got max-tokens={question.max_tokens!r}; "
                f"the cheapest takes about {dearest:,.0f}"
            )
        tied = [one for one in allowed if one.tied]
        chosen = min(tied, key=lambda one: (float("inf") if one.cost is None else one.cost, -one.rate.mean))
        return Advice(
            question,
            chosen,
            ranked,
            self.evidence.unit,
            self.evidence.source,
            self._basis(),
            self.evidence.prior,
            dict(self.evidence.settings.get(chosen.strategy, {})),
            tuple(self._warnings(question.conditions, tied)),
        )

    def _ranked(self, question: Question) -> tuple[Option, ...]:
        model, conditions = self.model, self._measured(question.conditions)
        if question.max_tokens is not None and self.evidence.unit != "tokens":
            raise SpecError(
                f"expected runs of models beside max-tokens={question.max_tokens!r}, "
                f"got runs that know {self.evidence.unit} only; leave the limit out"
            )
        rates = {name: model.rate(name, conditions) for name in model.strategies}
        costs = {name: model.cost(name, conditions) for name in model.strategies}
        excluded = {name for name in rates if self._too_dear(costs[name], question.max_tokens)}
        names = sorted(rates, key=lambda name: -rates[name].mean)
        best = next((name for name in names if name not in excluded), names[0])
        options = []
        for name in names:
            behind = model.difference(best, name, conditions)
            tied = name == best or behind.low <= 0 or behind.mean < MARGIN
            options.append(
                Option(
                    name,
                    rates[name],
                    costs[name],
                    behind,
                    tied and name not in excluded,
                    name in excluded,
                )
            )
        return tuple(options)

    @staticmethod
    def _too_dear(cost: float | None, most: float | None) -> bool:
        return most is not None and (cost is None or cost > most)

    def _basis(self) -> str:
        model = self.model
        if self.evidence.prior:
            start = f"no runs of your own were given: the numbers are {self.evidence.source}"
        else:
            episodes = sum(sum(one.played) for one in self.evidence.trials)
            start = f"from {episodes:,.0f} episodes on {model.tasks:,} tasks ({self.evidence.source})"
        return (
            f"{start}, by a logistic regression on severity that misses the measured rates by at most "
            f"{100 * model.misfit:.1f} points"
        )

    def _warnings(self, conditions: Conditions, options: Sequence[Option]) -> Iterable[str]:
        yield from self.evidence.warnings
        answered = self._measured(conditions)
        if answered != conditions:
            yield (
                f"{clean_probability(conditions.clean_probability)} is milder than every failure that was measured: "
                f"the rates are those at {clean_probability(answered.clean_probability)}, so at least that is "
                "expected; `b2r sweep` measures in between"
            )
        yield from outside([one.conditions for one in self.evidence.trials], conditions)
        for option in options:
            own = list(outside([one.conditions for one in self.evidence.of(option.strategy)], conditions))
            if own and not self._everyone_lacks(conditions):
                yield f"{option.strategy}: {own[0]}; it borrows the other strategies' slope there"
        if 0 < self.model.tasks < _FEW:
            yield f"only {self.model.tasks} tasks: the intervals are too short"

    def _measured(self, asked: Conditions) -> Conditions:
        """Return the conditions to answer for: milder than every measured failure, the mildest measured one.

        Between failures and none at all a pass rate follows no simple curve (where one path is blocked it does
        not even end at the clean rate), so what was not measured there is not guessed.
        """
        mildest = self._mildest(asked)
        if mildest is None or not asked.injected or asked.clean_probability <= mildest:
            return asked
        return replace(asked, clean_probability=mildest)

    def _mildest(self, asked: Conditions) -> float | None:
        """Return the largest P(clean) below 1 that was measured, with or without alternatives as asked."""
        failing = [one.conditions for one in self.evidence.trials if one.conditions.injected]
        alike = [one for one in failing if one.alternatives == asked.alternatives] or failing
        return max((one.clean_probability for one in alike), default=None)

    def _everyone_lacks(self, conditions: Conditions) -> bool:
        return any(outside([one.conditions for one in self.evidence.trials], conditions))


def outside(measured: Sequence[Conditions], asked: Conditions) -> Iterable[str]:
    """Return, as sentences, in what respects conditions are outside of what was measured."""
    alike = [one for one in measured if one.alternatives == asked.alternatives]
    word = "with" if asked.alternatives else "without"
    if not alike or (asked.injected and not any(one.injected for one in alike)):
        yield f"nothing was measured {word} alternatives"
        alike = list(measured)
    clean = sorted({one.clean_probability for one in alike})
    if not clean[0] <= asked.clean_probability <= clean[-1]:
        yield (
            f"{clean_probability(asked.clean_probability)} is outside the measured range "
            f"({_range(clean, lambda p: f'{p:.2f}')} {word} alternatives)"
        )
    if not asked.injected:
        return
    failing = [one for one in alike if one.injected] or list(measured)
    for name, attribute in (("K_max", "max_consecutive"), ("B", "budget")):
        there = [getattr(one, attribute) for one in failing]
        value = getattr(asked, attribute)
        known = sorted(one for one in there if one is not None)
        if value is None and None not in there:
            yield f"{name} without limit is outside the measured range ({_range(known, str)})"
        elif value is not None and not (known and known[0] <= value <= known[-1]):
            seen = _range(known, str) if known else "no limit"
            yield f"{name}={value} is outside the measured range ({seen})"


def _range(values: Sequence[Any], show: Callable[[Any], str]) -> str:
    first, last = show(values[0]), show(values[-1])
    return first if first == last else f"{first} to {last}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _interval(rate: Interval) -> str:
    return f"{_percent(rate.mean)} [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def _points(difference: Interval) -> str:
    low, high = (number(100 * end, Unit.NUMBER) for end in (difference.low, difference.high))
    return f"{number(100 * difference.mean, Unit.NUMBER)} points [{low}, {high}]"


def _plain(interval: Interval) -> dict[str, float]:
    return {"mean": interval.mean, "low": interval.low, "high": interval.high}
