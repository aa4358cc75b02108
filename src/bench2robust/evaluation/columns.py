"""The measures of a run folder's episodes as numpy columns: decoded in parallel, and kept for the next time.

What was measured is kept in the folder (``.measures.npz``) under the size and hash of the files it came from,
so a folder that has changed is measured again.
"""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench2robust.core.episode import End, Mode, Scenario
from bench2robust.core.errors import FolderError
from bench2robust.measures import VERSION, Measures, RunFacts, measure

from .journal import PART
from .lines import Result, decode
from .store import EPISODES
from .workers import usable_cpus

Array = NDArray[Any]

KEPT: Final = ".measures.npz"
SCENARIOS: Final = tuple(Scenario)
"""Columns `assigned`, `effective` and `realised` hold places in this; -1 is none."""
ENDS: Final = tuple(End)
MODES: Final = tuple(Mode)
_PIECE: Final = 4_000_000
"""Bytes that a worker decodes at a time."""
_WORTH_KEEPING: Final = 2000
"""Fewer episodes are measured again in a second or two."""
_NAMES: Final = tuple(f.name for f in fields(Measures))
_PLACES: Final[Mapping[str, Mapping[object, int]]] = {
    "assigned": {s: place for place, s in enumerate(SCENARIOS)},
    "effective": {s: place for place, s in enumerate(SCENARIOS)},
    "realised": {None: -1, **{s: place for place, s in enumerate(SCENARIOS)}},
    "ended": {end: place for place, end in enumerate(ENDS)},
}
_KINDS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(_PLACES, np.int8),
    **dict.fromkeys(("met", "moves", "adopted"), np.int32),
    **{
        f.name: {"bool": np.bool_, "int": np.int64, "float": np.float64}.get(str(f.type))
        for f in fields(Measures)
        if str(f.type) in ("bool", "int", "float")
    },
}


@dataclass(frozen=True, eq=False)
class Columns:
    """The measures of some episodes."""

    tasks: tuple[str, ...]
    """What the column ``task`` holds places in."""
    agents: tuple[str, ...]
    """What the column ``agent`` holds places in."""
    data: Mapping[str, Array]
    """``task``, ``agent``, ``mode`` (a place in `MODES`), ``seed``, and every field of `measures.Measures`."""
    damaged: tuple[str, ...] = ()
    """File and line of what could not be read."""

    def __len__(self) -> int:
        return len(self.data["seed"])

    @classmethod
    def of(cls, measured: Sequence[tuple[Result, Measures]], damaged: Sequence[str] = ()) -> Columns:
        """Return the columns of some episodes."""
        tasks: dict[str, int] = {}
        agents: dict[str, int] = {}
        data: dict[str, Array] = {
            "task": np.array([tasks.setdefault(r.task, len(tasks)) for r, _ in measured], np.int32),
            "agent": np.array([agents.setdefault(r.agent, len(agents)) for r, _ in measured], np.int16),
            "mode": np.array([MODES.index(r.mode) for r, _ in measured], np.int8),
            "seed": np.array([r.seed for r, _ in measured], np.int64),
        }
        for name in _NAMES:
            values = [getattr(m, name) for _, m in measured]
            if (places := _PLACES.get(name)) is not None:
                values = [places[value] for value in values]
            data[name] = np.array(values, _KINDS[name])
        return cls(tuple(tasks), tuple(agents), data, tuple(damaged))

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """Return the columns of several together."""
        parts = [part for part in parts if len(part) or part.damaged] or list(parts[:1])
        tasks, task_places = _merged([part.tasks for part in parts])
        agents, agent_places = _merged([part.agents for part in parts])
        filled = [place for place, part in enumerate(parts) if len(part)] or [0]
        data = {name: np.concatenate([parts[at].data[name] for at in filled]) for name in parts[0].data}
        for name, places in (("task", task_places), ("agent", agent_places)):
            data[name] = np.concatenate([places[at][parts[at].data[name]] for at in filled])
        return cls(tasks, agents, data, tuple(line for part in parts for line in part.damaged))


def _merged(names: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], list[Array]]:
    """Return every name once, and for each list where its names are now."""
    places: dict[str, int] = {}
    moved = [np.array([places.setdefault(n, len(places)) for n in each], np.int32) for each in names]
    return tuple(places), moved


def read_columns(
    folder: Path, facts: RunFacts, *, lenient: bool = False, workers: int | None = None
) -> Columns:
    """Return the measures of every episode of a run folder; a torn last line is left out.

    Args:
        folder: the run folder.
        facts: of the run.
        lenient: whether to leave out lines that are no episodes, and list them, instead of stopping at one.
        workers: how many processes decode; None for one a processor.

    Raises:
        FolderError: a line is no episode, or an episode is there twice.
    """
    files = [folder / name for name in (EPISODES, PART) if (folder / name).exists()]
    key = _key(files, facts)
    columns = _kept(folder / KEPT, key)
    if columns is None:
        columns = _measured(files, facts, workers or usable_cpus(), lenient=lenient)
        if len(columns) >= _WORTH_KEEPING and not columns.damaged:
            _keep(folder / KEPT, key, columns)
    return _each_once(folder, columns, early=len(files) > 1)


