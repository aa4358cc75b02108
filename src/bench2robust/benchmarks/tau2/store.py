"""A τ² world: one base shared by the whole process, one overlay for each episode.

τ²'s own toolkits (`RetailTools`, `AirlineTools`) run on a `World` unchanged, because a `World` looks like
their database: an attribute for each table, a mapping from id to record. A record is copied when a
*write* tool looks at it, and never otherwise, so a fresh world costs nothing, the base stays as it was,
and what an episode may have changed is exactly what its world owns: copies, and records that it added.

Records are built from the raw data (four to eighty µs each) rather than by ``deepcopy`` (four times as
slow), and only those that are looked at. A record is copied whenever a write looks at it, also when the
tool does not change it: τ²'s tools put a variant's ``options`` object into an order item, and that
object must not be the base's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from bench2robust.core.tools import ToolResponse

Key = tuple[str, str]
"""Table name and record id; the id ``*`` stands for "some record of that table"."""

_MOST_ANSWERS = 20_000
"""Bound on the remembered answers: four times what every id in the database can ask for."""


class Base:
    """The pristine database. Records are built on first use and never change.

    Args:
        raw: table name to id to record, as parsed from JSON.
        records: table name to the pydantic class of its records; names the tables.
    """

    __slots__ = ("_answers", "_built", "_canonical", "_records", "raw", "tables")

    def __init__(self, raw: Mapping[str, Mapping[str, Any]], records: Mapping[str, Any]) -> None:
        self.raw = raw
        self.tables = tuple(records)
        self._records = records
        self._built: dict[str, dict[str, Any]] = {table: {} for table in records}
        self._canonical: dict[Key, str] = {}
        self._answers: dict[tuple[Any, ...], tuple[ToolResponse, frozenset[Key]]] = {}

    def record(self, table: str, key: str) -> Any:
        """Return the shared record. Whoever may change it takes `fresh` instead."""
        built = self._built[table]
        record = built.get(key)
        if record is None:
            record = built[key] = self.fresh(table, key)
        return record

    def fresh(self, table: str, key: str) -> Any:
        """Return a copy of a record that shares nothing mutable with any other."""
        return self._records[table].model_validate(self.raw[table][key])

    def canonical(self, table: str, key: str) -> str:
        """Return the text by which a pristine record is compared, empty where there is none."""
        if key not in self.raw[table]:
            return ""
        at = (table, key)
        text = self._canonical.get(at)
        if text is None:
            text = self._canonical[at] = canonical(self.record(table, key))
        return text

    def remembered(self, question: tuple[Any, ...], world: World) -> ToolResponse | None:
        """Return the answer to a read that was asked before, unless `world` may answer differently."""
        kept = self._answers.get(question)
        if kept is None or not world.touched.isdisjoint(kept[1]):
            return None
        return kept[0]

    def remember(self, question: tuple[Any, ...], answer: ToolResponse, world: World) -> None:
        """Keep an answer that was read from pristine records only; the others are the episode's own."""
        seen = world.seen
        if world.touched.isdisjoint(seen) and len(self._answers) < _MOST_ANSWERS:
            read = frozenset(key for key in seen if key[1] == "*" or (key[0], "*") not in seen)
            self._answers[question] = answer, read


class Table(MutableMapping[str, Any]):
    """One table as an episode sees it: its own copy of a record, else the base's."""

    __slots__ = ("_base", "_ids", "_name", "_own", "_world")

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._name = name
        self._base = world.base
        self._ids = world.base.raw[name]
        self._own = world.own[name]

    def __getitem__(self, key: str) -> Any:
        own = self._own.get(key)
        world = self._world
        if not world.writing:
            world.seen.add((self._name, key))
            return own if own is not None else self._base.record(self._name, key)
        if own is None:
            own = self._own[key] = self._base.fresh(self._name, key)
            self._touch(key)
        return own

    def __setitem__(self, key: str, record: Any) -> None:
        self._own[key] = record
        self._touch(key)

    def __delitem__(self, key: str) -> None:
        raise TypeError(f"τ² deletes no records, got table={self._name!r}, key={key!r}")

    def __contains__(self, key: object) -> bool:
        if key in self._ids:
            return True
        # Asked for in vain; a record of that name may be added later, and then the answer is another.
        self._world.seen.add((self._name, str(key)))
        return key in self._own

    def __iter__(self) -> Iterator[str]:
        self._world.seen.add((self._name, "*"))
        yield from self._ids
        yield from (key for key in self._own if key not in self._ids)

    def __len__(self) -> int:
        return len(self._ids.keys() | self._own.keys())

    def _touch(self, key: str) -> None:
        self._world.touched.update(((self._name, key), (self._name, "*")))


class World:
    """One episode's database, in the shape of τ²'s: `tables` become attributes."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.own: dict[str, dict[str, Any]] = {table: {} for table in base.tables}
        """The records this episode has copied or added, by table."""
        self.touched: set[Key] = set()
        """Keys of `own`, and the ``*`` key of every table that has one."""
        self.seen: set[Key] = set()
        """What has been read since the last reset."""
        self.writing = False
        """Whether a tool that may write is running: then records are copied when looked at."""
        for table in base.tables:
            setattr(self, table, Table(self, table))

    def __getattr__(self, name: str) -> Table:
        # Only reached for what is not there; says to type checkers that tables are.
        raise AttributeError(f"τ² has no table {name!r} here; known: {', '.join(self.base.tables)}")

    def changes(self) -> dict[Key, str]:
        """Return the records that differ from the base or are new, as canonical text."""
        found = {}
        for table, records in self.own.items():
            for key, record in records.items():
                text = canonical(record)
                if text != self.base.canonical(table, key):
                    found[table, key] = text
        return found


def canonical(record: Any) -> str:
    """Return the text of a record by which two are equal exactly when τ²'s database hash says so."""
    return json.dumps(record.model_dump(), sort_keys=True, default=str)
