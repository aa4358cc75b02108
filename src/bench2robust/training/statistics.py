"""What one iteration of training showed, as whole numbers.

Sums of floats depend on the order in which rollouts arrive, and ranks would decide differently; sums of
integers do not. So everything here is a count, rewards in millionths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Final

from bench2robust.core.domain import Domain
from bench2robust.core.episode import Escalation, Outcome, Scenario
from bench2robust.core.errors import SpecError
from bench2robust.core.tools import CallRecord
from bench2robust.evaluation import Episode

from .reward import Reward

MILLION: Final = 1_000_000
_LOOPS: Final = 4
"""Identical calls from which on an episode counts as looping: where rep of Eq. 2 is 0."""


class Quantity(StrEnum):
    """What a criterion looks at; each is one count divided by another."""

    REWARD = "reward"
    """Mean reward of the injected rollouts."""
    CLEAN_PASS = "clean_pass"
    PASS = "pass"
    """Pass rate of the injected rollouts that can be passed (S1 and S2)."""
    S1_PASS = "s1_pass"
    S2_PASS = "s2_pass"
    SWITCH = "switch"
    """Of the S2 rollouts that met the block, the share that then called a tool of another side (`switched`)."""
    S3_ESCALATION = "s3_escalation"
    """Of the S3 rollouts, the share that was handed over."""
    S3_STEPS = "s3_steps"
    """Mean steps of the S3 rollouts."""
    OVER_ESCALATION = "over_escalation"
    """Of the injected rollouts that can be passed, the share that was handed over (`Escalation.PREMATURE`)."""
    LOOPING = "looping"
    """Of all rollouts, the share with four or more identical calls."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts over any number of rollouts; `+` is exact, in whatever order.

    Raises:
        SpecError: a count that is no integer of at least 0.
    """

    rollouts: int = 0
    looping: int = 0
    clean: int = 0
    """Rollouts with nothing injected."""
    clean_passed: int = 0
    injected: int = 0
    injected_reward: int = 0
    """Sum of the rewards, in millionths, each rounded by itself."""
    s1: int = 0
    """Injected rollouts that were played as S1; likewise `s2` and `s3`."""
    s1_passed: int = 0
    s2: int = 0
    s2_passed: int = 0
    s2_met: int = 0
    """S2 rollouts in which a blocked tool was called."""
    s2_switched: int = 0
    s3: int = 0
    s3_escalated: int = 0
    s3_steps: int = 0
    over_escalated: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise SpecError(f"expected a count, an integer of at least 0, got {field.name}={value!r}")

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @classmethod
    def total(cls, parts: Iterable[Statistics]) -> Statistics:
        """Return the statistics of everything together, such as of all ranks."""
        return sum(parts, cls())

    @classmethod
    def of(cls, episode: Episode, reward: Reward, domain: Domain) -> Statistics:
        """Return the statistics of one rollout."""
        outcome, mode = episode.result.outcome, episode.result.mode
        looping = int(reward.repeated >= _LOOPS)
        if not mode.injected:
            return cls(rollouts=1, looping=looping, clean=1, clean_passed=int(outcome.score.passed))
        scenario = episode.result.assignment.effective
        return cls(
            rollouts=1,
            looping=looping,
            injected=1,
            injected_reward=round(reward.total * MILLION),
            over_escalated=int(outcome.escalation is Escalation.PREMATURE),
            **_played(scenario, outcome, episode.trajectory.records, domain),
        )

    def value(self, quantity: Quantity) -> tuple[float | None, int]:
        """Return a quantity and of how many rollouts it is; None where there are none."""
        above, below = self._ratio(quantity)
        return (above / below if below else None), (self.injected if quantity is Quantity.REWARD else below)

    def _ratio(self, quantity: Quantity) -> tuple[int, int]:
        return {
            Quantity.REWARD: (self.injected_reward, self.injected * MILLION),
            Quantity.CLEAN_PASS: (self.clean_passed, self.clean),
            Quantity.PASS: (self.s1_passed + self.s2_passed, self.s1 + self.s2),
            Quantity.S1_PASS: (self.s1_passed, self.s1),
            Quantity.S2_PASS: (self.s2_passed, self.s2),
            Quantity.SWITCH: (self.s2_switched, self.s2_met),
            Quantity.S3_ESCALATION: (self.s3_escalated, self.s3),
            Quantity.S3_STEPS: (self.s3_steps, self.s3),
            Quantity.OVER_ESCALATION: (self.over_escalated, self.s1 + self.s2),
            Quantity.LOOPING: (self.looping, self.rollouts),
        }[quantity]

    def to_dict(self) -> dict[str, int]:
        """Return the counts as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Statistics:
        """Read what `to_dict` wrote.

        Raises:
            SpecError: an unknown count, or a value that is none.
        """
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise SpecError(f"unknown count in statistics={unknown[0]!r}; known: {', '.join(known)}")
        return cls(**data)


def _played(
    scenario: Scenario, outcome: Outcome, records: Sequence[CallRecord], domain: Domain
) -> dict[str, int]:
    passed = int(outcome.score.passed)
    if scenario is Scenario.S1:
        return {"s1": 1, "s1_passed": passed}
    if scenario is Scenario.S2:
        met = any(record.blocked for record in records)
        return {
            "s2": 1,
            "s2_passed": passed,
            "s2_met": int(met),
            "s2_switched": int(switched(records, domain)),
        }
    escalated = int(outcome.escalation is Escalation.ABSTAIN)
    return {"s3": 1, "s3_escalated": escalated, "s3_steps": outcome.steps}


def switched(records: Sequence[CallRecord], domain: Domain) -> bool:
    """Whether a tool of another side was called some time after a blocked one.

    Not the next call only: the memory's first constraint is to retry before anything else.
    """
    blocked: set[str] = set()
    for record in records:
        if record.blocked:
            blocked.add(record.call.name)
        elif any(domain.switches(tool, record.call.name) for tool in blocked):
            return True
    return False