def _measured(files: Sequence[Path], facts: RunFacts, workers: int, *, lenient: bool) -> Columns:
    pieces = [piece for file in files for piece in _pieces(file)]
    measured = partial(_measure_piece, facts=facts)
    parts: list[Columns] = []
    lines: dict[Path, int] = {}
    for (file, _, _), (columns, count) in zip(pieces, _mapped(measured, pieces, workers), strict=True):
        before = lines.get(file, 0)
        lines[file] = before + count
        if columns.damaged:
            named = tuple(_named(file, before, line) for line in columns.damaged)
            if not lenient:
                raise FolderError(f"{named[0]}; --lenient leaves such lines out")
            columns = Columns(columns.tasks, columns.agents, columns.data, named)
        parts.append(columns)
    return Columns.joined(parts or [Columns.of([])])


def _mapped(measured: Any, pieces: Sequence[Any], workers: int) -> Iterator[tuple[Columns, int]]:
    workers = min(workers, len(pieces))
    if workers <= 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(measured, pieces)
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(measured, pieces)


def _pieces(file: Path) -> Iterator[tuple[Path, int, int]]:
    """Cut a file into pieces of whole lines: from which byte to which."""
    size = file.stat().st_size
    with file.open("rb") as lines:
        start = 0
        while start < size:
            lines.seek(min(size, start + _PIECE))
            lines.readline()
            end = lines.tell()
            yield file, start, end
            start = end


def _measure_piece(piece: tuple[Path, int, int], facts: RunFacts) -> tuple[Columns, int]:
    """Return the measures of a piece's episodes, and how many lines it has; damaged ones as ``LINE: problem``."""
    file, start, end = piece
    with file.open("rb") as data:
        data.seek(start)
        lines = data.read(end - start).split(b"\n")[:-1]
    measured: list[tuple[Result, Measures]] = []
    damaged: list[str] = []
    for number, line in enumerate(lines, start=1):
        try:
            episode = decode(line)
            measured.append((episode.result, measure(episode, facts)))
        except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
            damaged.append(f"{number}: {' '.join(str(error).split())}")
    return Columns.of(measured, damaged), len(lines)


def _named(file: Path, before: int, damaged: str) -> str:
    number, _, problem = damaged.partition(": ")
    return f"{file} line {before + int(number)}: {problem}"


def _each_once(folder: Path, columns: Columns, *, early: bool) -> Columns:
    """Check that no episode is there twice; a killed run may have left one both early and in its place."""
    names = ("task", "agent", "mode", "seed")
    if not len(columns):
        return columns
    keys = np.stack([columns.data[name].astype(np.int64) for name in names], axis=1)
    _, first = np.unique(keys, axis=0, return_index=True)
    if len(first) == len(columns):
        return columns
    if not early:
        again = sorted(set(range(len(columns))) - set(first.tolist()))[0]
        task, agent, mode, seed = keys[again].tolist()
        name = f"{columns.tasks[task]}:{columns.agents[agent]}:{MODES[mode]}:{seed}"
        raise FolderError(f"expected each episode once in '{folder / EPISODES}', got episode={name!r} twice")
    at = np.sort(first)
    data = {name: values[at] for name, values in columns.data.items()}
    return Columns(columns.tasks, columns.agents, data, columns.damaged)


def _key(files: Iterable[Path], facts: RunFacts) -> str:
    """Return what kept measures have to have been made from."""
    parts: list[Any] = [VERSION, sorted(_NAMES), blake2b(json.dumps(facts.to_dict()).encode()).hexdigest()]
    for file in files:
        with file.open("rb") as data:
            parts.append([file.name, file.stat().st_size, file_digest(data, "blake2b").hexdigest()])
    return json.dumps(parts)


def _keep(file: Path, key: str, columns: Columns) -> None:
    """Keep measures; where that cannot be, they are measured again the next time."""
    head = json.dumps({"key": key, "tasks": columns.tasks, "agents": columns.agents})
    half = file.with_name(f"{file.name}.{os.getpid()}.half")
    with suppress(OSError):
        try:
            with half.open("wb") as out:
                arrays: dict[str, Any] = {**columns.data, "head": np.array(head)}
                np.savez_compressed(out, **arrays)
            half.replace(file)
        finally:
            half.unlink(missing_ok=True)


def _kept(file: Path, key: str) -> Columns | None:
    """Return the measures that were kept under a key, if there are any that can be read."""
    try:
        with np.load(file, allow_pickle=False) as there:
            head = json.loads(str(there["head"]))
            if head["key"] != key:
                return None
            data = {name: there[name] for name in there.files if name != "head"}
        return Columns(tuple(head["tasks"]), tuple(head["agents"]), data)
    except Exception:
        return None  # missing, torn, or another's: whatever it is, measuring again is right
