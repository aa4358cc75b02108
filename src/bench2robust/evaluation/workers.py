"""Plays episodes of a schedule in this process or in several, and gives them back in order.

Each worker has its own pipe. It holds no copy of anybody else's, nor of the run folder's lock, so it
ends by itself when its parent dies, at whatever moment, and never keeps the folder busy.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from bench2robust.core.errors import AgentError, B2RError, BenchmarkError, SubjectError

from .lines import Result, encode
from .schedule import Schedule
from .waves import Rounds

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess

_MOST_AT_ONCE = 32
"""Episodes handed to a worker at a time; also the unit in which workers may run ahead."""
_AHEAD = 8


@dataclass(frozen=True, slots=True)
class Played:
    """One episode, played and encoded."""

    place: int
    line: bytes
    result: Result


@dataclass(frozen=True, slots=True)
class Broken:
    """An episode that could not be played to its end."""

    place: int
    family: type[Exception]
    problem: str
    trace: str = ""

    def error(self, schedule: Schedule) -> Exception:
        """Return the error to raise, which names the episode."""
        error = self.family(f"episode={schedule.id(self.place)!r}: {self.problem}")
        if not isinstance(error, B2RError):
            error.add_note(self.trace)
        return error


def usable_cpus() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def play_all(
    schedule: Schedule, places: Sequence[int], workers: int, held: tuple[int, ...] = ()
) -> Iterator[Played]:
    """Play the episodes at some places, and return them in the same order.

    Args:
        schedule: the episodes.
        places: which ones.
        workers: how many processes play (1: this one).
        held: file descriptors that workers must not keep open.

    Raises:
        AgentError, BenchmarkError: an agent or the benchmark broke; the message names the episode.
        SubjectError: a worker process died while it played an episode; the message names it.
    """
    return play_rounds(schedule, (places,), workers, held)


def play_rounds(
    schedule: Schedule, rounds: Rounds, workers: int, held: tuple[int, ...] = ()
) -> Iterator[Played]:
    """Play rounds like `play_all`, by the same processes; a round is taken once the one before was returned."""
    forks = "fork" in multiprocessing.get_all_start_methods()
    crew: _Crew | None = None
    try:
        for places in rounds:
            useful = min(workers, -(-len(places) // 2))
            if crew is None and useful > 1 and forks:
                crew = _Crew(schedule, useful, held)
            if crew is not None:
                yield from crew.play(places)
                continue
            for place in places:
                yield _sound(play_one(schedule, place), schedule)
    finally:
        if crew is not None:
            crew.dismiss()


def play_one(schedule: Schedule, place: int) -> Played | Broken:
    """Play the episode at a place, whatever comes of it."""
    try:
        episode = schedule.play(place)
        return Played(place, encode(episode), episode.result)
    except Exception as error:
        return broken(place, error)


def broken(place: int, error: Exception) -> Broken:
    """Return what an error says of the episode at a place."""
    match error:
        case AgentError() | BenchmarkError():
            return Broken(place, type(error), str(error))
        case B2RError():
            return Broken(place, SubjectError, str(error))
    trace = "".join(traceback.format_exception(error))
    return Broken(place, RuntimeError, f"{type(error).__name__}: {error}", trace)


def _sound(played: Played | Broken, schedule: Schedule) -> Played:
    if isinstance(played, Broken):
        raise played.error(schedule)
    return played


class _Crew:
    """Worker processes, and who of them is playing what."""

    def __init__(self, schedule: Schedule, workers: int, held: tuple[int, ...]) -> None:
        self._schedule = schedule
        self._processes: dict[Connection, ForkProcess] = {}
        self._playing: dict[Connection, deque[int]] = {}
        self._idle: list[Connection] = []
        context = multiprocessing.get_context("fork")
        gc.collect()
        gc.freeze()
        try:
            for _ in range(workers):
                ours, theirs = context.Pipe()
                strangers = (*self._processes, ours)
                process = context.Process(target=_work, args=(schedule, theirs, strangers, held), daemon=True)
                process.start()
                theirs.close()
                self._processes[ours] = process
                self._idle.append(ours)
        finally:
            gc.unfreeze()

    def play(self, places: Sequence[int]) -> Iterator[Played]:
        """Hand out the places, and return what was played in order.

        What broke is raised when its turn comes, so everything before it has been returned by then.
        """
        size = min(_MOST_AT_ONCE, -(-len(places) // (4 * len(self._processes))))
        begins = deque(range(0, len(places), size))
        ahead = _AHEAD * size * len(self._processes)
        early: dict[int, Played | Broken] = {}
        following = 0
        while following < len(places):
            while self._idle and begins and begins[0] < following + ahead:
                begin = begins.popleft()
                self._hand(self._idle.pop(), places[begin : begin + size])
            ready = wait(list(self._playing))
            for worker in [worker for worker in self._playing if worker in ready]:
                played = self._receive(worker)
                early[played.place] = played
            while following < len(places) and places[following] in early:
                yield _sound(early.pop(places[following]), self._schedule)
                following += 1

    def dismiss(self) -> None:
        """End every worker."""
        for connection, process in self._processes.items():
            connection.close()
            process.terminate()
            process.join()

    def _hand(self, worker: Connection, places: Sequence[int]) -> None:
        self._playing[worker] = deque(places)
        with suppress(OSError):  # a worker that is gone is noticed when it should answer
            worker.send((places, self._schedule.learned(places)))

    def _receive(self, worker: Connection) -> Played | Broken:
        left = self._playing[worker]
        try:
            played: Played | Broken = worker.recv()
        except (EOFError, OSError):
            process = self._processes[worker]
            process.join()
            del self._playing[worker]
            return Broken(left[0], SubjectError, f"its worker died (exit code {process.exitcode})")
        left.popleft()
        if not left:
            del self._playing[worker]
            self._idle.append(worker)
        return played


def _work(
    schedule: Schedule, parent: Connection, strangers: tuple[Connection, ...], held: tuple[int, ...]
) -> None:
    """Play what the parent hands out until it hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for connection in strangers:
        connection.close()
    for file in held:
        os.close(file)
    try:
        while True:
            places, learned = parent.recv()
            schedule.learn(learned)
            for place in places:
                parent.send(play_one(schedule, place))
    except (EOFError, OSError):
        return
