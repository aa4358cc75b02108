"""Table 5: the robustness gap, by benchmark and intent."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from bench2robust.core.episode import Mode
from bench2robust.evaluation.statistics import paired
from bench2robust.evaluation.study import Study

from . import layouts, paper
from .systems import Options, counted, need, notes, of_difference, rate, systems
from .table import Cell, Column, Row, Table

Slice = tuple[str, str]
"""Suite and slice."""

_SUITES: Final[dict[str, Slice]] = {
    "tau2-retail": ("τ²-bench", "retail"),
    "tau2-airline": ("τ²-bench", "airline"),
    "tau2-telecom": ("τ²-bench", "telecom"),
    "retail-3i": ("Retail-3I-shaped", ""),
    "airline-3i": ("Airline-3I-shaped", ""),
    "bfcl-multi-turn": ("BFCL", "multi-turn"),
}
"""Benchmark to suite and slice; an empty slice is one for each intent."""
_REAL: Final = {"Retail-3I-shaped": "Retail-3I", "Airline-3I-shaped": "Airline-3I"}
_SHAPED: Final = "3I-shaped tasks are generated in the shape of the paper's; its own files are not public."


def gap(study: Study, options: Options) -> Table:
    """Return Table 5 for the systems of a study: clean, injected, and the difference, by slice.

    Args:
        study: runs, also of several benchmarks.
        options: how; the injected mode is ``options.mode``.

    Raises:
        UsageError: a mode is missing.
    """
    need(study, "gap", (Mode.CLEAN, options.mode))
    of_task = [
        slice_of(benchmark, name, _intent(study, at)) for at, (benchmark, name) in enumerate(study.tasks)
    ]
    there = [of_task[place] for place in np.unique(study.data["task"])]
    slices = list(dict.fromkeys(there))
    masks = {one: np.array([s == one for s in of_task])[study.data["task"]] for one in slices}
    columns = [layouts.slice_column(suite, name, there.count((suite, name))) for suite, name in slices]
    parts = {one: study.filter(mask) for one, mask in masks.items()}
    found = systems(study)
    rows = []
    for block in layouts.GAP_BLOCKS:
        for who in found:
            cells = [_cell(parts[one].select(system=who.name), block, options.mode) for one in slices]
            rows.append(Row((Cell(who.name), *cells), block, "", layouts.unit_of(block)))
    reading = f"Δ: {options.mode} minus clean, on the same tasks and seeds."
    shaped = _SHAPED if any(suite in _REAL for suite, _ in slices) else ""
    title = f"Robustness gap ({counted(study)})"
    return Table("gap", title, (Column("Model"), *columns), tuple(rows), notes(study, reading, shaped))


def slice_of(benchmark: str, task: str, intent: str) -> Slice:
    """Return the column of Table 5 that a task belongs to.

    >>> slice_of("retail-3i", "changing-12", "changing"), slice_of("combined-retail", "13", "general")
    (('Retail-3I-shaped', 'changing'), ('combined-retail', 'τ²-bench'))
    """
    suite, name = _SUITES.get(benchmark, (benchmark, ""))
    if benchmark == "combined-retail" and task.isdecimal():
        return suite, "τ²-bench"
    return suite, name or intent or "all"


def _intent(study: Study, task: int) -> str:
    places = study.data["intent"][study.data["task"] == task]
    return study.intents[int(places[0])] if len(places) else ""


def _cell(own: Study, block: str, mode: Mode) -> Cell:
    clean, injected = own.select(mode=Mode.CLEAN), own.select(mode=mode)
    if block == layouts.GAP_BLOCKS[0]:
        return rate(clean)
    if block == layouts.GAP_BLOCKS[1]:
        return rate(injected)
    if not len(clean) or not len(injected):
        return Cell()
    return of_difference(paired(clean.sample("passed"), injected.sample("passed")))


def with_the_papers_slices(table: Table) -> Table:
    """Return a table of `gap` with the paper's rows below, under the slices they are of.

    Slices that only the paper has come behind.
    """
    theirs = paper.tables()["table5"]
    places = {(suite, name): at for at, (suite, name, _) in enumerate(paper.data()["table5"]["slices"], 1)}
    ours = [(column.group, column.name.rpartition(" (")[0]) for column in table.columns[1:]]
    wanted = [places.get((_REAL.get(suite, suite), name)) for suite, name in ours]
    extra = [at for at in places.values() if at not in wanted]
    columns = table.columns + tuple(theirs.columns[at] for at in extra)
    rows = [replace(row, cells=row.cells + (Cell(),) * len(extra)) for row in table.rows]
    for row in theirs.rows:
        cells = [row.cells[0], *(Cell() if at is None else row.cells[at] for at in (*wanted, *extra))]
        rows.append(replace(row, cells=tuple(cells), section=f"{theirs.title}: {row.section}"))
    return replace(table, columns=columns, rows=tuple(rows))
