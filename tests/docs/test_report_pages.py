"""The gallery is what the command writes, and the coverage page says what the paper and the code say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from bench2robust.core.domain import Domain, FieldRules
from bench2robust.core.noise import NOISE_TYPES, SILENT
from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec
from bench2robust.injection import InjectionSpec, Injector, NoiseProfile

DOCS = Path(__file__).parents[2] / "docs"
MARKS = {"✓", "○", "–"}


def tables(page: str) -> list[list[list[str]]]:
    """Return the tables of a page, as rows of cells, without the lines below their heads."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"((?:^\|.*\|\n)+)", text, re.MULTILINE)
    return [
        [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in table.splitlines()
            if "---" not in line
        ]
        for table in found
    ]


@pytest.mark.tau2
@pytest.mark.slow
def test_the_gallery_is_what_its_commands_write(tmp_path):
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(
        ["bash", "-ec", commands], cwd=tmp_path, env=os.environ | path, check=True, capture_output=True
    )
    assert (tmp_path / "gallery.md").read_text(encoding="utf-8") == page


def test_the_gallery_has_a_retry_a_switch_and_an_abstention():
    page = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\w+):", page, re.MULTILINE) == ["Retry", "Switch", "Abstain"]


def test_the_columns_are_the_nine_noise_types_and_every_row_fills_them():
    benchmarks, packages, control = tables("coverage.md")
    names = [name.replace("_response", "").replace("_", " ") for name in NOISE_TYPES]
    for table in (benchmarks, packages):
        assert table[0][1:] == names
    for table in (benchmarks, packages, control):
        assert {len(row) for row in table} == {len(table[0])}
        assert {cell for row in table[1:] for cell in row[1:]} <= MARKS
        assert set(table[-1][1:]) == {"✓"}
        assert table[-1][0] == "**Bench2Robust**"


def test_the_marks_of_benchmarks_are_those_of_table_10():
    table = tomllib.loads(files("bench2robust.evaluation.tables").joinpath("paper.toml").read_text())[
        "table10"
    ]
    assert table["noise"] == [str(noise) for noise in NOISE_TYPES]
    marks = [[name, *(mark == "✓" for mark in marks)] for name, *marks in tables("coverage.md")[0][1:-1]]
    assert marks == table["rows"][:-1]


@pytest.mark.parametrize("noise", NOISE_TYPES)
def test_our_marks_are_true_each_type_reaches_the_agent(noise):
    shares = dict.fromkeys(NOISE_TYPES, 0.0) | {noise: 1.0}
    domain = Domain(
        "shop",
        fields={"get_order": FieldRules(critical=("items",), state=("status",), numeric=("total",))},
        earlier={"delivered": ("pending",)},
    )
    order = json.dumps({"status": "delivered", "total": 41.5, "items": [1]})
    tools = [ToolSpec("get_order", "Look an order up.", {"type": "object", "properties": {}})]
    spec = InjectionSpec(NoiseProfile.from_dict({"version": 1, "default": {"clean": 0.0, **shares}}))
    injector = Injector(spec, seed=0, task="coverage", domain=domain, tools=tools)
    answer = injector.call(ToolCall("get_order"), lambda _: ToolResponse(order))
    assert injector.last().noise is noise
    assert answer.text != order
    assert bool(injector.last().corrupted) == (noise in SILENT)
