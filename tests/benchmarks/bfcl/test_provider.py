"""What is installed, and what is said when it is not."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from bench2robust.benchmarks import bfcl
from bench2robust.benchmarks.bfcl import provider
from bench2robust.core.errors import BenchmarkError, NotInstalledError


@pytest.fixture
def without(monkeypatch):
    """Hide a package from whoever looks for it."""
    for cached in (provider.entries, provider.documents, provider.api_class):
        cached.cache_clear()
    real = importlib.util.find_spec

    def hide(name):
        monkeypatch.setattr(importlib.util, "find_spec", lambda n, p=None: None if n == name else real(n, p))

    yield hide
    for cached in (provider.entries, provider.documents, provider.api_class):
        cached.cache_clear()


@pytest.mark.parametrize("name", ["bfcl_eval", pytest.param("mpmath", marks=pytest.mark.bfcl)])
def test_a_missing_package_is_one_line_that_says_what_to_do(without, name):
    without(name)
    with pytest.raises(NotInstalledError) as caught:
        bfcl.base().tasks()
    text = str(caught.value)
    assert "\n" not in text
    assert f"name={name!r}" in text
    assert text.endswith("run `b2r setup bfcl`")
    assert not provider.status().ready


def test_the_command_says_it_too(without, capsys):
    from bench2robust.cli.main import exit_code
    from bench2robust.evaluation import registry

    registry._load.cache_clear()
    without("bfcl_eval")
    assert exit_code(["run", "--benchmark", "bfcl-multi-turn", "--out", "nowhere"]) == 2
    expected = "error: expected BFCL, found no package name='bfcl_eval'; run `b2r setup bfcl`\n"
    assert capsys.readouterr().err == expected
    assert not Path("nowhere").exists()
    registry._load.cache_clear()


def test_the_wheel_is_installed_without_its_dependencies():
    first, second = provider.install_command("python3")
    assert first == ["python3", "-m", "pip", "install", "mpmath==1.3.0"]
    assert second == ["python3", "-m", "pip", "install", "--no-deps", "bfcl-eval==2026.3.23"]


@pytest.mark.bfcl
def test_the_pinned_wheel_is_there():
    found = provider.status()
    assert found.ready
    assert found.pinned
    assert bfcl.base().version == "bfcl-eval 2026.3.23"


@pytest.mark.bfcl
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "No such file"),
        ("not json\n", "Expecting value"),
        ('{"id": "multi_turn_base_0"}\n', "'ground_truth' is missing"),
    ],
)
def test_damaged_data_is_named(monkeypatch, tmp_path, content, problem):
    provider.entries.cache_clear()
    data = tmp_path / "data" / "possible_answer"
    data.mkdir(parents=True)
    if content is not None:
        for folder in (data, data.parent):
            (folder / "BFCL_v4_multi_turn_base.json").write_text(content)
    monkeypatch.setattr(provider, "require", lambda: tmp_path)
    with pytest.raises(BenchmarkError) as caught:
        bfcl.base().tasks()
    assert problem in str(caught.value)
    assert "run `b2r setup bfcl`" in str(caught.value)
    provider.entries.cache_clear()


@pytest.mark.bfcl
def test_nothing_heavy_is_imported_and_nothing_is_written(tmp_path):
    """BFCL's own loader makes folders beside itself when imported, and its models import for twenty seconds."""
    code = (
        "import sys; from bench2robust.benchmarks import bfcl; b = bfcl.base(); t = b.tasks()[0];"
        "b.plan(t); b.open(t); print(*[m for m in sys.modules if m.startswith('bfcl_eval') or m in ('torch', 'numpy')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    modules = done.stdout.split()
    assert not {"torch", "numpy", "bfcl_eval.utils", "bfcl_eval.constants.eval_config"} & set(modules)
    assert not any("model_handler" in module or "multi_turn_utils" in module for module in modules)
    assert not list(tmp_path.iterdir())
