"""Reads task files, and says in one line what is wrong with them.

A task file is a JSON list of tasks in τ²'s form: what `b2r tasks generate` writes, and what the authors'
pipeline writes. Every id in a gold action has to be in the database, so a file that was made for another
database is refused at once rather than scored as a failure of every agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from bench2robust.core.episode import Task
from bench2robust.core.errors import SpecError
from bench2robust.core.ports import Environment
from bench2robust.core.tools import ToolCall, ToolKind

from .checks import Known, Wrong, check_record, shown
from .database import one_line, read_json
from .records import CHANGING, EXTRAS, call_of, read_record


class Ground(Protocol):
    """What tasks are tried out on."""

    def compile(self, task: Task) -> object:
        """Compile the task's plan."""
        ...

    def open(self, task: Task) -> Environment:
        """Return a fresh environment."""
        ...


def load_tasks(file: Path, known: Known, ground: Ground) -> tuple[Task, ...]:
    """Return the tasks of a file.

    Args:
        file: where it is.
        known: what the tasks have to agree with.
        ground: what each is tried out on: its plan compiles, and its gold writes are possible.

    Raises:
        SpecError: it cannot be read, is not JSON, or holds a task that misses keys, uses unknown tools,
            refers to ids that the database lacks, or wants what the tools refuse; the message names file,
            task and key.
    """
    data = read_json(file)
    if not isinstance(data, list) or not data:
        raise SpecError(f"{file}: expected a list of tasks, got {shown(data)}")
    tasks: dict[str, Task] = {}
    for place, raw in enumerate(data):
        name = _name(raw, place)
        try:
            task = _task(raw, known, ground)
        except Wrong as wrong:
            raise SpecError(f"{file}: task {name}: {wrong}") from None
        if task.id in tasks:
            raise SpecError(f"{file}: task {name}: expected ids that differ, got this one twice")
        tasks[task.id] = task
    return tuple(tasks.values())


def _name(raw: Any, place: int) -> str:
    """Return how a message names a task: by its id, else by its place."""
    return (
        f"id={raw['id']!r}"
        if isinstance(raw, dict) and isinstance(raw.get("id"), str)
        else f"number {place + 1}"
    )


def _task(raw: Any, known: Known, ground: Ground) -> Task:
    check_record(raw, known)
    try:
        task = read_record(raw)
        _try_all_writes(task, ground, known)
        ground.compile(task)
    except Wrong:
        raise
    except Exception as error:  # whatever stops a plan would else be a traceback in the middle of a run
        raise Wrong(f"expected a task that can be planned, got a plan that fails ({_fault(error)})") from None
    return task


def _try_all_writes(task: Task, ground: Ground, known: Known) -> None:
    gold = {f"evaluation_criteria.actions.{n}": action.call for n, action in enumerate(task.gold)}
    _try_writes(gold, ground.open(task), known)
    if task.data["intent"] == CHANGING:
        abandoned = call_of(task.data[EXTRAS]["abandoned"])
        _try_writes({f"{EXTRAS}.abandoned": abandoned}, ground.open(task), known)


def _try_writes(calls: Mapping[str, ToolCall], environment: Environment, known: Known) -> None:
    """Make calls, in order; a read may find nothing, but a write that is wanted has to be possible."""
    for path, call in calls.items():
        response = environment.call(call)
        if response.error and known.tools[call.name].kind is ToolKind.WRITE:
            why = " ".join(response.text.removeprefix("Error: ").split())
            raise Wrong(f"{path}: {call.name}: expected a call that is possible, got an error ({why[:120]})")


def _fault(error: Exception) -> str:
    return f"no {one_line(error)}" if isinstance(error, KeyError) else one_line(error) or type(error).__name__
