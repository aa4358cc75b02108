"""A table as data: columns with units, rows of cells with spread, interval and count, whose rows may be the paper's.

Every format (`render`) is made from this one definition. Rates are in percent, differences in points, tokens
as a count, so that a cell holds the number that is printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from bench2robust.core.errors import SpecError

NOTHING: Final = "–"
YES, NO = "✓", "✗"
MINUS: Final = "−"

Value = float | int | str | bool | None


class Unit(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    MARK = "mark"
    """✓ or ✗."""
    PERCENT = "%"
    POINTS = "pp"
    """A difference of two percentages; printed with its sign."""
    TOKENS = "tokens"
    NUMBER = "number"
    COUNT = "count"

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return self not in (Unit.TEXT, Unit.MARK)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: what stands in it."""

    name: str
    unit: Unit = Unit.TEXT
    group: str = ""
    """Heading over this column and its neighbours of the same group; empty for none."""
    counts: bool = False
    """Whether the number of episodes behind a cell is printed too, in brackets."""

    @property
    def title(self) -> str:
        """Name with its group, on one line."""
        return f"{self.group}: {self.name}" if self.group else self.name


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, and how sure it is; in the unit of its column."""

    value: Value = None
    std: float | None = None
    """Standard deviation between seeds."""
    low: float | None = None
    """Ends of the 95 % interval."""
    high: float | None = None
    n: int | None = None
    """Episodes behind the value."""

    @classmethod
    def read(cls, data: Any) -> Cell:
        """Return the cell of a bare value or of ``{"v": …, "std": …, "low": …, "high": …, "n": …}``."""
        if isinstance(data, Mapping):
            return cls(data.get("v"), data.get("std"), data.get("low"), data.get("high"), data.get("n"))
        return cls(None if data == NOTHING else data)

    def plain(self) -> Any:
        """Return what `read` reads."""
        extra = {name: getattr(self, name) for name in ("std", "low", "high", "n")}
        given = {name: value for name, value in extra.items() if value is not None}
        return {"v": self.value, **given} if given else self.value


@dataclass(frozen=True, slots=True)
class Row:
    """A row; rows of the same section stand together under its title."""

    cells: tuple[Cell, ...]
    section: str = ""
    source: str = ""
    """Empty for what was measured; for a row of the paper its reference, such as ``Table 1, row 2``."""
    unit: Unit | None = None
    """Unit of the row's numbers where it is not that of the columns (the block of differences in Table 5)."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Raises:
        SpecError: a row with more or fewer cells than there are columns.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...] = ()
    notes: tuple[str, ...] = field(default=())
    """Sentences printed below."""

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, start=1):
            if len(row.cells) != len(self.columns):
                raise SpecError(
                    f"expected {len(self.columns)} cells in row {number} of table={self.name!r}, got {len(row.cells)}"
                )

    @property
    def sections(self) -> tuple[tuple[str, tuple[Row, ...]], ...]:
        """The rows by section, in order."""
        found: list[tuple[str, list[Row]]] = []
        for row in self.rows:
            if not found or found[-1][0] != row.section:
                found.append((row.section, []))
            found[-1][1].append(row)
        return tuple((title, tuple(rows)) for title, rows in found)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON values."""
        return {
            "name": self.name,
            "title": self.title,
            "columns": [
                {"name": c.name, "unit": str(c.unit), "group": c.group, "counts": c.counts}
                for c in self.columns
            ],
            "rows": [
                {
                    "section": r.section,
                    "source": r.source,
                    **({"unit": str(r.unit)} if r.unit else {}),
                    "cells": [cell.plain() for cell in r.cells],
                }
                for r in self.rows
            ],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Table:
        """Read what `to_dict` wrote.

        Raises:
            SpecError: it is no table.
        """
        try:
            columns = tuple(
                Column(c["name"], Unit(c["unit"]), c["group"], c["counts"]) for c in data["columns"]
            )
            rows = tuple(
                Row(
                    tuple(map(Cell.read, r["cells"])),
                    r["section"],
                    r["source"],
                    Unit(r["unit"]) if "unit" in r else None,
                )
                for r in data["rows"]
            )
            return cls(data["name"], data["title"], columns, rows, tuple(data["notes"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SpecError(
                f"expected a table, got something else ({type(error).__name__}: {error})"
            ) from None


def beside(ours: Table, papers: Iterable[Table]) -> Table:
    """Return a table with the paper's rows below ours, each of the paper's tables in sections of its own.

    Columns are matched by group and name; a column that a table lacks stays empty there, and one that only
    the paper has comes behind ours.
    """
    papers = tuple(papers)
    columns = list(ours.columns)
    for paper in papers:
        there = {column.title for column in columns}
        columns += [column for column in paper.columns if column.title not in there]
    titles = [column.title for column in columns]

    def spread(table: Table) -> list[Row]:
        place = {column.title: at for at, column in enumerate(table.columns)}
        found = [place.get(title) for title in titles]
        return [
            replace(row, cells=tuple(Cell() if at is None else row.cells[at] for at in found))
            for row in table.rows
        ]

    rows = spread(ours)
    for paper in papers:
        rows += [
            replace(row, section=f"{paper.title}: {row.section}" if row.section else paper.title)
            for row in spread(paper)
        ]
    return replace(ours, columns=tuple(columns), rows=tuple(rows))


def side_by_side(ours: Table, paper: Table, label: str) -> Table:
    """Return a table with the paper's columns at the right of ours; rows are matched by their first cell.

    Args:
        ours: the table.
        paper: the paper's.
        label: what the paper's columns are headed with, such as ``paper's Table 4``.
    """
    left = {row.cells[0].value: row for row in paper.rows}
    wide = tuple(
        replace(column, group=", ".join(filter(None, (label, column.group)))) for column in paper.columns[1:]
    )
    rows = []
    sections = dict.fromkeys([row.section for row in (*ours.rows, *paper.rows)])
    for section in sections:
        for row in (row for row in ours.rows if row.section == section):
            match = left.pop(row.cells[0].value, None)
            theirs = match.cells[1:] if match else (Cell(),) * len(wide)
            rows.append(replace(row, cells=row.cells + theirs))
        for row in (row for row in paper.rows if row.section == section):
            if left.pop(row.cells[0].value, None):
                empty = (Cell(),) * (len(ours.columns) - 1)
                rows.append(replace(row, cells=(row.cells[0], *empty, *row.cells[1:])))
    notes = (*ours.notes, f"{paper.title}.")
    return replace(ours, columns=ours.columns + wide, rows=tuple(rows), notes=notes)


def printed(row: Row, table: Table, *, intervals: bool = False) -> list[str]:
    """Return what is printed for each cell of a row (`text`)."""
    return [
        text(
            cell,
            replace(column, unit=row.unit) if row.unit and column.unit.numeric else column,
            intervals=intervals,
        )
        for cell, column in zip(row.cells, table.columns, strict=True)
    ]


def text(cell: Cell, column: Column, *, intervals: bool = False) -> str:
    """Return what is printed for a cell.

    Args:
        cell: the value.
        column: its column.
        intervals: print the 95 % interval in place of the standard deviation.
    """
    value = cell.value
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return YES if value else NO
    if isinstance(value, str):
        return value
    printed = number(value, column.unit)
    if intervals and cell.low is not None and cell.high is not None:
        printed += f" [{number(cell.low, column.unit)}, {number(cell.high, column.unit)}]"
    elif cell.std is not None:
        printed += f" ± {number(cell.std, Unit.NUMBER if column.unit is Unit.POINTS else column.unit)}"
    return f"{printed} ({cell.n:,})" if column.counts and cell.n is not None else printed


def number(value: float, unit: Unit) -> str:
    """Return a number the way the paper prints one.

    >>> number(-4.6, Unit.POINTS), number(88_400, Unit.TOKENS), number(11.94, Unit.NUMBER), number(64.26, Unit.PERCENT)
    ('−4.6', '88K', '11.9', '64.3')
    """
    if unit is Unit.COUNT:
        return f"{value:,.0f}"
    if unit is Unit.TOKENS:
        return (
            f"{value / 1000:.0f}K"
            if value >= 9_950
            else f"{value / 1000:.1f}K"
            if value >= 950
            else f"{value:.0f}"
        )
    printed = f"{abs(value):.1f}"
    sign = MINUS if value < 0 and float(printed) else ""
    if unit is Unit.POINTS and not sign and float(printed):
        sign = "+"
    return sign + printed


def heads(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return the groups over columns, each with how many columns it spans."""
    found: list[tuple[str, int]] = []
    for column in columns:
        if found and found[-1][0] == column.group and column.group:
            found[-1] = (column.group, found[-1][1] + 1)
        else:
            found.append((column.group, 1))
    return found
