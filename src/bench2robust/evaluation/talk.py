"""The conversation of one episode: what is carried out, what is written down, and what ends it.

Nothing here waits for anybody: whoever drives the talk asks the agent for its next action and the user
for an answer, and hands both in. So agents and users that answer at once and those that are awaited
have the same conversation.

The rules are τ²-bench's: a user who leads to the end is greeted first and ends the talk, also after an
escalation; the tools' own errors end it at the benchmark's cap. With any other user the talk ends when
the assistant says so, returns, or hands over to a human.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bench2robust.core.episode import End, Message, Role, Trajectory, Usage
from bench2robust.core.errors import AgentError, BenchmarkError
from bench2robust.core.ports import DualControl, Environment, Parting, Utterance
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse
from bench2robust.injection import Injector
from bench2robust.memory.notes import Notes

from .blame import blaming


@dataclass(frozen=True, slots=True)
class Rules:
    """What ends a talk, besides those who talk."""

    max_steps: int
    max_errors: int | None = None
    """Errors of the tools' own; None for any number."""
    user_ends: bool = False
    """Whether the user leads to the end (`core.ports.AwaitingUser.ends_talk`)."""


@dataclass(slots=True)
class Talk:
    """The bookkeeping of one episode's conversation.

    The one who drives it calls `hear` for the opening, then `act` with each action of the agent, and
    `hear` with the user's answer after an utterance, until `over`.
    """

    agent: str
    """The agent's name, for messages about it."""
    injector: Injector
    environment: Environment
    kinds: Mapping[str, ToolKind]
    rules: Rules
    dual: DualControl | None = None
    """The environment, where its user acts in it too."""
    notes: Notes | None = None
    """What comes with failed responses; None for nothing."""
    trajectory: Trajectory = field(default_factory=Trajectory)
    _errors: int = 0
    _handed_over: bool = False

    @property
    def over(self) -> bool:
        """Whether the talk has ended."""
        return bool(self.trajectory.ended)

    def greet(self, text: str) -> None:
        """Write down what the assistant says before anybody has asked; it is no step."""
        self.trajectory.messages.append(Message(Role.ASSISTANT, text))

    def act(self, action: object, aside: str = "", usage: Usage | None = None) -> ToolResponse | None:
        """Carry out the agent's next action.

        Args:
            action: a call, which is answered, or an utterance, after which `over` or the user's turn has come.
            aside: what a model wrote beside a call.
            usage: what it took the model to decide.

        Raises:
            AgentError: the action is neither.
            BenchmarkError: the environment broke.
        """
        if isinstance(action, ToolCall):
            self.trajectory.steps += 1
            return self._call(action, aside, usage)
        if isinstance(action, Utterance):
            self.trajectory.steps += 1
            self.trajectory.messages.append(Message(Role.ASSISTANT, action.text, usage=usage))
            if action.last:
                self.end(End.DONE)
            return None
        raise AgentError(
            f"agent={self.agent!r} has to yield a ToolCall or an Utterance, got {type(action).__name__}={action!r}"
        )

    def hear(self, words: str | None, parting: Parting | None = None, usage: Usage | None = None) -> str:
        """Write down what the user has done and says; None ends the talk, with or without last words."""
        messages = self.trajectory.messages
        if self.dual is not None:
            with blaming(BenchmarkError, "the environment broke on what its user does"):
                messages.extend(self.dual.acts())
        if words is None:
            if parting is not None:
                messages.append(Message(Role.USER, parting.text, usage=usage))
            self.end(End.DONE if parting is None else parting.end)
            return ""
        messages.append(Message(Role.USER, words, usage=usage))
        self._check_limits()
        return words

    def end(self, why: End) -> None:
        """End the talk; one in which the assistant handed over and nothing failed ends as escalated."""
        self.trajectory.ended = End.ESCALATED if self._handed_over and why.scored else why

    def finish(self) -> Trajectory:
        """Return the trajectory, complete."""
        self.trajectory.records = list(self.injector.records)
        return self.trajectory

    def _call(self, call: ToolCall, aside: str, usage: Usage | None) -> ToolResponse:
        if not isinstance(call.name, str) or not isinstance(call.arguments, Mapping):
            raise AgentError(
                f"agent={self.agent!r} has to call a name with a mapping of arguments, got call={call!r}"
            )
        response = self.injector.call(call, self._execute)
        record = self.injector.last()
        messages = self.trajectory.messages
        messages.append(Message(Role.ASSISTANT, aside, record.index, usage=usage))
        if self.notes is not None and (note := self.notes.on(call, response)):
            record.note = note
            response = replace(response, note=note)
        messages.append(Message(Role.TOOL, response.shown, record.index))
        if record.genuine_error:
            self._errors += 1
        elif record.executed and self.kinds.get(call.name) is ToolKind.ESCALATION:
            self._handed_over = True
            if not self.rules.user_ends:
                self.end(End.ESCALATED)
        self._check_limits()
        return response

    def _execute(self, call: ToolCall) -> ToolResponse:
        with blaming(BenchmarkError, f"the environment broke on tool={call.name!r}"):
            return self.environment.call(call)

    def _check_limits(self) -> None:
        if self.trajectory.ended:
            return
        rules = self.rules
        if rules.max_errors is not None and self._errors >= rules.max_errors:
            self.end(End.TOO_MANY_ERRORS)
        elif self.trajectory.steps >= rules.max_steps:
            self.end(End.MAX_STEPS)
