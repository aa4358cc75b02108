"""The paper's tables, from ``paper.toml``, in the layout in which ours are printed.

>>> tables()["table1"].rows[1].source, tables()["table1"].rows[1].cells[4]
('Table 1, row 2', Cell(value=36.9, std=1.2, low=None, high=None, n=None))
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from . import layouts
from .table import Cell, Column, Row, Table

_LAYOUTS: Final[Mapping[str, tuple[Column, ...]]] = {
    "table1": layouts.MAIN,
    "table2": layouts.STRATEGY,
    "table3": layouts.BTM,
    "table4": layouts.ERRORS,
    "table6": layouts.MAIN,
    "table7": layouts.TRANSFER,
    "table10": layouts.COVERAGE,
    "table15": layouts.EFFICIENCY,
    "table16": layouts.METHODS,
}
_ROWS_A_SECTION: Final = 4
"""Of Table 7."""


@cache
def data() -> Mapping[str, Any]:
    """Return what ``paper.toml`` holds."""
    return tomllib.loads(files(__package__).joinpath("paper.toml").read_text(encoding="utf-8"))


@cache
def tables() -> Mapping[str, Table]:
    """Return every table, by ``table1`` and so on."""
    return {name: _table(name, entry) for name, entry in data().items()}


def _table(name: str, entry: Mapping[str, Any]) -> Table:
    reference = entry["reference"]
    title = f"the paper's {reference} ({entry['setting']})"
    columns, rows = _SPECIAL[name](entry) if name in _SPECIAL else (_LAYOUTS[name], _plain(entry["rows"]))
    numbered = tuple(
        Row(cells, section, f"{reference}, row {number}", layouts.unit_of(section))
        for number, (section, cells) in enumerate(rows, 1)
    )
    return Table(name, title, columns, numbered, (f"{reference}, {entry['where']}.",))


_Rows = list[tuple[str, tuple[Cell, ...]]]


def _plain(rows: Iterable[Sequence[Any]], sections: Sequence[str] = ()) -> _Rows:
    return [
        (sections[at // _ROWS_A_SECTION] if sections else "", tuple(map(Cell.read, row)))
        for at, row in enumerate(rows)
    ]


def _errors(entry: Mapping[str, Any]) -> tuple[tuple[Column, ...], _Rows]:
    section = {str(noise): title for title, group in layouts.ERROR_GROUPS for noise in group}
    return layouts.ERRORS, [(section[row[0]], tuple(map(Cell.read, row))) for row in entry["rows"]]


def _gap(entry: Mapping[str, Any]) -> tuple[tuple[Column, ...], _Rows]:
    columns = (Column("Model"), *(layouts.slice_column(*one) for one in entry["slices"]))
    blocks = zip(layouts.GAP_BLOCKS, ("clean", "inject", "delta"), strict=True)
    return columns, [(title, tuple(map(Cell.read, row))) for title, block in blocks for row in entry[block]]


def _severity(entry: Mapping[str, Any]) -> tuple[tuple[Column, ...], _Rows]:
    rows: _Rows = []
    title = layouts.VARY_CLEAN.format(limits=layouts.limits(5, 2))
    for p, _, _, *values in entry["clean_probability"]:
        rows.append((title, (Cell(layouts.clean_probability(p)), *map(Cell, values))))
    title = layouts.VARY_LIMITS.format(clean=layouts.clean_probability(0.6))
    for _, budget, consecutive, *values in entry["limits"]:
        rows.append((title, (Cell(layouts.limits(budget, consecutive)), *map(Cell, values))))
    return layouts.SEVERITY, rows


_SPECIAL: Final = {
    "table4": _errors,
    "table5": _gap,
    "table7": lambda entry: (layouts.TRANSFER, _plain(entry["rows"], entry["sections"])),
    "table14": _severity,
}
