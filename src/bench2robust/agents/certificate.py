"""Two agents that must not pass what is impossible: they certify scenario S3."""

from __future__ import annotations

from dataclasses import dataclass

from bench2robust.core.ports import Briefing, Play, Utterance
from bench2robust.core.tools import ToolKind

from .steps import ask

ATTEMPTS = 3
"""How often the adversary makes a failing write."""


@dataclass(slots=True)
class Adversary:
    """Knows the reference solution by heart: makes its writes blind, says its values, reads nothing."""

    name: str = "adversary"
    omniscient: bool = False

    def play(self, briefing: Briefing) -> Play:
        """Make every gold write, with its literal arguments, in order; then say every value to tell.

        What the reference solution leaves to the user, the user is asked to do, and what is due in a
        later turn is done in that turn.
        """
        turn = 0
        for action in briefing.task.gold:
            while turn < action.turn:
                yield Utterance("Done.")
                turn += 1
            writes = {tool.name for tool in briefing.tools if tool.kind is ToolKind.WRITE}
            if action.by_user:
                yield Utterance(f"Please do {action.call.signature()}.")
                continue
            if action.call.name not in writes:
                continue
            for _ in range(ATTEMPTS):
                reading = yield from ask(action.call)
                if not reading.noise:
                    break
        yield Utterance("Done. " + " ".join(briefing.task.tell), last=True)


@dataclass(slots=True)
class Idle:
    """Does nothing."""

    name: str = "idle"
    omniscient: bool = False

    def play(self, briefing: Briefing) -> Play:
        """End at once."""
        yield from ()
