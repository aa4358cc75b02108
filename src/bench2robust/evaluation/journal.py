"""Episodes that ended before their turn: ``episodes.part.jsonl``, in the order in which they ended.

Episodes that wait for a model end in any order, and what has ended has to be on disk at once. So while
such a run goes on they are appended here; once none is missing they are moved to ``episodes.jsonl`` in
schedule order, and this file goes. Killed at whatever moment, a run finds each of them in one of the two.

``lost.jsonl`` lists the episodes that the endpoint failed: they have no score, and are played again when
the run goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from bench2robust.core.errors import FolderError

from .lines import Result, decode_result

PART: Final = "episodes.part.jsonl"
LOST: Final = "lost.jsonl"


class Journal:
    """The episodes of a run that ended before their turn, to be added to.

    Args:
        folder: the run folder, which the caller has locked.
        places: every episode's id, to its place in the schedule.

    Raises:
        FolderError: a line is no episode of the run, or there are two of one.
    """

    def __init__(self, folder: Path, places: Mapping[str, int]) -> None:
        self._path = folder / PART
        self._places = places
        self._at: dict[int, tuple[int, int]] = {}
        self._end = 0
        self._writes = -1
        self._lost = folder / LOST
        self._lost.unlink(missing_ok=True)

    def __contains__(self, place: object) -> bool:
        return place in self._at

    def __len__(self) -> int:
        return len(self._at)

    def read(self) -> Iterator[Result]:
        """Find what is there, and return it in the order in which it ended; a torn last line is cut off."""
        if not self._path.exists():
            return
        for number, line in enumerate(whole_lines(self._path), start=1):
            where = f"{self._path} line {number}"
            try:
                result = decode_result(line)
            except ValueError as error:
                raise FolderError(f"{where}: {error}; the file was changed: use another folder") from error
            place = self._places.get(result.id)
            if place is None or place in self._at:
                problem = "no episode of this run" if place is None else "an episode that is there already"
                raise FolderError(
                    f"{where}: {result.id!r} is {problem}; the file was changed: use another folder"
                )
            self._at[place] = (self._end, len(line))
            self._end += len(line)
            yield result
        os.truncate(self._path, self._end)

    def place(self, result: Result) -> int:
        """Return the place of an episode of the run."""
        return self._places[result.id]

    def add(self, place: int, line: bytes) -> None:
        """Append the line of an episode.

        Raises:
            FolderError: the disk is full, or the like.
        """
        left = line
        try:
            if self._writes < 0:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._writes = os.open(self._path, flags, 0o666)
            while left:
                left = left[os.write(self._writes, left) :]
        except OSError as error:
            raise FolderError(
                f"'{self._path}' cannot be written ({error.strerror}); make room, then repeat"
            ) from error
        self._at[place] = (self._end, len(line))
        self._end += len(line)

    def lose(self, name: str, problem: str) -> None:
        """List an episode, by its id, that is lost to the endpoint."""
        with self._lost.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"id": name, "problem": problem}) + "\n")

    def lines(self, places: Iterable[int]) -> Iterator[bytes]:
        """Return the lines of some episodes."""
        with self._path.open("rb") as file:
            for place in places:
                offset, length = self._at[place]
                file.seek(offset)
                yield file.read(length)

    def close(self) -> None:
        """Close the file."""
        if self._writes >= 0:
            os.close(self._writes)
            self._writes = -1

    def remove(self) -> None:
        """Remove the file: every episode is in its place."""
        self.close()
        self._path.unlink(missing_ok=True)


def whole_lines(path: Path) -> Iterator[bytes]:
    """Return the lines of a file, but for a torn last one."""
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield line


def read_early(folder: Path, ids: Iterable[str]) -> Iterator[bytes]:
    """Return the lines of the episodes that ended before their turn, in schedule order.

    Args:
        folder: the run folder.
        ids: the ids to look for, in schedule order; those that are in ``episodes.jsonl`` left out.
    """
    path = folder / PART
    if not path.exists():
        return
    at: dict[str, tuple[int, int]] = {}
    end = 0
    for line in whole_lines(path):
        try:
            name = decode_result(line).id
        except ValueError as error:
            raise FolderError(f"{path}: {error}; the file was changed: use another folder") from error
        at[name] = (end, len(line))
        end += len(line)
    with path.open("rb") as file:
        for name in ids:
            if name in at:
                offset, length = at[name]
                file.seek(offset)
                yield file.read(length)


def read_lost(folder: Path) -> dict[str, str]:
    """Return the episodes that are lost to the endpoint, and why."""
    path = folder / LOST
    if not path.exists():
        return {}
    lost = (json.loads(line) for line in whole_lines(path))
    return {entry["id"]: entry["problem"] for entry in lost}
