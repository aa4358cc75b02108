"""Two systems beside each other: is the second worse, and is that more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bench2robust.core.episode import Mode, Scenario
from bench2robust.core.errors import SpecError, UnknownNameError, UsageError

from .metrics import Metric, metric
from .statistics import Difference, Estimate, Sample, holm, mean, paired, unpaired
from .study import Study

CERTAIN: Final = 0.05
"""A corrected p-value below this is more than chance."""


@dataclass(frozen=True, slots=True)
class Side:
    """A system in a run of a study."""

    system: str
    run: int | None = None
    """The run's place; None for all."""

    def of(self, study: Study) -> Study:
        """Return its episodes."""
        own = study.select(system=self.system)
        return own if self.run is None else own.select(run=self.run)


@dataclass(frozen=True, slots=True)
class Row:
    """Two systems in one mode."""

    a: str
    b: str
    mode: Mode
    metric: str
    before: Estimate
    after: Estimate
    difference: Difference
    """`after` minus `before`."""
    p: float
    """The p-value of the difference, corrected by Holm for the rows it stands among."""
    shorter: float | None
    """By what share pairing shortens the interval; None where nothing is paired."""

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return {
            "a": self.a,
            "b": self.b,
            "mode": str(self.mode),
            "metric": self.metric,
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "difference": self.difference.to_dict(),
            "p": self.p,
            "shorter": self.shorter,
        }


def sides(study: Study, systems: Sequence[str] = ()) -> list[tuple[Side, Side]]:
    """Return which systems of a study are compared.

    Args:
        study: of one or two runs.
        systems: the two to compare, by name; empty for each agent of the first run with the same one of the
            second, or the only system of each.

    Raises:
        UnknownNameError: a system that there is not.
        UsageError: it does not say which two are meant.
    """
    if systems:
        if len(systems) != 2 or systems[0] == systems[1]:
            raise UsageError(
                f"expected two systems such as retry,strategic, got systems={','.join(systems)!r}"
            )
        for name in systems:
            if name not in study.systems:
                raise UnknownNameError("system", name, study.systems)
        return [(Side(systems[0]), Side(systems[1]))]
    there = ", ".join(study.systems)
    if len(study.runs) == 1 and len(study.systems) == 2:
        return [(Side(study.systems[0]), Side(study.systems[1]))]
    if len(study.runs) != 2:
        raise UsageError(f"expected two run folders, or --systems with two of these: {there}")
    first, second = (run.systems for run in study.runs)
    if len(first) == len(second) == 1:
        return [(Side(next(iter(first.values())), 0), Side(next(iter(second.values())), 1))]
    both = [agent for agent in first if agent in second]
    if not both:
        raise UsageError(
            f"expected an agent that both runs have, got none; say --systems with two of these: {there}"
        )
    return [(Side(first[agent], run=0), Side(second[agent], run=1)) for agent in both]


def compare(
    study: Study, pairs: Sequence[tuple[Side, Side]], name: str = "pass_rate", modes: Sequence[Mode] = ()
) -> list[Row]:
    """Compare systems, mode by mode.

    Args:
        study: their episodes.
        pairs: the earlier, or weaker, system first.
        name: the metric.
        modes: which; empty for all that both have.

    Raises:
        UnknownNameError: a metric that there is not.
        UsageError: the two have no episodes in a common mode.
    """
    measured = metric(name)
    rows = []
    for a, b in pairs:
        before, after = a.of(study), b.of(study)
        for mode in modes or [mode for mode in before.modes if mode in after.modes]:
            row = _row(a, b, mode, measured, (before.select(mode=mode), after.select(mode=mode)))
            if row is not None:
                rows.append(row)
    if not rows:
        raise UsageError(
            "expected episodes of both systems in a common mode, got none; see `b2r table` for what there is"
        )
    corrected = holm([row.difference.p for row in rows])
    return [replace(row, p=p) for row, p in zip(rows, corrected, strict=True)]


