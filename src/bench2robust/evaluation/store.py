"""The run folder: ``manifest.json``, ``facts.json``, ``episodes.jsonl`` (append-only), ``summary.json``.

Nothing in it depends on when, where or how concurrently a run was made (the manifest does name the
Python version), so the same command always gives the same bytes. Episodes are appended in schedule order, each with one write: whatever moment a
run is killed at, at most the last line is torn, and opening the folder again cuts that one off.
Those that ended before their turn wait in a file of their own until then (`journal`).
``facts.json`` holds what measuring needs beside the episodes (`measures.RunFacts`), so that a run can be
measured where its benchmark is not installed; folders of format 1 have none.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from bench2robust.core.errors import FolderError
from bench2robust.measures import RunFacts

from .journal import PART, Journal, read_early, whole_lines
from .lines import Episode, Result, decode, decode_result, episode_id

T = TypeVar("T")
MANIFEST, FACTS, EPISODES, SUMMARY = "manifest.json", "facts.json", "episodes.jsonl", "summary.json"
FORMAT = 2
"""Version of the folder's format."""
_READABLE = (1, FORMAT)


class RunFolder:
    """A run folder opened for writing; nobody else can write to it meanwhile.

    Args:
        path: the folder; created when missing.
        manifest: what this run is; a folder that holds another run is refused.
        facts: what its episodes are measured by, as JSON values; left out where nobody will measure them.

    Raises:
        FolderError: it cannot be written, is in use, or holds something else.
    """

    def __init__(
        self, path: Path, manifest: Mapping[str, Any], facts: Mapping[str, Any] | None = None
    ) -> None:
        self.path = path
        self._file = _locked(path)
        try:
            self._claim(manifest)
            if facts is not None and not (path / FACTS).exists():
                _write(path / FACTS, facts, indent=None)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the folder free."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def fileno(self) -> int:
        """Return the file descriptor that holds the lock; a child process has to close its copy."""
        return self._file

    def resume(self, ids: Iterator[str]) -> Iterator[Result]:
        """Cut off a torn last line, then return what is there, checked against the ids it should have.

        Raises:
            FolderError: a line is no episode, or not the one that belongs there.
        """
        _cut_torn_line(self._file)
        for number, result in enumerate(_parsed(self.path / EPISODES, decode_result), start=1):
            expected = next(ids, None)
            if result.id != expected:
                raise FolderError(
                    f"{self.path / EPISODES} line {number}: expected episode={expected!r}, got id={result.id!r}; "
                    "the file was changed: use another folder"
                )
            yield result

    def journal(self, ids: Iterator[str]) -> Journal:
        """Return the episodes that ended before their turn; `ids` are those of the whole run, in order."""
        return Journal(self.path, {name: place for place, name in enumerate(ids)})

    def append(self, line: bytes) -> None:
        """Append one line.

        Raises:
            FolderError: the disk is full, or the like.
        """
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:
            raise _unwritable(self.path, error) from error

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write the summary."""
        _write(self.path / SUMMARY, summary)

    def _claim(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest, or check that the one which is there is the same.

        A run that never got as far as one episode (a wrong model name, say) does not bind the folder.
        """
        file = self.path / MANIFEST
        if file.exists() and any(_holds_something(self.path / name) for name in (EPISODES, PART)):
            _check_same(self.path, read_manifest(self.path), manifest)
        else:
            (self.path / FACTS).unlink(missing_ok=True)
            _write(file, manifest)


