"""Which tasks may be learned from, and which are held out.

A benchmark that ships a split has a method `split`. In any benchmark, a task that consists of what a held-out
task of the package consists of is held out too (`contents`), such as in a file of generated tasks. Everything that estimates beliefs or trains takes its
tasks from `training_tasks`, or shows them to `refuse_held_out` before it reads anything else of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol, runtime_checkable

from bench2robust.core.episode import Task
from bench2robust.core.errors import BenchmarkError, UnknownNameError, UsageError

from . import contents, registry


@dataclass(frozen=True, slots=True)
class Split:
    """The ids of a benchmark's tasks, in two parts, in the benchmark's own order."""

    train: tuple[str, ...]
    held_out: tuple[str, ...]

    @property
    def hash(self) -> str:
        """Thirty-two hexadecimal digits that are equal exactly for equal splits."""
        lines = [*(f"train {name}" for name in self.train), *(f"held_out {name}" for name in self.held_out)]
        return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


@runtime_checkable
class HasSplit(Protocol):
    """A benchmark that ships a split."""

    def split(self) -> Mapping[str, object]:
        """Return the lists ``train`` and ``held_out``, and the ``hash`` they were published with."""
        ...


def split_of(benchmark: str) -> Split:
    """Return a benchmark's split, verified; without one, only what is held out elsewhere is held out.

    Raises:
        BenchmarkError: the lists are not those that were published, or not the benchmark's tasks.
    """
    subject = registry.load(benchmark)
    tasks = subject.tasks()
    ids = [task.id for task in tasks]
    split = _shipped(benchmark, subject, ids) if isinstance(subject, HasSplit) else Split(tuple(ids), ())
    held_out = contents.held_out_among(tasks, subject.tools(alternatives=True)).union(split.held_out)
    if len(held_out) == len(split.held_out):
        return split
    return Split(
        tuple(name for name in split.train if name not in held_out), tuple(filter(held_out.__contains__, ids))
    )


def _shipped(benchmark: str, subject: HasSplit, ids: Sequence[str]) -> Split:
    shipped = subject.split()
    split = Split(_ids(shipped["train"]), _ids(shipped["held_out"]))
    if split.hash != shipped["hash"]:
        raise BenchmarkError(
            f"expected the published split of benchmark={benchmark!r}, hash={shipped['hash']!r}, "
            f"got lists with hash={split.hash!r}"
        )
    if sorted((*split.train, *split.held_out)) != sorted(ids):
        raise BenchmarkError(f"expected a split of the tasks of benchmark={benchmark!r}, got other ids")
    return split


def training_tasks(benchmark: str) -> tuple[Task, ...]:
    """Return the tasks that may be learned from."""
    allowed = frozenset(split_of(benchmark).train)
    return tuple(task for task in registry.load(benchmark).tasks() if task.id in allowed)


def refuse_held_out(benchmark: str, ids: Iterable[str]) -> None:
    """Stop what would learn from a held-out task.

    Raises:
        UsageError: one of the tasks is held out.
        UnknownNameError: the benchmark has no such task.
    """
    split = split_of(benchmark)
    held_out, known = frozenset(split.held_out), frozenset((*split.train, *split.held_out))
    asked = list(ids)
    for name in asked:
        if name not in known:
            raise UnknownNameError("task", name, (*split.train, *split.held_out))
    caught = [name for name in asked if name in held_out]
    if caught:
        raise UsageError(
            f"expected training tasks of benchmark={benchmark!r} only, got {len(caught)} that are held out, "
            f"such as task={caught[0]!r}; `b2r tasks split` lists which tasks may be learned from"
        )


def _ids(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
