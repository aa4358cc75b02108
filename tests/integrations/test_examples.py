"""Every example runs as it stands, warnings being errors, and shows what it is there to show."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SHOWN = {
    "python_tools": (None, "s3: 0 right, 20 given up, 0 wrong"),
    "langchain_agent": ("langchain", "passed after ['timeout']"),
    "openai_agents_agent": ("agents", "passed after ['timeout']"),
    "pydantic_ai_agent": ("pydantic_ai", "passed after ['timeout']"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs(name):
    needed, shown = SHOWN[name]
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"needs {needed}")
    command = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
    assert name == "python_tools" or "P(episode recovery | error): timeout=0." in done.stdout
