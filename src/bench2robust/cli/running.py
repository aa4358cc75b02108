"""``b2r run``: from options and a TOML file to a run folder, with the progress shown on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final, Protocol

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.evaluation import Budget, Means, RunSpec, Schedule, Status, forecast, run, sample
from bench2robust.evaluation.models import is_chat
from bench2robust.evaluation.runner import MEMORY
from bench2robust.evaluation.spec import SETTINGS, read_settings
from bench2robust.evaluation.workers import usable_cpus

from .printing import amount, console, dollars, duration, percent, print_json, print_run

_MEANS: Final[Mapping[str, tuple[Any, str]]] = {
    "workers": (int, "an integer"),
    "concurrency": (int, "an integer"),
    "executor": (str, "a text"),
    "record": ((str, Path), "a file"),
    "replay": ((str, Path), "a file"),
    "max-cost": ((int, float), "a number"),
    "max-tokens": (int, "an integer"),
    "max-hours": ((int, float), "a number"),
}
_PLACES: Final = ("out", *_MEANS)
"""Settings that say where and how to run; they change nothing in the results."""
_UNFINISHED: Final = 3
"""Exit code of a run that ended before everything was played: repeat the command."""
_QUIET: Final = 10.0
"""Seconds between two lines where there is no terminal."""
_REDRAW: Final = 0.1


@dataclass(frozen=True)
class Order:
    """What to run, where to, and by what means."""

    spec: RunSpec
    schedule: Schedule
    out: Path
    means: Means

    @property
    def workers(self) -> int:
        """Processes that play the episodes without a model."""
        return self.means.workers or usable_cpus()


def read_order(config: Path | None, options: Mapping[str, Any]) -> Order:
    """Return what a TOML file and options (which win) ask for.

    Raises:
        UsageError: something that cannot be; nothing has been written.
    """
    settings, out, means = read_plan(config, options)
    if "benchmark" not in settings:
        raise SpecError("expected a benchmark, got none; give --benchmark, such as --benchmark tau2-retail")
    if out is not None and "memory" in settings and not Path(str(settings["memory"])).exists():
        copy = Path(out) / MEMORY  # of a run that is resumed
        settings["memory"] = copy if copy.exists() else settings["memory"]
    spec = RunSpec.from_settings(settings)
    schedule = Schedule(spec)
    plain = spec.benchmark.partition(":")[0]
    folder = Path(out) if out is not None else Path("runs") / f"{plain}-{schedule.fingerprint[:8]}"
    return Order(spec, schedule, folder, means)


def read_plan(
    config: Path | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], str | Path | None, Means]:
    """Return the settings, the folder and the means that a TOML file and options (which win) give.

    Raises:
        UsageError: a setting that nobody knows, or a place or means that cannot be.
    """
    settings = {**(read_settings(config) if config else {}), **options}
    for key in settings:
        if key not in (*SETTINGS, *_PLACES):
            raise UnknownNameError("setting", key, (*SETTINGS, *_PLACES))
    out, means = settings.pop("out", None), _means(settings)
    if out is not None and not isinstance(out, str | Path):
        raise SpecError(f"expected a folder, got out={out!r}")
    return settings, out, means


def _means(settings: dict[str, Any]) -> Means:
    """Take the settings that say by what means out of all settings."""
    given: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    for key, (kind, expected) in _MEANS.items():
        if key not in settings:
            continue
        value = settings.pop(key)
        if isinstance(value, bool) or not isinstance(value, kind):
            raise SpecError(f"expected {expected}, got {key}={value!r}")
        value = Path(value) if key in ("record", "replay") else value
        (limits if key.startswith("max-") else given)[key.removeprefix("max-")] = value
    return Means(**given, budget=Budget(**limits))


def print_forecast(order: Order, *, as_json: bool) -> None:
    """Print how many episodes a run has and about what it takes; writes nothing.

    Where models take part, a few episodes are played for it.

    Raises:
        UsageError, SubjectError, EndpointError: as `bench2robust.evaluation.run`.
    """
    schedule = order.schedule
    schedule.prepare()
    seconds = forecast(schedule, order.workers)
    sampled = sample(schedule, order.means.concurrency)
    if as_json:
        print_json(
            {
                "episodes": len(schedule),
                "seconds": round(seconds + sampled.seconds, 3),
                "workers": order.workers,
                "out": str(order.out),
                "fingerprint": schedule.fingerprint,
                **({"models": sampled.to_dict()} if sampled.episodes else {}),
            }
        )
        return
    typer.echo(_announcement(order, seconds, len(schedule)))
    if sampled.episodes:
        typer.echo(
            f"models: about {amount(sampled.tokens)} tokens, {dollars(sampled.cost)} and {duration(sampled.seconds)} "
            f"for {_counted(sampled.episodes, 'episode')} (from {sampled.played} that were played)"
        )


def execute(order: Order, *, as_json: bool) -> None:
    """Run, show how far it is, and print the summary.

    Raises:
        UsageError, SubjectError, EndpointError: as `bench2robust.evaluation.run`.
        Exit: interrupted, or ended before the run did.
    """
    watch = progress(order)
    try:
        finished = run(order.spec, order.out, means=order.means, watch=watch.update)
    except KeyboardInterrupt:
        watch.stop()
        typer.echo(f"interrupted; repeat the command to go on (episodes so far are in {order.out})", err=True)
        raise typer.Exit(130) from None
    finally:
        watch.stop()
    print_run(finished, as_json=as_json)
    typer.echo(f"run folder: {order.out}", err=True)
    if finished.stopped:
        typer.echo(f"stopped: {finished.stopped}; repeat the command with more to go on", err=True)
    if finished.stopped or finished.lost:
        raise typer.Exit(_UNFINISHED)


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
    if seconds:
        text += f", about {duration(seconds)} with {_counted(order.workers, 'worker')}"
    if any(map(is_chat, spec.agents)):
        text += f", models with {_counted(order.means.concurrency, 'episode')} in flight"
    return text


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def progress(order: Order) -> Progressing:
    """Return what shows on stderr how far a run is."""
    return _Bar(order) if sys.stderr.isatty() else _Lines(order)


class Progressing(Protocol):
    """Shows how far a run is."""

    def update(self, status: Status) -> None:
        """Take note of how far it is."""
        ...

    def stop(self) -> None:
        """Put away what is shown."""
        ...


class _Lines:
    """Progress where there is no terminal: a line now and then."""

    def __init__(self, order: Order, clock: Callable[[], float] = monotonic) -> None:
        self._order, self._clock = order, clock
        self._start = self._said = 0.0
        self._stopping = False

    def update(self, status: Status) -> None:
        now = self._clock()
        if not self._start:
            self._start = self._said = now
            typer.echo(_announcement(self._order, status.seconds, status.episodes - status.resumed), err=True)
        elif now - self._said >= _QUIET:
            self._said = now
            played = status.done - status.resumed
            left = (now - self._start) / max(1, played) * (status.episodes - status.done)
            typer.echo(
                f"{status.done:,} of {status.episodes:,} episodes, {_passed(status)}, about {duration(left)} left",
                err=True,
            )
        if status.stopping and not self._stopping:
            self._stopping = True
            typer.echo(_stopping(status), err=True)

    def stop(self) -> None:
        """Nothing to put away."""


class _Bar:
    """Progress on a terminal: a bar, redrawn by this thread only (workers are forked from it)."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._drawn = 0.0
        self._stopping = False
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
        if status.stopping and not self._stopping:
            self._stopping = True
            self._progress.print(_stopping(status))
        now = monotonic()
        if now - self._drawn >= _REDRAW or status.done == status.episodes:
            self._drawn = now
            self._progress.update(self._task, completed=status.done, passed=_passed(status), refresh=True)

    def stop(self) -> None:
        """Leave the bar as it is."""
        self._progress.stop()


def _passed(status: Status) -> str:
    """Return how well it goes, and what it costs where models take part."""
    parts = [f"{percent(status.passed / status.done)} % passed" if status.done else "none played yet"]
    usage = status.usage
    if usage.requests:
        parts.append(f"{amount(usage.prompt_tokens + usage.completion_tokens)} tokens")
    if usage.cost:
        parts.append(dollars(usage.cost))
    if status.lost:
        parts.append(f"{status.lost:,} lost")
    if status.retries:
        parts.append(f"{_counted(status.retries, 'request')} repeated")
    if 0 < status.limit < status.in_flight:
        parts.append(f"throttled to {status.limit}")
    return ", ".join(parts)


def _stopping(status: Status) -> str:
    flight = f"finishing {_counted(status.in_flight, 'episode')} in flight"
    return f"{status.stopping}: {flight}" + (
        "; Ctrl-C again gives them up" if status.stopping == "interrupted" else ""
    )
