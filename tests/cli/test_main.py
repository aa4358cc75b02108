"""The command as a whole: help, version, what it imports, and how it is interrupted."""

from __future__ import annotations

import doctest
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench2robust import __version__
from bench2robust.cli.main import exit_code

HEAVY = {
    "tau2",
    "pandas",
    "numpy",
    "scipy",
    "pydantic",
    "rich",
    "bench2robust.evaluation",
    "bench2robust.benchmarks",
}


def test_asking_for_help_imports_nothing_heavy():
    code = (
        "import sys, json\nfrom bench2robust.cli.main import exit_code\nexit_code(['--help'])\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "arguments", [(), ("--help",), ("tasks",), ("run", "--help"), ("tasks", "certify", "--help")]
)
def test_help(capsys, arguments):
    assert exit_code(arguments) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Usage: b2r")
    assert err == ""


def test_every_option_of_run_is_as_designed(capsys):
    exit_code(["run", "--help"])
    text = capsys.readouterr().out
    for option in [
        "benchmark",
        "agents",
        "modes",
        "seeds",
        "tasks",
        "out",
        "config",
        "profile",
        "clean-probability",
        "budget",
        "max-consecutive",
        "effects",
        "mix",
        "block",
        "workers",
        "max-steps",
        "dry-run",
        "json",
    ]:
        assert f"--{option}" in text


def test_commands(capsys):
    exit_code([])
    listed = capsys.readouterr().out.partition("Commands:")[2].split("\n")
    assert [line.split()[0] for line in listed if line.strip()] == [
        "setup",
        "doctor",
        "run",
        "show",
        "serve-policy",
        "compare",
        "power",
        "table",
        "report",
        "sweep",
        "reproduce",
        "recommend",
        "mcp-proxy",
        "tasks",
        "memory",
        "profile",
    ]


def test_version(capsys):
    assert exit_code(["--version"]) == 0
    assert capsys.readouterr().out == f"b2r {__version__}\n"


def test_the_entry_point_exits_with_the_code():
    from bench2robust.cli.main import main

    with pytest.raises(SystemExit) as caught:
        main(["table", "/nowhere"])
    assert caught.value.code == 2


def test_a_reader_who_leaves_early_is_no_error(b2r, tmp_path):
    """``b2r tasks list | head -1``."""
    done = subprocess.run(
        f"{sys.executable} -m bench2robust.cli.main tasks list --benchmark toy-library | head -1",
        shell=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(__file__).parents[1] / "plugin"), "PATH": "/usr/bin:/bin"},
    )
    assert done.stdout.startswith("task")
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["printing", "transcript"])
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(f"bench2robust.cli.{name}")).failed == 0
