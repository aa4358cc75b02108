"""``b2r compare``: two runs, or two systems of one, and whether the second is worse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench2robust.core.errors import UnknownNameError

if TYPE_CHECKING:
    from bench2robust.evaluation.compare import Row
    from bench2robust.evaluation.statistics import Estimate
    from bench2robust.evaluation.study import Study

_ROWS_OF_WARNINGS = 8


def compare(  # noqa: PLR0913 (an option of the command is a parameter here)
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Two run folders, the old one first; or one, with --systems. NAME=DIR names one.",
            metavar="RUN...",
        ),
    ],
    systems: Annotated[
        str | None, typer.Option(help="Which two to compare, such as retry,strategic.")
    ] = None,
    metric: Annotated[str, typer.Option(help="What to compare; docs/metrics.md lists them.")] = "pass_rate",
    modes: Annotated[str | None, typer.Option(help="Which modes. [all that both have]")] = None,
    fail_if_worse: Annotated[
        float | None,
        typer.Option(help="Exit with 1 if the second is worse by more than this, beyond chance."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="With --fail-if-worse: fail unless such a loss is ruled out.")
    ] = False,
    effects: Annotated[
        bool, typer.Option("--effects", help="Show too what extra tools, noise and blocking do to each.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Compare unlike runs all the same.")] = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="Leave damaged lines out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Compare two runs or systems, task by task; exit code 1 when the second is worse."""
    from bench2robust.evaluation import compare as comparing
    from bench2robust.evaluation.study import Study

    from .printing import print_json

    study = Study.load([Path(run) if "=" not in run else run for run in runs], force=force, lenient=lenient)
    pairs = comparing.sides(study, [name.strip() for name in systems.split(",")] if systems else ())
    rows = comparing.compare(study, pairs, metric, _modes(modes))
    losing = (
        [] if fail_if_worse is None else [r for r in rows if comparing.worse(r, fail_if_worse, strict=strict)]
    )
    effected = _effects(study, rows, metric) if effects else {}
    if as_json:
        data: dict[str, Any] = {"rows": [row.to_dict() for row in rows], "warnings": list(study.warnings)}
        if effected:
            data["effects"] = effected
        if fail_if_worse is not None:
            data["worse"] = [f"{row.b} {row.mode}" for row in losing]
        print_json(data)
    else:
        _print(study, rows, effected)
    if fail_if_worse is not None and not as_json:
        _say_verdict(losing, fail_if_worse, strict=strict)
        if not strict and (warning := comparing.too_few(rows)):
            typer.echo(f"warning: {warning}", err=True)
    if losing:
        raise typer.Exit(1)


def _modes(text: str | None) -> list[Any]:
    from bench2robust.core.episode import Mode

    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in list(Mode):
            raise UnknownNameError("mode", name, list(Mode))
    return [Mode(name) for name in names]


def _effects(study: Study, rows: list[Row], metric: str) -> dict[str, list[dict[str, Any]]]:
    from bench2robust.evaluation.compare import effects

    names = dict.fromkeys(name for row in rows for name in (row.a, row.b))
    return {
        name: [
            {"effect": e.name, "definition": e.definition, "difference": e.difference.to_dict()}
            for e in effects(study.select(system=name), metric)
        ]
        for name in names
    }


def _print(study: Study, rows: list[Row], effected: dict[str, list[dict[str, Any]]]) -> None:
    from bench2robust.evaluation.metrics import metric

    from .printing import in_columns

    scale = 100.0 if metric(rows[0].metric).share else 1.0
    headings = [
        "from",
        "to",
        "mode",
        "episodes",
        "before",
        "after",
        "difference",
        "95 % interval",
        "p",
        "won",
        "lost",
        "tied",
    ]
    typer.echo(in_columns(headings, [_cells(row, scale) for row in rows], left=3))
    shorter = [row.shorter for row in rows if row.shorter is not None]
    if shorter:
        typer.echo(f"\npairing makes the intervals {100 * sum(shorter) / len(shorter):.0f} % shorter")
    for name, found in effected.items():
        typer.echo(f"\nwhat the modes do to {name}")
        lines = [
            [e["definition"], f"{scale * e['difference']['mean']:+.1f}", _span(e["difference"], scale)]
            for e in found
        ]
        typer.echo(in_columns(["effect", "difference", "95 % interval"], lines, left=1))
    said = dict.fromkeys(
        (*study.warnings, *(f"{row.mode}: {text}" for row in rows for text in row.difference.warnings))
    )
    for text in list(said)[:_ROWS_OF_WARNINGS]:
        typer.echo(f"warning: {text}", err=True)


def _cells(row: Row, scale: float) -> list[str]:
    change = row.difference
    counts = [f"{n}" for n in (change.won, change.lost, change.tied)] if change.paired else ["–"] * 3
    return [
        row.a,
        row.b,
        str(row.mode),
        f"{change.n:,}",
        _value(row.before, scale),
        _value(row.after, scale),
        f"{scale * change.mean:+.1f}" if scale > 1 else f"{change.mean:+.2f}",
        _span(change.to_dict(), scale),
        _chance(row.p),
        *counts,
    ]


def _value(estimate: Estimate, scale: float) -> str:
    digits = 1 if scale > 1 else 2
    std = "" if estimate.std is None else f" ± {scale * estimate.std:.{digits}f}"
    return f"{scale * estimate.mean:.{digits}f}{std}"


def _span(change: dict[str, Any], scale: float) -> str:
    digits = 1 if scale > 1 else 2
    return f"[{scale * change['low']:+.{digits}f}, {scale * change['high']:+.{digits}f}]"


def _chance(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _say_verdict(losing: list[Row], margin: float, *, strict: bool) -> None:
    what = f"worse by more than {margin:g}" + (", or not shown to be no worse" if strict else "")
    if losing:
        names = ", ".join(f"{row.b} in {row.mode}" for row in losing)
        typer.echo(f"{what}: {names}", err=True)
    else:
        typer.echo(f"not {what}" if not strict else f"a loss of more than {margin:g} is ruled out", err=True)
