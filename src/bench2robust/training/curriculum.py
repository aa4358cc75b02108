"""The curriculum (paper, section 3.3 and Table 11) as a state machine without side effects.

`Curriculum` is the plan, `Progress` where training is in it; `Curriculum.observe` takes one iteration's
`Statistics` and returns the next `Progress`. All of it is JSON, every decision comes from whole numbers,
so any rank that sees the same statistics decides the same, and a resumed training goes on as if it had not
been interrupted. Each transition keeps the numbers that caused it.

What Table 11 leaves open is decided here, and can be set: rates are those of the injected rollouts and
pooled over a window of three iterations (average reward has to hold in each, as the table says);
*switch* is `Quantity.SWITCH`; *turns* are the steps of S3 rollouts, since what is asked for is timely transfer;
*non-regression* compares S1 and S2 apart, since the phases mix them differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from bench2robust.core.errors import SpecError
from bench2robust.injection import Block, InjectionSpec, Mix, ScenarioSpec

from .statistics import Quantity, Statistics


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that has to hold over the last iterations of a phase.

    Raises:
        SpecError: a window or an evidence below 1.
    """

    quantity: Quantity
    threshold: float
    below: bool = False
    """Whether the quantity has to be below the threshold; otherwise above it. Equal is neither."""
    window: int = 3
    """Iterations that are looked at; with fewer in the phase the criterion does not hold."""
    each: bool = False
    """Whether it has to hold in each iteration of the window; otherwise in all of them together."""
    least: int = 1
    """Rollouts that the quantity has to be of; with fewer the criterion does not hold."""

    def __post_init__(self) -> None:
        for name in ("window", "least"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SpecError(f"expected an integer of at least 1, got {name}={value!r}")

    def holds(self, recent: tuple[Statistics, ...]) -> bool:
        """Whether the criterion holds, the last iteration last."""
        if len(recent) < self.window:
            return False
        window = recent[-self.window :]
        return all(map(self._holds, window if self.each else (Statistics.total(window),)))

    def _holds(self, statistics: Statistics) -> bool:
        value, of = statistics.value(self.quantity)
        if value is None or of < self.least:
            return False
        return value < self.threshold if self.below else value > self.threshold

    def numbers(self, recent: tuple[Statistics, ...]) -> Numbers:
        """Return what was compared, over the window as far as there is one."""
        value, of = Statistics.total(recent[-self.window :]).value(self.quantity)
        return Numbers(self.quantity, value, of, self.threshold)


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a decision was made on."""

    quantity: Quantity
    value: float | None
    of: int
    """Rollouts that the value is of."""
    threshold: float


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase of a curriculum.

    Raises:
        SpecError: a budget below 0, a tolerance outside 0 to 1, or a limit below 1.
    """

    focus: str
    budget: int
    """Most noise injections in one episode."""
    mix: Mix
    advance: tuple[Criterion, ...] = ()
    """What has to hold, all at the same time, for the next phase to begin; never with none."""
    keep: float | None = None
    """To advance, the pass rates of S1 and S2 may have fallen by this much at most since the phase before
    was finished; None for whatever they are."""
    stop: Criterion | None = None
    """When it holds, training ends early."""
    limit: int | None = None
    """Iterations after which the next phase begins anyway; None for never (the paper's)."""

    def __post_init__(self) -> None:
        if isinstance(self.budget, bool) or not isinstance(self.budget, int) or self.budget < 0:
            raise SpecError(f"expected an integer of at least 0, got budget={self.budget!r}")
        if self.keep is not None and not 0 <= self.keep <= 1:
            raise SpecError(f"expected a share from 0 to 1, got keep={self.keep!r}; such as 0.05")
        if self.limit is not None and self.limit < 1:
            raise SpecError(f"expected at least 1 iteration, got limit={self.limit!r}; None for no limit")

    def injection(self, base: InjectionSpec) -> InjectionSpec:
        """Return what is injected in the phase: `base` with the phase's budget."""
        return replace(base, limits=replace(base.limits, budget=self.budget))

    def scenarios(self, block: Block = Block.RANDOM) -> ScenarioSpec:
        """Return how scenarios are drawn in the phase."""
        return ScenarioSpec(self.mix, block)


class Why(StrEnum):
    """What caused a transition."""

    MASTERED = "mastered"
    LIMIT = "limit"
    OVER_ESCALATION = "over_escalation"
    """The last phase's early stop: handing over too much, for too long."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of phase, or the end."""

    iteration: int
    """Iterations of the training by then."""
    left: int
    """The phase that was left, from 0."""
    entered: int | None
    """The phase that began; None where training ended."""
    why: Why
    numbers: tuple[Numbers, ...]
    """What was compared, whether or not it decided."""

    def to_dict(self) -> dict[str, Any]:
        """Return the transition as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Transition:
        """Read what `to_dict` wrote."""
        numbers = tuple(Numbers(**{**n, "quantity": Quantity(n["quantity"])}) for n in data["numbers"])
        return cls(**{**data, "why": Why(data["why"]), "numbers": numbers})


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a training is in its curriculum."""

    phase: int = 0
    iteration: int = 0
    """Iterations observed."""
    recent: tuple[Statistics, ...] = ()
    """Of the phase's iterations, the last ones that a criterion can look at."""
    within: int = 0
    """Iterations observed in the phase."""
    baseline: Statistics = field(default_factory=Statistics)
    """The window at the end of the phase before."""
    transitions: tuple[Transition, ...] = ()
    stopped: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the progress as JSON values, for a checkpoint."""
        return {
            "phase": self.phase,
            "iteration": self.iteration,
            "recent": [s.to_dict() for s in self.recent],
            "within": self.within,
            "baseline": self.baseline.to_dict(),
            "transitions": [t.to_dict() for t in self.transitions],
            "stopped": self.stopped,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Progress:
        """Read what `to_dict` wrote."""
        return cls(
            phase=data["phase"],
            iteration=data["iteration"],
            recent=tuple(map(Statistics.from_dict, data["recent"])),
            within=data["within"],
            baseline=Statistics.from_dict(data["baseline"]),
            transitions=tuple(map(Transition.from_dict, data["transitions"])),
            stopped=data["stopped"],
        )


_SOLVABLE: Final = (Quantity.S1_PASS, Quantity.S2_PASS)


@dataclass(frozen=True, slots=True)
class Curriculum:
    """The phases of a training.

    Raises:
        SpecError: no phase.
    """

    phases: tuple[Phase, ...]

    def __post_init__(self) -> None:
        if not self.phases:
            raise SpecError(
                "expected at least one phase, got phases=(); `curriculum.PAPER` has the paper's five"
            )

    @classmethod
    def flat(cls, mix: Mix, budget: int = 5) -> Curriculum:
        """Return one phase without end: the ablation, and the paper's vanilla GRPO with mix 100/0/0."""
        return cls((Phase("flat", budget, mix),))

    def phase(self, progress: Progress) -> Phase:
        """Return the phase that the next iteration is of.

        Raises:
            SpecError: the progress is of another curriculum.
        """
        if not 0 <= progress.phase < len(self.phases):
            raise SpecError(
                f"expected a phase from 0 to {len(self.phases) - 1}, got phase={progress.phase!r}; the progress is of another curriculum"
            )
        return self.phases[progress.phase]

    def observe(self, progress: Progress, statistics: Statistics) -> Progress:
        """Return where training is after one more iteration.

        A training that has stopped stays where it is.
        """
        if progress.stopped:
            return progress
        phase = self.phase(progress)
        recent = (*progress.recent, statistics)[-self._longest(progress.phase) :]
        now = replace(progress, iteration=progress.iteration + 1, within=progress.within + 1, recent=recent)
        if phase.stop is not None and phase.stop.holds(recent):
            return _left(now, None, Why.OVER_ESCALATION, (phase.stop.numbers(recent),))
        if progress.phase + 1 == len(self.phases):
            return now
        mastered = bool(phase.advance) and all(c.holds(recent) for c in phase.advance)
        kept, compared = _kept(phase, progress.baseline, recent)
        numbers = (*(c.numbers(recent) for c in phase.advance), *compared)
        if mastered and kept:
            return _left(now, progress.phase + 1, Why.MASTERED, numbers)
        if phase.limit is not None and now.within >= phase.limit:
            return _left(now, progress.phase + 1, Why.LIMIT, numbers)
        return now

    def _longest(self, phase: int) -> int:
        at = self.phases[phase]
        criteria = (*at.advance, *(() if at.stop is None else (at.stop,)))
        return max((c.window for c in criteria), default=1)

    def to_dict(self) -> dict[str, Any]:
        """Return the curriculum as JSON values."""
        return {"phases": [{**asdict(phase), "mix": str(phase.mix)} for phase in self.phases]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Curriculum:
        """Read what `to_dict` wrote.

        Raises:
            SpecError: a value that cannot be.
        """
        return cls(tuple(map(_read_phase, data["phases"])))


def _left(progress: Progress, entered: int | None, why: Why, numbers: tuple[Numbers, ...]) -> Progress:
    transition = Transition(progress.iteration, progress.phase, entered, why, numbers)
    transitions = (*progress.transitions, transition)
    if entered is None:
        return replace(progress, transitions=transitions, stopped=True)
    return Progress(
        phase=entered,
        iteration=progress.iteration,
        baseline=Statistics.total(progress.recent),
        transitions=transitions,
    )


def _kept(phase: Phase, before: Statistics, recent: tuple[Statistics, ...]) -> tuple[bool, list[Numbers]]:
    """Say whether S1 and S2 have kept their pass rates; what either window has none of is not compared."""
    if phase.keep is None:
        return True, []
    compared = []
    for quantity in _SOLVABLE:
        was, _ = before.value(quantity)
        value, of = Statistics.total(recent).value(quantity)
        if was is not None and value is not None:
            compared.append(Numbers(quantity, value, of, was - phase.keep))
    return all(n.value is not None and n.value >= n.threshold for n in compared), compared


def _read_phase(data: Mapping[str, Any]) -> Phase:
    return Phase(
        focus=data["focus"],
        budget=data["budget"],
        mix=Mix.parse(data["mix"]),
        advance=tuple(map(_read_criterion, data["advance"])),
        keep=data["keep"],
        stop=None if data["stop"] is None else _read_criterion(data["stop"]),
        limit=data["limit"],
    )


def _read_criterion(data: Mapping[str, Any]) -> Criterion:
    return Criterion(**{**data, "quantity": Quantity(data["quantity"])})


_SWITCHES: Final = (Criterion(Quantity.SWITCH, 0.25), Criterion(Quantity.PASS, 0.25))

PAPER: Final = Curriculum(
    (
        Phase("learn to retry", 2, Mix(100, 0, 0), (Criterion(Quantity.REWARD, 0.25, each=True),)),
        Phase("discover alternatives", 2, Mix(80, 20, 0), _SWITCHES),
        Phase("learn to switch", 5, Mix(60, 40, 0), _SWITCHES),
        Phase(
            "learn to abstain",
            5,
            Mix(40, 50, 10),
            (Criterion(Quantity.S3_ESCALATION, 0.5), Criterion(Quantity.S3_STEPS, 15, below=True)),
            keep=0.05,
        ),
        Phase(
            "full repertoire",
            5,
            Mix(30, 45, 25),
            stop=Criterion(Quantity.OVER_ESCALATION, 0.5, window=5, each=True),
        ),
    )
)
"""Table 11. The tolerance of non-regression (5 points) and what counts as sustained over-transfer (half of
the solvable rollouts, in each of five iterations) are ours: the paper gives no numbers."""
