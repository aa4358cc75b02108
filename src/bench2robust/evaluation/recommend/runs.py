"""Evidence from one's own runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from bench2robust import agents
from bench2robust.core.episode import Mode
from bench2robust.core.errors import SpecError, UsageError
from bench2robust.evaluation.likeness import differences
from bench2robust.evaluation.models import is_chat
from bench2robust.evaluation.runner import MEMORY
from bench2robust.evaluation.series import run_folders
from bench2robust.evaluation.study import LoadedRun, Study
from bench2robust.evaluation.tables.severity import Setting
from bench2robust.evaluation.tables.systems import Options, Who, systems

from .evidence import Conditions, Evidence, Trials


def from_runs(folders: Sequence[Path | str], options: Options | None = None) -> Evidence:
    """Return what run folders (or sweeps) say; each system is a strategy.

    An episode that several runs hold counts once. Policies that know the truth are left out: nobody can deploy
    them.

    Raises:
        FolderError: as `Study.load`.
        UsageError: likewise; or the runs differ in more than severity.
        SpecError: no strategy is left.
    """
    options = options or Options()
    studies = [
        Study.load([folder], force=options.force, lenient=options.lenient) for folder in run_folders(folders)
    ]
    _check_alike([study.runs[0] for study in studies], force=options.force)
    deployable: dict[str, tuple[Who, Study]] = {}
    for study in studies:
        for who in systems(study):
            if _can_be_deployed(who.agent):
                deployable.setdefault(who.name, (who, study))
    if not deployable:
        raise SpecError("expected runs of agents that can be deployed, got policies that know the truth only")
    unit = "tokens" if all(is_chat(who.agent) for who, _ in deployable.values()) else "steps"
    cells: dict[tuple[str, Conditions], _Cell] = {}
    for study in studies:
        _add(cells, study, list(deployable), unit)
    return Evidence(
        tuple(cell.trials(*key) for key, cell in cells.items()),
        unit,
        ", ".join(dict.fromkeys(str(folder) for folder in folders)),
        {name: _settings(who, study) for name, (who, study) in deployable.items()},
        warnings=tuple(dict.fromkeys(text for study in studies for text in study.warnings)),
    )


class _Cell:
    """The episodes of one strategy under one set of conditions, each once."""

    def __init__(self) -> None:
        self.passed: dict[tuple[str, int], bool] = {}
        self.costs: list[float] = []

    def trials(self, strategy: str, conditions: Conditions) -> Trials:
        """Return them by task."""
        passed: dict[str, float] = {}
        played: dict[str, float] = {}
        for (task, _), won in self.passed.items():
            passed[task] = passed.get(task, 0.0) + won
            played[task] = played.get(task, 0.0) + 1.0
        values = tuple(passed.values()), tuple(played.values())
        return Trials(strategy, conditions, tuple(passed), *values, sum(self.costs) / len(self.costs))


def _can_be_deployed(agent: str) -> bool:
    return is_chat(agent) or agent not in agents.NAMES or not agents.create(agent).omniscient


def _check_alike(runs: Sequence[LoadedRun], *, force: bool) -> None:
    for run in runs[1:]:
        unlike = differences(runs[0].manifest, run.manifest, ("profile", "limits"))
        if unlike and not force:
            raise UsageError(
                f"'{runs[0].folder}' and '{run.folder}' differ in more than severity: "
                f"{'; '.join(map(str, unlike))}; --force uses them all the same"
            )


def _add(
    cells: dict[tuple[str, Conditions], _Cell], study: Study, strategies: Sequence[str], unit: str
) -> None:
    """Add the episodes of one run."""
    setting = Setting.of(study.runs[0].manifest)
    for mode, name in product(study.modes, strategies):
        own = study.select(mode=mode, system=name) if name in study.present else None
        if own is None or not len(own):
            continue
        cell = cells.setdefault((name, _conditions(setting, mode)), _Cell())
        columns = (own.data[column].tolist() for column in ("task", "seed", "passed", unit))
        for task, seed, passed, cost in zip(*columns, strict=True):
            key = "/".join(study.tasks[task]), seed
            if key not in cell.passed:
                cell.passed[key] = passed
                cell.costs.append(cost)


def _conditions(setting: Setting, mode: Mode) -> Conditions:
    consecutive, budget = (
        None if value == float("inf") else int(value) for value in (setting.max_consecutive, setting.budget)
    )
    clean = setting.clean_probability if mode.injected else 1.0
    return Conditions(clean, consecutive, budget, mode.alternatives)


def _settings(who: Who, study: Study) -> dict[str, Any]:
    """Return the settings with which ``b2r run`` plays a strategy again."""
    settings: dict[str, Any] = {"agents": [who.agent]}
    memory: Mapping[str, Any] | None = who.memory
    if memory is None:
        return settings
    run = next(run for run in study.runs if who.name in run.systems.values())
    if (run.folder / MEMORY).exists():
        settings["memory"] = str((run.folder / MEMORY).resolve())
    settings |= {
        "memory-variant": memory["variant"],
        "delivery": memory["delivery"],
        "update": memory["update"],
    }
    return settings | ({"wave": memory["wave"]} if "wave" in memory else {})
