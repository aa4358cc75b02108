"""Runs a spec into a folder, or goes on where an earlier run of the same spec stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from bench2robust.core.errors import SpecError, UnknownNameError

from .lines import Episode
from .schedule import Schedule
from .spec import RunSpec
from .store import RunFolder, read_episodes, read_manifest, read_results
from .summary import Row, Tally, summarise, to_dict
from .workers import play_all, play_one, usable_cpus

_SAMPLES = 48


@dataclass(frozen=True, slots=True)
class Status:
    """How far a run has come."""

    episodes: int
    """In the whole run."""
    resumed: int
    """Were there already when this command started."""
    done: int
    passed: int
    seconds: float
    """What the episodes that were missing at the start were expected to take."""


Watch = Callable[[Status], None]
"""Is told once before the first episode is played, and after each one."""


@dataclass(frozen=True)
class Run:
    """A run folder, to be read."""

    folder: Path
    manifest: dict[str, Any]

    def episodes(self) -> Iterator[Episode]:
        """Read the episodes one by one, in schedule order."""
        return read_episodes(self.folder)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """One row for each agent and mode that has episodes."""
        return summarise(read_results(self.folder))

    @property
    def complete(self) -> bool:
        """Whether every episode is there."""
        return bool(sum(row.episodes for row in self.rows) == self.manifest["episodes"])

    def episode(self, name: str) -> Episode:
        """Return one episode by its id, or by its line, from 1.

        Raises:
            UnknownNameError: there is none.
        """
        ids: list[str] = []
        for number, episode in enumerate(self.episodes(), start=1):
            if name in (episode.result.id, str(number)):
                return episode
            ids.append(episode.result.id)
        raise UnknownNameError("episode", name, ids)


def load_run(folder: Path | str) -> Run:
    """Open a run folder to read it, finished or not.

    Raises:
        FolderError: it is not a run folder.
    """
    path = Path(folder)
    return Run(path, read_manifest(path))


def run(spec: RunSpec, out: Path | str, *, workers: int | None = None, watch: Watch | None = None) -> Run:
    """Play every episode of a spec that the folder lacks, and write the summary.

    Args:
        spec: what to run.
        out: the run folder; created when missing.
        workers: processes that play; None for one a processor. They change nothing but the time.
        watch: is told how far the run is.

    Raises:
        UsageError: something asked for cannot be; nothing has been written, or the folder is another's.
        SubjectError: an agent or the benchmark broke; the episodes before are kept, and running again
            goes on with the one that broke.
    """
    workers = check_workers(workers)
    schedule = Schedule(spec)
    with RunFolder(Path(out), schedule.manifest()) as folder:
        tally = Tally(folder.resume(schedule.ids()))
        resumed = tally.episodes
        schedule.prepare()
        seconds = forecast(schedule, workers, resumed) if watch else 0.0
        if watch:
            watch(Status(len(schedule), resumed, resumed, tally.passed, seconds))
        for played in play_all(schedule, resumed, workers, (folder.fileno(),)):
            folder.append(played.line)
            tally.add(played.result)
            if watch:
                watch(Status(len(schedule), resumed, tally.episodes, tally.passed, seconds))
        rows = to_dict(tally.rows())
        folder.finish({"fingerprint": schedule.fingerprint, "episodes": len(schedule), "rows": rows})
    return load_run(out)


def check_workers(workers: int | None) -> int:
    """Return how many workers to use.

    Raises:
        SpecError: fewer than one.
    """
    if workers is not None and workers < 1:
        raise SpecError(f"expected at least 1, got workers={workers!r}")
    return workers or usable_cpus()


def forecast(schedule: Schedule, workers: int, done: int = 0) -> float:
    """Return about how many seconds the episodes from place `done` on take, by playing some of them."""
    left = len(schedule) - done
    places = [done + left * at // min(left, _SAMPLES) for at in range(min(left, _SAMPLES))]
    if not places:
        return 0.0
    for task in {schedule.task(place).id: schedule.task(place) for place in places}.values():
        schedule.benchmark.plan(task)
    start = perf_counter()
    for place in places:
        play_one(schedule, place)  # one that breaks is the run's to report
    return (perf_counter() - start) / len(places) * left / min(workers, usable_cpus(), left)
