"""The explorer's data: a small index of every episode, and timelines in pieces that are read when wanted.

The index holds one list for each property of an episode (columnar: equal values lie side by side and
compress to almost nothing). Timelines are grouped by task into pieces of about a quarter megabyte; a text
that several pieces use lies in a piece of its own. Everything is JSON, deflated, in base64: a browser
unpacks it with ``DecompressionStream`` and needs no library.

Where the whole does not fit into the file, timelines are left out by *group* (one task, seed and mode,
every system), so that systems can always be laid side by side; `Packed.kept` says how many stay, and the
index still lists every episode.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from bench2robust.core.episode import Escalation, Mode, Scenario
from bench2robust.core.noise import NOISE_TYPES
from bench2robust.evaluation.lines import Episode, Result

from .timeline import Texts, numbers, renumbered, timeline

PIECE: Final = 250_000
"""Characters of JSON of a piece, about."""
_SHARED_FROM: Final = 60
"""Characters from which on a text of several pieces is kept once for all of them."""
_TRIES, _FULL = 8, 0.95
"""How often the number of timelines is guessed at most, and the share of the room that is full enough."""
_SHARED_NUMBER: Final = -2
"""Number of the first shared text; -1 stands for no text."""
BLOCKED_BIT: Final = 1 << len(NOISE_TYPES)
"""Bit of `met` that says that a blocked tool was called; the lower ones are the noise types."""
_Key = tuple[int, int, int, int, int]
"""Task, mode, seed, system, and the place among all: the order of the explorer."""
MODES, SCENARIOS, ESCALATIONS = tuple(Mode), tuple(Scenario), tuple(Escalation)


@dataclass(frozen=True, slots=True)
class Player:
    """A system as the explorer names it."""

    name: str
    agent: str
    """Its name in an episode's id."""
    folder: str
    """Its run folder, for ``b2r show``."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A task of a benchmark."""

    benchmark: str
    task: str
    intent: str


@dataclass(slots=True)
class _Entry:
    key: _Key
    result: Result
    ended: str
    met: int
    timeline: list[Any]

    @property
    def group(self) -> tuple[int, int, int]:
        return self.key[:3]


@dataclass(frozen=True, slots=True)
class Packed:
    """What goes into the page."""

    index: str
    shared: str
    pieces: tuple[str, ...]
    kept: int
    """Episodes with a timeline."""
    episodes: int
    cut: int
    """Texts that were cut to `timeline.LONGEST`."""

    @property
    def size(self) -> int:
        """Characters in all."""
        return len(self.index) + len(self.shared) + sum(map(len, self.pieces))


@dataclass(slots=True)
class Explorer:
    """Collects episodes, then packs them.

    Args:
        players: the systems; an episode is added by its system's place here.
    """

    players: Sequence[Player]
    texts: Texts = field(default_factory=Texts)
    _subjects: dict[Subject, int] = field(default_factory=dict)
    _entries: list[_Entry] = field(default_factory=list)

    def add(self, system: int, subject: Subject, episode: Episode) -> None:
        """Add one episode."""
        result = episode.result
        task = self._subjects.setdefault(subject, len(self._subjects))
        key = (task, MODES.index(result.mode), result.seed, system, len(self._entries))
        self._entries.append(
            _Entry(key, result, episode.trajectory.ended, met(episode), timeline(episode, self.texts))
        )

    def pack(self, most: int, first: Collection[tuple[str, str, str, int]] = ()) -> Packed:
        """Return the data in at most `most` characters, if the index alone is not longer.

        Args:
            most: characters.
            first: groups to keep before all others: benchmark, task, mode and seed.
        """
        self._entries.sort(key=lambda entry: entry.key)
        groups = [list(members) for _, members in groupby(self._entries, lambda e: e.group)]
        wanted = {
            (self._subjects[subject], MODES.index(Mode(mode)), seed)
            for subject in self._subjects
            for benchmark, task, mode, seed in first
            if (subject.benchmark, subject.task) == (benchmark, task)
        }
        ranked = sorted(groups, key=lambda g: (g[0].group not in wanted, _rank(g), g[0].result.seed))
        whole = self._packed(ranked)
        return whole if whole.size <= most else self._fitting(ranked, whole.size, most)

    def _fitting(self, ranked: Sequence[list[_Entry]], size: int, most: int) -> Packed:
        """Return about as many groups, from the first on, as fit."""
        best = self._packed([])
        few, many, small, large = 0, len(ranked), best.size, size
        for _ in range(_TRIES):
            if many - few < 2 or best.size > _FULL * most:
                break
            guess = few + round((many - few) * max(0.02, (0.98 * most - small) / (large - small)))
            count = min(max(guess, few + 1), many - 1)
            packed = self._packed(ranked[:count])
            if packed.size <= most:
                best, few, small = packed, count, packed.size
            else:
                many, large = count, packed.size
        return best

    def _packed(self, groups: Iterable[list[_Entry]]) -> Packed:
        kept = sorted((entry for group in groups for entry in group), key=lambda entry: entry.key)
        pieces, shared = _pieces(kept, self.texts.all())
        places = {
            entry.key: (number, place)
            for number, piece in enumerate(pieces)
            for place, entry in enumerate(piece.entries)
        }
        return Packed(
            index=deflated(self._index(places)),
            shared=deflated([self.texts.all()[number] for number in shared]),
            pieces=tuple(deflated(piece.written) for piece in pieces),
            kept=len(kept),
            episodes=len(self._entries),
            cut=self.texts.cut,
        )

    def _index(self, places: dict[_Key, tuple[int, int]]) -> dict[str, Any]:
        return {
            "systems": [[p.name, p.agent, p.folder] for p in self.players],
            "tasks": [[s.benchmark, s.task, s.intent] for s in self._subjects],
            "modes": MODES,
            "scenarios": SCENARIOS,
            "escalations": ESCALATIONS,
            "noises": NOISE_TYPES,
            "ends": (ends := sorted({entry.ended for entry in self._entries})),
            "columns": _columns(self._entries, places, ends),
        }


