"""Task, scenario, trajectory, outcome: what one episode is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from .tools import CallRecord, ToolCall


class Mode(StrEnum):
    """How an episode is run (paper, section 4, and `clean_alt`, which the paper lacks)."""

    CLEAN = "clean"
    """Standard tools, nothing injected."""
    CLEAN_ALT = "clean_alt"
    """Alternative tools too, nothing injected: separates extra tools from blocking."""
    INJECT = "inject"
    """Standard tools, noise, nothing blocked."""
    INJECT_ALT = "inject_alt"
    """Alternative tools, noise, and a scenario per task."""

    @property
    def alternatives(self) -> bool:
        """Whether the alternative tools exist."""
        return self in (Mode.CLEAN_ALT, Mode.INJECT_ALT)

    @property
    def injected(self) -> bool:
        """Whether anything is injected."""
        return self in (Mode.INJECT, Mode.INJECT_ALT)


class Scenario(StrEnum):
    """What stays recoverable in an episode (paper, section 2.1)."""

    S1 = "s1"
    """retry_works: nothing is blocked."""
    S2 = "s2"
    """switch_needed: one side of one task-relevant equivalence class is blocked."""
    S3 = "s3"
    """impossible: every side of one needed class is blocked, and every write that needs it."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The scenario of one (seed, task): what was drawn, what could be honoured, what is blocked."""

    assigned: Scenario = Scenario.S1
    effective: Scenario = Scenario.S1
    """Differs from `assigned` when the task is not eligible; then the episode runs as S1."""
    blocked: frozenset[str] = frozenset()
    equivalence: str = ""
    """Name of the equivalence class that is hit, empty in S1."""
    side: str = ""
    """Name of the blocked side in S2, empty otherwise."""


@dataclass(frozen=True, slots=True)
class Action:
    """A gold action: one call of the reference solution."""

    call: ToolCall
    by_user: bool = False
    """Whether the user makes it, on a device of their own (dual control)."""
    turn: int = 0
    """The user's turn in which it is due, from 0; a text of the assistant ends a turn."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Something the user says only when asked."""

    cues: tuple[str, ...]
    """Words in a question that make the user say it."""
    text: str


@dataclass(frozen=True, slots=True)
class Script:
    """What a scripted user says, and when."""

    opening: str
    answers: tuple[Answer, ...] = ()
    """Withheld details, and changes of mind: given once, when asked."""
    turns: tuple[str, ...] = ()
    """Further requests, each made once the assistant reports on the one before."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a benchmark."""

    id: str
    instructions: str
    """What the user wants and knows, in the user's words."""
    gold: tuple[Action, ...] = ()
    tell: tuple[str, ...] = ()
    """Values that the agent must tell the user to pass."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The benchmark's own record of the task; opaque to everyone else."""
    script: Script | None = None
    """What the user says; None is a user who says all the instructions at once, as a ticket does."""


class End(StrEnum):
    """Why an episode ended."""

    DONE = "done"
    """The assistant or the user was done."""
    ESCALATED = "escalated"
    """The assistant handed over to a human."""
    TRANSFERRED = "transferred"
    """The user believed to be handed over, but no escalation was executed."""
    OUT_OF_SCOPE = "out_of_scope"
    """A simulated user had no words for what was asked."""
    MAX_STEPS = "max_steps"
    TOO_MANY_ERRORS = "too_many_errors"
    """The tools' own errors reached the benchmark's cap (`core.ports.ErrorCap`)."""
    CONTEXT_EXCEEDED = "context_exceeded"
    """The conversation outgrew the model's context."""
    MALFORMED_CALL = "malformed_call"
    """The model's calls could not be read, not even after it was told so."""
    EMPTY_REPLY = "empty_reply"
    """The model neither said nor called anything, not even after it was told so."""

    @property
    def scored(self) -> bool:
        """Whether the world decides; otherwise the episode has failed whatever the world is (as in τ²)."""
        return self in (End.DONE, End.ESCALATED, End.TRANSFERRED, End.OUT_OF_SCOPE)


class Role(StrEnum):
    """Who a message is from."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(slots=True)
class Usage:
    """What a model's endpoint was asked for, summed over requests."""

    requests: int = 0
    """Requests that were answered; attempts that failed are not counted."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """US dollars; 0 where no prices are known."""
    seconds: float = field(default=0.0, compare=False)
    """Waiting time, retries included; never part of a result that is compared byte for byte."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cost + other.cost,
            self.seconds + other.seconds,
        )


@dataclass(slots=True)
class Message:
    """One turn of the conversation.

    An assistant message is either text or a call; a tool message answers the call before it and
    `record` is the index of that call's record. Where the user has tools too (dual control), a message
    of the user is either words or a call; nothing is injected into it, so it has no record.
    """

    role: Role
    text: str = ""
    """The words; of a call, what a model wrote beside it."""
    record: int | None = None
    call: ToolCall | None = None
    """What the user called; `text` is what it answered."""
    usage: Usage | None = None
    """What it took a model to write the message; None where no model was asked for it."""


@dataclass(slots=True)
class Trajectory:
    """What happened, in order. A step is one assistant action (a call or a text)."""

    messages: list[Message] = field(default_factory=list)
    records: list[CallRecord] = field(default_factory=list)
    steps: int = 0
    ended: str = ""
    """Why it ended: an `End`, empty while it goes on."""

    @classmethod
    def saying(cls, texts: Iterable[str]) -> Trajectory:
        """Return the trajectory of an assistant that only talked."""
        return cls([Message(Role.ASSISTANT, text) for text in texts], ended="done")

    @property
    def said(self) -> list[str]:
        """Every text the assistant sent, those beside a call included (τ²'s evaluators read them too)."""
        return [m.text for m in self.messages if m.role is Role.ASSISTANT and (m.record is None or m.text)]


@dataclass(frozen=True, slots=True)
class Score:
    """A benchmark's verdict on the live environment that an episode used."""

    passed: bool
    parts: Mapping[str, bool] = field(default_factory=dict)
    """The verdicts that together make `passed`, by name (``database``, ``communicated``), and what the
    benchmark reports beside them."""


class Escalation(StrEnum):
    """Verdict on handing over to a human, against the certificate."""

    NONE = "none"
    REQUESTED = "requested"
    """The reference solution hands over too."""
    PREMATURE = "premature"
    """A viable path was left."""
    ABSTAIN = "abstain"
    """No viable path was left: the right thing to do."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one episode ended."""

    score: Score
    escalation: Escalation
    steps: int
    calls: int
    injections: int
    """Noise types delivered (blocking not counted)."""
    blocked_calls: int
    blind_repeats: int
    """Writes proposed again, unchanged, after their answer was lost and with no read in between."""
