"""Reads databases of the user's, and says in one line what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from bench2robust.core.errors import SpecError

from .checks import shown


@dataclass(frozen=True, slots=True)
class References:
    """Which arguments name things in the database."""

    tables: Mapping[str, str] = field(default_factory=dict)
    """Argument name to the table whose ids it holds."""
    inside: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Argument name to a table, and the field of its records whose keys it holds."""
    fields: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Argument name to a table, and the fields of its records whose values it may be."""
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Argument name to all that it may be."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Table to the field of its records that repeats their key."""
    links: Sequence[tuple[str, str, str]] = ()
    """Table, field of its records (or of what they list: ``items.product_id``), and the table it refers to."""
    owned: Sequence[tuple[str, str, str, str]] = ()
    """Table, the field that lists what its records own, the table of those, and their field that says whose."""
    listed: Sequence[tuple[str, str, str]] = ()
    """Table, field of its records, and the argument (one of `inside`) that names the same things."""


def load_database(file: Path, records: Mapping[str, Any], references: References) -> dict[str, Any]:
    """Return a database from a JSON file.

    Args:
        file: where it is.
        records: table name to the pydantic class of its records.
        references: what refers to what.

    Raises:
        SpecError: it cannot be read, is not JSON, lacks a table or all of its records, or holds a record
            that does not fit or refers to one that is not there.
    """
    data = read_json(file)
    if not isinstance(data, dict):
        raise SpecError(f"{file}: expected a table of records, got {shown(data)}")
    for table, kind in records.items():
        if not isinstance(data.get(table), dict):
            raise SpecError(f"{file}: expected a table {table!r}, got {table}={shown(data.get(table))}")
        if not data[table]:
            raise SpecError(f"{file}: expected records in table {table!r}, got none")
        for key, record in data[table].items():
            try:
                kind.model_validate(record)
            except ValueError as error:
                problem = " ".join(str(error).split()[:24])
                raise SpecError(f"{file}: {table}: {key}: {problem}") from None
    for problem in chain(_loose_ends(data, references), _misplaced(data, references)):
        raise SpecError(f"{file}: {problem}")
    return data


def _loose_ends(data: Mapping[str, Any], references: References) -> Iterator[str]:
    for table, name in references.keys.items():
        for key, record in data[table].items():
            if record.get(name) != key:
                yield f"{table}: {key}: expected {name}={shown(key)}, got {shown(record.get(name))}"
    for table, path, target in references.links:
        for key, record in data[table].items():
            for value in _at(record, path.split(".")):
                if value not in data[target]:
                    yield f"{table}: {key}: expected {path} to be in table {target!r}, got {shown(value)}"


def _misplaced(data: Mapping[str, Any], references: References) -> Iterator[str]:
    for table, name, target, owner in references.owned:
        for key, record in data[table].items():
            for value in record[name]:
                if (whose := data[target][value].get(owner)) != key:
                    yield f"{target}: {value}: expected {owner}={shown(key)}, whose {name} name it, got {shown(whose)}"
    for table, path, argument in references.listed:
        known = frozenset(_ids(argument, references, data))
        for key, record in data[table].items():
            for value in _at(record, path.split(".")):
                if value not in known:
                    yield f"{table}: {key}: expected {path} to be an {argument} of {references.inside[argument][0]}, got {shown(value)}"


def _at(value: Any, path: Sequence[str]) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _at(item, path)
    elif path:
        yield from _at(value[path[0]], path[1:])
    else:
        yield value


def read_json(file: Path) -> Any:
    """Return what a JSON file holds.

    Raises:
        SpecError: it cannot be read, or is not JSON.
    """
    try:
        data = json.loads(file.read_bytes(), parse_constant=_no_number)
    except OSError as error:
        raise SpecError(f"expected a file that can be read, got file='{file}' ({error.strerror})") from None
    except ValueError as error:
        raise SpecError(f"expected JSON in file='{file}' ({one_line(error)})") from None
    except RecursionError:
        raise SpecError(
            f"expected JSON of some levels in file='{file}', got a nest too deep to read"
        ) from None
    return data


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def one_line(error: Exception) -> str:
    """Return what an error says, in one line."""
    return " ".join(str(error).split())


def known_ids(references: References, db: Mapping[str, Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    """Return for each argument that names something the ids that a database has for it."""
    keys = (*references.tables, *references.inside, *references.fields, *references.named)
    return {key: frozenset(_ids(key, references, db)) for key in keys}


def _ids(key: str, references: References, db: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    if key in references.tables:
        yield from db[references.tables[key]]
    elif key in references.named:
        yield from references.named[key]
    elif key in references.fields:
        table, names = references.fields[key]
        yield from (str(record[name]) for record in db[table].values() for name in names)
    else:
        table, inside = references.inside[key]
        for record in db[table].values():
            yield from record[inside]