def met(episode: Episode) -> int:
    """Return what an episode met as bits: the noise types that were delivered, and a blocked tool."""
    bits = 0
    for record in episode.trajectory.records:
        if record.blocked:
            bits |= BLOCKED_BIT
        elif record.landed:
            bits |= 1 << NOISE_TYPES.index(record.noise)
    return bits


def deflated(value: Any) -> str:
    """Return a value as JSON, deflated (raw, no header), in base64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(squeeze.compress(text) + squeeze.flush()).decode("ascii")


def _rank(group: Sequence[_Entry]) -> int:
    """Return how soon a group is left out: the higher, the sooner.

    0: the systems differ; 1: all failed under injection; 2: all failed; 3: something was injected; 4: the rest.
    """
    verdicts = {entry.result.outcome.score.passed for entry in group}
    if len(verdicts) == 2:
        return 0
    if verdicts == {False}:
        return 1 if group[0].result.mode.injected else 2
    return 3 if any(entry.met for entry in group) else 4


@dataclass(slots=True)
class _Piece:
    entries: list[_Entry] = field(default_factory=list)
    used: set[int] = field(default_factory=set)
    written: list[Any] = field(default_factory=list)


def _pieces(entries: Sequence[_Entry], texts: Sequence[str]) -> tuple[list[_Piece], list[int]]:
    """Return the pieces, in order, and the numbers of the texts that they share."""
    pieces = [_Piece()]
    size = 0
    for _, members in groupby(entries, lambda entry: entry.key[0]):
        if size > PIECE:
            pieces.append(_Piece())
            size = 0
        piece = pieces[-1]
        for entry in members:
            new = numbers(entry.timeline) - piece.used
            piece.used |= new
            piece.entries.append(entry)
            size += sum(len(texts[number]) for number in new) + 8 * len(entry.timeline[1])
    users: defaultdict[int, int] = defaultdict(int)
    for piece in pieces:
        for number in piece.used:
            users[number] += 1
    shared = sorted(n for n, count in users.items() if count > 1 and len(texts[n]) >= _SHARED_FROM)
    for piece in pieces:
        piece.written = _written(
            piece, {number: _SHARED_NUMBER - place for place, number in enumerate(shared)}, texts
        )
    return [piece for piece in pieces if piece.entries], shared


def _written(piece: _Piece, shared: dict[int, int], texts: Sequence[str]) -> list[Any]:
    """Return ``[texts, timelines]``; a text's number is its place in `texts`, or `_SHARED_NUMBER` - its place in the shared ones."""
    own = sorted(piece.used - shared.keys())
    places = shared | {number: place for place, number in enumerate(own)}
    return [
        [texts[number] for number in own],
        [renumbered(entry.timeline, places.__getitem__) for entry in piece.entries],
    ]


def _columns(
    entries: Sequence[_Entry], places: dict[_Key, tuple[int, int]], ends: Sequence[str]
) -> dict[str, list[int]]:
    columns: dict[str, list[int]] = defaultdict(list)
    for entry in entries:
        task, mode, seed, system, _ = entry.key
        result, outcome = entry.result, entry.result.outcome
        piece, place = places.get(entry.key, (-1, -1))
        spent = result.spent
        row = {
            "task": task,
            "mode": mode,
            "seed": seed,
            "system": system,
            "passed": int(outcome.score.passed),
            "assigned": SCENARIOS.index(result.assignment.assigned),
            "effective": SCENARIOS.index(result.assignment.effective),
            "escalation": ESCALATIONS.index(outcome.escalation),
            "ended": ends.index(entry.ended),
            "steps": outcome.steps,
            "calls": outcome.calls,
            "met": entry.met,
            "tokens": spent.prompt_tokens + spent.completion_tokens if spent else 0,
            "piece": piece,
            "place": place,
        }
        for name, value in row.items():
            columns[name].append(value)
    return columns
