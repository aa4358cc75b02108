"""The paper's values are those of its own text, cell for cell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench2robust.evaluation.tables import paper
from bench2robust.evaluation.tables.table import printed

EXCERPTS = Path(__file__).with_name("paper_tables.txt").read_text(encoding="utf-8")
SIGNS = {
    "$\\pm$": "±",
    "$\\to$": "→",
    "$-$ ": "−",
    "^†": "",
    "$P(\\text{clean})=": "P(clean)=",
    "$B=": "B=",
    "$ , $K_{\\max}=": ", K_max=",
    "$": "",
}
HEADINGS = (
    "Model\t",
    "Variant\t",
    "Error Type\t",
    "Training Method\t",
    "Benchmark\t",
    "Setting\t",
    "\t",
)


def their_rows(name: str) -> list[str]:
    """Return the lines of values, without headings and citation marks, in our signs."""
    block = re.search(rf"^\[{name}\]\n(.*?)(?:\n\n|\Z)", EXCERPTS, re.DOTALL | re.MULTILINE)
    assert block, name
    lines = [line for line in block[1].splitlines() if "\t" in line and not line.startswith(HEADINGS)]
    for theirs, ours in SIGNS.items():
        lines = [line.replace(theirs, ours) for line in lines]
    return [re.sub(r" \[\d+\]", "", line) for line in lines]


@pytest.mark.parametrize("name", list(paper.tables()))
def test_every_row_of_a_table_is_as_in_the_paper(name: str) -> None:
    table = paper.tables()[name]
    assert ["\t".join(printed(row, table)) for row in table.rows] == their_rows(name)


def test_the_excerpts_are_all_tables() -> None:
    assert re.findall(r"^\[(\w+)\]$", EXCERPTS, re.MULTILINE) == list(paper.tables())


def test_a_row_is_referred_to_by_its_number() -> None:
    rows = paper.tables()["table14"].rows
    assert [row.source for row in rows][-1] == "Table 14, row 7"
    assert {row.section for row in rows} == {
        "Vary P(clean); B=5, K_max=2",
        "Vary injection limits; P(clean)=0.60",
    }


def test_the_papers_differences_are_those_of_its_values() -> None:
    """Within the rounding of the printed values; the paper's own exception is named."""
    entry = paper.data()["table5"]
    off = [
        (row[0], at)
        for clean, inject, row in zip(entry["clean"], entry["inject"], entry["delta"], strict=True)
        for at in range(1, len(row))
        if abs(inject[at] - clean[at] - row[at]) > 0.11
    ]
    assert off == []
