"""Rules that hold for the whole package and that no linter checks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "bench2robust"

FOREIGN = """
import sys
before = set(sys.modules)
import importlib, pkgutil, bench2robust.{part} as part
for module in pkgutil.walk_packages(part.__path__, part.__name__ + "."):
    importlib.import_module(module.name)
tops = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(t for t in tops if t not in sys.stdlib_module_names and t not in ("bench2robust", "__mp_main__")))
"""


@pytest.mark.parametrize("part", ["core", "injection", "memory"])
def test_core_injection_and_memory_import_nothing_outside_the_standard_library(part: str) -> None:
    program = [sys.executable, "-c", FOREIGN.format(part=part)]
    assert subprocess.run(program, capture_output=True, text=True, check=True).stdout.split() == []


def test_the_check_above_would_see_a_foreign_module() -> None:
    program = [sys.executable, "-c", FOREIGN.format(part="cli")]
    assert "rich" in subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()


def test_nothing_is_left_to_be_done_later() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    assert [p.name for p in SOURCE.rglob("*.py") if marks.search(p.read_text(encoding="utf-8"))] == []


def test_no_name_says_nothing() -> None:
    names = {p.stem for p in SOURCE.rglob("*.py")} | {p.name for p in SOURCE.rglob("*") if p.is_dir()}
    assert names.isdisjoint({"utils", "util", "helpers", "common", "misc", "manager"})
