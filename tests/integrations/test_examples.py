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
    "fit_profile": (None, "in bursts: True of about 7 calls"),
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
    assert needed is None or "P(episode recovery | error): timeout=0." in done.stdout


def test_the_example_of_a_test_passes_and_has_its_gate():
    command = [sys.executable, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider"]
    file = EXAMPLES / "test_order_agent.py"
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "36 of 40 seeds passed; the pass rate is at most 0.965 (95%, exact)" in done.stdout
