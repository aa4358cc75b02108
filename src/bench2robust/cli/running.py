"""``b2r run``: from options and a TOML file to a run folder, with the progress shown on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.evaluation import RunSpec, Schedule, Status, forecast, run
from bench2robust.evaluation.runner import check_workers
from bench2robust.evaluation.spec import SETTINGS, read_settings

from .printing import console, duration, percent, print_json, print_run

_PLACES: Final = ("out", "workers")
"""Settings that say where and how to run; they change nothing in the results."""
_QUIET: Final = 10.0
"""Seconds between two lines where there is no terminal."""
_REDRAW: Final = 0.1


@dataclass(frozen=True)
class Order:
    """What to run, where to, and with how many processes."""

    spec: RunSpec
    schedule: Schedule
    out: Path
    workers: int


def read_order(config: Path | None, options: Mapping[str, Any]) -> Order:
    """Return what a TOML file and options (which win) ask for.

    Raises:
        UsageError: something that cannot be; nothing has been written.
    """
    settings = {**(read_settings(config) if config else {}), **options}
    for key in settings:
        if key not in (*SETTINGS, *_PLACES):
            raise UnknownNameError("setting", key, (*SETTINGS, *_PLACES))
    if "benchmark" not in settings:
        raise SpecError("expected a benchmark, got none; give --benchmark, such as --benchmark tau2-retail")
    out, workers = settings.pop("out", None), settings.pop("workers", None)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int)):
        raise SpecError(f"expected an integer, got workers={workers!r}")
    if out is not None and not isinstance(out, str | Path):
        raise SpecError(f"expected a folder, got out={out!r}")
    workers = check_workers(workers)
    spec = RunSpec.from_settings(settings)
    schedule = Schedule(spec)
    plain = spec.benchmark.partition(":")[0]
    folder = Path(out) if out is not None else Path("runs") / f"{plain}-{schedule.fingerprint[:8]}"
    return Order(spec, schedule, folder, workers)


def print_forecast(order: Order, *, as_json: bool) -> None:
    """Print how many episodes a run has and about how long it takes; writes nothing."""
    order.schedule.prepare()
    seconds = forecast(order.schedule, order.workers)
    if as_json:
        print_json(
            {
                "episodes": len(order.schedule),
                "seconds": round(seconds, 3),
                "workers": order.workers,
                "out": str(order.out),
                "fingerprint": order.schedule.fingerprint,
            }
        )
    else:
        typer.echo(_announcement(order, seconds, len(order.schedule)))


def execute(order: Order, *, as_json: bool) -> None:
    """Run, show how far it is, and print the summary.

    Raises:
        UsageError, SubjectError: as `bench2robust.evaluation.run`.
        Exit: interrupted.
    """
    watch = _Bar(order) if sys.stderr.isatty() else _Lines(order)
    try:
        finished = run(order.spec, order.out, workers=order.workers, watch=watch.update)
    except KeyboardInterrupt:
        watch.stop()
        typer.echo(f"interrupted; repeat the command to go on (episodes so far are in {order.out})", err=True)
        raise typer.Exit(130) from None
    finally:
        watch.stop()
    print_run(finished, as_json=as_json)
    typer.echo(f"run folder: {order.out}", err=True)


def _announcement(order: Order, seconds: float, missing: int) -> str:
    spec, tasks = order.schedule.spec, len(order.schedule.tasks)
    parts = (
        _counted(len(spec.agents), "agent"),
        _counted(len(spec.modes), "mode"),
        _counted(len(spec.seeds), "seed"),
        _counted(tasks, "task"),
    )
    text = f"{_counted(len(order.schedule), 'episode')} ({' × '.join(parts)})"
    if missing < len(order.schedule):
        text += f", {missing:,} still missing"
    if not missing:
        return f"{text}: nothing to do"
    return f"{text}, about {duration(seconds)} with {_counted(order.workers, 'worker')}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


class _Lines:
    """Progress where there is no terminal: a line now and then."""

    def __init__(self, order: Order, clock: Callable[[], float] = monotonic) -> None:
        self._order, self._clock = order, clock
        self._start = self._said = 0.0

    def update(self, status: Status) -> None:
        now = self._clock()
        if not self._start:
            self._start = self._said = now
            typer.echo(_announcement(self._order, status.seconds, status.episodes - status.resumed), err=True)
        elif now - self._said >= _QUIET:
            self._said = now
            played = status.done - status.resumed
            left = (now - self._start) / played * (status.episodes - status.done)
            typer.echo(
                f"{status.done:,} of {status.episodes:,} episodes, {_passed(status)}, about {duration(left)} left",
                err=True,
            )

    def stop(self) -> None:
        """Nothing to put away."""


class _Bar:
    """Progress on a terminal: a bar, redrawn by this thread only (workers are forked from it)."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._drawn = 0.0
        self._task: TaskID | None = None
        self._progress = Progress(
            TextColumn("episodes"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[passed]}"),
            TimeRemainingColumn(),
            console=console(err=True),
            auto_refresh=False,
        )

    def update(self, status: Status) -> None:
        if self._task is None:
            typer.echo(_announcement(self._order, status.seconds, status.episodes - status.resumed), err=True)
            self._task = self._progress.add_task(
                "", total=status.episodes, completed=status.resumed, passed=_passed(status)
            )
            self._progress.start()
            return
        now = monotonic()
        if now - self._drawn >= _REDRAW or status.done == status.episodes:
            self._drawn = now
            self._progress.update(self._task, completed=status.done, passed=_passed(status), refresh=True)

    def stop(self) -> None:
        """Leave the bar as it is."""
        self._progress.stop()


def _passed(status: Status) -> str:
    return f"{percent(status.passed / status.done)} % passed" if status.done else "none played yet"
