"""The parts of the report about relations: severity, cost, and whether beliefs come true."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

import numpy as np
from markupsafe import Markup

from bench2robust.core.domain import Domain
from bench2robust.core.episode import Mode, Trajectory
from bench2robust.core.noise import NoiseType
from bench2robust.evaluation.statistics import Estimate, wilson
from bench2robust.evaluation.study import LoadedRun, Study
from bench2robust.memory import Belief, Beliefs, Memory, counts

from .charts import Axis, Point, Series, counting_axis, percent_axis, plane
from .part import MODE_NAMES, Part, Shown, interval, percent, rate, table

_BINS: Final = 5
_FEW: Final = 20
"""Episodes below which a bin of predictions is not drawn."""


@dataclass(frozen=True, slots=True, order=True)
class Severity:
    """How severe a run's injection is."""

    failing: float
    """Probability that a call draws noise, of tools without a distribution of their own."""
    max_consecutive: float
    budget: float

    @classmethod
    def of(cls, run: LoadedRun) -> Severity:
        """Return the severity of a run."""
        injection: Mapping[str, Any] = run.manifest["spec"]["injection"]
        default = injection["profile"]["default"]
        limits = [injection["limits"].get(name) for name in ("max_consecutive", "budget")]
        return cls(
            round(1 - float(default["clean"]), 6), *(float("inf") if v is None else float(v) for v in limits)
        )

    def __str__(self) -> str:
        limits = [f"{int(v)}" if isfinite(v) else "∞" for v in (self.budget, self.max_consecutive)]
        return f"P(noise) {self.failing:.2f}, budget {limits[0]}, at most {limits[1]} in a row"


def severities(study: Study) -> dict[Severity, Study]:
    """Return the episodes of each severity, the mildest first."""
    places: defaultdict[Severity, list[int]] = defaultdict(list)
    for place, run in enumerate(study.runs):
        places[Severity.of(run)].append(place)
    return {severity: study.select(run=places[severity]) for severity in sorted(places)}


def reference(found: Mapping[Severity, Study]) -> Severity:
    """Return the severity that the other parts show: the paper's (P(noise) 0.40), or what is nearest to it."""
    return min(found, key=lambda severity: (abs(severity.failing - 0.4), severity))


def severity_curves(study: Study) -> Part | None:
    """Return pass rate against severity; None where all runs are of one."""
    found = severities(study)
    if len(found) < 2:
        return None
    blocks, levels = [], sorted({s.failing for s in found})
    many_limits = len({(s.budget, s.max_consecutive) for s in found}) > 1
    for mode in (m for m in study.modes if m.injected):
        lines: defaultdict[tuple[str, str], list[tuple[Severity, Estimate]]] = defaultdict(list)
        for severity, part in found.items():
            shown = Shown.of(part)
            for system in shown.systems:
                estimate = rate(part.select(system=system, mode=mode))
                limits = (
                    f" {int(severity.max_consecutive)}:{int(severity.budget)}"
                    if many_limits and isfinite(severity.budget + severity.max_consecutive)
                    else ""
                )
                if estimate:
                    lines[shown.names[system], limits].append((severity, estimate))
        series = [
            Series(
                name + limits,
                tuple(_severe(severity, estimate) for severity, estimate in values),
                f"s{place % 8}",
            )
            for place, ((name, limits), values) in enumerate(lines.items())
        ]
        if series:
            x = Axis(
                0.0,
                max(levels) * 1.02,
                tuple((v, f"{v:.2f}") for v in levels),
                "probability that a call fails",
            )
            blocks.append(
                Markup("<h3>{}</h3>{}").format(
                    MODE_NAMES[mode].capitalize(), plane(series, x, percent_axis("pass rate, %"))
                )
            )
    return Part(
        id="severity",
        short="Severity",
        title="How fast it breaks",
        says="Pass rate against the severity of the injection, with 95 % intervals. A flat line is a robust system."
        + (
            " After a name stands K_max:B, the most failures in a row on a tool and in an episode."
            if many_limits
            else ""
        ),
        blocks=tuple(blocks),
        note=f"The other parts show the runs with {reference(found)}.",
        wide=False,
    )


def _severe(severity: Severity, estimate: Estimate) -> Point:
    title = f"{percent(estimate.mean)} % at {severity.failing:.2f} ({interval(estimate)})"
    return Point(severity.failing, estimate.mean, estimate.low, estimate.high, title)


