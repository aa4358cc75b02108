"""Live memory: a short note that comes with a failed response, instead of or besides the block.

A note is made from what the agent has been delivered so far, the memory, the domain and, where somebody
works it out, the probability that the tool is blocked. It never looks at the truth::

    <recovery_note>
    get_order_details: 2 failures in a row, last auth_error. P(episode recovery | auth_error)=0.41, P(blocked)=0.83
      Alternative: get_orders_for_user + check_order_item_availability (P=0.62, …)
    </recovery_note>
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Final, Protocol

from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.reading import read
from bench2robust.core.tools import ToolCall, ToolResponse

from .advice import read_alternative
from .block import alternative
from .content import Alternative, Content

OPENING: Final = "<recovery_note>"
CLOSING: Final = "</recovery_note>"
_FIRST: Final = re.compile(
    rf"(\S+): (\d+) failures? in a row, last ({'|'.join(NOISE_TYPES)})\. "
    r"P\(episode recovery \| \w+\)=([01]\.\d\d)(?:, P\(blocked\)=([01]\.\d\d))?"
)


class Watcher(Protocol):
    """Works out how likely a tool is blocked."""

    def see(self, call: ToolCall, delivered: ToolResponse) -> None:
        """Take in a call and what was delivered; told of every call of the episode, in order."""
        ...

    def blocked(self, tool: str) -> float:
        """Return the probability that a tool is blocked."""
        ...


@dataclass(frozen=True, slots=True)
class Note:
    """What a note says."""

    tool: str
    failures: int
    """In a row, this one included."""
    noise: NoiseType
    """Which failure the last response looks like."""
    recovery: float
    """How often episodes recovered from it."""
    blocked: float | None = None
    """The probability that the tool is blocked; None where nobody works it out."""
    alternatives: tuple[Alternative, ...] = ()

    def __str__(self) -> str:
        times = f"{self.failures} failure" + ("" if self.failures == 1 else "s")
        first = f"{self.tool}: {times} in a row, last {self.noise}. P(episode recovery | {self.noise})={self.recovery:.2f}"
        if self.blocked is not None:
            first += f", P(blocked)={self.blocked:.2f}"
        return "\n".join((OPENING, first, *map(alternative, self.alternatives), CLOSING))


def split(text: str) -> tuple[str, str]:
    """Return what an agent has read without its note, and the note (`core.tools.ToolResponse.shown`)."""
    delivered, found, rest = text.rpartition(f"\n\n{OPENING}\n")
    return (delivered, f"{OPENING}\n{rest}") if found and rest.endswith(CLOSING) else (text, "")


def read_note(text: str) -> Note | None:
    """Return what a note says, probabilities as they are written; None where the text holds no note."""
    _, _, rest = text.partition(f"{OPENING}\n")
    inside, closed, _ = rest.partition(f"\n{CLOSING}")
    first, *lines = inside.split("\n")
    found = _FIRST.fullmatch(first)
    if not closed or found is None:
        return None
    tool, failures, noise, recovery, blocked = found.groups()
    ways = tuple(way for way in map(read_alternative, lines) if way)
    return Note(
        tool,
        int(failures),
        NoiseType(noise),
        float(recovery),
        None if blocked is None else float(blocked),
        ways,
    )


class Notes:
    """The notes of one episode.

    Args:
        told: what may be told: the same content as that of a block.
        watcher: works out how likely a tool is blocked; None where nobody does.
    """

    def __init__(self, told: Content, watcher: Watcher | None = None) -> None:
        self._told, self._watcher = told, watcher
        self._failures: Counter[str] = Counter()

    def on(self, call: ToolCall, delivered: ToolResponse) -> str:
        """Return the note on a delivered response; empty unless it is plainly a failure.

        Has to be told every call of the episode, in order. A tool's own error is no failure.
        """
        if self._watcher is not None:
            self._watcher.see(call, delivered)
        noise = read(delivered).noise
        row = self._told.recovery.get(call.name)
        if noise is None or row is None:
            self._failures[call.name] = 0
            return ""
        self._failures[call.name] += 1
        blocked = None if self._watcher is None else self._watcher.blocked(call.name)
        ways = self._told.alternatives.get(call.name, ())
        return str(Note(call.name, self._failures[call.name], noise, row[noise], blocked, ways))
