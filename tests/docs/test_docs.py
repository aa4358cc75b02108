"""Every command and every Python block of the README and the docs runs, and what they print is what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SET_UP = ("make", "python3 -m venv")
"""What set-up and CI do themselves, before any test can run."""

pytestmark = [pytest.mark.tau2, pytest.mark.slow]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    return [line for line in lines if line.strip() and not line.startswith((*SET_UP, "#"))]


def run(command: str, folder: Path) -> str:
    """Run a command the way a reader does: in a shell in which the environment is activated."""
    activated = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=activated, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder in which the docs can be read, as in a fresh checkout."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "docs").symlink_to(ROOT / "docs")
    return folder


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=lambda p: p.name)
def test_every_command_of_a_page_runs(page: Path, checkout: Path) -> None:
    for command in commands(page):
        run(command, checkout)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_every_python_block_of_a_page_runs(page: Path, checkout: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"```python\n(.*?)```(?:\s*```output\n(.*?)```)?", text, re.DOTALL)
    assert len(found) == len(blocks(page, "python"))
    for block, output in found:
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=checkout, check=True, capture_output=True, text=True
        )
        assert not output or done.stdout == output


def test_the_table_in_the_readme_is_what_the_command_prints(checkout: Path) -> None:
    run("b2r run --benchmark tau2-retail --out runs/retail", checkout)
    printed = run("b2r table runs/retail", checkout)
    assert blocks(ROOT / "README.md", "text") == [printed]


def test_the_picture_in_the_readme_is_what_the_command_draws(checkout: Path) -> None:
    run("b2r run --benchmark tau2-retail --out runs/retail", checkout)
    run("b2r table runs/retail --svg table.svg", checkout)
    assert (checkout / "table.svg").read_text() == (ROOT / "docs" / "images" / "table.svg").read_text()


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (page.parent / target).exists(), f"{page.name}: {target}"
