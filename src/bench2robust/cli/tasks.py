"""``b2r tasks``: lists tasks, prints certificates and splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import typer

from bench2robust.core.episode import Task
from bench2robust.core.tools import ToolKind
from bench2robust.evaluation import certify, load
from bench2robust.evaluation.splits import split_of
from bench2robust.injection import Eligibility

from .printing import NOTHING, in_columns, print_json

_LINE = 90


def print_tasks(benchmark: str, *, as_json: bool) -> None:
    """Print a line for each task: gold calls, writes among them, values to tell, the user's words."""
    subject = load(benchmark)
    writes = {tool.name for tool in subject.tools(alternatives=True) if tool.kind is ToolKind.WRITE}
    rows = [_task(task, writes) for task in subject.tasks()]
    if as_json:
        print_json(rows)
        return
    cells = (
        [row["id"], _first_line(row["instructions"]), *(str(row[key]) for key in _COUNTS)] for row in rows
    )
    typer.echo(in_columns(["task", "user", *_COUNTS], cells, left=2))


def print_certificates(benchmark: str, *, as_json: bool) -> None:
    """Print what each task is eligible for, and why not for the rest."""
    found = certify(benchmark)
    if as_json:
        print_json({task: _certificate(eligibility) for task, eligibility in found.items()})
        return
    cells = (_cells(task, eligibility) for task, eligibility in found.items())
    typer.echo(
        in_columns(["task", "S2: counting sides (first is used first)", "S3", "not eligible"], cells, left=4)
    )
    typer.echo(
        f"\n{len(found)} tasks, {sum(e.s2 for e in found.values())} eligible for S2" + _by_class(found)
    )
    typer.echo(f"{sum(bool(e.s3) for e in found.values())} eligible for S3")


def print_split(benchmark: str, *, as_json: bool) -> None:
    """Print the ids of both parts of a split, after it was verified, and how many of each kind they hold."""
    split = split_of(benchmark)
    parts = {"train": split.train, "held_out": split.held_out}
    if as_json:
        print_json({"benchmark": benchmark, "hash": split.hash, **{k: list(v) for k, v in parts.items()}})
        return
    kinds = {task.id: _kind(task) for task in load(benchmark).tasks()}
    for part, ids in parts.items():
        counts = Counter(kinds[name] for name in ids)
        shares = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        typer.echo(f"{part}: {len(ids)} tasks ({shares})" if shares else f"{part}: {len(ids)} tasks")
        typer.echo(" ".join(ids) + "\n" if ids else "")
    typer.echo(f"hash {split.hash} (verified)")


def _kind(task: Task) -> str:
    return " ".join(str(task.data[key]) for key in ("source", "intent") if key in task.data) or "of one kind"


_COUNTS = ("calls", "writes", "tell")


def _task(task: Task, writes: set[str]) -> dict[str, Any]:
    return {
        "id": task.id,
        "instructions": task.instructions,
        "calls": len(task.gold),
        "writes": sum(action.call.name in writes for action in task.gold),
        "tell": len(task.tell),
    }


def _first_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def _certificate(eligibility: Eligibility) -> dict[str, Any]:
    return {
        "s2": eligibility.s2,
        "sides": {name: list(sides) for name, sides in eligibility.sides.items()},
        "primary": dict(eligibility.primary),
        "s3": list(eligibility.s3),
        "reasons": dict(eligibility.reasons),
    }


def _cells(task: str, eligibility: Eligibility) -> tuple[str, str, str, str]:
    sides = (
        f"{name} ({', '.join(_primary_first(sides, eligibility.primary.get(name)))})"
        for name, sides in eligibility.sides.items()
        if len(sides) >= 2
    )
    why = (f"{key.upper()}: {eligibility.reasons[key]}" for key in ("s2", "s3") if key in eligibility.reasons)
    return task, ", ".join(sides) or NOTHING, ", ".join(eligibility.s3) or NOTHING, "; ".join(why)


def _primary_first(sides: tuple[str, ...], primary: str | None) -> list[str]:
    return sorted(sides, key=lambda side: side != primary)


def _by_class(found: Mapping[str, Eligibility]) -> str:
    counts: dict[str, int] = {}
    for eligibility in found.values():
        for name, sides in eligibility.sides.items():
            if len(sides) >= 2:
                counts[name] = counts.get(name, 0) + 1
    return f" ({', '.join(f'{name} {count}' for name, count in counts.items())})" if counts else ""
