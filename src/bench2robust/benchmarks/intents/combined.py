"""Combined Retail: the 114 tasks of τ²-bench retail and the 1,225 3I-shaped ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bench2robust.benchmarks.tau2 import retail
from bench2robust.core.episode import Task

from . import _generated
from .records import GENERAL


def tasks() -> tuple[Task, ...]:
    """Return the 1,339 tasks, τ²'s first; each says its `source` and `intent` in `Task.data`."""
    return tuple(_tasks())


def _tasks() -> Iterator[Task]:
    for task in retail().tasks():
        yield replace(task, data={**task.data, "source": "tau2", "intent": GENERAL})
    yield from _generated("retail")
