"""Users without a language model."""

from __future__ import annotations

from bench2robust.core.episode import Script, Task, Usage
from bench2robust.core.errors import SpecError
from bench2robust.core.ports import AwaitingUser, DualControl, Parting, Scene, User

NOTHING_TO_ADD = "That is all I can tell you. Please go on."
TICKET = (
    "I have nothing to add to what I wrote, and I agree to whatever it takes. "
    "Please go on, and end your last message with ###STOP###."
)
GREETING = "Hi! How can I help you today?"
"""What the assistant says first to a user who ends the talk (τ²-bench's words)."""
PATIENCE = 8
"""How often in a row an awaited user says that there is nothing to add."""


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


class Ticket:
    """A user who hands in a text and is not there afterwards: every answer is the same."""

    def __init__(self, task: Task) -> None:
        self._text = task.instructions

    def reply(self, said: str | None) -> str | None:
        """Return the ticket's text, then that there is nothing to add."""
        return self._text if said is None else TICKET


class Awaited:
    """A user that answers at once, as one that is awaited (`core.ports.AwaitingUser`).

    It ends the talk where it has nothing to add `PATIENCE` times in a row, so an assistant that forgets to
    say that it is done does not go on until its steps are used up.
    """

    def __init__(self, user: User) -> None:
        self.ends_talk = False
        self.usage = Usage()
        self.parting: Parting | None = None
        self._user = user
        self._idle = 0

    async def reply(self, said: str | None) -> str | None:
        """Answer the assistant; None as input asks for the first message, None as output ends the talk."""
        words = self._user.reply(said)
        self._idle = self._idle + 1 if words in (NOTHING_TO_ADD, TICKET) else 0
        return None if self._idle >= PATIENCE else words


def scripted(scene: Scene) -> AwaitingUser:
    """Return the user that the task scripts, or that the environment brings (`core.ports.NewUser`)."""
    environment = scene.environment
    return Awaited(environment.user() if isinstance(environment, DualControl) else Scripted.of(scene.task))


def ticket(scene: Scene) -> AwaitingUser:
    """Return a user who gives the task's whole text at once (`core.ports.NewUser`).

    Raises:
        SpecError: the user has to act too.
    """
    if isinstance(scene.environment, DualControl):
        raise SpecError(
            f"expected a user who can act in task={scene.task.id!r}, got user='ticket'; use user='scripted'"
        )
    return Awaited(Ticket(scene.task))
