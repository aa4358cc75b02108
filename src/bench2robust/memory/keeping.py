"""Memories that live on: what a production agent asks, and a JSON file that keeps one.

Three lines are the whole use::

    memory = keep("memory.db", "retail")                 # a .json file does too
    memory.learn(answers, passed=True)                   # after each episode
    memory.beliefs.of("get_order_details", "timeout").mean
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Protocol
from uuid import uuid4

from bench2robust import domains
from bench2robust.core.domain import Domain
from bench2robust.core.errors import MemoryFileError, SpecError, UsageError
from bench2robust.core.tools import ToolResponse

from .beliefs import Beliefs, Counts
from .counting import observed
from .memory import Memory
from .store import Store


class Keeper(Protocol):
    """A memory that lives on from episode to episode; several processes may hold the same one."""

    @property
    def beliefs(self) -> Beliefs:
        """What has been learned by now."""
        ...

    def memory(self) -> Memory:
        """Return everything that is known by now, as a value."""
        ...

    def learn(self, answers: Iterable[tuple[str, ToolResponse]], *, passed: bool) -> None:
        """Count one episode by what its tools answered, in order."""
        ...

    def update(self, *episodes: Counts) -> None:
        """Count some episodes."""
        ...

    def add(self, memory: Memory) -> None:
        """Add what another memory knows, such as one estimated from runs."""
        ...

    def close(self) -> None:
        """Let the file go."""
        ...


class JsonFile:
    """A memory file that is kept up to date. Every update writes it whole: a `Store` is for busy agents.

    Args:
        path: the file; made by the first update.
        domain: whose memory it is.
        half_life: as for `Store`.
        pooling: as for `Store`.

    Raises:
        MemoryFileError: the file cannot be read, does not fit, or has another domain or setting.
    """

    def __init__(
        self,
        path: Path | str,
        domain: Domain,
        *,
        half_life: float | None = None,
        pooling: float | None = None,
    ) -> None:
        self.path = Path(path)
        self._domain, self._half_life, self._pooling = domain, half_life, pooling
        self.memory()

    def __enter__(self) -> JsonFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held between two calls."""

    @property
    def beliefs(self) -> Beliefs:
        """What the file says now."""
        return self.memory().beliefs

    def memory(self) -> Memory:
        """Return what the file says now.

        Raises:
            MemoryFileError: it cannot be read or does not fit.
        """
        if not self.path.exists():
            beliefs = Beliefs(pooling=self._pooling or 0.0)
            return Memory(self._domain.name, beliefs, half_life=self._half_life)
        memory = Memory.load(self.path)
        for name, wanted, found in (
            ("half_life", self._half_life, memory.half_life),
            ("pooling", self._pooling, memory.beliefs.pooling),
        ):
            if wanted is not None and wanted != found:
                problem = f"expected {name}={wanted!r}, got {name}={found!r}; use another file"
                raise MemoryFileError(str(self.path), problem)
        try:
            memory.check(self._domain.name, self._domain.tools)
        except UsageError as error:
            raise MemoryFileError(str(self.path), str(error)) from error
        return memory

    def learn(self, answers: Iterable[tuple[str, ToolResponse]], *, passed: bool) -> None:
        """Count one episode by what its tools answered.

        Args:
            answers: each tool that was called, in order, and its answer.
            passed: whether the episode reached what it was for.
        """
        self.update(observed(answers, passed, self._domain))

    def update(self, *episodes: Counts) -> None:
        """Count some episodes."""
        with self._alone():
            memory = self.memory()
            ours = next((source.run for source in memory.sources if source.live), "") or uuid4().hex[:16]
            memory.updated(*episodes, source=ours).save(self.path)

    def add(self, memory: Memory) -> None:
        """Add what another memory knows; its own half-life and pooling do not matter.

        Raises:
            SpecError: a memory of another domain, or one whose episodes are in the file already.
            UnknownNameError: a memory of unknown tools.
        """
        memory.check(self._domain.name, self._domain.tools)
        with self._alone():
            mine = self.memory()
            its = replace(
                memory, beliefs=memory.beliefs.pooled(mine.beliefs.pooling), half_life=mine.half_life
            )
            mine.merged(its).save(self.path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes away from the file, by a lock on one beside it."""
        beside = self.path.with_name(f".{self.path.name}.lock")
        try:
            lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            problem = f"expected a folder that can be written ({error.strerror})"
            raise MemoryFileError(str(self.path), problem) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def keep(
    path: Path | str,
    domain: Domain | str,
    *,
    half_life: float | None = None,
    pooling: float | None = None,
) -> Keeper:
    """Open a memory that lives on, and make it if there is none.

    Args:
        path: ``….json`` for a `JsonFile`; ``….db`` or ``….sqlite`` for a `Store`.
        domain: a `Domain`, the name of one that comes with the package, or the path of a domain file.
        half_life: episodes after which an episode counts half; None keeps what the file says.
        pooling: see `Beliefs.pooled`; None keeps what the file says.

    Raises:
        SpecError: a file name that says neither.
        UnknownNameError: no domain of that name.
        MemoryFileError: the file does not fit.
    """
    if isinstance(domain, str):
        domain = domains.load_file(domain) if domain.endswith(".toml") else domains.load(domain)
    suffix = Path(path).suffix
    if suffix == ".json":
        return JsonFile(path, domain, half_life=half_life, pooling=pooling)
    if suffix in (".db", ".sqlite", ".sqlite3"):
        return Store(path, domain, half_life=half_life, pooling=pooling)
    raise SpecError(f"expected a file that ends in .json, .db or .sqlite, got path='{path}'")
