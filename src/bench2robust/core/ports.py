"""The ports: what a benchmark, an environment, an agent and a user have to offer. One or two methods each."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .episode import End, Message, Score, Task, Trajectory, Usage
from .plan import Plan
from .tools import CallRecord, ToolCall, ToolResponse, ToolSpec


class Environment(Protocol):
    """One episode's own copy of the world, failure-free."""

    def call(self, call: ToolCall) -> ToolResponse:
        """Execute a call for real. A tool's own error is a response with ``error=True``, never raised."""
        ...

    def score(self, trajectory: Trajectory) -> Score:
        """Judge the world as it is now, and what the agent was delivered and said on the way."""
        ...


@runtime_checkable
class DualControl(Protocol):
    """An environment whose user acts in it too, with tools of their own; nothing is injected into those."""

    def user(self) -> User:
        """Return the episode's user, in place of `agents.Scripted`."""
        ...

    def acts(self) -> Sequence[Message]:
        """Hand over what the user has called since the last time, as messages with a `call`."""
        ...


@runtime_checkable
class UserTools(Protocol):
    """An environment that lets a simulated user use the tools that a `DualControl` user has."""

    def user_tools(self) -> Sequence[ToolSpec]:
        """Return the user's tools."""
        ...

    def act(self, call: ToolCall) -> ToolResponse:
        """Execute a call of the user."""
        ...


@runtime_checkable
class OwnTools(Protocol):
    """An environment that offers fewer tools than its benchmark: those of its task, or those there are so far."""

    @property
    def offered(self) -> Sequence[ToolSpec]:
        """The tools on offer now; the same sequence grows when the user's turn brings some."""
        ...


class Benchmark(Protocol):
    """A set of tasks, their tools, and fresh environments for them."""

    name: str
    domain: str
    """Name of a domain that comes with the package, or the path of a domain file (``….toml``)."""

    @property
    def version(self) -> str:
        """Version of the data and tools; results of different versions are not comparable."""
        ...

    def tasks(self) -> Sequence[Task]:
        """Return every task, in the benchmark's own order."""
        ...

    def tools(self, alternatives: bool) -> Sequence[ToolSpec]:  # noqa: FBT001
        """Return the tools; with `alternatives` the added ones too."""
        ...

    def policy(self, alternatives: bool) -> str:  # noqa: FBT001
        """Return the policy text that a chat-model agent is given."""
        ...

    def open(self, task: Task, *, alternatives: bool = True) -> Environment:
        """Return a fresh environment for one episode of the task, with or without the alternative tools."""
        ...

    def plan(self, task: Task) -> Plan:
        """Return the compiled reference solution of the task."""
        ...


@runtime_checkable
class ErrorCap(Protocol):
    """A benchmark that ends an episode, as failed, once its tools have answered with many errors."""

    max_errors: int
    """How many errors of the tools' own; injected failures never count."""


class Oracle(Protocol):
    """What only the omniscient policy may ask: the truth about the injected environment."""

    @property
    def blocked(self) -> frozenset[str]:
        """The tools that are blocked in this episode."""
        ...

    def last(self) -> CallRecord:
        """The record of the call that was answered last."""
        ...


@dataclass(frozen=True, slots=True)
class Briefing:
    """What an agent is given at the start of an episode."""

    task: Task
    tools: Sequence[ToolSpec]
    """The tools on offer; may grow when the user has spoken (`OwnTools`)."""
    policy: str
    opening: str
    """The user's first message."""
    plan: Plan | None = None
    """The compiled reference solution; reference policies need it, models never get it."""
    oracle: Oracle | None = None
    """Set only for an agent that says ``omniscient = True``."""
    greeting: str = ""
    """What the assistant has said before the opening; empty where the user speaks first.

    Only a user who ends the talk is greeted (`AwaitingUser.ends_talk`).
    """
    episode: str = ""
    """The episode's id, which names what is drawn or recorded for it."""
    seed: int = 0
    """The run's seed, for an agent that samples."""
    memory: str = ""
    """The block of Bayesian Tool Memory that the agent reads (`bench2robust.memory.block`); empty for none."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """The assistant tells the user something; `last` says that it is done."""

    text: str
    last: bool = False


Play = Generator[ToolCall | Utterance, ToolResponse | str, None]
"""An agent's side of one episode: yields what it does, receives what comes back (a tool's response
after a call, the user's words after an utterance)."""


class Agent(Protocol):
    """Who acts."""

    name: str
    omniscient: bool

    def play(self, briefing: Briefing) -> Play:
        """Play one episode: a generator of actions. It may end by returning, or by an escalation call."""
        ...


class Session(Protocol):
    """An awaiting agent's side of one episode."""

    usage: Usage
    """What the episode has cost so far."""
    aside: str
    """What the model wrote beside its last call, empty where nothing; the user does not read it."""
    ended: End | None
    """Why the model cannot go on, where `act` returned None for such a reason; None is done."""

    async def act(self, reply: ToolResponse | str | None) -> ToolCall | Utterance | None:
        """Return the next action; `reply` answers the last one (None at first), None ends the episode.

        A call that was cancelled may be made again with the same reply.
        """
        ...


class AwaitingAgent(Protocol):
    """An agent that waits for something outside this process, such as a model's endpoint."""

    name: str

    def start(self, briefing: Briefing) -> Session:
        """Return a fresh session for one episode."""
        ...


@dataclass(frozen=True, slots=True)
class Parting:
    """How a user ended the talk."""

    text: str
    """The last words."""
    end: End = End.DONE


class AwaitingUser(Protocol):
    """A user that waits for something outside this process; otherwise like `User`."""

    usage: Usage
    ends_talk: bool
    """Whether the user leads to the end, as a simulated one does: such a user is greeted first and goes on
    until satisfied, also after an escalation. Any other is done when the assistant says so."""
    parting: Parting | None
    """How the user ended the talk; None before."""

    async def reply(self, said: str | None) -> str | None:
        """Answer the assistant; None as input asks for the first message, None as output ends the talk."""
        ...


@dataclass(frozen=True, slots=True)
class Scene:
    """What a user is given at the start of an episode."""

    task: Task
    environment: Environment
    episode: str = ""
    """The episode's id, which names what is drawn or recorded for it."""
    seed: int = 0
    """The run's seed, for a user that samples."""


NewUser = Callable[[Scene], AwaitingUser]
"""Makes the user of one episode."""


class User(Protocol):
    """Who the agent talks to."""

    def reply(self, said: str | None) -> str | None:
        """Answer the assistant; None as input asks for the first message, None as output ends the talk."""
        ...
