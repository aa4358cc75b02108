"""The tables with a row a system: Tables 1 and 6 (main), 7 (transfer) and 15 (efficiency)."""

from __future__ import annotations

from typing import Final

import numpy as np

from bench2robust.core.episode import Mode
from bench2robust.evaluation.study import Study

from . import layouts
from .systems import Options, average, counted, need, notes, rate, systems, tokens
from .table import Cell, Column, Row, Table, Unit

_MODES: Final = (Mode.CLEAN, Mode.INJECT, Mode.INJECT_ALT)
_SPREAD: Final = "Pass rates in percent, mean ± standard deviation between seeds."


def main(study: Study, options: Options) -> Table:
    """Return Table 1 for the systems of a study; a column for `clean_alt` where it was run.

    Raises:
        UsageError: a mode is missing.
    """
    need(study, "main", _MODES)
    columns, modes = list(layouts.MAIN), list(_MODES)
    if Mode.CLEAN_ALT in study.modes:
        columns.insert(4, Column("Clean w/ Alt", Unit.PERCENT))
        modes.insert(1, Mode.CLEAN_ALT)
    rows = []
    for who in systems(study):
        own = study.select(system=who.name)
        cells = [rate(own.select(mode=mode)) for mode in modes]
        rows.append(Row((Cell(who.name), Cell(who.trained(options)), Cell(who.told), *cells)))
    title = f"Effectiveness ({counted(study)})"
    return Table("main", title, tuple(columns), tuple(rows), notes(study, _SPREAD))


def transfer(study: Study, options: Options) -> Table:
    """Return Table 7 for the systems of a study: a section a benchmark.

    Raises:
        UsageError: the mode is missing.
    """
    need(study, "transfer", (options.mode,))
    name = {Mode.INJECT: layouts.INJECT, Mode.INJECT_ALT: layouts.INJECT_ALT}.get(options.mode, options.mode)
    columns = (*layouts.TRANSFER[:-1], Column(name, Unit.PERCENT))
    rows = []
    for benchmark in study.benchmarks:
        there = study.select(benchmark=benchmark, mode=options.mode)
        section = f"{benchmark} ({len(np.unique(there.data['task'])):,} tasks)"
        for who in systems(there):
            cells = (
                Cell(who.name),
                Cell(f"— → {benchmark}"),
                Cell(who.trained(options)),
                Cell(who.told),
                rate(there.select(system=who.name)),
            )
            rows.append(Row(cells, section))
    return Table("transfer", f"Transfer ({counted(study)})", columns, tuple(rows), notes(study, _SPREAD))


def efficiency(study: Study, options: Options) -> Table:
    """Return Table 15 for the systems of a study.

    Raises:
        UsageError: a mode is missing.
    """
    del options
    need(study, "efficiency", _MODES)
    rows = []
    for who in systems(study):
        cells = [Cell(who.name)]
        for mode in _MODES:
            own = study.select(system=who.name, mode=mode)
            cells += [rate(own), tokens(own), average(own, "steps")]
        rows.append(Row(tuple(cells)))
    reading = f"{_SPREAD} Tokens of the agent (– without a model) and assistant actions, per episode."
    title = f"Efficiency ({counted(study)})"
    return Table("efficiency", title, layouts.EFFICIENCY, tuple(rows), notes(study, reading))
