"""What the compiler knows of a task while it compiles it."""

from __future__ import annotations

from dataclasses import dataclass, field

from .truth import Truth
from .words import Words
from .world import Known, World


@dataclass(slots=True)
class Draft:
    """What is known about a task while its plan is being compiled."""

    words: Words
    truth: Truth
    known: Known
    world: World
    ungrounded: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, grounded: bool, argument: str) -> None:  # noqa: FBT001
        """Keep the name of an argument that the user's words hold no cue for."""
        if not grounded and argument not in self.ungrounded:
            self.ungrounded.append(argument)


class CannotCompile(Exception):
    """No selector of the allowed size reproduces gold."""
