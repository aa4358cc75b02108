"""A table for programs: CSV and Parquet (one row a row, spread and counts in columns of their own), and JSON."""

from __future__ import annotations

import csv
import io
import json
from typing import Any, Final

from bench2robust.core.errors import NotInstalledError

from .table import Table, Unit

_EXTRAS: Final = {"std": "std", "low": "low", "high": "high", "n": "n"}


def frame(table: Table) -> dict[str, list[Any]]:
    """Return the table as columns: ``section``, ``source``, then each column by its title.

    A column of numbers is followed by ``TITLE std``, ``TITLE low``, ``TITLE high`` and ``TITLE n`` where any
    of its cells has them. What is missing is None.
    """
    columns: dict[str, list[Any]] = {
        "section": [row.section for row in table.rows],
        "source": [row.source for row in table.rows],
    }
    for place, column in enumerate(table.columns):
        cells = [row.cells[place] for row in table.rows]
        values = [cell.value for cell in cells]
        if column.unit.numeric:
            values = [None if value is None else float(value) for value in values]
        columns[column.title] = list(values)
        for attribute, name in _EXTRAS.items():
            extra = [getattr(cell, attribute) for cell in cells]
            if any(value is not None for value in extra):
                columns[f"{column.title} {name}"] = extra
    return columns


def to_json(table: Table) -> str:
    """Return the table as JSON; `Table.from_dict` reads it back."""
    return json.dumps(table.to_dict(), indent=2, ensure_ascii=False) + "\n"


def to_csv(table: Table) -> str:
    """Return the table as CSV; marks are ``true`` and ``false``, what is missing is empty."""
    columns = frame(table)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if v is None else str(v).lower() if isinstance(v, bool) else v for v in row])
    return out.getvalue()


def to_parquet(table: Table) -> bytes:
    """Return the table as a Parquet file.

    Raises:
        NotInstalledError: polars is not installed.
    """
    try:
        import polars
    except ImportError:
        raise NotInstalledError(
            "expected polars for format='parquet', found none; pip install 'bench2robust[parquet]'"
        ) from None
    columns = frame(table)
    kinds: dict[str, Any] = {}
    for column in table.columns:
        if column.unit.numeric:
            kinds[column.title] = polars.Float64
        elif column.unit is Unit.MARK:
            kinds[column.title] = polars.Boolean
        else:
            kinds[column.title] = polars.String
    for name in columns:
        if name not in kinds:
            kinds[name] = polars.String if name in ("section", "source") else polars.Float64
            kinds[name] = polars.Int64 if name.endswith(" n") else kinds[name]
    out = io.BytesIO()
    polars.DataFrame(columns, schema=kinds).write_parquet(out)
    return out.getvalue()
