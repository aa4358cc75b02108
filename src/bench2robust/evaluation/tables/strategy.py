"""The tables about recovery: Table 2 (strategy) and Table 4 (errors)."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from bench2robust.core.episode import Mode
from bench2robust.evaluation.study import Study
from bench2robust.measures import BLOCKED

from . import layouts
from .systems import Options, Who, based, counted, gap, need, notes, rate, systems
from .table import Cell, Column, Row, Table, Unit

_BY: Final = {
    "effective": "by assigned scenario (drawn before the episode, the same for every system)",
    "realised": "by realised scenario (the paper's: what the episode met)",
}


def strategy(study: Study, options: Options) -> Table:
    """Return Table 2 for the systems of a study, by assigned and by realised scenario; S3 where it was run.

    Raises:
        UsageError: there is no `inject_alt`.
    """
    del options
    need(study, "strategy", (Mode.INJECT_ALT,))
    there = study.select(mode=Mode.INJECT_ALT)
    impossible = bool(len(there.select(effective="s3")))
    columns = layouts.STRATEGY + (layouts.ABSTENTION if impossible else ())
    rows = [
        Row(_strategy(there.select(system=who.name), who, by, abstention=impossible), section)
        for by, section in _BY.items()
        for who in systems(there)
    ]
    reading = (
        "S1: nothing is blocked; S2: one way is blocked for the whole episode; episodes in brackets. "
        "Premature: handed over while a viable path was left, in percent of S1, of S2, and of both."
    )
    return Table("strategy", f"Strategy ({counted(there)})", columns, tuple(rows), notes(study, reading))


def _strategy(own: Study, who: Who, by: str, *, abstention: bool) -> tuple[Cell, ...]:
    parts = [own.select(**{by: scenario}) for scenario in ("s1", "s2")]
    both = own.select(**{by: ("s1", "s2")})
    cells = [Cell(who.name), *map(rate, parts)]
    cells += [rate(part, "premature") for part in (*parts, both)]
    if abstention:
        s3 = own.select(**{by: "s3"})
        cells += [rate(s3, "correct_abstention"), rate(s3, "missed_abstention")]
    return tuple(_without_spread(cell) for cell in cells)


def _without_spread(cell: Cell) -> Cell:
    """Drop the spread between seeds: the paper's layout has counts there."""
    return Cell(cell.value, None, cell.low, cell.high, cell.n)


def errors(study: Study, options: Options) -> Table:
    """Return Table 4 for the systems of a study: pass rate of the episodes that met an error.

    Differences are each system's to the one before, as in the paper.

    Raises:
        UsageError: the mode is missing.
    """
    need(study, "errors", (options.mode,))
    there = study.select(mode=options.mode)
    found = based(systems(there), options)
    columns = [
        Column("Error Type"),
        *(Column(who.name, Unit.PERCENT, layouts.PASS_RATE, counts=True) for who in found),
        *(Column(who.name, Unit.POINTS, layouts.DELTA) for who in found[1:]),
    ]
    groups = [(title, [str(noise) for noise in group]) for title, group in layouts.ERROR_GROUPS]
    if np.any(there.column(f"met.{BLOCKED}")):
        groups.append(("Persistent", [BLOCKED]))
    rows = []
    for section, names in groups:
        for name in names:
            met = there.filter(there.column(f"met.{name}") > 0)
            cells = [_without_spread(rate(met.select(system=who.name))) for who in found]
            deltas = [gap(a, b) for a, b in pairwise(cells)]
            rows.append(Row((Cell(name), *cells, *deltas), section))
    reading = (
        "Pass rate in percent of the episodes that met an error at least once (how many in brackets); "
        "Δ: to the system before, in points."
    )
    title = f"Error types, {options.mode} ({counted(there)})"
    return Table("errors", title, tuple(columns), tuple(rows), notes(study, reading))
