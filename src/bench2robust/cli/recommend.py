"""``b2r recommend``: which recovery strategy to deploy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench2robust.core.errors import UnknownNameError


def recommend(  # noqa: PLR0913 (an option of the command is a parameter here)
    runs: Annotated[
        list[str] | None,
        typer.Option(help="A run or sweep folder; may be repeated. [the paper's tables]", metavar="RUN"),
    ] = None,
    clean_prob: Annotated[float, typer.Option(help="P(clean) of a tool call where it is deployed.")] = 0.6,
    kmax: Annotated[int, typer.Option(help="Most failures in a row on one tool.")] = 2,
    budget: Annotated[
        int | None, typer.Option(help="Most failures in an episode. [that of the runs with this --kmax]")
    ] = None,
    alternatives: Annotated[str, typer.Option(help="Whether alternative tools exist: yes or no.")] = "no",
    max_tokens: Annotated[float | None, typer.Option(help="Most tokens an episode may take.")] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write an operator profile (TOML).", metavar="FILE")
    ] = None,
    serve: Annotated[bool, typer.Option("--serve", help="A page with sliders on this machine.")] = False,
    port: Annotated[int, typer.Option(help="The page's port; 0 takes a free one.")] = 8765,
    force: Annotated[bool, typer.Option("--force", help="Use unlike runs together.")] = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="Leave damaged lines out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Say which strategy to deploy under a severity, and write its operator profile."""
    from bench2robust.evaluation.recommend import Advisor, Conditions, Question, from_paper
    from bench2robust.evaluation.recommend.profile import save
    from bench2robust.evaluation.recommend.runs import from_runs
    from bench2robust.evaluation.tables.systems import Options

    from .printing import print_json

    if alternatives not in ("yes", "no"):
        raise UnknownNameError("alternatives", alternatives, ("yes", "no"))
    evidence = from_runs(runs, Options(force=force, lenient=lenient)) if runs else from_paper()
    advisor = Advisor(evidence)
    if serve:
        from bench2robust.serving.advisor import serve as serve_page

        serve_page(advisor, port, lambda url: typer.echo(url))
        return
    most = evidence.nearest_budget(kmax) if budget is None else budget
    conditions = Conditions(clean_prob, kmax, most, alternatives == "yes")
    advice = advisor.answer(Question(conditions, max_tokens))
    if out is not None:
        save(advice, out)
    if as_json:
        print_json(advice.to_dict())
    else:
        typer.echo("\n".join(advice.lines()))
        for warning in advice.warnings:
            typer.echo(f"warning: {warning}")
    if out is not None:
        typer.echo(f"operator profile: {out}", err=True)
