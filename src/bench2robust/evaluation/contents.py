"""What a held-out task is recognised by in any benchmark, whatever it is called there.

The ids of a split say nothing about a file that holds the same tasks under other names. So the package ships,
beside the lists, digests of what the held-out tasks of combined-retail consist of: their words, and their gold
writes. A task with the words or the gold writes of a held-out one is held out, wherever it comes from.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from bench2robust.core.episode import Task
from bench2robust.core.tools import ToolKind, ToolSpec

FILE = "held-out.json"


def digests(task: Task, writes: Collection[str]) -> Iterator[str]:
    """Yield what a task is recognised by: its words, and its gold calls of these tools; what is empty is neither."""
    if words := " ".join(task.instructions.lower().split()):
        yield _digest("words", words)
    gold = [(a.call.name, _sorted(a.call.arguments)) for a in task.gold if a.call.name in writes]
    if gold:
        yield _digest("gold", json.dumps(sorted(map(repr, gold))))


def held_out_among(tasks: Iterable[Task], tools: Sequence[ToolSpec]) -> frozenset[str]:
    """Return the ids of the tasks that are held-out tasks by what they consist of."""
    writes, known = _writes(tools), _shipped()
    return frozenset(task.id for task in tasks if not known.isdisjoint(digests(task, writes)))


def write(tasks: Iterable[Task], tools: Sequence[ToolSpec], file: Path) -> None:
    """Write the file that the package ships, of these held-out tasks."""
    writes = _writes(tools)
    found = sorted({digest for task in tasks for digest in digests(task, writes)})
    file.write_text(json.dumps({"digests": found}, separators=(",", ":")) + "\n", encoding="utf-8")


def _writes(tools: Sequence[ToolSpec]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools if tool.kind is ToolKind.WRITE)


@cache
def _shipped() -> frozenset[str]:
    text = files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return frozenset(json.loads(text)["digests"])


def _sorted(value: Any) -> Any:
    """Return arguments in an order of their own: that of keys, items and pairs does not matter."""
    if isinstance(value, Mapping):
        return sorted((str(key), _sorted(inner)) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return sorted(map(repr, map(_sorted, value)))
    return value


def _digest(kind: str, text: str) -> str:
    return blake2b(f"{kind} {text}".encode(errors="replace"), digest_size=8).hexdigest()
