"""A chat model as the user."""

from __future__ import annotations

from typing import Final

from bench2robust.agents.users import GREETING
from bench2robust.core.episode import End
from bench2robust.core.errors import EpisodeLostError, SpecError
from bench2robust.core.ports import DualControl, Parting, Scene, UserTools
from bench2robust.core.tools import ToolCall

from .agent import NOTHING, repair_request
from .endpoint import ContextExceeded, Endpoint
from .history import Answered, Heard, Turn
from .prompts import user_prompt
from .reply import Proposal, Reply

SIGNALS: Final = {
    "###STOP###": End.DONE,
    "###TRANSFER###": End.TRANSFERRED,
    "###OUT-OF-SCOPE###": End.OUT_OF_SCOPE,
}
"""What ends the talk when a simulated user writes it, anywhere in a message (τ²-bench's signals)."""
_MOST = 30
"""Replies that a user may need for one answer, calls on the user's side included."""


class LLMUser:
    """A user that a model plays from the task's instructions (`core.ports.AwaitingUser`).

    ``functools.partial(LLMUser, endpoint)`` is a `core.ports.NewUser`. What goes wrong with the user's model
    is never the agent's fault: a conversation too long for it, calls that stay unreadable and replies that
    stay empty lose the episode.

    Args:
        endpoint: the model's endpoint.
        scene: the episode.

    Raises:
        SpecError: the user has to act, and the benchmark does not say with which tools.
    """

    def __init__(self, endpoint: Endpoint, scene: Scene) -> None:
        environment = scene.environment
        self._hands = environment if isinstance(environment, UserTools) else None
        if self._hands is None and isinstance(environment, DualControl):
            raise SpecError(
                f"expected a user who can act in task={scene.task.id!r}, got a simulated one, for whom the "
                "benchmark has no tools; use user='scripted'"
            )
        self.ends_talk = True
        self.parting: Parting | None = None
        self._tools = tuple(self._hands.user_tools()) if self._hands else ()
        self._line = endpoint.line(f"{scene.episode}/user", scene.seed, scene.task.id, "user")
        self.usage = self._line.usage
        self._system = user_prompt(scene.task.instructions, tools=bool(self._tools))
        self._turns: list[Turn] = []

    async def reply(self, said: str | None) -> str | None:
        """Answer the assistant; None as input asks for the first message, None as output ends the talk.

        Raises:
            EpisodeLostError: the model does not answer, or not as a user could.
            EndpointFatalError: the endpoint cannot be used at all.
        """
        before = len(self._turns)
        self._turns.append(Heard(GREETING if said is None else said))
        try:
            text = await self._say()
        except BaseException:
            del self._turns[before:]  # what was cancelled can be asked again
            raise
        for signal, end in SIGNALS.items():
            if signal in text:
                self.parting = Parting(text, end)
                return None
        return text

    async def _say(self) -> str:
        """Return the user's next words, after what the user does."""
        warned = False
        for _ in range(_MOST):
            answer = await self._ask()
            self._turns.append(answer)
            if all(call.problem == "" for call in answer.calls) and (answer.calls or answer.text.strip()):
                if not answer.calls:
                    return answer.text
                warned = False
                self._turns += [Answered(call.id, self._do(call)) for call in answer.calls]
            elif warned:
                break
            else:
                warned = True
                self._turns += [Answered(call.id, self._do(call)) for call in answer.calls] or [
                    Heard(NOTHING)
                ]
        raise EpisodeLostError("the user's model found no words for its answer")

    async def _ask(self) -> Reply:
        try:
            return await self._line.ask(self._system, self._turns, self._tools)
        except ContextExceeded as error:
            raise EpisodeLostError(f"the conversation is too long for the user's model ({error})") from None

    def _do(self, call: Proposal) -> str:
        """Return what a tool of the user's answers."""
        if call.arguments is None or self._hands is None:
            return repair_request(call)
        return self._hands.act(ToolCall(call.name, call.arguments)).text
