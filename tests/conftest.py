"""What every part's tests share: the toy benchmark as an installed plugin, and the command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parent / "plugin"
GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(PLUGIN))  # its entry points are found there, as those of an installed package are


def command(*arguments: str) -> list[str]:
    """Return the command line of ``b2r`` in a process of its own."""
    return [sys.executable, "-m", "bench2robust.cli.main", *map(str, arguments)]


def environment(**changes: str) -> dict[str, str]:
    """Return this environment with the toy plugin on the path."""
    return {**os.environ, "PYTHONPATH": str(PLUGIN), **changes}


@pytest.fixture
def b2r():
    """Run ``b2r`` to its end in a process of its own."""

    def call(*arguments: str, cwd: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(*arguments),
            env=environment(**changes),
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return call


@pytest.fixture
def start_b2r():
    """Start ``b2r`` in a process group of its own; what is left of the group is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*arguments),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def serve_policy(start_b2r):
    """Serve reference policies in a process of their own; returns the base URL."""

    def start(benchmark: str = "toy-library", *options: str) -> str:
        process = start_b2r("serve-policy", "--benchmark", benchmark, "--port", "0", *options)
        url = process.stdout.readline().strip()
        assert url, process.stderr.read()
        return url

    return start


@pytest.fixture
def golden():
    """Compare a text that agents read with a file; ``B2R_GOLDEN=write`` writes it instead."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("B2R_GOLDEN") == "write":
            path.write_text(text + "\n", encoding="utf-8")
        assert text + "\n" == path.read_text(encoding="utf-8"), f"{name} has changed"

    return check
