"""A table on a terminal."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from rich.text import Text

from .table import Table, heads, printed

_GAP: Final = "  "


def lines(table: Table, *, intervals: bool = False) -> list[Text]:
    """Return the table line by line for a rich console: title, headings, rows by section, notes.

    The paper's rows are dim.
    """
    body = [(row, printed(row, table, intervals=intervals)) for row in table.rows]
    names = [column.name for column in table.columns]
    widths = [max(map(cell_len, (name, *(cells[at] for _, cells in body)))) for at, name in enumerate(names)]
    over = heads(table.columns)
    _widen(widths, over)
    found = [Text(table.title, style="bold"), Text()]
    if any(name for name, _ in over):
        found.append(Text(_over(widths, over), style="bold"))
    found.append(Text(_line(names, table, widths), style="bold"))
    found.append(Text("─" * (sum(widths) + len(_GAP) * (len(widths) - 1))))
    shown = iter(body)
    for place, (section, rows) in enumerate(table.sections):
        if section:
            found += [Text()] * (place > 0) + [Text(section, style="italic")]
        for _ in rows:
            row, cells = next(shown)
            found.append(Text(_line(cells, table, widths), style="dim" if row.source else ""))
    return [*found, *([Text()] if table.notes else []), *map(Text, table.notes)]


def terminal(table: Table, *, intervals: bool = False) -> str:
    """Return the same without colours."""
    return "\n".join(line.plain.rstrip() for line in lines(table, intervals=intervals)) + "\n"


def _widen(widths: list[int], over: list[tuple[str, int]]) -> None:
    """Make the last column of a group as wide as the group's name needs."""
    at = 0
    for name, span in over:
        there = sum(widths[at : at + span]) + len(_GAP) * (span - 1)
        widths[at + span - 1] += max(0, cell_len(name) - there)
        at += span


def _over(widths: list[int], over: list[tuple[str, int]]) -> str:
    """Return the line of group names, each centred over its columns."""
    parts, at = [], 0
    for name, span in over:
        there = sum(widths[at : at + span]) + len(_GAP) * (span - 1)
        parts.append(_padded(name, there, "^"))
        at += span
    return _GAP.join(parts).rstrip()


def _line(cells: list[str], table: Table, widths: list[int]) -> str:
    sides = [">" if column.unit.numeric else "<" for column in table.columns]
    padded = (_padded(cell, width, side) for cell, width, side in zip(cells, widths, sides, strict=True))
    return _GAP.join(padded).rstrip()


def _padded(cell: str, width: int, side: str) -> str:
    free = width - cell_len(cell)
    left = {"<": 0, "^": free // 2, ">": free}[side]
    return " " * left + cell + " " * (free - left)
