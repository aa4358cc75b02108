"""What has been learned from past episodes: Beta posteriors (paper, section 3.1).

A belief about a tool and a noise type is the probability that an episode is passed in which the tool met
it; a belief about a switch, that an episode is passed in which the agent went from one tool, which had
failed, to another. Both are observed rates, not effects of the tool or the switch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Final, TypeVar

from bench2robust.core.errors import SpecError
from bench2robust.core.noise import NOISE_TYPES, NoiseType

MOST: Final = 10**15
"""The largest count: up to here every number of episodes is exact as a float."""

ToolError = tuple[str, NoiseType]
"""A tool, and what it met."""
Switch = tuple[str, str]
"""The tool that failed, and the one that was called next."""
K = TypeVar("K", bound=Hashable)

UNIFORM: Final = (1.0, 1.0)
"""Beta(1, 1): before anything is known, every probability is equally likely."""
_ORDER: Final = {noise: place for place, noise in enumerate(NOISE_TYPES)}


@dataclass(frozen=True, slots=True)
class Belief:
    """A probability of which some successes and failures have been seen.

    Raises:
        SpecError: a count that is negative or no number.
    """

    successes: float = 0.0
    """Episodes that were passed; a fraction where old ones have lost weight."""
    failures: float = 0.0
    """Episodes that were not."""
    prior: tuple[float, float] = UNIFORM
    """Parameters of the Beta distribution that the counts are added to."""

    def __post_init__(self) -> None:
        for name, value in (("successes", self.successes), ("failures", self.failures)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not _is_count(value):
                raise SpecError(f"expected a number of episodes of at least 0, got {name}={value!r}")

    @property
    def episodes(self) -> float:
        """How many episodes it rests on."""
        return self.successes + self.failures

    @property
    def alpha(self) -> float:
        """First parameter of the posterior."""
        return self.prior[0] + self.successes

    @property
    def beta(self) -> float:
        """Second parameter of the posterior."""
        return self.prior[1] + self.failures

    @property
    def mean(self) -> float:
        """Posterior mean α / (α + β)."""
        return self.alpha / (self.alpha + self.beta)

    def interval(self, level: float = 0.90) -> tuple[float, float]:
        """Return the equal-tailed credible interval that holds `level` of the posterior.

        Raises:
            SpecError: a level that is not between 0 and 1.
        """
        if not 0.0 < level < 1.0:
            raise SpecError(f"expected a level between 0 and 1, such as 0.90, got level={level!r}")
        from scipy.special import betaincinv  # a third of a second to import

        tail = (1.0 - level) / 2
        low, high = (float(betaincinv(self.alpha, self.beta, share)) for share in (tail, 1.0 - tail))
        return low, high


@dataclass(frozen=True, slots=True)
class Counts:
    """What one episode adds to the beliefs: each pair once, as a success or as a failure."""

    errors: frozenset[ToolError] = frozenset()
    switches: frozenset[Switch] = frozenset()
    passed: bool = False


class Beliefs:
    """Every belief of a memory. A value: methods return new ones.

    What is kept are counts; `pooling` decides which prior they are added to. Merging and updating add
    counts, so the order of episodes or of memories never matters.

    Args:
        errors: successes and failures by tool and noise type; their priors are set here.
        switches: the same by source and target.
        pooling: see `pooled`.

    Raises:
        SpecError: a pooling strength that cannot be.
    """

    __slots__ = ("_priors", "errors", "pooling", "switches")

    def __init__(
        self,
        errors: Mapping[ToolError, Belief] | None = None,
        switches: Mapping[Switch, Belief] | None = None,
        pooling: float = 0.0,
    ) -> None:
        if isinstance(pooling, bool) or not isinstance(pooling, int | float) or not _is_count(pooling):
            raise SpecError(f"expected a pooling strength of at least 0 episodes, got pooling={pooling!r}")
        self.pooling: float = pooling
        """How many episodes the other tools' rate counts for; 0 for none."""
        errors, switches = errors or {}, switches or {}
        order = sorted(errors, key=lambda pair: (pair[0], _ORDER[pair[1]]))
        by_noise: dict[Hashable, list[tuple[str, Belief]]] = defaultdict(list)
        for tool, noise in order:
            by_noise[noise].append((tool, errors[tool, noise]))
        self._priors = {noise: _Others(found, pooling) for noise, found in by_noise.items()}
        self.errors: Mapping[ToolError, Belief] = {
            (tool, noise): self._priors[noise].believe(tool, errors[tool, noise]) for tool, noise in order
        }
        """The pairs of tool and noise type that were met, by tool, noise types in the paper's order."""
        everywhere = [(" → ".join(pair), switches[pair]) for pair in sorted(switches)]
        self._priors[None] = _Others(everywhere, pooling)
        self.switches: Mapping[Switch, Belief] = {
            pair: self._priors[None].believe(" → ".join(pair), switches[pair]) for pair in sorted(switches)
        }
        """The switches that were made."""

    def of(self, tool: str, noise: NoiseType | str) -> Belief:
        """Return the belief that an episode recovers from an error of a tool; the prior where it was never met."""
        noise = NoiseType(noise)
        found = self.errors.get((tool, noise))
        return found or self._prior(noise, tool)

    def switch(self, source: str, target: str) -> Belief:
        """Return the belief that an episode recovers by a switch; the prior where it was never made."""
        found = self.switches.get((source, target))
        return found or self._prior(None, f"{source} → {target}")

    @property
    def tools(self) -> tuple[str, ...]:
        """Every tool that a belief names, sorted."""
        return tuple(sorted({tool for tool, _ in self.errors} | {t for pair in self.switches for t in pair}))

    def updated(self, *episodes: Counts) -> Beliefs:
        """Return the beliefs after more episodes."""
        errors, switches = _Sum(self.errors), _Sum(self.switches)
        for episode in episodes:
            errors.count(episode.errors, passed=episode.passed)
            switches.count(episode.switches, passed=episode.passed)
        return Beliefs(errors.beliefs(), switches.beliefs(), self.pooling)

    def merged(self, other: Beliefs) -> Beliefs:
        """Return what both sets of episodes show together.

        Raises:
            SpecError: the two are pooled differently.
        """
        if self.pooling != other.pooling:
            raise SpecError(
                f"expected beliefs pooled alike, got pooling={self.pooling!r} and pooling={other.pooling!r}; "
                "pool both with the same strength first"
            )
        errors, switches = _Sum(self.errors), _Sum(self.switches)
        errors.add(other.errors)
        switches.add(other.switches)
        return Beliefs(errors.beliefs(), switches.beliefs(), self.pooling)

    def decayed(self, half_life: float, episodes: float = 1) -> Beliefs:
        """Return the beliefs as they are `episodes` later: counts have halved every `half_life` episodes.

        Raises:
            SpecError: a half-life that is not above 0, or a negative number of episodes.
        """
        weight = decay(half_life, episodes)
        return Beliefs(_scaled(self.errors, weight), _scaled(self.switches, weight), self.pooling)

    def pooled(self, strength: float = 2.0) -> Beliefs:
        """Return the beliefs with every cell shrunk towards what the other tools show.

        The prior of a tool and a noise type becomes Beta(k·m, k·(1 − m)), with k = `strength` in episodes
        and m the posterior mean, from a uniform prior, of all *other* tools' episodes with that noise type
        together; that of a switch the same over all other switches. So a cell that was never met shows
        the common rate, one with far more than k episodes its own, and no episode counts twice. With 2 a
        cell that has no company keeps the uniform prior. 0 takes the pooling back: Beta(1, 1) everywhere.

        Raises:
            SpecError: a negative strength.
        """
        return Beliefs(self.errors, self.switches, strength)

    def __bool__(self) -> bool:
        return bool(self.errors or self.switches)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Beliefs):
            return NotImplemented
        return (self.errors, self.switches, self.pooling) == (other.errors, other.switches, other.pooling)

    def __hash__(self) -> int:
        return hash((tuple(self.errors.items()), tuple(self.switches.items()), self.pooling))

    def __repr__(self) -> str:
        return f"<Beliefs: {len(self.errors)} of tools and errors, {len(self.switches)} of switches>"

    def _prior(self, group: NoiseType | None, name: str) -> Belief:
        others = self._priors.get(group) or _Others((), self.pooling)
        return others.believe(name, Belief())


