"""Every format a table is printed in, from the one definition."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from bench2robust.core.errors import FolderError, UnknownNameError

from .documents import latex, markdown
from .frames import to_csv, to_json, to_parquet
from .table import Table
from .terminal import terminal

FORMATS: Final = ("terminal", "markdown", "latex", "csv", "json", "parquet")
SUFFIXES: Final = {
    "terminal": ".txt",
    "markdown": ".md",
    "latex": ".tex",
    "csv": ".csv",
    "json": ".json",
    "parquet": ".parquet",
}
"""Format to the ending of its files."""
_OF_SUFFIX: Final = {suffix: format_ for format_, suffix in SUFFIXES.items()}


def format_of(file: Path) -> str:
    """Return the format that a file's name stands for.

    Raises:
        UnknownNameError: its ending stands for none.
    """
    if file.suffix not in _OF_SUFFIX:
        raise UnknownNameError("ending of an output file", file.suffix, _OF_SUFFIX)
    return _OF_SUFFIX[file.suffix]


def render(table: Table, format_: str, *, intervals: bool = False) -> bytes:
    """Return a table in a format.

    Args:
        table: what to print.
        format_: one of `FORMATS`.
        intervals: print 95 % intervals in place of standard deviations, where the format has one text a cell.

    Raises:
        UnknownNameError: no such format.
        NotInstalledError: the format needs a library that is not installed.
    """
    texts = {"terminal": terminal, "markdown": markdown, "latex": latex}
    if format_ in texts:
        return texts[format_](table, intervals=intervals).encode()
    if format_ == "parquet":
        return to_parquet(table)
    plain = {"csv": to_csv, "json": to_json}
    if format_ not in plain:
        raise UnknownNameError("format", format_, FORMATS)
    return plain[format_](table).encode()


def save(content: bytes, file: Path) -> None:
    """Write a rendered table.

    Raises:
        FolderError: the file cannot be written.
    """
    try:
        file.write_bytes(content)
    except OSError as error:
        raise FolderError(
            f"expected a file that can be written, got output='{file}' ({error.strerror}); choose another"
        ) from None
