"""Reads task files and databases, and says in one line what is wrong with them.

A task file is a JSON list of tasks in τ²'s form: what `b2r tasks generate` writes, and what the authors'
pipeline writes. Every id in a gold action has to be in the database, so a file that was made for another
database is refused at once rather than scored as a failure of every agent.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench2robust.core.episode import Task
from bench2robust.core.errors import BenchmarkError, SpecError

from .records import read_record

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class References:
    """Which arguments name things in the database."""

    tables: Mapping[str, str] = field(default_factory=dict)
    """Argument name to the table whose ids it holds."""
    inside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Argument name to a table, and the field of its records whose keys it holds."""


def load_tasks(
    file: Path, tools: Collection[str], references: References, db: Mapping[str, Mapping[str, Any]]
) -> tuple[Task, ...]:
    """Return the tasks of a file.

    Raises:
        SpecError: it cannot be read, is not JSON, or holds a task that misses keys, uses unknown tools or
            refers to ids that the database lacks; the message names file and task.
    """
    data = _read(file)
    if not isinstance(data, list) or not data:
        raise SpecError(f"{file}: expected a list of tasks, got {_shown(data)}")
    known = {key: frozenset(_ids(key, references, db)) for key in (*references.tables, *references.inside)}
    tasks: dict[str, Task] = {}
    for place, raw in enumerate(data):
        name = _name(raw, place)
        try:
            task = _task(raw)
            _check(task, tools, known)
        except _Wrong as wrong:
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
        raise SpecError(f"{file}: expected a table of records, got {_shown(data)}")
    for table, kind in records.items():
        if not isinstance(data.get(table), dict):
            raise SpecError(f"{file}: expected a table {table!r}, got {table}={_shown(data.get(table))}")
        for key, record in data[table].items():
            try:
                kind.model_validate(record)
            except ValueError as error:
                problem = " ".join(str(error).split()[:24])
                raise SpecError(f"{file}: {table}: {key}: {problem}") from None
    return data


class _Wrong(Exception):
    """What is wrong with one task."""


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise SpecError(f"expected a file that can be read, got file='{file}' ({error.strerror})") from None
    except ValueError as error:
        raise SpecError(f"expected JSON in file='{file}' ({' '.join(str(error).split())})") from None


def _name(raw: Any, place: int) -> str:
    """Return how a message names a task: by its id, else by its place."""
    return f"id={raw['id']!r}" if isinstance(raw, dict) and "id" in raw else f"number {place + 1}"


def _task(raw: Any) -> Task:
    for path, kind in _NEEDED:
        found = raw
        for key in path:
            if not isinstance(found, dict) or key not in found:
                raise _Wrong(f"expected a key {'.'.join(path)!r}, found none")
            found = found[key]
        if not isinstance(found, kind):
            raise _Wrong(f"expected {_KIND[kind]} in {'.'.join(path)!r}, got {_shown(found)}")
    try:
        return read_record(raw)
    except BenchmarkError as error:
        raise _Wrong(str(error)) from None
    except (KeyError, TypeError, AttributeError) as error:
        raise _Wrong(f"is not a task in τ²'s form ({type(error).__name__}: {error})") from None


_NEEDED: tuple[tuple[tuple[str, ...], type], ...] = (
    (("id",), str),
    (("user_scenario", "instructions", "reason_for_call"), str),
    (("user_scenario", "instructions", "task_instructions"), str),
    (("evaluation_criteria", "actions"), list),
)
_KIND: Mapping[type, str] = {str: "a text", list: "a list"}


def _check(task: Task, tools: Collection[str], known: Mapping[str, frozenset[str]]) -> None:
    for action in task.gold:
        name, arguments = action.call.name, action.call.arguments
        if name not in tools:
            close = difflib.get_close_matches(str(name), list(tools), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise _Wrong(f"expected a tool of this domain, got tool={name!r}{hint}")
        if not isinstance(arguments, Mapping):
            raise _Wrong(f"expected a table of arguments for tool={name!r}, got {_shown(arguments)}")
        for key, value in arguments.items():
            for one in value if isinstance(value, list) else [value]:
                if key in known and not (isinstance(one, str) and one in known[key]):
                    raise _Wrong(f"{name}: expected an id that is in the database, got {key}={one!r}")


def _ids(key: str, references: References, db: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if key in references.tables:
        yield from db[references.tables[key]]
    else:
        table, inside = references.inside[key]
        for record in db[table].values():
            yield from record[inside]


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
