"""Every table of the paper, from committed runs, is as in its golden file (both made by ``make_runs.sh``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench2robust.cli import table as command
from bench2robust.evaluation.tables import render
from bench2robust.evaluation.tables.catalogue import NAMES, build

HERE = Path(__file__).parent
RUNS = HERE / "runs"
GOLDEN = HERE.parents[1] / "golden"
FOLDERS = {
    "btm": [RUNS / name for name in ("base", "dynamic", "static", "shuffled", "full", "online")],
    "severity": [RUNS / "sweep"],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_as_in_its_golden_file(name: str) -> None:
    table = build(name, FOLDERS.get(name, [RUNS / "plain"]), with_paper=True)
    assert render(table, "markdown").decode() == (GOLDEN / f"table_{name}.md").read_text(encoding="utf-8")


def test_the_command_knows_every_table() -> None:
    assert command.NAMES == NAMES
