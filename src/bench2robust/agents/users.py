"""Users without a language model."""

from __future__ import annotations

from bench2robust.core.episode import Script, Task

NOTHING_TO_ADD = "That is all I can tell you. Please go on."


class Scripted:
    """A user who says what the script says: answers when asked, asks for the next thing when told.

    Without a script the user says everything at once, as a ticket does (`core.ports.User`).
    """

    def __init__(self, script: Script) -> None:
        self._opening = script.opening
        self._answers = list(script.answers)
        self._turns = list(script.turns)

    @classmethod
    def of(cls, task: Task) -> Scripted:
        """Return the user of a task."""
        return cls(task.script or Script(task.instructions))

    def reply(self, said: str | None) -> str | None:
        """Answer what is asked about, once; else make the next request; else have nothing to add."""
        if said is None:
            return self._opening
        asked = [a for a in self._answers if any(cue.lower() in said.lower() for cue in a.cues)]
        if asked:
            self._answers = [a for a in self._answers if a not in asked]
            return " ".join(a.text for a in asked)
        if self._turns:
            return self._turns.pop(0)
        return NOTHING_TO_ADD
