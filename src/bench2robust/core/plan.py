"""What a reference policy knows of a task: goals that are decided from delivered facts.

A benchmark compiles each gold solution into a `Plan`. The plan holds no ids and no amounts but those
the user says; it says how to find them in what the tools deliver, so a corrupted response really
misleads whoever follows it. Plans know the domain, policies know how to recover; they meet here:

    policy: "goal, what now, given these facts?"     goal.decide(facts)
    goal:   Need(fetch)   I lack a fact; here are the routes by which it can be had
            Ask(fact)     I lack something that only the user can say
            Stuck(used)   these facts do not let me go on (an emptied field, no match)
            Act(call)     do this
            Say(text)     tell the user this
            Done()        nothing (more) to do

`decide` is a pure function of the facts; the policy owns the facts, the retries and the order of
the routes, and may forget a fact to make the goal ask for it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .tools import ToolCall

Facts = Mapping[str, Any]
"""Fact name to delivered value (parsed JSON, or the text where it is not JSON)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One call that a route makes; its parsed response becomes a fact of its own, so it is read once."""

    fact: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class Route:
    """One way to learn a fact: the calls it takes and how their responses make the fact."""

    side: str
    """The side of the equivalence class this is (the name used in the domain file)."""
    parts: tuple[Part, ...]
    build: Callable[[Sequence[Any]], Any]
    """The values of `parts`, in order, to the fact; returns None when they do not contain it."""


def never_doubts(value: Any) -> str | None:
    """Find nothing wrong with a fact."""
    return None


@dataclass(frozen=True, slots=True)
class Fetch:
    """A fact somebody needs, and every route to it, the usual one first."""

    fact: str
    routes: tuple[Route, ...]
    doubts: Callable[[Any], str | None] = never_doubts
    """Why a value looks wrong by the domain's own redundancies, or None."""


@dataclass(frozen=True, slots=True)
class Need:
    """The goal lacks a fact."""

    fetch: Fetch


@dataclass(frozen=True, slots=True)
class Ask:
    """The goal lacks something that only the user knows; the user's words become the fact."""

    fact: str
    question: str


@dataclass(frozen=True, slots=True)
class Stuck:
    """The goal cannot go on with the facts it has."""

    reason: str
    used: tuple[str, ...] = ()
    """The facts it looked at; fetching them again may help."""


@dataclass(frozen=True, slots=True)
class Act:
    """The goal wants a write. `verify` reads back whether it has happened."""

    call: ToolCall
    used: tuple[str, ...] = ()
    """The facts that decided the call."""
    verify: Fetch | None = None
    """Fetches the record that the write changes."""
    happened: Callable[[Any], bool] | None = None
    """Whether the record fetched by `verify` shows that the write has been done."""
    instead: tuple[tuple[ToolCall, ...], ...] = ()
    """Other ways to the same end state, each a sequence of calls, for when the tool itself stays down."""
    answer: str = ""
    """The fact that the tool's answer becomes, if it is delivered; no fact when empty."""


@dataclass(frozen=True, slots=True)
class Say:
    """The goal wants the user told something."""

    text: str
    used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Handover:
    """The reference solution hands over to a human here."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing (more) to do for this goal."""

    why: str = ""


Decision = Need | Ask | Stuck | Act | Say | Handover | Done


class Goal(Protocol):
    """One thing the user wants."""

    def decide(self, facts: Facts, done: int) -> Decision:
        """Return what to do now; `done` is how many of this goal's acts are already carried out."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled reference solution."""

    goals: tuple[Goal, ...]
    escalate: Callable[[str], ToolCall]
    """Builds the escalation call from a summary."""
    ungrounded: tuple[str, ...] = ()
    """Arguments for which the user's words hold no cue, as ``goal.argument``; kept out of the
    adoption metrics."""
    notes: tuple[str, ...] = field(default_factory=tuple)
    """What the compiler has to say about the task (gold calls left out because they genuinely
    error, branches it could not ground)."""
