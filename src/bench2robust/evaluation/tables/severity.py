"""Table 14: pass rate against the severity of the injection, from the run folders of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.core.errors import UsageError
from bench2robust.core.noise import NoiseType
from bench2robust.evaluation.likeness import differences
from bench2robust.evaluation.statistics import paired
from bench2robust.evaluation.study import Study

from . import layouts
from .systems import Options, based, counted, need, notes, of_difference, rate, systems
from .table import Cell, Column, Row, Table, Unit


@dataclass(frozen=True, slots=True, order=True)
class Setting:
    """How severe an injection is."""

    clean_probability: float
    """Of tools without a distribution of their own."""
    max_consecutive: float
    budget: float
    """Infinity for no limit, in both."""

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Setting:
        """Return the setting of a run, from its manifest."""
        injection = manifest["spec"]["injection"]
        budget, consecutive = (injection["limits"][name] for name in ("budget", "max_consecutive"))
        return cls(
            float(injection["profile"]["default"][NoiseType.CLEAN]),
            float("inf") if consecutive is None else consecutive,
            float("inf") if budget is None else budget,
        )

    @property
    def limits(self) -> tuple[float, float]:
        """Budget and consecutive limit."""
        return self.budget, self.max_consecutive

    @property
    def limits_text(self) -> str:
        """How the limits are written."""
        return layouts.limits(*(None if value == float("inf") else int(value) for value in self.limits))


def severity(studies: Sequence[Study], options: Options) -> Table:
    """Return Table 14 for runs that differ in severity only.

    Args:
        studies: one for each setting, all of its runs together.
        options: how; differences are to ``options.base``, or to the first system.

    Raises:
        UsageError: the runs differ in more, the mode is missing, or there is one setting only.
    """
    by_setting = {_setting(study): study for study in studies}
    if len(by_setting) < 2:
        raise UsageError(
            "expected runs of at least two severities for table='severity', got one; make them with b2r sweep"
        )
    _check_alike(studies, force=options.force)
    for study in studies:
        need(study, "severity", (options.mode,))
    names = list(dict.fromkeys(name for study in studies for name in study.present))
    found = [who.name for who in based(tuple(w for s in studies[:1] for w in systems(s)), options)]
    found += [name for name in names if name not in found]
    columns = [layouts.SETTING, *(Column(name, Unit.PERCENT) for name in found)]
    if len(found) == 2:
        columns.append(Column(layouts.DELTA, Unit.POINTS))
    else:
        columns += [Column(name, Unit.POINTS, layouts.DELTA) for name in found[1:]]
    rows = [
        Row(
            (Cell(label), *_cells(by_setting[setting].select(mode=options.mode), found)),
            section,
        )
        for section, label, setting in _places(sorted(by_setting))
    ]
    reading = f"Pass rates in percent; Δ: to {found[0]}, on the same tasks and seeds." if found[1:] else ""
    title = f"Severity, {options.mode} ({counted(studies[0])})"
    warnings = tuple(dict.fromkeys(note for study in studies for note in notes(study)))
    return Table("severity", title, tuple(columns), tuple(rows), (*filter(None, [reading]), *warnings))


def _setting(study: Study) -> Setting:
    return Setting.of(study.runs[0].manifest)


def _check_alike(studies: Sequence[Study], *, force: bool) -> None:
    first = studies[0].runs[0]
    for study in studies[1:]:
        run = study.runs[0]
        unlike = differences(first.manifest, run.manifest, ("profile", "limits"))
        if unlike and not force:
            raise UsageError(
                f"'{first.folder}' and '{run.folder}' differ in more than severity: "
                f"{'; '.join(map(str, unlike))}; --force sets them side by side all the same"
            )


def _cells(study: Study, found: Sequence[str]) -> list[Cell]:
    parts = {name: study.select(system=name) for name in found if name in study.present}
    rates = [rate(parts[name]) if name in parts else Cell() for name in found]
    base = parts.get(found[0])
    deltas = [
        of_difference(paired(base.sample("passed"), parts[name].sample("passed")))
        if base is not None and name in parts
        else Cell()
        for name in found[1:]
    ]
    return rates + deltas


def _places(settings: Sequence[Setting]) -> list[tuple[str, str, Setting]]:
    """Return section, label and setting of every row: the paper's two axes, then what is on neither."""
    limits = Counter(setting.limits for setting in settings).most_common(1)[0][0]
    clean = Counter(setting.clean_probability for setting in settings).most_common(1)[0][0]
    both = [setting for setting in settings if setting.limits == limits]
    found = []
    if len(both) > 1:
        section = layouts.VARY_CLEAN.format(limits=both[0].limits_text)
        found += [(section, layouts.clean_probability(s.clean_probability), s) for s in both]
    along = [setting for setting in settings if setting.clean_probability == clean]
    if len(along) > 1:
        section = layouts.VARY_LIMITS.format(clean=layouts.clean_probability(clean))
        found += [(section, setting.limits_text, setting) for setting in along]
    shown = {setting for _, _, setting in found}
    found += [
        ("Others", f"{layouts.clean_probability(s.clean_probability)}, {s.limits_text}", s)
        for s in settings
        if s not in shown
    ]
    return found