class _Others:
    """The prior of one cell of a group: what all its other cells show."""

    def __init__(self, cells: Iterable[tuple[str, Belief]], strength: float) -> None:
        self._cells, self._strength = tuple(cells), strength

    def believe(self, name: str, belief: Belief) -> Belief:
        """Return a cell's belief with its prior."""
        return Belief(belief.successes, belief.failures, self._prior(name))

    def _prior(self, name: str) -> tuple[float, float]:
        if not self._strength:
            return UNIFORM
        others = [belief for other, belief in self._cells if other != name]
        # fsum: the same whatever the order.
        together = Belief(fsum(b.successes for b in others), fsum(b.failures for b in others))
        return self._strength * together.mean, self._strength * (1.0 - together.mean)


class _Sum(dict[K, tuple[float, float]]):
    """Counts while they are being added up."""

    def __init__(self, beliefs: Mapping[K, Belief]) -> None:
        super().__init__((key, (b.successes, b.failures)) for key, b in beliefs.items())

    def count(self, keys: Iterable[K], *, passed: bool) -> None:
        """Add one success or one failure to each."""
        for key in keys:
            successes, failures = self.get(key, (0.0, 0.0))
            self[key] = (successes + 1.0, failures) if passed else (successes, failures + 1.0)

    def add(self, beliefs: Mapping[K, Belief]) -> None:
        """Add the counts of other beliefs."""
        for key, belief in beliefs.items():
            successes, failures = self.get(key, (0.0, 0.0))
            self[key] = (successes + belief.successes, failures + belief.failures)

    def beliefs(self) -> dict[K, Belief]:
        """Return the sums."""
        return {key: Belief(*counts) for key, counts in self.items()}


def decay(half_life: float, episodes: float) -> float:
    """Return the weight that is left of an episode after some more episodes.

    Raises:
        SpecError: a half-life that is not above 0, or a negative number of episodes.
    """
    if isinstance(half_life, bool) or not isinstance(half_life, int | float) or not _is_count(half_life):
        raise SpecError(f"expected a half-life in episodes, above 0, got half-life={half_life!r}")
    if half_life == 0:
        raise SpecError(
            "expected a half-life in episodes, above 0, got half-life=0; leave it out to keep everything"
        )
    if episodes < 0:
        raise SpecError(f"expected a number of episodes of at least 0, got episodes={episodes!r}")
    return float(0.5 ** (episodes / half_life))


def _scaled(beliefs: Mapping[K, Belief], weight: float) -> dict[K, Belief]:
    return {key: Belief(b.successes * weight, b.failures * weight) for key, b in beliefs.items()}


def _is_count(value: float) -> bool:
    return 0 <= value <= MOST  # NaN is neither
