"""What the domain says about recovering: which tool can stand in for which, and what to keep to.

None of it is learned (paper, section 3.1: fallback relations and constraints come from the environment's
configuration). Only tools that are on offer are named: an agent that is told of a tool it does not have
would call it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bench2robust.core.domain import Domain, Side

CONSTRAINTS: Final = (
    "If a tool fails, retry at least once before other options.",
    "After switching, verify returned data provides ALL required fields at the right granularity.",
    "Before any irreversible action, confirm every required field from actual tool responses. "
    "Do not guess missing fields.",
    "For ANY price calculation, use the calculate tool.",
    "After calling a write tool, check the response for errors.",
    "Only transfer after exhausting retry and alternative paths.",
)
"""The six of the template (paper, Figure 1)."""
_CALCULATOR: Final = "calculate"
_CALCULATING: Final = CONSTRAINTS[3]
"""Holds only where there is such a tool."""
AND: Final = " + "
"""Between the names of tools that only together give what a class is about."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """One way around a tool."""

    source: str
    """The tool that may fail."""
    tools: tuple[str, ...]
    """The tools of one other side of its class; all of them are needed."""
    note: str = ""
    """What they give and what they lack; empty where the domain does not say."""
    primary: bool = False
    """Whether `source` is on the first side that is on offer of a class that the two have in common."""

    @property
    def name(self) -> str:
        """The tools, as the block names them."""
        return AND.join(self.tools)


def recoverable(domain: Domain, tools: Iterable[str]) -> tuple[str, ...]:
    """Return the tools, of those on offer, that can fail at all."""
    return tuple(tool for tool in tools if tool not in domain.exempt)


def fallbacks(domain: Domain, tools: Iterable[str]) -> tuple[Fallback, ...]:
    """Return the fallback map: every tool on offer to every other side of its classes that is on offer too.

    Args:
        domain: its classes, sides and granularity notes.
        tools: the names of the tools on offer; the map is in their order.
    """
    offered = tuple(tools)
    there = frozenset(offered)
    notes: dict[tuple[str, tuple[str, ...]], str] = {}
    primary: set[tuple[str, tuple[str, ...]]] = set()
    for source in recoverable(domain, offered):
        for cls in domain.classes:
            if source not in cls.tools:
                continue
            sides = [side for side in cls.sides if there.issuperset(side.tools)]
            others = {(source, side.tools): _note(domain, side) for side in sides if source not in side.tools}
            notes |= others
            if sides and source in sides[0].tools:
                primary.update(others)
    return tuple(Fallback(*pair, note, pair in primary) for pair, note in notes.items())


def constraints(domain: Domain, tools: Iterable[str]) -> tuple[str, ...]:
    """Return what an agent is told to keep to: the domain's own, or else the template's.

    The template's sentence about ``calculate`` is left out where that tool is not on offer.
    """
    if domain.constraints is not None:
        return tuple(text for text in (" ".join(own.split()) for own in domain.constraints) if text)
    there = frozenset(tools)
    return tuple(text for text in CONSTRAINTS if text is not _CALCULATING or _CALCULATOR in there)


def _note(domain: Domain, side: Side) -> str:
    """Return what a side gives and lacks, in one line."""
    notes = [(tool, " ".join(domain.granularity.get(tool, "").split())) for tool in side.tools]
    if len(notes) == 1:
        return notes[0][1]
    return "; ".join(f"{tool}: {note}" for tool, note in notes if note)
