"""Runs a spec into a folder, or goes on where an earlier run of the same spec stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from bench2robust.agents.chat.cassette import Cassette, TapeMode
from bench2robust.agents.chat.spec import LITELLM
from bench2robust.core.errors import SpecError, UnknownNameError

from .books import Books, Watch
from .budget import Budget, Meter
from .cast import Cast
from .inflight import play_waiting
from .journal import read_lost
from .lines import Episode
from .models import is_chat
from .schedule import Schedule
from .spec import RunSpec
from .store import RunFolder, read_episodes, read_manifest, read_results
from .summary import Row, summarise
from .workers import play_one, play_rounds, usable_cpus

LOCAL: Final = "local"
RAY: Final = "ray"
MEMORY: Final = "memory.json"
"""The memory of a run, in its folder: as it was at the start. What an online run learns is in no file."""
_SAMPLES = 48


@dataclass(frozen=True)
class Run:
    """A run folder, to be read."""

    folder: Path
    manifest: dict[str, Any]
    stopped: str = ""
    """Why the command that gave this ended before the run did; empty where it did not."""

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

    @cached_property
    def lost(self) -> dict[str, str]:
        """The episodes that are lost to a model's endpoint, by id, and why; they are played again on resume."""
        return read_lost(self.folder)

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


@dataclass(frozen=True, slots=True)
class Means:
    """By what means a run is carried out; nothing here changes its results.

    Raises:
        SpecError: a number below 1, or an executor that nobody knows.
    """

    workers: int | None = None
    """Processes for agents without a model; None for one a processor. On a cluster, for all episodes."""
    concurrency: int = 16
    """Episodes with a model that are in flight at the same time."""
    executor: str = LOCAL
    """``local``, ``ray`` (a cluster that is there, or else one on this machine) or ``ray://HOST:PORT``."""
    budget: Budget = field(default_factory=Budget)
    record: Path | None = None
    """A tape for what models answer; what it has already is played from it."""
    replay: Path | None = None
    """A tape that gives every answer; no model is asked."""

    def __post_init__(self) -> None:
        for name in ("workers", "concurrency"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SpecError(f"expected at least 1, got {name}={value!r}")
        if self.executor not in (LOCAL, RAY) and not self.executor.startswith(f"{RAY}://"):
            raise UnknownNameError("executor", self.executor, (LOCAL, RAY, f"{RAY}://HOST:PORT"))
        tape = self.record or self.replay
        if tape and ((self.record and self.replay) or self.executor != LOCAL):
            other = "replay" if self.executor == LOCAL else f"executor={self.executor!r}"
            raise SpecError(
                f"expected one tape on one machine, got tape='{tape}' beside {other}; leave one out"
            )

    def cassette(self) -> Cassette | None:
        """Return the tape, opened.

        Raises:
            SpecError: it cannot be read or written.
        """
        if self.replay is not None:
            return Cassette(self.replay, TapeMode.REPLAY)
        return None if self.record is None else Cassette(self.record, TapeMode.AUTO)


def run(
    spec: RunSpec,
    out: Path | str,
    *,
    workers: int | None = None,
    means: Means | None = None,
    watch: Watch | None = None,
) -> Run:
    """Play every episode of a spec that the folder lacks, and write the summary when none is missing.

    Args:
        spec: what to run.
        out: the run folder; created when missing.
        workers: short for ``means=Means(workers=…)``.
        means: by what means.
        watch: is told how far the run is.

    Raises:
        UsageError: something asked for cannot be; nothing has been written, or the folder is another's.
        SubjectError: an agent or the benchmark broke; the episodes before are kept, and running again
            goes on with the one that broke.
        EndpointFatalError: a model cannot be asked at all; likewise.
        KeyboardInterrupt: interrupted; what has ended is kept.
    """
    means = means or Means(workers)
    if means.budget.cost is not None:
        _check_prices(spec)
    schedule = Schedule(spec)
    cassette = means.cassette()
    with RunFolder(Path(out), schedule.manifest(), schedule.facts.to_dict()) as folder:
        if spec.memory is not None and spec.memory.memory is not None:
            spec.memory.memory.save(folder.path / MEMORY)
        books = Books(schedule, folder, Meter(means.budget), watch)
        try:
            cast = Cast(spec.models, means.concurrency, cassette)
            _play_missing(schedule, books, means, cast, (folder.fileno(),))
            books.finish()
        finally:
            books.close()
    return replace(load_run(out), stopped=books.flight.reason)


def _check_prices(spec: RunSpec) -> None:
    """Refuse a limit on cost that could guard nothing, because a model has no prices."""
    asked = {name: spec.models.of(name) for name in spec.agents if is_chat(name)}
    if asked and is_chat(spec.models.user):
        asked[spec.models.user] = spec.models.of_user()
    for name, chat in asked.items():
        if chat.prices is None and not chat.model.startswith(LITELLM):
            raise SpecError(
                f"expected prices with max-cost, got none for model={name!r}; give --prices, or use --max-tokens"
            )


def _play_missing(schedule: Schedule, books: Books, means: Means, cast: Cast, held: tuple[int, ...]) -> None:
    """Play what is missing: first what needs no model, in processes, then what waits for one."""
    missing = books.missing()
    schedule.prepare()
    waiting = [place for place in missing if schedule.waits(place)]
    at_once = [place for place in missing if not schedule.waits(place)] if waiting else missing
    workers = means.workers or usable_cpus()
    if means.executor != LOCAL:
        from .cluster import play_on_cluster

        books.begin(0.0)
        if missing:
            play_on_cluster(schedule, books.rounds(missing), means, books.keep, books.flight)
        return
    books.begin(forecast(schedule, workers, at_once) if books.watched else 0.0)
    in_order = not (waiting or books.ahead or books.waves)
    for played in play_rounds(schedule, books.rounds(at_once), workers, held):
        if in_order:
            books.append(played)
        else:
            books.keep(played)
        books.flight.reason = books.exhausted()
        if books.flight.reason:
            return
    if waiting:
        books.flight.told = books.tell
        play_waiting(schedule, books.rounds(waiting), cast, books.keep, books.flight)


def forecast(schedule: Schedule, workers: int, places: Sequence[int] | None = None) -> float:
    """Return about how many seconds episodes without a model take, by playing some of them.

    Args:
        schedule: the episodes.
        workers: how many processes play them.
        places: which ones; None for all.
    """
    if places is None:
        places = [place for place in range(len(schedule)) if not schedule.waits(place)]
    some = min(len(places), _SAMPLES)
    sample = [places[len(places) * at // some] for at in range(some)]
    if not sample:
        return 0.0
    for task in {schedule.task(place).id: schedule.task(place) for place in sample}.values():
        schedule.benchmark.plan(task)
    # What an agent works out once, in its first injected episode, is not what each episode takes.
    for place in {place * len(schedule.spec.agents) // len(schedule): place for place in sample}.values():
        play_one(schedule, place)
    start = perf_counter()
    for place in sample:
        play_one(schedule, place)  # one that breaks is the run's to report
    seconds = (perf_counter() - start) / len(sample) * len(places)
    return seconds / min(workers, usable_cpus(), len(places))
