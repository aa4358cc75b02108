"""Table 3: what a memory's parts are worth."""

from __future__ import annotations

from typing import Final

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.study import Study

from . import layouts
from .systems import Options, Who, counted, need, notes, rate, systems, tokens
from .table import Cell, Row, Table

_VARIANTS: Final = {
    "none": ("Base (no belief)", False, False),
    "dynamic": ("Dynamic only", False, True),
    "static": ("Static only (Uniform)", True, False),
    "shuffled": ("Full BTM, Shuffled", True, True),
    "full": ("Full BTM, True", True, True),
}
"""Name, static and dynamic part, in the paper's order."""
_Key = tuple[str, str, str]
"""Variant, delivery, and the run's name where two runs are alike in both."""


def btm(study: Study, options: Options) -> Table:
    """Return Table 3 for the runs of a study: a section an agent, a row a variant (and way of delivery).

    Raises:
        UsageError: the mode is missing, or no agent of the study was told of a memory.
    """
    need(study, "btm", (options.mode,))
    there = study.select(mode=options.mode)
    found = systems(there)
    if not any(who.told for who in found):
        raise UsageError(
            "expected runs with a memory for table='btm', got none; give b2r run --memory FILE, "
            "with --memory-variant static, dynamic, shuffled or full"
        )
    agents = list(dict.fromkeys(who.agent for who in found))
    rows = []
    for agent in agents:
        own = [who for who in found if who.agent == agent]
        section = agent.removeprefix("chat:") if len(agents) > 1 else ""
        rows += [Row(cells, section) for cells in _rows(there, own)]
    reading = (
        "Pass rate in percent ± standard deviation between seeds; tokens of the agent (– without a model)."
    )
    title = f"Memory, {options.mode} ({counted(there)})"
    return Table("btm", title, layouts.BTM, tuple(rows), notes(study, reading))


def _rows(study: Study, found: list[Who]) -> list[tuple[Cell, ...]]:
    """Return the rows of one agent."""
    held: dict[_Key, dict[str, list[str]]] = {}
    for who in found:
        memory = who.memory or {}
        variant, delivery = str(memory.get("variant", "none")), str(memory.get("delivery", "block"))
        key = variant, delivery, who.name.partition(" @ ")[2]
        held.setdefault(key, {}).setdefault(str(memory.get("update", "fixed")), []).append(who.name)
    rows = []
    for variant, (name, static, dynamic) in _VARIANTS.items():
        for (there, delivery, run), updates in held.items():
            if there != variant:
                continue
            label = (name if delivery == "block" else f"{name}, {delivery}") + (f" @ {run}" if run else "")
            cells = [Cell(label), Cell(static), Cell(dynamic)]
            for update in ("fixed", "online"):
                own = study.select(system=updates[update]) if update in updates else None
                cells += [Cell(), Cell()] if own is None else [rate(own), tokens(own)]
            rows.append(tuple(cells))
    return rows
