"""Plays the same episodes on a Ray cluster: the same lines, whoever plays them and whoever dies meanwhile.

Each worker is an actor with a schedule of its own, made from the same spec, whose fingerprint has to be the
driver's. What a worker that dies was playing is given to the others; only the driver writes.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from bench2robust.core.errors import (
    B2RError,
    EndpointError,
    NotInstalledError,
    SpecError,
    SubjectError,
    UsageError,
)

from .cast import Cast
from .inflight import Flight, Keep, Lost, allow_files, play_one_waiting
from .schedule import Schedule
from .spec import RunSpec
from .waves import Rounds
from .workers import Broken, Played, broken, play_one

if TYPE_CHECKING:
    from bench2robust.memory.memory import Memory

    from .runner import Means

_CHUNK: Final = 32
"""Episodes without a model that are handed to a worker at a time."""
_DEATHS: Final = 5
"""Workers that may die while they play one episode before the episode is to blame."""
_QUIET: Final = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}


class Player:
    """What runs in a worker."""

    def __init__(self, spec: RunSpec, fingerprint: str, concurrency: int) -> None:
        self._schedule = Schedule(spec)
        self._expected = fingerprint
        self._cast = Cast(spec.models, concurrency)
        allow_files(concurrency + 128)
        self._schedule.prepare()

    async def play(
        self, places: Sequence[int], learned: Mapping[int, Memory]
    ) -> list[Played | Lost | Broken]:
        """Play the episodes at some places, their agents being told what has been learned for their streams."""
        self._schedule.learn(learned)
        if self._schedule.fingerprint != self._expected:
            problem = (
                f"expected fingerprint={self._expected!r}, a worker has {self._schedule.fingerprint!r}; "
                "install the same versions on every machine"
            )
            return [Broken(places[0], UsageError, problem)]
        return [await self._play(place) for place in places]

    async def _play(self, place: int) -> Played | Lost | Broken:
        if not self._schedule.waits(place):
            return play_one(self._schedule, place)
        try:
            return await play_one_waiting(self._schedule, place, self._cast)
        except (EndpointError, UsageError) as error:
            return Broken(place, type(error), str(error))
        except B2RError as error:
            text = str(error).removeprefix(f"episode={self._schedule.id(place)!r}: ")
            return Broken(place, type(error), text)
        except Exception as error:
            return broken(place, error)


def play_on_cluster(schedule: Schedule, rounds: Rounds, means: Means, keep: Keep, flight: Flight) -> None:
    """Play episodes on a Ray cluster until there are none left or `flight` has a reason.

    Args:
        schedule: the episodes.
        rounds: which ones; a round begins when the one before has ended.
        means: which cluster, how many workers, and how many episodes in flight in all.
        keep: is handed every episode when it ends.
        flight: is asked before every chunk; Ctrl-C sets it.

    Raises:
        NotInstalledError: ray is not installed.
        SpecError: there is no such cluster.
        SubjectError: an agent or the benchmark broke, or an episode's workers died again and again.
        EndpointFatalError: no episode of the run can work.
        KeyboardInterrupt: interrupted.
    """
    try:
        import ray
    except ImportError:
        raise NotInstalledError(
            f"executor={means.executor!r} needs ray, which is not installed; pip install 'bench2robust[ray]'"
        ) from None
    _connect(ray, means)
    try:
        cluster = _Cluster(ray, schedule, means, keep, flight)
        with _ctrl_c(flight):
            for places in rounds:
                cluster.play(places)
                if flight.reason:
                    break
    finally:
        ray.shutdown()
    if flight.interrupted:
        raise KeyboardInterrupt


def _connect(ray: Any, means: Means) -> None:
    address = means.executor if "://" in means.executor else os.environ.get("RAY_ADDRESS")
    own = {} if address else {"include_dashboard": False, "num_cpus": means.workers}
    try:
        ray.init(address=address, **own, **_QUIET)
    except (ConnectionError, RuntimeError, ValueError) as error:
        problem = (str(error).splitlines() or [type(error).__name__])[0]
        raise SpecError(
            f"expected a Ray cluster, got executor={means.executor!r} ({problem}); start one with `ray start --head`"
        ) from None


@dataclass(slots=True, eq=False)
class _Worker:
    """One worker, as the driver sees it."""

    actor: Any
    load: int = 0
    """Chunks in its hands."""


@dataclass(slots=True)
class _Cluster:
    """The workers, and who of them is playing what."""

    ray: Any
    schedule: Schedule
    means: Means
    keep: Keep
    flight: Flight
    _workers: list[_Worker] = field(default_factory=list)
    """Those that live, as far as is known."""
    _playing: dict[Any, tuple[_Worker, Sequence[int]]] = field(default_factory=dict)
    _deaths: Counter[int] = field(default_factory=Counter)
    _slots: int = 1

    def play(self, places: Sequence[int]) -> None:
        """Hand out the places of a round until all have ended."""
        chunks = deque(self._chunks(places))
        if not self._workers:
            count = self.means.workers or max(1, int(self.ray.cluster_resources().get("CPU", 1)))
            count = min(count, len(chunks))
            self._slots = max(1, -(-self.means.concurrency // count))
            self._workers = [self._hire() for _ in range(count)]
        while self._playing or (chunks and not self.flight.reason):
            while chunks and not self.flight.reason and (free := self._free()) is not None:
                self._hand(free, chunks.popleft())
            ended, _ = self.ray.wait(list(self._playing), num_returns=1, timeout=1.0)
            for future in ended:
                chunks.extendleft(self._receive(future))

    def _chunks(self, places: Sequence[int]) -> Iterator[Sequence[int]]:
        waiting = [place for place in places if self.schedule.waits(place)]
        at_once = [place for place in places if not self.schedule.waits(place)]
        yield from (at_once[at : at + _CHUNK] for at in range(0, len(at_once), _CHUNK))
        yield from ([place] for place in waiting)

    def _hire(self) -> _Worker:
        options = {"num_cpus": 1, "max_restarts": 0, "max_concurrency": self._slots}
        actor = self.ray.remote(**options)(Player)
        return _Worker(actor.remote(self.schedule.spec, self.schedule.fingerprint, self._slots))

    def _free(self) -> _Worker | None:
        """Return the worker with the least to do, None where all have enough."""
        least = min(self._workers, key=lambda worker: worker.load)
        return least if least.load < self._slots else None

    def _hand(self, worker: _Worker, places: Sequence[int]) -> None:
        learned = self.schedule.learned(places)
        self._playing[worker.actor.play.remote(list(places), learned)] = (worker, places)
        worker.load += 1
        self.flight.in_flight += len(places)

    def _receive(self, future: Any) -> list[Sequence[int]]:
        """Keep what has ended; returns what has to be played again because its worker died."""
        worker, places = self._playing.pop(future)
        worker.load -= 1
        self.flight.in_flight -= len(places)
        try:
            results = self.ray.get(future)
        except self.ray.exceptions.RayActorError:
            return self._bury(worker, places)
        for result in results:
            if isinstance(result, Broken):
                if issubclass(result.family, EndpointError | UsageError):
                    raise result.family(result.problem)
                raise result.error(self.schedule)
            self.keep(result)
        return []

    def _bury(self, worker: _Worker, places: Sequence[int]) -> list[Sequence[int]]:
        """Replace a dead worker, once; an episode that many die of is to blame itself."""
        if worker in self._workers:
            self._workers[self._workers.index(worker)] = self._hire()
        for place in places:
            self._deaths[place] += 1
            if self._deaths[place] >= _DEATHS:
                raise SubjectError(
                    f"episode={self.schedule.id(place)!r}: {_DEATHS} workers died while it was played"
                )
        return [[place] for place in reversed(places)]


@contextmanager
def _ctrl_c(flight: Flight) -> Iterator[None]:
    """Let the first Ctrl-C ask `flight`, and the second raise."""

    def pressed(number: int, frame: FrameType | None) -> None:
        if flight.interrupted:
            raise KeyboardInterrupt
        flight.interrupt()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Callable[[int, FrameType | None], Any] | int | None = signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
