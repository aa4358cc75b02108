"""Reads task files and databases, and says in one line what is wrong with them.

A task file is a JSON list of tasks in τ²'s form: what `b2r tasks generate` writes, and what the authors'
pipeline writes. Every id in a gold action has to be in the database, so a file that was made for another
database is refused at once rather than scored as a failure of every agent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench2robust.core.episode import Task
from bench2robust.core.errors import SpecError

from .checks import Known, Wrong, check_record, shown
from .records import read_record


@dataclass(frozen=True, slots=True)
class References:
    """Which arguments name things in the database."""

    tables: Mapping[str, str] = field(default_factory=dict)
    """Argument name to the table whose ids it holds."""
    inside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Argument name to a table, and the field of its records whose keys it holds."""


def load_tasks(file: Path, known: Known, try_out: Callable[[Task], object]) -> tuple[Task, ...]:
    """Return the tasks of a file.

    Args:
        file: where it is.
        known: what the tasks have to agree with.
        try_out: compiles a task's plan; what it raises is reported as the task's fault.

    Raises:
        SpecError: it cannot be read, is not JSON, or holds a task that misses keys, uses unknown tools or
            refers to ids that the database lacks; the message names file, task and key.
    """
    data = _read(file)
    if not isinstance(data, list) or not data:
        raise SpecError(f"{file}: expected a list of tasks, got {shown(data)}")
    tasks: dict[str, Task] = {}
    for place, raw in enumerate(data):
        name = _name(raw, place)
        try:
            task = _task(raw, known, try_out)
        except Wrong as wrong:
            raise SpecError(f"{file}: task {name}: {wrong}") from None
        if task.id in tasks:
            raise SpecError(f"{file}: task {name}: expected ids that differ, got this one twice")
        tasks[task.id] = task
    return tuple(tasks.values())


def load_database(file: Path, records: Mapping[str, Any]) -> dict[str, Any]:
    """Return a database from a JSON file.

    Args:
        file: where it is.
        records: table name to the pydantic class of its records.

    Raises:
        SpecError: it cannot be read, is not JSON, lacks a table, or holds a record that does not fit.
    """
    data = _read(file)
    if not isinstance(data, dict):
        raise SpecError(f"{file}: expected a table of records, got {shown(data)}")
    for table, kind in records.items():
        if not isinstance(data.get(table), dict):
            raise SpecError(f"{file}: expected a table {table!r}, got {table}={shown(data.get(table))}")
        for key, record in data[table].items():
            try:
                kind.model_validate(record)
            except ValueError as error:
                problem = " ".join(str(error).split()[:24])
                raise SpecError(f"{file}: {table}: {key}: {problem}") from None
    return data


def _read(file: Path) -> Any:
    try:
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise SpecError(f"expected a file that can be read, got file='{file}' ({error.strerror})") from None
    except ValueError as error:
        raise SpecError(f"expected JSON in file='{file}' ({_line(error)})") from None
    except RecursionError:
        raise SpecError(
            f"expected JSON of some levels in file='{file}', got a nest too deep to read"
        ) from None
    return data


def _name(raw: Any, place: int) -> str:
    """Return how a message names a task: by its id, else by its place."""
    return (
        f"id={raw['id']!r}"
        if isinstance(raw, dict) and isinstance(raw.get("id"), str)
        else f"number {place + 1}"
    )


def _task(raw: Any, known: Known, try_out: Callable[[Task], object]) -> Task:
    check_record(raw, known)
    try:
        task = read_record(raw)
        try_out(task)
    except Exception as error:  # whatever stops a plan would else be a traceback in the middle of a run
        raise Wrong(f"expected a task that can be planned, got a plan that fails ({_fault(error)})") from None
    return task


def _fault(error: Exception) -> str:
    return f"no {_line(error)}" if isinstance(error, KeyError) else _line(error) or type(error).__name__


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def known_ids(references: References, db: Mapping[str, Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """Return for each argument that names something the ids that a database has for it."""
    keys = (*references.tables, *references.inside)
    return {key: frozenset(_ids(key, references, db)) for key in keys}


def _ids(key: str, references: References, db: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if key in references.tables:
        yield from db[references.tables[key]]
    else:
        table, inside = references.inside[key]
        for record in db[table].values():
            yield from record[inside]
