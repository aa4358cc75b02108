"""``b2r tasks stats`` and ``b2r tasks check``: benchmarks in numbers, and whether they keep their promises."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import Final

import typer

from bench2robust.core.errors import BenchmarkError, NotInstalledError
from bench2robust.evaluation import names
from bench2robust.evaluation.inventory import Inventory, take_inventory
from bench2robust.testing import check_benchmark

from .printing import NOTHING, console, in_columns, print_json

_HEADINGS: Final = ("benchmark", "tasks", "tools", "gold calls", "S2-eligible", "S3-eligible")


def print_inventories(benchmarks: Sequence[str], *, as_json: bool) -> None:
    """Print a row for each benchmark, or for every registered one; a row says where something is missing.

    Raises:
        UnknownNameError: nothing is registered under a name.
    """
    wanted = list(benchmarks or names())
    found: dict[str, Inventory | str] = {}
    screen = console(err=True)
    # A generator's tasks take a while to make; in a pipe nothing is said.
    with screen.status("") if sys.stderr.isatty() else nullcontext() as sign:
        for place, name in enumerate(wanted, 1):
            if sign is not None:
                sign.update(f"{place} of {len(wanted)}: {name}")
            found[name] = _inventory(name)
    if as_json:
        print_json([_row(name, inventory) for name, inventory in found.items()])
        return
    table = in_columns(_HEADINGS, [_cells(*item) for item in found.items()], left=1).splitlines()
    notes = ["", *(why if isinstance(why, str) else "" for why in found.values())]
    typer.echo("\n".join(f"{line}  {note}".rstrip() for line, note in zip(table, notes, strict=True)))


def print_report(benchmark: str, tasks: Sequence[str] | None, *, as_json: bool) -> bool:
    """Print what the conformance check finds; returns whether everything holds."""
    report = check_benchmark(benchmark, tasks)
    if as_json:
        print_json(report.to_dict())
    else:
        typer.echo(str(report))
    return report.passed


def _inventory(name: str) -> Inventory | str:
    """Return the numbers, or why there are none."""
    try:
        return take_inventory(name)
    except (NotInstalledError, BenchmarkError) as error:
        return str(error)


def _row(name: str, inventory: Inventory | str) -> dict[str, object]:
    if isinstance(inventory, str):
        return {"benchmark": name, "missing": inventory}
    return asdict(inventory)


def _cells(name: str, inventory: Inventory | str) -> tuple[str, ...]:
    if isinstance(inventory, str):
        return name, *[NOTHING] * (len(_HEADINGS) - 1)
    return (
        name,
        f"{inventory.tasks:,}",
        f"{inventory.standard} + {inventory.alternative}",
        f"{inventory.gold_calls:.1f}",
        f"{inventory.s2:,}",
        f"{inventory.s3:,}",
    )
