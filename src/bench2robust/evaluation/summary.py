"""What a run shows: one row for each agent and mode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import fsum, sqrt
from typing import Any, Final

from bench2robust.core.episode import Escalation, Mode, Scenario, Usage

from .lines import Result

_COUNTS: Final = ("steps", "calls", "injections", "blocked_calls", "blind_repeats")


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate over seeds."""

    mean: float
    std: float | None
    """Sample standard deviation of the per-seed rates; None with a single seed."""
    per_seed: dict[int, float]

    @classmethod
    def of(cls, per_seed: dict[int, float]) -> Rate:
        """Return mean and spread of one rate a seed."""
        values = list(per_seed.values())
        mean = fsum(values) / len(values)
        if len(values) < 2:
            return cls(mean, None, per_seed)
        return cls(mean, sqrt(fsum((v - mean) ** 2 for v in values) / (len(values) - 1)), per_seed)


@dataclass(slots=True)
class ScenarioCount:
    """The episodes of one effective scenario."""

    episodes: int = 0
    passed: int = 0
    escalated: int = 0

    @property
    def pass_rate(self) -> float | None:
        """Share of episodes that passed; None when there are none."""
        return self.passed / self.episodes if self.episodes else None


@dataclass(frozen=True, slots=True)
class Row:
    """One agent in one mode. Rates are shares of episodes, counts are means per episode."""

    agent: str
    mode: Mode
    episodes: int
    pass_rate: Rate
    escalation_rate: float
    premature_rate: float
    """Share of episodes handed over while a viable path was left."""
    abstain_rate: float
    """Share of episodes handed over because no viable path was left."""
    steps: float
    calls: float
    injections: float
    blocked_calls: float
    blind_repeats: int
    """In all episodes together."""
    scenarios: dict[Scenario, ScenarioCount]
    """By effective scenario."""
    ineligible: dict[Scenario, int]
    """Assigned scenario to the episodes that were not eligible for it and ran as S1."""
    requests: float = 0.0
    """Answered requests to models, the user's included; 0 where there is none."""
    tokens: float = 0.0
    cost: float = 0.0
    """US dollars."""


@dataclass(slots=True)
class _Group:
    """The results of one agent in one mode, being counted."""

    passed: dict[int, list[bool]] = field(default_factory=dict)
    escalations: dict[Escalation, int] = field(default_factory=lambda: dict.fromkeys(Escalation, 0))
    totals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))
    scenarios: dict[Scenario, ScenarioCount] = field(default_factory=dict)
    ineligible: dict[Scenario, int] = field(default_factory=dict)
    spent: Usage = field(default_factory=Usage)

    def add(self, result: Result) -> None:
        outcome, assignment = result.outcome, result.assignment
        passed = outcome.score.passed
        self.passed.setdefault(result.seed, []).append(passed)
        self.escalations[outcome.escalation] += 1
        for name in _COUNTS:
            self.totals[name] += getattr(outcome, name)
        if (usage := result.spent) is not None:
            self.spent = self.spent + usage
        count = self.scenarios.setdefault(assignment.effective, ScenarioCount())
        count.episodes += 1
        count.passed += passed
        count.escalated += outcome.escalation is not Escalation.NONE
        if assignment.assigned is not assignment.effective:
            self.ineligible[assignment.assigned] = self.ineligible.get(assignment.assigned, 0) + 1

    def row(self, agent: str, mode: Mode) -> Row:
        episodes = sum(map(len, self.passed.values()))
        means = {name: total / episodes for name, total in self.totals.items()}
        return Row(
            agent=agent,
            mode=mode,
            episodes=episodes,
            pass_rate=Rate.of({seed: sum(passed) / len(passed) for seed, passed in self.passed.items()}),
            escalation_rate=(episodes - self.escalations[Escalation.NONE]) / episodes,
            premature_rate=self.escalations[Escalation.PREMATURE] / episodes,
            abstain_rate=self.escalations[Escalation.ABSTAIN] / episodes,
            steps=means["steps"],
            calls=means["calls"],
            injections=means["injections"],
            blocked_calls=means["blocked_calls"],
            blind_repeats=self.totals["blind_repeats"],
            scenarios={s: self.scenarios[s] for s in Scenario if s in self.scenarios},
            ineligible={s: self.ineligible[s] for s in Scenario if s in self.ineligible},
            requests=self.spent.requests / episodes,
            tokens=(self.spent.prompt_tokens + self.spent.completion_tokens) / episodes,
            cost=self.spent.cost / episodes,
        )


class Tally:
    """Counts results as they come."""

    def __init__(self, results: Iterable[Result] = ()) -> None:
        self._groups: dict[tuple[str, Mode], _Group] = {}
        self.episodes = 0
        self.passed = 0
        for result in results:
            self.add(result)

    def add(self, result: Result) -> None:
        """Count one result."""
        self.episodes += 1
        self.passed += result.outcome.score.passed
        self._groups.setdefault((result.agent, result.mode), _Group()).add(result)

    def rows(self) -> tuple[Row, ...]:
        """Return a row for each agent and mode, in the order in which they first came."""
        return tuple(group.row(agent, mode) for (agent, mode), group in self._groups.items())


def summarise(results: Iterable[Result]) -> tuple[Row, ...]:
    """Return a row for each agent and mode of some results, in the order in which they first came."""
    return Tally(results).rows()


def to_dict(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return rows as JSON values."""
    return [_row(row) for row in rows]


def _row(row: Row) -> dict[str, Any]:
    rate = row.pass_rate
    models = {"requests": row.requests, "tokens": row.tokens, "cost": row.cost} if row.requests else {}
    return {
        "agent": row.agent,
        "mode": str(row.mode),
        "episodes": row.episodes,
        "pass_rate": {
            "mean": rate.mean,
            "std": rate.std,
            "per_seed": {str(seed): value for seed, value in rate.per_seed.items()},
        },
        "escalation_rate": row.escalation_rate,
        "premature_rate": row.premature_rate,
        "abstain_rate": row.abstain_rate,
        "steps": row.steps,
        "calls": row.calls,
        "injections": row.injections,
        "blocked_calls": row.blocked_calls,
        "blind_repeats": row.blind_repeats,
        "scenarios": {
            str(scenario): {
                "episodes": count.episodes,
                "passed": count.passed,
                "pass_rate": count.pass_rate,
                "escalated": count.escalated,
            }
            for scenario, count in row.scenarios.items()
        },
        "ineligible": {str(scenario): count for scenario, count in row.ineligible.items()},
        **models,
    }