def _holds_something(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def read_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a run folder.

    Raises:
        FolderError: it is not a run folder, or one of another format.
    """
    file = path / MANIFEST
    try:
        manifest = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise FolderError(f"expected a run folder, found no {MANIFEST} in path='{path}'") from None
    except (OSError, ValueError) as error:
        raise FolderError(f"expected JSON in '{file}' ({error})") from error
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found not in _READABLE:
        raise FolderError(f"expected format {FORMAT} in '{file}', got format={found!r}")
    for key, kind in (("fingerprint", str), ("episodes", int), ("spec", dict)):
        if not isinstance(manifest.get(key), kind):
            raise FolderError(
                f"expected {key!r} ({kind.__name__}) in '{file}', got {key}={manifest.get(key)!r}"
            )
    return dict(manifest)


def read_facts(path: Path) -> RunFacts | None:
    """Return what a run's episodes are measured by; None where the folder does not hold it.

    Raises:
        FolderError: the file is damaged.
    """
    file = path / FACTS
    try:
        return RunFacts.from_dict(json.loads(file.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FolderError(
            f"expected the facts of a run in '{file}' ({type(error).__name__}: {error}); remove the file "
            "to have them from the benchmark"
        ) from error


def read_episodes(path: Path, *, lenient: bool = False) -> Iterator[Episode]:
    """Return the episodes of a run folder, in schedule order; a torn last line is left out.

    Args:
        path: the run folder.
        lenient: whether to leave out lines that are no episodes (`columns.read_columns` lists them).

    Raises:
        FolderError: a line is no episode.
    """
    return _read(path, decode, lambda episode: episode.result.id, lenient=lenient)


def read_results(path: Path) -> Iterator[Result]:
    """Return the results of a run folder the same way, several times faster.

    Raises:
        FolderError: a line is no episode.
    """
    return _read(path, decode_result, lambda result: result.id)


def _read(
    path: Path, read: Callable[[bytes], T], name: Callable[[T], str], *, lenient: bool = False
) -> Iterator[T]:
    early = (path / PART).exists()
    seen: set[str] = set()
    for item in _parsed(path / EPISODES, read, lenient=lenient):
        if early:
            seen.add(name(item))
        yield item
    if early:
        ids = (id_ for id_ in ids_of(read_manifest(path)["spec"]) if id_ not in seen)
        yield from map(read, read_early(path, ids))


def ids_of(spec: Mapping[str, Any]) -> Iterator[str]:
    """Return the id of every episode of a manifest's spec, in schedule order."""
    for agent, mode, seed, task in product(*(spec[key] for key in ("agents", "modes", "seeds", "tasks"))):
        yield episode_id(task, agent, mode, seed)


def _parsed(file: Path, read: Callable[[bytes], T], *, lenient: bool = False) -> Iterator[T]:
    if not file.exists():
        return
    for number, line in enumerate(whole_lines(file), start=1):
        try:
            yield read(line)
        except ValueError as error:
            if lenient:
                continue
            raise FolderError(
                f"{file} line {number}: {error}; the file was changed: use another folder"
            ) from error


def _locked(path: Path) -> int:
    """Create the folder and return its locked episode file."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        foreign = sorted(entry.name for entry in path.iterdir())
        if foreign and not {MANIFEST, EPISODES} & set(foreign):
            raise FolderError(
                f"expected a run folder or an empty one, '{path}' holds {foreign[0]!r}; choose another"
            )
        file = os.open(path / EPISODES, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise FolderError(
                f"another run is writing to folder='{path}'; wait for it, or choose another"
            ) from None
        raise _unwritable(path, error) from error
    return file


def _unwritable(path: Path, error: OSError) -> FolderError:
    return FolderError(
        f"expected a folder that can be written, got out='{path}' ({error.strerror}); choose another"
    )


def _check_same(path: Path, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    if there.get("format") != FORMAT:
        raise FolderError(
            f"folder='{path}' holds a run of format {there.get('format')}, which can be read but not gone on with; "
            "choose another folder"
        )
    if there.get("fingerprint") == wanted["fingerprint"]:
        return
    names = _differences(there.get("spec"), wanted["spec"]) or ["versions"]
    raise FolderError(
        f"folder='{path}' holds another run: {', '.join(names)} differ; choose another folder, or repeat its command"
    )


def _differences(there: Any, wanted: Mapping[str, Any], within: str = "") -> Sequence[str]:
    """Return ``key (there → wanted)`` for every key whose value differs, dotted where it is in a table."""
    if not isinstance(there, Mapping):
        return ["manifest"]
    found: list[str] = []
    for key, value in wanted.items():
        old, name = there.get(key), f"{within}{key}"
        if isinstance(old, Mapping) and isinstance(value, Mapping) and old.keys() == value.keys():
            found += _differences(old, value, f"{name}.")
        elif old != value:
            found.append(f"{name} ({_short(old)} there, {_short(value)} here)")
    return found


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _cut_torn_line(file: int) -> None:
    """Cut the file behind its last newline."""
    end = os.lseek(file, 0, os.SEEK_END)
    at = end
    while at > 0:
        start = max(0, at - 65536)
        newline = os.pread(file, at - start, start).rfind(b"\n")
        if newline >= 0:
            at = start + newline + 1
            break
        at = start
    if at != end:
        os.ftruncate(file, at)


def _write(file: Path, data: Mapping[str, Any], indent: int | None = 2) -> None:
    """Write JSON so that a reader, or a kill, sees the old file or the new one, never half of it."""
    half = file.with_name(f".{file.name}.half")
    try:
        half.write_text(json.dumps(data, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
        half.replace(file)
    except OSError as error:
        raise _unwritable(file.parent, error) from error
