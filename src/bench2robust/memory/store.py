"""A memory that several processes update at once: an embedded SQLite database.

Every `Store.update` is one transaction of a write-ahead log, so a process that is killed loses at most
the update it had not finished, and counts of processes that write at the same time add up. (A machine that
loses power may lose the last updates; the file stays whole.)
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Final
from uuid import uuid4

from bench2robust.core.domain import Domain
from bench2robust.core.errors import MemoryFileError, UsageError
from bench2robust.core.tools import ToolResponse

from .beliefs import Beliefs, Counts, decay
from .counting import observed
from .memory import SCHEMA, Memory
from .source import Source, together

_PATIENCE: Final = 60.0
"""Seconds to wait for the updates of other processes."""
_TABLES: Final = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE cells (kind TEXT, first TEXT, second TEXT, successes REAL, failures REAL, at INTEGER, "
    "PRIMARY KEY (kind, first, second)) WITHOUT ROWID",
)
_READ: Final = "SELECT successes, failures, at FROM cells WHERE kind = ? AND first = ? AND second = ?"
_WRITE: Final = "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?)"
_INHERITED: Final[list[sqlite3.Connection]] = []
"""Connections of a parent process: a child may neither use nor close them."""

Cell = tuple[str, str, str]
"""Kind (``errors`` or ``switches``, as in a memory file), and the pair."""


class Store:
    """A memory in a SQLite file; threads and processes, forked ones too, may share it.

    Args:
        path: the file; created when missing.
        domain: whose memory it is; may be left out for a file that is there.
        half_life: episodes after which an episode counts half. None keeps what the file says, for a new
            one that nothing is forgotten.
        pooling: see `Beliefs.pooled`; None keeps what the file says, for a new one none.

    Raises:
        MemoryFileError: it cannot be opened, is no store, or one of another domain, schema or setting.
    """

    def __init__(
        self,
        path: Path | str,
        domain: Domain | None = None,
        *,
        half_life: float | None = None,
        pooling: float | None = None,
    ) -> None:
        self.path = Path(path)
        self._domain, self._half_life, self._pooling = domain, half_life, pooling
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        if domain is None and not self.path.exists():
            raise MemoryFileError(str(path), "expected a store, found no file; give a domain to make one")
        with self._transaction():
            pass

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    @property
    def beliefs(self) -> Beliefs:
        """What every process has learned by now."""
        return self.memory().beliefs

    def learn(self, answers: Iterable[tuple[str, ToolResponse]], *, passed: bool) -> None:
        """Count one episode by what its tools answered.

        Args:
            answers: each tool that was called, in order, and its answer.
            passed: whether the episode reached what it was for.
        """
        self.update(observed(answers, passed, self._domain or Domain(self.memory().domain)))

    def update(self, *episodes: Counts) -> None:
        """Count some episodes; either all of them are kept or, killed on the way, none."""
        gained: Counter[tuple[Cell, bool]] = Counter()
        for episode in episodes:
            for tool, noise in episode.errors:
                gained[("errors", tool, str(noise)), episode.passed] += 1
            for source, target in episode.switches:
                gained[("switches", source, target), episode.passed] += 1
        with self._transaction(write=True) as about:
            about["clock"] += len(episodes)
            about["episodes"] += len(episodes)
            for cell in sorted({cell for cell, _ in gained}):
                self._gain(cell, gained[cell, True], gained[cell, False], about)

    def add(self, memory: Memory) -> None:
        """Add what another memory knows, such as one estimated from runs.

        Raises:
            MemoryFileError: a memory of another domain, of unknown tools, or one that was added before.
        """
        with self._transaction(write=True) as about:
            memory.check(about["domain"], self._domain.tools if self._domain else ())
            about["sources"] = json.dumps(
                [source.to_dict() for source in together(_sources(about), memory.sources)]
            )
            for kind, beliefs in (("errors", memory.beliefs.errors), ("switches", memory.beliefs.switches)):
                for (first, second), belief in beliefs.items():
                    self._gain((kind, first, str(second)), belief.successes, belief.failures, about)

    def memory(self) -> Memory:
        """Return everything the store knows by now."""
        tables: dict[str, dict[str, dict[str, list[float]]]] = {"errors": {}, "switches": {}}
        with self._transaction() as about:
            for kind, first, second, *counts in self._open().execute("SELECT * FROM cells").fetchall():
                tables[kind].setdefault(first, {})[second] = self._aged(counts, about)
            live = Source(about["id"], episodes=about["episodes"])
            sources = sorted((*_sources(about), *([live] if live.episodes else [])))
            return Memory.from_dict(
                {
                    **{key: about[key] for key in ("schema", "domain", "half_life", "pooling")},
                    **tables,
                    "sources": [source.to_dict() for source in sources],
                }
            )

    def _gain(self, cell: Cell, successes: float, failures: float, about: dict[str, Any]) -> None:
        """Add to a cell, whose older counts lose their weight first."""
        connection = self._open()
        found = connection.execute(_READ, cell).fetchone()
        old = self._aged(found, about) if found else (0.0, 0.0)
        connection.execute(_WRITE, (*cell, old[0] + successes, old[1] + failures, about["clock"]))

    def _aged(self, counts: Iterable[Any], about: dict[str, Any]) -> list[float]:
        """Return the counts of a cell as of now."""
        successes, failures, at = counts
        half_life = about["half_life"]
        if half_life is None:
            return [successes, failures]
        weight = decay(half_life, about["clock"] - at)
        return [successes * weight, failures * weight]

    @contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[dict[str, Any]]:
        """Give what the file says about itself, and write it back with everything else or not at all."""
        self._leave_parent()
        with self._lock:
            try:
                connection = self._open()
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    about = dict(connection.execute("SELECT name, value FROM about"))
                    before = dict(about)
                    yield about
                    connection.executemany(
                        "UPDATE about SET value = ? WHERE name = ?",
                        [(value, name) for name, value in about.items() if value != before[name]],
                    )
                    connection.execute("COMMIT")
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise MemoryFileError(str(self.path), f"expected a store of beliefs ({error})") from error
            except MemoryFileError:
                raise
            except UsageError as error:
                raise MemoryFileError(str(self.path), str(error)) from error
            except (KeyError, ValueError, TypeError, OverflowError) as error:
                raise MemoryFileError(
                    str(self.path), f"expected a store of beliefs, got a damaged one ({error!r})"
                ) from error

    def _leave_parent(self) -> None:
        """Forget the connection and the lock of a parent process."""
        if self._connection is not None and self._process != os.getpid():
            _INHERITED.append(self._connection)
            self._connection, self._lock = None, threading.RLock()

    def _open(self) -> sqlite3.Connection:
        """Return this process's connection to a file that has its tables and belongs to the domain."""
        if self._connection is None:
            connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                _use_log(connection)
                self._claim(connection)
            except BaseException:
                connection.close()
                raise
            self._connection, self._process = connection, os.getpid()
        return self._connection

    def _claim(self, connection: sqlite3.Connection) -> None:
        """Make the tables, or check that those which are there fit."""
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not connection.execute("SELECT * FROM sqlite_master").fetchone():
                self._make(connection)
            self._check(dict(connection.execute("SELECT name, value FROM about")))
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _make(self, connection: sqlite3.Connection) -> None:
        if self._domain is None:
            raise MemoryFileError(
                str(self.path), "expected a store, got an empty file; give a domain to make one"
            )
        empty = Memory(self._domain.name, Beliefs(pooling=self._pooling or 0.0), half_life=self._half_life)
        about = {
            "schema": SCHEMA,
            "id": uuid4().hex[:16],
            "domain": empty.domain,
            "half_life": empty.half_life,
            "pooling": empty.beliefs.pooling,
            "episodes": 0,
            "clock": 0,
            "sources": "[]",
        }
        for table in _TABLES:
            connection.execute(table)
        connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())

    def _check(self, about: dict[str, Any]) -> None:
        wanted = {
            "schema": SCHEMA,
            "domain": self._domain and self._domain.name,
            "half_life": self._half_life,
            "pooling": self._pooling,
        }
        for name, value in wanted.items():
            if value is not None and about.get(name) != value:
                raise MemoryFileError(
                    str(self.path),
                    f"expected {name}={value!r}, got {name}={about.get(name)!r}; use another file",
                )


def _sources(about: dict[str, Any]) -> tuple[Source, ...]:
    return tuple(map(Source.from_dict, json.loads(about["sources"])))


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log; SQLite itself does not wait for others here."""
    until = monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
        except sqlite3.OperationalError:
            if monotonic() > until:
                raise
            sleep(0.01)
        else:
            return
