"""Several runs as one resumable plan: a folder with ``series.json`` and a run folder for each.

A sweep is a series, and so is a reproduction of one of the paper's tables. Repeating the command goes on where it
stopped, run by run and episode by episode; a larger plan with the same runs grows the folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, Final

from bench2robust.core.errors import FolderError, SpecError

from .books import Watch
from .budget import Budget
from .runner import Means, Run, run
from .schedule import Schedule
from .spec import RunSpec
from .store import EPISODES, MANIFEST

FILE: Final = "series.json"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Series:
    """Runs by name.

    Raises:
        SpecError: there is none.
    """

    kind: str
    """What made it: ``sweep``, or the name of a table that is reproduced."""
    runs: Mapping[str, RunSpec]
    """Name of the run folder to what is run."""

    def __post_init__(self) -> None:
        if not self.runs:
            raise SpecError(f"expected at least one run in series={self.kind!r}, got none")


@dataclass(frozen=True, slots=True)
class Played:
    """How far a series got."""

    folder: Path
    runs: tuple[Run, ...]
    stopped: str = ""
    """Why it ended before all was played; empty where it did not."""


def run_folders(folders: Iterable[Path | str]) -> tuple[Path | str, ...]:
    """Return run folders: each as it came, a series' folder as those of its runs that have begun.

    Raises:
        FolderError: a series that cannot be read, or none of whose runs has begun.
    """
    found: list[Path | str] = []
    for folder in folders:
        path = Path(folder)
        if not (path / FILE).exists():
            found.append(folder)
            continue
        begun = [path / name for name in _read(path)["runs"] if _begun(path / name)]
        if not begun:
            raise FolderError(f"expected runs with episodes in '{path}', got none; repeat its command first")
        found += begun
    return tuple(found)


def _begun(folder: Path) -> bool:
    return (folder / MANIFEST).exists() and (folder / EPISODES).exists()


def play(
    series: Series,
    out: Path,
    means: Means | None = None,
    watch: Callable[[str, Schedule], Watch | None] | None = None,
) -> Played:
    """Play what a series' folder lacks.

    Args:
        series: the runs.
        out: the series' folder; created when missing.
        means: by what means; its budget is for the whole series.
        watch: is told the name and schedule of each run that begins, and gives who watches it.

    Raises:
        FolderError: the folder holds other runs under these names, or cannot be written.
        UsageError, SubjectError, EndpointFatalError, KeyboardInterrupt: as `runner.run`.
    """
    means = means or Means()
    schedules = {name: Schedule(spec) for name, spec in series.runs.items()}
    _claim(out, series, schedules)
    start = monotonic()
    done: list[Run] = []
    for name, spec in series.runs.items():
        left, reason = _left(means.budget, done, monotonic() - start)
        if reason:
            return Played(out, tuple(done), reason)
        watching = watch(name, schedules[name]) if watch else None
        finished = run(spec, out / name, means=replace(means, budget=left), watch=watching)
        done.append(finished)
        if finished.stopped:
            return Played(out, tuple(done), finished.stopped)
    return Played(out, tuple(done))


def _left(budget: Budget, done: Sequence[Run], seconds: float) -> tuple[Budget, str]:
    """Return what is left of a budget, and why nothing is where nothing is."""
    rows = [row for one in done for row in one.rows]
    spent: dict[str, float] = {
        "cost": sum(row.cost * row.episodes for row in rows),
        "tokens": round(sum(row.tokens * row.episodes for row in rows)),
        "hours": seconds / 3600,
    }
    left: dict[str, Any] = {}
    for name, used in spent.items():
        limit = getattr(budget, name)
        if limit is not None and limit <= used:
            return budget, f"max-{name}={limit:g} is used up"
        left[name] = None if limit is None else limit - used
    return Budget(**left), ""


def _claim(out: Path, series: Series, schedules: Mapping[str, Schedule]) -> None:
    """Write the plan, or check that the one which is there fits; both together are the new plan."""
    wanted = {name: schedule.fingerprint for name, schedule in schedules.items()}
    there: dict[str, str] = {}
    if (out / FILE).exists():
        plan = _read(out)
        there = plan["runs"]
        if plan["kind"] != series.kind:
            raise FolderError(
                f"folder='{out}' holds another plan: {plan['kind']!r} there, {series.kind!r} here; choose another"
            )
        other = next((name for name in wanted if there.get(name, wanted[name]) != wanted[name]), None)
        if other is not None:
            raise FolderError(
                f"folder='{out}' holds another plan: its run {other!r} has other settings; choose another folder, "
                "or repeat its command"
            )
    elif out.exists() and any(out.iterdir()):
        raise FolderError(f"expected an empty folder or one of a series, got out='{out}'; choose another")
    _write(out, {"format": _FORMAT, "kind": series.kind, "runs": {**there, **wanted}})


def _write(out: Path, plan: Mapping[str, Any]) -> None:
    half = out / f".{FILE}.half"
    try:
        out.mkdir(parents=True, exist_ok=True)
        half.write_text(json.dumps(plan, indent=2) + "\n", encoding="utf-8")
        half.replace(out / FILE)
    except OSError as error:
        raise FolderError(
            f"expected a folder that can be written, got out='{out}' ({error.strerror}); choose another"
        ) from None


def _read(out: Path) -> dict[str, Any]:
    try:
        plan = json.loads((out / FILE).read_bytes())
    except (OSError, ValueError) as error:
        raise FolderError(f"expected the plan of a series in '{out / FILE}' ({error})") from None
    runs = plan.get("runs") if isinstance(plan, dict) and plan.get("format") == _FORMAT else None
    if not isinstance(runs, dict) or not runs:
        raise FolderError(f"expected the plan of a series, format {_FORMAT}, in '{out / FILE}'")
    return {"kind": str(plan.get("kind")), "runs": runs}
