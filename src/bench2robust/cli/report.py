"""``b2r report``: run folders as one HTML file, and the gallery as Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench2robust.core.errors import FolderError

if TYPE_CHECKING:
    from bench2robust.evaluation.report import Report

_MEGABYTE = 1_000_000


def report(  # noqa: PLR0913 (an option of the command is a parameter here)
    runs: Annotated[list[str], typer.Argument(help="Run folders, or NAME=FOLDER.", metavar="RUN...")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The HTML file. [report.html in the one run, or here]")
    ] = None,
    memory: Annotated[
        Path | None, typer.Option(help="A memory whose beliefs are held against the runs.")
    ] = None,
    gallery: Annotated[
        Path | None, typer.Option(help="Write the three examples into this Markdown file too.")
    ] = None,
    max_size: Annotated[
        float, typer.Option(help="Megabytes; timelines that do not fit are left out, and counted.")
    ] = 15.0,
    force: Annotated[
        bool, typer.Option("--force", help="Set unlike runs side by side all the same.")
    ] = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="Leave damaged lines out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Write a report that opens offline: charts, examples, and every episode."""
    from bench2robust.evaluation.report import MAY_DIFFER, Wishes, markdown, played_by
    from bench2robust.evaluation.report import report as report_of
    from bench2robust.evaluation.series import run_folders
    from bench2robust.evaluation.study import Study
    from bench2robust.memory import Memory

    wishes = Wishes(Memory.load(memory) if memory else None, max_size, lenient)
    study = Study.load(run_folders(runs), force=force, lenient=lenient, may_differ=MAY_DIFFER)
    made = report_of(study, wishes)
    file = out or (study.runs[0].folder if len(study.runs) == 1 else Path()) / "report.html"
    _write(file, made.html, "out")
    if gallery is not None:
        commands = [*played_by(study), f"b2r report {' '.join(runs)} --gallery {gallery.name}"]
        _write(gallery, markdown(made.stories, commands), "gallery")
    _say(file, made, as_json=as_json)


def _write(file: Path, text: str, option: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FolderError(
            f"expected a file that can be written, got {option}='{file}' ({error.strerror}); choose another"
        ) from error


def _say(file: Path, made: Report, *, as_json: bool) -> None:
    from .printing import print_json

    found: dict[str, Any] = {
        "file": str(file),
        "bytes": made.size,
        "episodes": made.episodes,
        "timelines": made.kept,
        "stories": [str(story.strategy) for story in made.stories],
        "warnings": list(made.warnings),
    }
    if as_json:
        print_json(found)
        return
    for warning in made.warnings:
        typer.echo(f"warning: {warning}", err=True)
    every = "all with timelines" if made.kept == made.episodes else f"{made.kept:,} with timelines"
    typer.echo(f"{file}: {made.size / _MEGABYTE:.1f} MB, {made.episodes:,} episodes, {every}")
