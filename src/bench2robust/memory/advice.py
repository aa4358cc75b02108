"""Reads the block and the live notes back: what a policy can take from the text alone.

`read_block` is the inverse of `block.write`, up to the two decimals in which probabilities are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from bench2robust.core.noise import NOISE_TYPES, NoiseType

from .block import ALTERNATIVE, CLOSING, KEEP, OPENING, PATHS, RECOVERY, USE
from .content import Alternative, Content
from .structure import AND, Fallback

_TOOLS: Final = r"(\S+(?: \+ \S+)*)"
_TOOL: Final = re.compile(r"(\S+):")
_ALTERNATIVE: Final = re.compile(rf"{re.escape(ALTERNATIVE)}{_TOOLS} \(P=([01]\.\d\d)(?:, (.*))?\)")
_PATH: Final = re.compile(rf"- (\S+) -> {_TOOLS}(?: \((.*)\))?")
_VALUE: Final = re.compile(rf"({'|'.join(NOISE_TYPES)})=([01]\.\d\d)")
_CONSTRAINT: Final = re.compile(r"\d+\. (.*)")
_CONTINUED: Final = "   "


def read_block(text: str) -> Content:
    """Return what a block says; nothing where the text holds none."""
    _, opened, rest = text.partition(OPENING)
    inside, closed, _ = rest.partition(CLOSING)
    if not opened or not closed:
        return Content()
    recovery: dict[str, dict[NoiseType, float]] = {}
    alternatives: dict[str, tuple[Alternative, ...]] = {}
    paths: list[Fallback] = []
    kept: list[str] = []
    tool = part = ""
    for line in inside.strip("\n").split("\n"):
        if line in (PATHS, KEEP, USE.partition("\n")[0]):
            part = line
        elif part == PATHS:
            paths += _paths(line)
        elif part == KEEP:
            _keep(kept, line)
        elif found := _TOOL.fullmatch(line):
            tool = found[1]
        elif line.startswith((RECOVERY, "    ")) and tool:
            recovery.setdefault(tool, {}).update(_values(line))
        elif way := read_alternative(line):
            alternatives[tool] = (*alternatives.get(tool, ()), way)
    ordered = {
        tool: {noise: row[noise] for noise in NOISE_TYPES if noise in row} for tool, row in recovery.items()
    }
    return Content(ordered, alternatives, tuple(paths), tuple(kept))


def read_alternative(line: str) -> Alternative | None:
    """Return the way around a tool that a line of a block or a note names; None where it is no such line."""
    found = _ALTERNATIVE.fullmatch(line)
    return found and Alternative(tuple(found[1].split(AND)), float(found[2]), found[3] or "")


def _values(line: str) -> Iterable[tuple[NoiseType, float]]:
    return [(NoiseType(noise), float(p)) for noise, p in _VALUE.findall(line)]


def _paths(line: str) -> Iterable[Fallback]:
    found = _PATH.fullmatch(line)
    return [Fallback(found[1], tuple(found[2].split(AND)), found[3] or "", primary=True)] if found else []


def _keep(kept: list[str], line: str) -> None:
    """Add a constraint, or the next line of the last one."""
    if found := _CONSTRAINT.fullmatch(line):
        kept.append(found[1])
    elif line.startswith(_CONTINUED) and kept:
        kept[-1] += f" {line.strip()}"
