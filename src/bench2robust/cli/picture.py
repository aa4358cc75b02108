"""The summary table as a picture: an SVG for a README or a slide."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from bench2robust.core.errors import FolderError
from bench2robust.evaluation import Row

_BAR = 30
"""Columns of a full bar."""


def draw(rows: Sequence[Row]) -> str:
    """Return pass rates by agent and mode as bars; ± is the standard deviation between seeds."""
    console = Console(record=True, width=78, file=io.StringIO())
    for row in rows:
        console.print(_line(row))
    svg = console.export_svg(title="pass rate by policy and mode", unique_id="b2r")
    # The fonts rich links to are elsewhere; without them the viewer's own monospace font is used.
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def _line(row: Row) -> Text:
    rate = row.pass_rate
    full = round(_BAR * rate.mean)
    style = "yellow" if row.mode.injected else "green"
    line = Text(f"{row.agent:<11}{row.mode!s:<11}")
    line.append("█" * full, style).append("░" * (_BAR - full), "bright_black")
    spread = "" if rate.std is None else f" ± {100 * rate.std:.1f}"
    return line.append(f" {100 * rate.mean:5.1f}{spread}")


def save(rows: Sequence[Row], path: Path) -> None:
    """Write the picture to a file; FolderError where that is not possible."""
    try:
        path.write_text(draw(rows), encoding="utf-8")
    except OSError as error:
        raise FolderError(
            f"expected a file that can be written, got svg={str(path)!r}: {error.strerror}"
        ) from error