def cost(shown: Shown) -> Part | None:
    """Return pass rate against what an episode takes: tokens where models were asked, steps elsewhere."""
    mode = shown.hardest
    if mode is None:
        return None
    tokens = bool(shown.study.column("tokens").any())
    column, unit = ("tokens", "tokens an episode") if tokens else ("steps", "steps an episode")
    blocks = []
    for each in (m for m in (Mode.CLEAN, mode) if m in shown.modes):
        series, values = [], []
        for system in shown.systems:
            own = shown.study.select(system=system, mode=each)
            passed = rate(own)
            if passed is None:
                continue
            spent = float(np.mean(own.column(column)))
            values.append(spent)
            title = f"{percent(passed.mean)} % for {spent:,.1f} {unit}"
            point = Point(spent, passed.mean, passed.low, passed.high, title, size=6)
            series.append(Series(shown.names[system], (point,), shown.style(system), joined=False))
        if series:
            chart = plane(series, counting_axis(values, unit), percent_axis("pass rate, %"))
            blocks.append(Markup("<h3>{}</h3>{}").format(MODE_NAMES[each].capitalize(), chart))
    return Part(
        id="cost",
        short="Cost",
        title="What robustness takes",
        says="Recovery costs extra calls. Up and to the left is better."
        + ("" if tokens else " No model was asked here, so effort is counted in steps: calls and texts."),
        blocks=tuple(blocks),
        wide=False,
    )


@dataclass(slots=True)
class Recoveries:
    """Counts of what became of episodes that met a failure, by system and half of the tasks."""

    tallies: dict[tuple[str, int], dict[tuple[str, NoiseType], list[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(lambda: [0, 0]))
    )

    def add(self, system: str, task: int, trajectory: Trajectory, domain: Domain, *, passed: bool) -> None:
        """Count one episode."""
        for error in counts(trajectory, passed, domain).errors:
            self.tallies[system, task % 2][error][not passed] += 1

    def predictions(self, system: str, memory: Memory | None) -> list[tuple[float, int, int]]:
        """Return what was predicted, and how many passed of how many, for each tool, error and half of the tasks."""
        found = []
        for half in (0, 1):
            told = memory.beliefs.errors if memory else self._beliefs(system, 1 - half).errors
            for error, (passed, failed) in sorted(self.tallies[system, half].items()):
                if (belief := told.get(error)) is not None:
                    found.append((belief.mean, passed, passed + failed))
        return found

    def _beliefs(self, system: str, half: int) -> Beliefs:
        tally = self.tallies[system, half]
        return Beliefs({error: Belief(passed, failed) for error, (passed, failed) in sorted(tally.items())})


def calibration(shown: Shown, recoveries: Recoveries, memory: Memory | None) -> Part | None:
    """Return predicted against observed recovery; None where nothing failed."""
    series, rows = [], []
    for system in shown.systems:
        predicted = recoveries.predictions(system, memory)
        points = tuple(_binned(predicted))
        if not points:
            continue
        series.append(Series(shown.names[system], points, shown.style(system), joined=len(points) > 1))
        rows.append((shown.names[system], *_errors(predicted)))
    if not series:
        return None
    x, y = percent_axis("belief: the episode will be passed, %"), percent_axis("passed, %")
    source = (
        "from the memory that was given"
        if memory
        else "of the same system, learned on one half of the tasks and asked about the other"
    )
    head = ("System", "Episodes with failures", "Belief, %", "Passed, %", "Off by, points")
    return Part(
        id="calibration",
        short="Beliefs",
        title="Do beliefs come true",
        says="A belief says how often an episode is passed in which a tool meets an error (Beta posterior mean, paper "
        f"section 3.1), here {source}. On the dashed line they are right.",
        blocks=(plane(series, x, y, ideal=True), table(head, rows, caption="How far beliefs are off")),
        note=f"Points are bins of beliefs with at least {_FEW} episodes, whiskers 95 % Wilson intervals. "
        "“Off by” is the mean distance between belief and outcome of a pair of tool and error, weighted by episodes.",
        wide=False,
    )


def _binned(predicted: Sequence[tuple[float, int, int]]) -> Iterable[Point]:
    bins: defaultdict[int, list[tuple[float, int, int]]] = defaultdict(list)
    for each in predicted:
        bins[min(_BINS - 1, int(each[0] * _BINS))].append(each)
    for _, members in sorted(bins.items()):
        n = sum(total for _, _, total in members)
        if n < _FEW:
            continue
        passed = sum(won for _, won, _ in members)
        belief = sum(mean * total for mean, _, total in members) / n
        low, high = wilson(passed, n)
        title = f"belief {percent(belief)} %, passed {percent(passed / n)} % of {n:,}"
        yield Point(belief, passed / n, low, high, title, size=3 + min(4.0, n / 200))


def _errors(predicted: Sequence[tuple[float, int, int]]) -> tuple[str, str, str, str]:
    n = sum(total for _, _, total in predicted)
    belief = sum(mean * total for mean, _, total in predicted) / n
    passed = sum(won for _, won, _ in predicted) / n
    off = sum(abs(mean - won / total) * total for mean, won, total in predicted) / n
    return f"{n:,}", percent(belief), percent(passed), percent(off)
