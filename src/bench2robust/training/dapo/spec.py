"""The constants of DAPO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from bench2robust.core.errors import SpecError

LOG_RATIO_LIMIT: Final = 20.0
"""Log ratios are cut here before `exp`, so that nothing overflows: an infinity times the zero gradient of a
clamp is no number. Values are those without the cut wherever k3 is below its clamp."""


@dataclass(frozen=True, slots=True)
class DapoSpec:
    """The constants of DAPO (paper, section 3.3 and Table 12).

    Raises:
        SpecError: a constant outside what it may be.
    """

    clip_low: float = 0.20
    """How far below 1 a ratio still counts."""
    clip_high: float = 0.28
    """How far above 1; more than below, so that rare tokens can become likely."""
    kl: float = 0.02
    """Weight of the KL term; 0 for none."""
    kl_clamp: float = 10.0
    """Most that k3 of one token can be (slime's and verl's ``low_var_kl``)."""
    least_std: float = 0.01
    """Rollouts whose rewards vary less teach nothing and are masked."""
    epsilon: float = 1e-6
    """Added to the standard deviation that rewards are divided by (slime's; TRL adds 1e-4)."""

    def __post_init__(self) -> None:
        for name in ("clip_low", "clip_high"):
            if not 0 < getattr(self, name) < 1:
                raise SpecError(
                    f"expected a number between 0 and 1, got {name}={getattr(self, name)!r}; "
                    "the paper's are 0.20 and 0.28"
                )
        for name in ("kl", "kl_clamp", "least_std", "epsilon"):
            if not getattr(self, name) >= 0:
                raise SpecError(f"expected a number of at least 0, got {name}={getattr(self, name)!r}")


class LogProbs(NamedTuple):
    """Log-probabilities of the tokens of a minibatch, rollouts × tokens, each from a policy of its own."""

    now: Any
    """The policy that learns."""
    old: Any
    """The policy that sampled."""
    reference: Any = None
    """The frozen reference; None where there is no KL term."""


class Advantages(NamedTuple):
    """What each rollout is worth beside those it is compared with."""

    values: Any
    """Zero where not kept."""
    kept: Any
    """Whether the rollout teaches anything; false masks it out of loss, KL and token count."""


class Loss(NamedTuple):
    """One minibatch's loss and its parts."""

    total: Any
    """``policy + 0.02 · kl``."""
    policy: Any
    kl: Any
    """Mean k3 of the kept tokens, unweighted."""
    clipped: Any
    """Share of kept tokens at which the clip acts: they have no policy gradient."""
    clamped: Any
    """Share of kept tokens at which k3 reached its clamp: they have no KL gradient."""
    tokens: Any
    """Kept tokens that all of it was divided by (1 where there are none)."""
