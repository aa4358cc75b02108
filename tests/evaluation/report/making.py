"""Runs to report on, and what a page's data unpacks to."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

from bench2robust.core.episode import Mode
from bench2robust.core.randomness import Draws
from bench2robust.evaluation import RunSpec, run
from bench2robust.injection import Mix, ScenarioSpec

AGENTS = ("naive", "retry", "switch", "strategic")
MODES = (Mode.CLEAN, Mode.INJECT, Mode.INJECT_ALT)

HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2">'
"""What a hostile model or tool writes."""


def play(folder: Path, **changes) -> Path:
    """Play helpdesk episodes into a folder."""
    settings = {
        "agents": AGENTS,
        "modes": MODES,
        "seeds": (0, 1),
        "tasks": tuple(map(str, range(60))),
        "scenarios": ScenarioSpec(Mix(40, 40, 20)),
    } | changes
    run(RunSpec("helpdesk", **settings), folder)
    return folder


def unpacked(html: str, name: str):
    """Return what the page's script unpacks from a piece of data."""
    (text,) = re.findall(rf'<script type="application/octet-stream" id="{name}">([^<]*)</script>', html)
    return inflated(text)


def inflated(text: str):
    return json.loads(zlib.decompress(base64.b64decode(text, validate=True), -15))


def noise(seed: int) -> str:
    """Return text that does not compress."""
    draws = Draws(seed, "text")
    return "".join(chr(33 + int(94 * draws.uniform())) for _ in range(3000))


def copied(folder: Path, target: Path, lines: list[str]) -> Path:
    """Return a run folder like another, with other lines."""
    target.mkdir()
    for name in ("manifest.json", "facts.json"):
        (target / name).write_bytes((folder / name).read_bytes())
    (target / "episodes.jsonl").write_text("\n".join(lines) + "\n")
    return target
