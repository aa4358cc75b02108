"""The order in which a run plays what is missing: all at once, or in waves between which it learns.

An online run learns within a stream: the episodes of one agent, mode and seed, in schedule order, cut into
waves of a declared size. What the agents of a wave are told is the memory at the start, updated with the
stream's earlier waves and nothing else. So it never depends on how many episodes are in flight, on which
machine, or on where a run was interrupted: it is worked out again from the episodes that are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bench2robust.memory.beliefs import Counts
from bench2robust.memory.counting import counts
from bench2robust.memory.memory import Memory

from .episode import domain_of
from .lines import Episode, decode
from .schedule import Schedule

Rounds = Iterable[Sequence[int]]
"""Places to be played: a round is taken once everything of the round before has ended."""


class Waves:
    """What an online run has learned so far.

    Args:
        schedule: the episodes; it is told what agents are told.
        kept: the episodes that there are already.
    """

    def __init__(self, schedule: Schedule, kept: Iterable[Episode]) -> None:
        self._schedule = schedule
        self._size = schedule.wave
        self._domain = domain_of(schedule.benchmark)
        self._counts: dict[int, Counts] = {}
        places = {name: place for place, name in enumerate(schedule.ids())}
        for episode in kept:
            self._count(places[episode.result.id], episode)

    def take(self, place: int, line: bytes) -> None:
        """Take in an episode that has ended."""
        self._count(place, decode(line))

    def rounds(self, places: Iterable[int]) -> Iterator[Sequence[int]]:
        """Return the places in rounds: of every stream the next wave that is not complete.

        Before a round the schedule is told what has been learned for it. A stream that has lost an episode
        to its endpoint waits until the run is resumed.
        """
        left: dict[int, list[int]] = {}
        for place in places:
            left.setdefault(self._schedule.stream(place), []).append(place)
        known = {stream: (0, self._schedule.start) for stream in left}
        while left:
            together: list[int] = []
            for stream, missing in list(left.items()):
                first = self._wave(missing[0])
                learned = self._advance(stream, known[stream], first)
                if learned is None:
                    del left[stream]
                    continue
                known[stream] = (first, learned)
                self._schedule.learn({stream: learned})
                wave = [place for place in missing if self._wave(place) == first]
                together += wave
                left[stream] = missing[len(wave) :]
                if not left[stream]:
                    del left[stream]
            if together:
                yield together

    def memory(self, stream: int) -> Memory:
        """Return what has been learned from all episodes of a stream that are kept, in whole waves."""
        learned, wave = self._schedule.start, 0
        while (more := self._advance(stream, (wave, learned), wave + 1)) is not None:
            learned, wave = more, wave + 1
            if wave * self._size >= len(self._schedule.tasks):
                break
        return learned

    def _advance(self, stream: int, known: tuple[int, Memory], wave: int) -> Memory | None:
        """Return what is known before a wave; None where an episode of an earlier one is missing."""
        at, memory = known
        for done in range(at, wave):
            begin, tasks = stream * len(self._schedule.tasks), len(self._schedule.tasks)
            inside = range(begin + done * self._size, begin + min(tasks, (done + 1) * self._size))
            if any(place not in self._counts for place in inside):
                return None
            memory = memory.updated(*(self._counts[place] for place in inside))
        return memory

    def _wave(self, place: int) -> int:
        return place % len(self._schedule.tasks) // self._size

    def _count(self, place: int, episode: Episode) -> None:
        self._counts[place] = counts(episode.trajectory, episode.result.outcome.score.passed, self._domain)
