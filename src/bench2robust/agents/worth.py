"""What an episode is worth to a policy that weighs its moves: Eq. 2 of the paper, and what abstaining is worth."""

from __future__ import annotations

from dataclasses import dataclass

FREE_STEPS = 12
"""Steps that cost nothing (Eq. 2)."""
STEP_COST = 0.02
LEAST_EFFICIENCY = 0.3


def efficiency(steps: float) -> float:
    """Return eff of Eq. 2: what so many steps leave of the reward."""
    return max(LEAST_EFFICIENCY, 1.0 - STEP_COST * max(0.0, steps - FREE_STEPS))


def repetition(most: int) -> float:
    """Return rep of Eq. 2, by how often the most repeated identical call is made."""
    return 1.0 if most < 3 else 0.5 if most == 3 else 0.0


@dataclass(frozen=True, slots=True)
class Worth:
    """What a policy plays for."""

    passing: float = 0.05
    """For passing at all, however late: what is left when repetition has eaten the reward of Eq. 2."""
    step: float = 0.0001
    """What a step costs at any rate: of two ways worth the same the shorter one is taken."""
    abstaining: float = 1.0
    """For handing over when nothing could work, as a share of what a pass would have been worth."""

    def of(self, steps: float, most: int) -> float:
        """Return what a pass is worth after so many steps, with so many identical calls."""
        return efficiency(steps) * repetition(most) + self.passing - self.step * steps
