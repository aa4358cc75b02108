"""What a recommendation rests on: how often each strategy passed under which conditions, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bench2robust.core.errors import SpecError
from bench2robust.evaluation.tables import layouts, paper
from bench2robust.evaluation.tables.table import Value

_TASKS, _SEEDS = 402, 5
"""Of the paper's Table 1."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What tools do to whoever uses them.

    Raises:
        SpecError: a probability outside [0, 1], or a limit that cannot be.
    """

    clean_probability: float
    """P(clean) of a tool call; 1 where nothing is injected."""
    max_consecutive: int | None = 2
    """Most failures in a row on one tool (K_max); None for no limit."""
    budget: int | None = 5
    """Most failures in an episode (B); None for no limit."""
    alternatives: bool = False
    """Whether there are alternative tools (and, where failures are injected, paths that are blocked)."""

    def __post_init__(self) -> None:
        p = self.clean_probability
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p <= 1:
            raise SpecError(f"expected a probability between 0 and 1, got clean-prob={p!r}")
        for name, value, least in (("kmax", self.max_consecutive, 1), ("budget", self.budget, 0)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise SpecError(f"expected an integer of at least {least}, got {name}={value!r}")

    def __str__(self) -> str:
        there = "alternatives" if self.alternatives else "no alternatives"
        limits = layouts.limits(self.budget, self.max_consecutive)
        return f"{layouts.clean_probability(self.clean_probability)}, {limits}, {there}"

    @property
    def injected(self) -> bool:
        """Whether anything fails at all."""
        return self.clean_probability < 1


@dataclass(frozen=True, slots=True)
class Trials:
    """What one strategy did under one set of conditions."""

    strategy: str
    conditions: Conditions
    tasks: tuple[str, ...]
    """The tasks, in an order; empty where only sums are known (the paper's)."""
    passed: tuple[float, ...]
    """Episodes passed, by task; one sum where tasks are not known."""
    played: tuple[float, ...]
    """Episodes played, likewise."""
    cost: float | None = None
    """Mean cost of an episode, in the evidence's unit; None where it is not known."""

    @property
    def rate(self) -> float:
        """Share of episodes that passed."""
        return sum(self.passed) / sum(self.played)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything there is.

    Raises:
        SpecError: no trials.
    """

    trials: tuple[Trials, ...]
    unit: str
    """What costs are counted in: ``tokens`` or ``steps``."""
    source: str
    """Where it is from, for people."""
    settings: dict[str, dict[str, object]]
    """Strategy to the settings with which ``b2r run`` plays it; empty where there is none."""
    design_effect: float = 1.0
    """By how much the variance of a pass rate is larger than that of independent episodes; for a difference
    it is not: the strategies met the same tasks."""
    prior: bool = False
    """Whether it is the paper's and not one's own."""
    warnings: tuple[str, ...] = ()
    """What a reader should know of the runs."""

    def __post_init__(self) -> None:
        if not self.trials:
            raise SpecError("expected runs with episodes to recommend from, got none")

    @property
    def strategies(self) -> tuple[str, ...]:
        """The strategies, in the order in which they first came."""
        return tuple(dict.fromkeys(one.strategy for one in self.trials))

    def of(self, strategy: str) -> tuple[Trials, ...]:
        """Return the trials of one strategy."""
        return tuple(one for one in self.trials if one.strategy == strategy)

    def nearest_budget(self, max_consecutive: int | None) -> int | None:
        """Return the budget that the evidence has beside a consecutive limit, or beside the nearest one."""
        pairs = [one.conditions for one in self.trials if one.conditions.injected]
        if not pairs:
            return 5
        wanted = 9 if max_consecutive is None else max_consecutive

        def distance(conditions: Conditions) -> int:
            return abs((9 if conditions.max_consecutive is None else conditions.max_consecutive) - wanted)

        return min(pairs, key=distance).budget


NO_HELP, BTM, RL, RL_BTM = "no help", "BTM", "RL", "RL+BTM"
_MAIN: Final = (NO_HELP, BTM, RL, RL_BTM)
"""The rows of Table 1."""
_COSTED: Final = (NO_HELP, BTM, RL_BTM)
"""The rows of Table 15; RL alone is not in it."""
_MODES: Final = (Conditions(1.0), Conditions(0.6), Conditions(0.6, alternatives=True))


def from_paper() -> Evidence:
    """Return what the paper's Tables 1, 14 and 15 say of Qwen3-4B-Thinking-2507 on Combined Retail."""
    data = paper.data()
    costs = {
        strategy: [_count(value) for value in row[2::3]]
        for strategy, row in zip(_COSTED, data["table15"]["rows"], strict=True)
    }
    found: list[Trials] = []
    for strategy, row in zip(_MAIN, data["table1"]["rows"], strict=True):
        for place, conditions in enumerate(_MODES):
            cost = costs[strategy][place] if strategy in costs else None
            trials = _sums(strategy, conditions, row[3 + place]["v"], _TASKS * _SEEDS)
            found.append(replace(trials, cost=cost))
    for part in ("clean_probability", "limits"):
        for p, budget, consecutive, base, both, _ in data["table14"][part]:
            conditions = Conditions(p, consecutive, budget)
            if part == "limits" and (budget, consecutive) == (5, 2):
                continue  # printed twice
            found += [_sums(NO_HELP, conditions, base, _TASKS), _sums(RL_BTM, conditions, both, _TASKS)]
    return Evidence(
        tuple(found),
        "tokens",
        "the paper's Tables 1, 14 and 15 (Qwen3-4B-Thinking-2507, Combined Retail)",
        {},
        design_effect=_SEEDS,
        prior=True,
    )


def _sums(strategy: str, conditions: Conditions, percent: float, played: int) -> Trials:
    return Trials(strategy, conditions, (), (percent / 100 * played,), (float(played),))


def _count(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def tasks_of(trials: Sequence[Trials]) -> tuple[str, ...]:
    """Return every task of some trials, each once."""
    return tuple(dict.fromkeys(task for one in trials for task in one.tasks))
