"""What a run has so far: every episode that ended goes through here to the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench2robust.core.episode import Usage

from .budget import Meter
from .inflight import Flight, Lost
from .lines import Result
from .schedule import Schedule
from .store import RunFolder, read_episodes, read_results
from .summary import Tally, summarise, to_dict
from .waves import Rounds, Waves
from .workers import Played


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
    """What the episodes without a model that were missing at the start were expected to take."""
    usage: Usage = field(default_factory=Usage)
    """What models were asked for, in all episodes that are done."""
    lost: int = 0
    """Episodes that this command lost to an endpoint."""
    retries: int = 0
    """Requests that failed and were made again."""
    in_flight: int = 0
    limit: int = 0
    """How many requests may be on their way now; 0 where nobody waits for a model."""
    stopping: str = ""
    """Why no further episode is begun."""


Watch = Callable[[Status], None]
"""Is told once before the first episode is played, after each one, and when the run is to stop."""


class Books:
    """The episodes of a run folder, as they come.

    Args:
        schedule: the episodes there are to be.
        folder: where they are kept.
        meter: counts what they cost.
        watch: is told how far the run is.

    Raises:
        FolderError: what is there belongs to another run.
    """

    def __init__(self, schedule: Schedule, folder: RunFolder, meter: Meter, watch: Watch | None) -> None:
        self.flight = Flight()
        self.waves: Waves | None = None
        """Learns from every episode; None where nothing is learned."""
        self._schedule, self._folder, self._meter, self._watch = schedule, folder, meter, watch
        self._tally = Tally()
        for result in folder.resume(schedule.ids()):
            self._count(result)
        self._placed = self._tally.episodes
        self._journal = folder.journal(schedule.ids())
        for result in self._journal.read():
            if (
                self._journal.place(result) >= self._placed
            ):  # else the run was killed while it was being moved
                self._count(result)
        self._resumed, self._lost, self._seconds = self._tally.episodes, 0, 0.0
        if schedule.wave:
            self.waves = Waves(schedule, read_episodes(folder.path))

    def missing(self) -> list[int]:
        """Return the places of the episodes that are not there, in order."""
        return [p for p in range(self._placed, len(self._schedule)) if p not in self._journal]

    def rounds(self, places: Sequence[int]) -> Rounds:
        """Return places in the rounds in which they are to be played."""
        return (places,) if self.waves is None else self.waves.rounds(places)

    @property
    def ahead(self) -> bool:
        """Whether there are episodes that ended before their turn."""
        return len(self._journal) > 0

    @property
    def watched(self) -> bool:
        """Whether anybody is told."""
        return self._watch is not None

    def begin(self, seconds: float) -> None:
        """Say that the run begins; `seconds` is what the episodes without a model are expected to take."""
        self._seconds = seconds
        self.tell()

    def append(self, played: Played) -> None:
        """Keep an episode whose turn it is."""
        self._folder.append(played.line)
        self._took(played)
        self.tell()

    def keep(self, ended: Played | Lost) -> None:
        """Keep an episode, or that it is lost, before its turn."""
        if isinstance(ended, Lost):
            self._journal.lose(self._schedule.id(ended.place), ended.problem)
            self._lost += 1
            self._meter.add(ended.usage)
        else:
            self._journal.add(ended.place, ended.line)
            self._took(ended)
        self.flight.reason = self.flight.reason or self._meter.exhausted(max(0, self.flight.in_flight - 1))
        self.tell()

    def exhausted(self) -> str:
        """Return which limit of the budget is reached, empty where none is."""
        return self._meter.exhausted(0)

    def finish(self) -> None:
        """Put every episode in its place and write the summary, if none is missing."""
        total = len(self._schedule)
        if self._tally.episodes < total:
            return
        if self.ahead:
            for line in self._journal.lines(range(self._placed, total)):
                self._folder.append(line)
            rows = summarise(read_results(self._folder.path))
        else:
            rows = self._tally.rows()
        schedule = self._schedule
        self._folder.finish({"fingerprint": schedule.fingerprint, "episodes": total, "rows": to_dict(rows)})
        self._journal.remove()

    def close(self) -> None:
        """Close the files."""
        self._journal.close()

    def tell(self) -> None:
        """Tell whoever watches how far the run is."""
        if self._watch is None:
            return
        flight, tally = self.flight, self._tally
        cast = flight.cast
        self._watch(
            Status(
                len(self._schedule),
                self._resumed,
                tally.episodes,
                tally.passed,
                self._seconds,
                self._meter.spent,
                self._lost,
                cast.retries if cast else 0,
                flight.in_flight,
                cast.limit if cast else 0,
                flight.reason,
            )
        )

    def _took(self, played: Played) -> None:
        self._count(played.result)
        if self.waves is not None:
            self.waves.take(played.place, played.line)

    def _count(self, result: Result) -> None:
        self._tally.add(result)
        self._meter.add(result.spent)