def _row(a: Side, b: Side, mode: Mode, measured: Metric, studies: tuple[Study, Study]) -> Row | None:
    before, after = (measured.sample(study) for study in studies)
    if not (len(before) and len(after)):
        return None
    difference, shorter = difference_of(before, after, pair=measured.paired)
    return Row(a.system, b.system, mode, measured.name, mean(before), mean(after), difference, 1.0, shorter)


def difference_of(before: Sample, after: Sample, *, pair: bool = True) -> tuple[Difference, float | None]:
    """Return the difference of two samples, paired where it can be, and by what share that shortens the interval."""
    apart = unpaired(before, after)
    if not pair:
        return apart, None
    together = paired(before, after)
    if not together.n:
        return replace(apart, warnings=(*apart.warnings, *together.warnings)), None
    width = apart.high - apart.low
    if not together.won + together.lost:
        return together, None  # Wilson's interval where nothing differs has another reason than pairing
    return together, 1 - (together.high - together.low) / width if width else None


@dataclass(frozen=True, slots=True)
class Effect:
    """What one change of an episode's conditions does to a system."""

    name: str
    definition: str
    difference: Difference


_EFFECTS: Final = (
    (
        "extra tools",
        "clean_alt minus clean: more tools to choose from, nothing injected",
        Mode.CLEAN,
        Mode.CLEAN_ALT,
    ),
    ("noise", "inject minus clean: noise, the standard tools", Mode.CLEAN, Mode.INJECT),
    (
        "noise and blocking",
        "inject_alt minus clean_alt: noise and blocking, the same tools in both",
        Mode.CLEAN_ALT,
        Mode.INJECT_ALT,
    ),
)


def effects(study: Study, name: str = "pass_rate") -> list[Effect]:
    """Take apart what the modes do to one system: extra tools, noise, blocking.

    Each difference between modes is paired by task and seed. That of blocking is between the S2 and the S1 episodes
    of `inject_alt`, which scenario a task gets being drawn by lot; it is not paired.

    Args:
        study: the episodes of one system.
        name: the metric.
    """
    measured = metric(name)
    found = []
    for effect, definition, without, with_ in _EFFECTS:
        samples = [measured.sample(study.select(mode=mode)) for mode in (without, with_)]
        if all(map(len, samples)):
            found.append(Effect(effect, definition, difference_of(*samples, pair=measured.paired)[0]))
    hard = study.select(mode=Mode.INJECT_ALT)
    samples = [measured.sample(hard.select(effective=scenario)) for scenario in (Scenario.S1, Scenario.S2)]
    if all(map(len, samples)):
        definition = "S2 minus S1 within inject_alt: one way to something needed is blocked"
        found.append(Effect("blocking", definition, unpaired(*samples)))
    return found


def worse(row: Row, margin: float, *, strict: bool = False) -> bool:
    """Whether the second system is worse by more than a margin.

    Args:
        row: the comparison.
        margin: how much worse is still well, at least 0, in the metric's unit (shares: 0.02 is two points).
        strict: whether not being sure is enough: then it is worse unless the interval rules a loss above the margin
            out. Otherwise the loss has to be larger than the margin, and more than chance (`CERTAIN`).

    Raises:
        SpecError: a margin below 0, or a metric of which neither more nor less is better.
    """
    if not margin >= 0:
        raise SpecError(f"expected a margin of at least 0, such as 0.02, got fail-if-worse={margin!r}")
    better = metric(row.metric).better
    if not better:
        raise SpecError(f"expected a metric of which more or less is better, got metric={row.metric!r}")
    gain = better * row.difference.mean
    if strict:
        least = row.difference.low if better > 0 else -row.difference.high
        return not least > -margin
    return gain < -margin and row.p < CERTAIN


def too_few(rows: Sequence[Row]) -> str:
    """Return the warning that no loss could be more than chance with this few tasks, empty if one could.

    The smallest p-value of a permutation test is 2 / 2^tasks, and Holm multiplies it by the number of rows.
    """
    tasks = max(row.difference.tasks for row in rows)
    if len(rows) * 2.0 ** (1 - tasks) < CERTAIN:
        return ""
    return f"{tasks} tasks are too few for a loss to be more than chance; use more, fewer modes, or --strict"
