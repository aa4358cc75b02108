"""The example runs, and shows what it is for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # processes with an SDK on both sides of a proxy take a second each to start

EXAMPLE = Path(__file__).parents[3] / "examples" / "mcp_proxy.py"


def test_the_example_shows_a_client_that_recovers() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True)
    assert len([line for line in done.stdout.splitlines() if line.startswith("seed ")]) == 3
    assert "   failed: " in done.stdout
    assert "is 21:30 in Tokyo  right" in done.stdout
