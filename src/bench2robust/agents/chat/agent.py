"""A chat model as an agent."""

from __future__ import annotations

from collections import deque
from typing import Final

from bench2robust.core.episode import End
from bench2robust.core.ports import Briefing, Utterance
from bench2robust.core.tools import ToolCall, ToolResponse

from .cassette import Cassette
from .endpoint import ContextExceeded, Endpoint
from .history import Answered, Heard, Spoken, Turn
from .prompts import agent_prompt
from .reply import Proposal, Reply, shorten
from .spec import ChatSpec

STOP: Final = "###STOP###"
"""What an agent writes when it is done with a user who does not end the talk."""
NOTHING = "Your last message was empty. Write to the user, or call a tool."
_RAW = 400


def repair_request(call: Proposal) -> str:
    """Return what a model is told of a call that cannot be read."""
    name = call.name or "the tool"
    raw = f" You wrote: {shorten(call.raw, _RAW)}" if call.raw else ""
    return f"Error: the call of {name} cannot be read: {call.problem}. Make it again with a valid JSON object.{raw}"


class ChatAgent:
    """A model behind an endpoint (`core.ports.AwaitingAgent`).

    Args:
        endpoint: the endpoint, which several agents and users may share; or the spec of one of its own.
        cassette: for an endpoint of its own: records or replays.
    """

    def __init__(self, endpoint: Endpoint | ChatSpec, *, cassette: Cassette | None = None) -> None:
        self.endpoint = endpoint if isinstance(endpoint, Endpoint) else Endpoint(endpoint, cassette=cassette)
        self.name = f"chat:{self.endpoint.spec.model}"

    def start(self, briefing: Briefing) -> ChatSession:
        """Return a fresh session for one episode."""
        return ChatSession(self.endpoint, briefing)


class ChatSession:
    """A model's side of one episode (`core.ports.Session`).

    Calls that come together are carried out one after the other, in the model's order, and each is
    answered before the model is asked again. A call that cannot be read is answered with an error; when
    the next reply holds one too, the session ends as `End.MALFORMED_CALL`. An empty reply likewise.
    """

    def __init__(self, endpoint: Endpoint, briefing: Briefing) -> None:
        self.aside = ""
        self.ended: End | None = None
        self._briefing = briefing
        self._ends = not briefing.greeting
        self._line = endpoint.line(f"{briefing.episode}/agent", briefing.seed, briefing.task.id, "agent")
        self.usage = self._line.usage
        self._system = agent_prompt(briefing.policy, briefing.memory, ends=self._ends)
        self._turns: list[Turn] = [Spoken(briefing.greeting)] if briefing.greeting else []
        self._turns.append(Heard(briefing.opening))
        self._proposed: deque[Proposal] = deque()
        self._open: Proposal | None = None
        """The call whose answer is awaited."""
        self._listening = False
        """Whether the user's answer is awaited."""
        self._warned = self._nudged = False

    async def act(self, reply: ToolResponse | str | None) -> ToolCall | Utterance | None:
        """Return the next action; `reply` answers the last one (None at first), None ends the episode.

        Raises:
            EpisodeLostError: the episode is lost to the endpoint.
            EndpointFatalError: the endpoint cannot be used at all.
        """
        self._hear(reply)
        self.aside = ""
        while True:
            call = self._next_call()
            if call is not None:
                return call
            try:
                answer = await self._line.ask(self._system, self._turns, tuple(self._briefing.tools))
            except ContextExceeded:
                self.ended = End.CONTEXT_EXCEEDED
                return None
            self._turns.append(answer)
            if not self._sound(answer):
                if self.ended is not None:
                    return None
            elif not answer.calls:
                return self._say(answer)

    def _hear(self, reply: ToolResponse | str | None) -> None:
        """Add the answer to the last action, once: after a cancelled request it comes again."""
        if isinstance(reply, ToolResponse) and self._open is not None:
            self._turns.append(Answered(self._open.id, reply.shown))
            self._open = None
        elif isinstance(reply, str) and self._listening:
            self._turns.append(Heard(reply))
            self._listening = False

    def _next_call(self) -> ToolCall | None:
        """Return the next call of those proposed together; those that cannot be read are answered here."""
        while self._proposed:
            proposal = self._proposed.popleft()
            if proposal.arguments is None:
                self._turns.append(Answered(proposal.id, repair_request(proposal)))
                continue
            self._open = proposal
            return ToolCall(proposal.name, proposal.arguments)
        return None

    def _sound(self, answer: Reply) -> bool:
        """Take a reply up; returns whether all of it can be carried out, and ends what fails again."""
        self.aside = answer.text if answer.calls else ""
        if any(call.problem for call in answer.calls):
            if self._warned:
                self.ended = End.MALFORMED_CALL
            else:
                self._warned = True
                self._proposed.extend(answer.calls)
            return False
        if not answer.calls and not answer.text.strip():
            if self._nudged:
                self.ended = End.EMPTY_REPLY
            else:
                self._nudged = True
                self._turns.append(Heard(NOTHING))
            return False
        self._warned = self._nudged = False
        self._proposed.extend(answer.calls)
        return True

    def _say(self, answer: Reply) -> Utterance | None:
        """Return what the model tells the user; None where all it says is that it is done."""
        if self._ends and STOP in answer.text:
            words = answer.text.replace(STOP, "").strip()
            return Utterance(words, last=True) if words else None
        self._listening = True
        return Utterance(answer.text)
