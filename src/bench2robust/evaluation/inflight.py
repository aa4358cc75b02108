"""Plays episodes that wait for models, many at a time, in one event loop.

There are as many players as episodes may be in flight; each takes the next place, plays it, hands the
result over and forgets it. So nothing piles up, whatever the run's length, and a slow disk slows the
players down.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench2robust.core.episode import Usage
from bench2robust.core.errors import EndpointError, EpisodeLostError, UsageError

from .cast import Cast
from .lines import encode
from .schedule import Schedule
from .waves import Rounds
from .workers import Played, broken

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

_FILES_BESIDE = 128
"""Files that are open beside the connections."""


@dataclass(frozen=True, slots=True)
class Lost:
    """An episode that is lost to its endpoint: it has no score, and is to be played again."""

    place: int
    problem: str
    usage: Usage | None = None
    """What it had cost by then."""


@dataclass(slots=True)
class Flight:
    """What is going on, and whether to begin more."""

    reason: str = ""
    """Why no further episode is begun; empty while they are."""
    interrupted: bool = False
    told: Callable[[], None] | None = None
    """Is called when first interrupted."""
    in_flight: int = 0
    cast: Cast | None = None
    """Whose endpoints are asked."""
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def interrupt(self) -> None:
        """Begin no further episode; asked a second time, give up those in flight too."""
        if self.interrupted:
            for task in self._tasks:
                task.cancel()
            return
        self.interrupted = True
        self.reason = self.reason or "interrupted"
        if self.told is not None:
            self.told()

    def watch(self, tasks: list[asyncio.Task[None]]) -> None:
        """Remember what to give up."""
        self._tasks = tasks


Keep = Callable[[Played | Lost], None]
"""Takes what has ended."""


def play_waiting(schedule: Schedule, rounds: Rounds, cast: Cast, keep: Keep, flight: Flight) -> None:
    """Play episodes until there are none left or `flight` has a reason.

    Args:
        schedule: the episodes.
        rounds: which ones; a round begins when the one before has ended.
        cast: who plays; as many episodes are in flight as it may make requests. It is closed at the end.
        keep: is handed every episode when it ends, in this thread.
        flight: is asked before every episode; Ctrl-C sets it.

    Raises:
        UsageError: something that the run needs cannot be; nothing is in flight yet.
        EndpointFatalError: no episode of the run can work; those in flight are given up.
        AgentError, BenchmarkError, SubjectError: an agent or the benchmark broke; likewise.
        KeyboardInterrupt: interrupted, once all that was in flight has ended, or at the second time at once.
    """
    allow_files(cast.most + _FILES_BESIDE)
    asyncio.run(_play(schedule, rounds, cast, keep, flight))
    if flight.interrupted:
        raise KeyboardInterrupt


async def _play(schedule: Schedule, rounds: Rounds, cast: Cast, keep: Keep, flight: Flight) -> None:
    flight.cast = cast

    async def player(places: Iterator[int]) -> None:
        for place in places:
            if flight.reason:
                return
            flight.in_flight += 1
            try:
                keep(await play_one_waiting(schedule, place, cast))
            finally:
                flight.in_flight -= 1

    with _ctrl_c(flight):
        try:
            for places in rounds:
                one = iter(places)  # shared: each place is one player's
                await _play_round([player(one) for _ in range(cast.most)], flight)
                if flight.reason:
                    return
        finally:
            await cast.close()


async def _play_round(players: Sequence[Coroutine[Any, Any, None]], flight: Flight) -> None:
    """Let the players of one round play until all are done."""
    tasks = [asyncio.create_task(player) for player in players]
    flight.watch(tasks)
    try:
        await asyncio.gather(*tasks)
    except asyncio.CancelledError:
        if not flight.interrupted:
            raise
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def play_one_waiting(schedule: Schedule, place: int, cast: Cast) -> Played | Lost:
    """Play the episode at a place.

    Raises:
        EndpointFatalError: no episode of the run can work.
        AgentError, BenchmarkError, SubjectError: an agent or the benchmark broke.
    """
    try:
        episode = await schedule.play_waiting(place, cast)
        return Played(place, encode(episode), episode.result)
    except EpisodeLostError as error:
        return Lost(place, str(error), error.usage)
    except (EndpointError, UsageError):
        raise
    except Exception as error:
        raise broken(place, error).error(schedule) from error


@contextlib.contextmanager
def _ctrl_c(flight: Flight) -> Iterator[None]:
    """Let Ctrl-C, where it can be had, ask `flight` instead of raising."""
    loop = asyncio.get_running_loop()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop.add_signal_handler(signal.SIGINT, flight.interrupt)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def allow_files(wanted: int) -> None:
    """Raise this process's limit of open files, as far as it may: every request in flight has a connection."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
