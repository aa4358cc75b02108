"""What a page shows as a file is the file, and the quick pages run without any wheel."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench2robust.evaluation import names

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorials" / "write-your-own-benchmark.md"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_domain_file_on_the_page_is_the_one_that_is_run() -> None:
    assert blocks(PAGE, "toml")[0] == PAGE.with_name("parcels.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [PAGE, PAGE.with_name("helpdesk.md")], ids=lambda page: page.name)
def test_the_python_on_the_page_runs(page: Path) -> None:
    for block in blocks(page, "python"):
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert "FAIL" not in done.stdout


def test_every_registered_benchmark_is_on_the_list() -> None:
    listed = set(re.findall(r"`([a-z0-9-]+)`", (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")))
    ours = {name.removesuffix("-all") for name in names() if not name.startswith("toy-")}
    assert ours <= listed
