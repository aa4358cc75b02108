"""``b2r table``: the summary of a run, and the paper's tables for any runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from bench2robust.core.errors import SpecError, UnknownNameError

if TYPE_CHECKING:
    from bench2robust.evaluation.tables import Table

NAMES: Final = ("main", "gap", "strategy", "btm", "errors", "transfer", "severity", "efficiency")
"""`evaluation.tables.catalogue.NAMES`, without the time that importing it takes."""
_WORDS: Final = "[main|gap|strategy|btm|errors|transfer|severity|efficiency] RUN..."


def table(  # noqa: PLR0913 (an option of the command is a parameter here)
    words: Annotated[
        list[str],
        typer.Argument(help="The table (none: the summary), then runs or NAME=RUN.", metavar=_WORDS),
    ],
    paper: Annotated[bool, typer.Option("--paper", help="Put the paper's values beside.")] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="terminal, markdown, latex, csv, json or parquet.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write to this file; its ending says the format.")
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="95 % intervals in place of standard deviations.")
    ] = False,
    mode: Annotated[
        str, typer.Option(help="The injected mode of gap, btm, errors, transfer, severity.")
    ] = "inject",
    base: Annotated[str, typer.Option(help="The system to compare with. [the first]")] = "",
    trained: Annotated[
        list[str] | None,
        typer.Option(help="A system that was trained with a memory.", metavar="SYSTEM"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Set unlike runs side by side.")] = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="Leave damaged lines out.")] = False,
    svg: Annotated[Path | None, typer.Option(help="Draw the summary's pass rates into this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Print the summary of a run, or a table of the paper for your runs."""
    if words[0] not in NAMES:
        _summary(words, svg, as_json=as_json, other=bool(paper or format_ or out))
        return
    name, *runs = words
    if not runs:
        raise SpecError(
            f"expected run folders after table={name!r}, got none (a folder of that name is ./{name})"
        )
    from bench2robust.core.episode import Mode
    from bench2robust.evaluation.tables.catalogue import build
    from bench2robust.evaluation.tables.systems import Options

    if mode not in (Mode.INJECT, Mode.INJECT_ALT):
        raise UnknownNameError("injected mode", mode, (Mode.INJECT, Mode.INJECT_ALT))
    options = Options(Mode(mode), base, frozenset(trained or ()), force, lenient)
    print_table(
        build(name, runs, options, with_paper=paper),
        "json" if as_json else format_,
        out,
        intervals=intervals,
    )


def print_table(
    made: Table, format_: str | None = None, out: Path | None = None, *, intervals: bool = False
) -> None:
    """Print a table, or write it to a file.

    Raises:
        UnknownNameError: a format nobody knows.
        SpecError: a binary format without a file.
        FolderError: the file cannot be written.
    """
    from bench2robust.evaluation.tables import format_of, render, save
    from bench2robust.evaluation.tables.terminal import lines

    from .printing import console

    chosen = format_ or (format_of(out) if out else "terminal")
    if out is not None:
        save(render(made, chosen, intervals=intervals), out)
        typer.echo(f"table: {out}", err=True)
    elif chosen == "terminal":
        screen = console()
        for line in lines(made, intervals=intervals):
            screen.print(line)
    elif chosen == "parquet" and sys.stdout.isatty():
        raise SpecError("expected a file for format='parquet', got a terminal; give -o FILE")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(render(made, chosen, intervals=intervals))


def _summary(words: list[str], svg: Path | None, *, as_json: bool, other: bool) -> None:
    """Print the summary of the one run that was named."""
    if len(words) > 1:
        raise UnknownNameError("table", words[0], NAMES)
    if other:
        raise SpecError(
            f"expected a table's name before the run with --paper, --format or --out: {', '.join(NAMES)}"
        )
    from bench2robust.evaluation import load_run

    from .picture import save
    from .printing import print_run

    run = load_run(words[0])
    if svg is not None:
        save(run.rows, svg)
    print_run(run, as_json=as_json)
