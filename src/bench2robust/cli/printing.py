"""How numbers, durations and tables look."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer
from rich.console import Console

from bench2robust.core.episode import Scenario
from bench2robust.evaluation import Rate, Row, Run
from bench2robust.evaluation.summary import to_dict

_WIDE = 400
"""Columns of a console that is no terminal: nothing is wrapped."""
NOTHING = "–"


def console(*, err: bool = False) -> Console:
    """Return a console on stdout or stderr; where that is no terminal, lines keep their length."""
    terminal = (sys.stderr if err else sys.stdout).isatty()
    return Console(stderr=err, width=None if terminal else _WIDE, highlight=False, soft_wrap=True)


def print_json(data: Any) -> None:
    """Print JSON for a program to read."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def duration(seconds: float) -> str:
    """Return a duration the way people say it.

    >>> duration(7.2), duration(95), duration(7300)
    ('7 s', '1 min 35 s', '2 h 1 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def amount(count: float) -> str:
    """Return a large number the way people say it.

    >>> amount(950), amount(12_345), amount(7_300_000), amount(2_500_000_000)
    ('950', '12.3k', '7.3M', '2,500.0M')
    """
    if count < 1000:
        return f"{count:.0f}"
    return f"{count / 1000:.1f}k" if count < 1_000_000 else f"{count / 1_000_000:,.1f}M"


def dollars(cost: float) -> str:
    """Return a price in US dollars.

    >>> dollars(0), dollars(0.0123), dollars(1234.5)
    ('$0', '$0.0123', '$1,234.50')
    """
    return f"${cost:,.2f}" if cost >= 1 else f"${cost:.3g}"


def percent(share: float | None) -> str:
    """Return a share in percent with one decimal."""
    return NOTHING if share is None else f"{100 * share:.1f}"


def print_run(run: Run, *, as_json: bool) -> None:
    """Print what a run shows."""
    if as_json:
        fingerprint, episodes = run.manifest["fingerprint"], run.manifest["episodes"]
        data = {"fingerprint": fingerprint, "episodes": episodes, "rows": to_dict(run.rows)}
        print_json({**data, "lost": run.lost} if run.lost else data)
        return
    typer.echo(summary_table(run.rows))
    there = sum(row.episodes for row in run.rows)
    if run.lost:
        name, problem = next(iter(run.lost.items()))
        typer.echo(
            f"{len(run.lost):,} lost to the endpoint, not scored: {name} ({problem})"
            + (", …" if len(run.lost) > 1 else "")
        )
    if there < run.manifest["episodes"]:
        typer.echo(
            f"{there:,} of {run.manifest['episodes']:,} episodes; repeat the command to finish the run"
        )


def summary_table(rows: Sequence[Row]) -> str:
    """Return the summary table: rates in percent, the rest in means per episode."""
    scenarios = [s for s in Scenario if any(s in row.scenarios for row in rows if row.mode.injected)]
    headings = [
        "agent",
        "mode",
        "episodes",
        "pass rate",
        "escalated",
        "premature",
        "steps",
        "calls",
        "injected",
    ]
    if Scenario.S3 in scenarios:
        headings.insert(6, "abstained")
    if any(row.requests for row in rows):
        headings.append("tokens")
    if any(row.cost for row in rows):
        headings.append("cost")
    headings += [scenario.upper() for scenario in scenarios]
    if any(row.ineligible for row in rows):
        headings.append("ineligible")
    return in_columns(headings, [[_cell(heading, row) for heading in headings] for row in rows], left=2)


def in_columns(headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: int) -> str:
    """Return a table as text; the first `left` columns are text, the others numbers."""
    cells = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(padded).rstrip()

    return "\n".join(map(line, cells))


def _cell(heading: str, row: Row) -> str:
    simple = {
        "agent": row.agent,
        "mode": str(row.mode),
        "episodes": f"{row.episodes:,}",
        "pass rate": _rate(row.pass_rate),
        "escalated": percent(row.escalation_rate),
        "premature": percent(row.premature_rate),
        "abstained": percent(row.abstain_rate),
        "steps": f"{row.steps:.1f}",
        "calls": f"{row.calls:.1f}",
        "injected": f"{row.injections:.2f}",
        "tokens": amount(row.tokens) if row.requests else NOTHING,
        "cost": dollars(row.cost) if row.requests else NOTHING,
        "ineligible": ", ".join(f"{s.upper()}: {n}" for s, n in row.ineligible.items()) or NOTHING,
    }
    if heading in simple:
        return simple[heading]
    count = row.scenarios.get(Scenario(heading.lower())) if row.mode.injected else None
    return NOTHING if count is None else f"{percent(count.pass_rate)} ({count.episodes})"


def _rate(rate: Rate) -> str:
    return percent(rate.mean) if rate.std is None else f"{percent(rate.mean)} ± {percent(rate.std)}"
