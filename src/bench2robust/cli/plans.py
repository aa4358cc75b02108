"""What ``b2r sweep`` and ``b2r reproduce`` share: the options of ``b2r run``, and playing several runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import typer
from typer.main import get_command

from bench2robust.core.errors import SpecError
from bench2robust.evaluation import Means, Schedule, Watch, forecast, sample
from bench2robust.evaluation.series import Played, Series, play
from bench2robust.evaluation.workers import usable_cpus

from .printing import amount, dollars, duration, print_json
from .running import Order, Progressing, progress, read_plan

_OURS: Final = ("config", "dry_run", "as_json")
UNFINISHED: Final = 3
"""Exit code of a plan that ended before everything was played."""


def options_of_run(arguments: Sequence[str]) -> tuple[dict[str, Any], str | Path | None, Means]:
    """Return the settings, folder and means that some arguments, as ``b2r run`` takes them, give.

    Raises:
        UsageError: something that cannot be.
    """
    from .main import app

    command: Any = get_command(app)
    context = command.commands["run"].make_context("b2r run", list(arguments))
    given = {name: value for name, value in context.params.items() if value is not None}
    refused = next((name for name in ("dry_run", "as_json") if given.get(name)), None)
    if refused:
        raise SpecError(f"expected --{refused.replace('_', '-')} before the options of b2r run")
    config = Path(given["config"]) if "config" in given else None
    options = {name.replace("_", "-"): value for name, value in given.items() if name not in _OURS}
    return read_plan(config, options)


def announce(series: Series, out: Path, means: Means, *, as_json: bool) -> None:
    """Print how many episodes the runs of a series have and about what they take; writes nothing.

    Where models take part, a few episodes of each run are played for it.

    Raises:
        UsageError, SubjectError, EndpointError: as `evaluation.run`.
    """
    workers = means.workers or usable_cpus()
    found: list[tuple[str, int, float]] = []
    tokens = cost = 0.0
    for name, spec in series.runs.items():
        schedule = Schedule(spec)
        schedule.prepare()
        sampled = sample(schedule, means.concurrency)
        seconds = forecast(schedule, workers) + sampled.seconds
        found.append((name, len(schedule), seconds))
        tokens, cost = tokens + sampled.tokens, cost + sampled.cost
    episodes, seconds = sum(count for _, count, _ in found), sum(each for _, _, each in found)
    if as_json:
        runs = {name: {"episodes": count, "seconds": round(s, 3)} for name, count, s in found}
        total = {"episodes": episodes, "seconds": round(seconds, 3), "tokens": round(tokens), "cost": cost}
        print_json({**total, "runs": runs, "out": str(out)})
        return
    for name, count, each in found:
        typer.echo(f"{name}: {count:,} episodes, about {duration(each)}")
    models = f", about {amount(tokens)} tokens, {dollars(cost)}" if tokens else ""
    typer.echo(f"{len(found)} runs, {episodes:,} episodes, about {duration(seconds)}{models}; into {out}")


def play_all(series: Series, out: Path, means: Means) -> Played:
    """Play what a series' folder lacks, and show how far it is.

    Raises:
        UsageError, SubjectError, EndpointError: as `evaluation.run`.
        Exit: interrupted.
    """
    shown: list[Progressing] = []
    names = list(series.runs)

    def watch(name: str, schedule: Schedule) -> Watch:
        for before in shown:
            before.stop()
        typer.echo(f"run {names.index(name) + 1} of {len(names)}: {name}", err=True)
        shown[:] = [progress(Order(schedule.spec, schedule, out / name, means))]
        return shown[0].update

    try:
        played = play(series, out, means, watch)
    except KeyboardInterrupt:
        typer.echo(f"interrupted; repeat the command to go on (episodes so far are in {out})", err=True)
        raise typer.Exit(130) from None
    finally:
        for last in shown:
            last.stop()
    return played


def end(played: Played) -> None:
    """Say where everything is, and end as unfinished where something is missing.

    Raises:
        Exit: a budget was used up, or episodes were lost.
    """
    typer.echo(f"folder: {played.folder}", err=True)
    lost = sum(len(run.lost) for run in played.runs)
    if played.stopped:
        typer.echo(f"stopped: {played.stopped}; repeat the command with more to go on", err=True)
    if lost:
        typer.echo(f"{lost:,} episodes lost to the endpoint; repeat the command to play them", err=True)
    if played.stopped or lost:
        raise typer.Exit(UNFINISHED)
