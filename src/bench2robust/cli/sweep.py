"""``b2r sweep``: runs over a grid of severities (paper, Table 14)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bench2robust.core.errors import SpecError

ANY_OPTION: Final[dict[str, Any]] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Context settings of a command that takes the options of ``b2r run`` too."""


def sweep(
    context: typer.Context,
    clean_prob: Annotated[
        str | None, typer.Option(help="Clean probabilities, under the usual limits: .6,.8,.9,.95")
    ] = None,
    limits: Annotated[
        str | None, typer.Option(help="BUDGET:CONSECUTIVE pairs, under the usual profile: 3:1,5:2,7:3")
    ] = None,
    cross: Annotated[bool, typer.Option("--cross", help="Every combination of both.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it takes; write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Run over a grid of severities; takes the options of `b2r run` too. Repeated, finish it.

    Without a grid it is the paper's (Table 14). The mode is inject unless --modes says otherwise.
    """
    from bench2robust.evaluation.series import run_folders
    from bench2robust.evaluation.sweep import (
        PAPER_CLEAN,
        PAPER_LIMITS,
        Grid,
        read_limits,
        read_probabilities,
    )
    from bench2robust.evaluation.sweep import sweep as plan
    from bench2robust.evaluation.tables.catalogue import build
    from bench2robust.evaluation.tables.systems import Options

    from .plans import announce, end, options_of_run, play_all
    from .table import print_table

    settings, out, means = options_of_run(context.args)
    if "benchmark" not in settings:
        raise SpecError("expected a benchmark, got none; give --benchmark, such as --benchmark tau2-retail")
    if clean_prob is None and limits is None:
        grid = Grid(PAPER_CLEAN, PAPER_LIMITS, cross)
    else:
        grid = Grid(
            read_probabilities(clean_prob) if clean_prob else (), read_limits(limits) if limits else (), cross
        )
    series = plan({"modes": "inject", **settings}, grid)
    folder = Path(out) if out is not None else Path("sweeps") / str(settings["benchmark"]).partition(":")[0]
    if dry_run:
        announce(series, folder, means, as_json=as_json)
        return
    played = play_all(series, folder, means)
    if len(run_folders([folder])) > 1:
        mode = next(iter(series.runs.values())).modes
        injected = [one for one in mode if one.injected]
        if injected:
            made = build("severity", [folder], Options(injected[0]))
            print_table(made, "json" if as_json else None)
    end(played)
