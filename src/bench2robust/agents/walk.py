"""The walk through a plan that all reference policies share; how they recover is theirs.

A `Walk` is one episode: the facts known so far, and where each came from. It asks each goal what it
wants, and gives it. Eight methods are a policy's own (`reference`):

    read      one call of a route, repeated as the policy likes
    routes    the routes to a fact, in the order in which the policy tries them
    ways      the ways to carry out a write that the policy tries
    write     one write, repeated as the policy likes
    unstick   what to forget when the facts do not let a goal go on
    uneasy    what to forget before acting on facts that look wrong
    confirmed what to look at once more before acting on facts that look right
    refused   what to forget when the tool itself refuses a write

The defaults do not recover at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.core.errors import SpecError
from bench2robust.core.plan import (
    Act,
    Ask,
    Decision,
    Done,
    Fetch,
    Goal,
    Handover,
    Need,
    Part,
    Route,
    Say,
    Stuck,
)
from bench2robust.core.ports import Briefing, Play, Utterance
from bench2robust.core.reading import Reading
from bench2robust.core.tools import ToolCall, ToolResponse

from .steps import Steps, ask

PATIENCE = 200
"""Decisions after which a policy gives a goal up, whatever comes: no walk is endless."""

Memory = dict[str, Any]
"""Facts, to be filled in."""


class Escalate(Exception):
    """The policy hands over to a human; the text says why."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact came from."""

    fetch: Fetch
    route: int | None
    """Place of the route among the fetch's; None when no route had the fact."""


def missing(route: Route, facts: Memory) -> list[Part]:
    """Return the parts of a route still to be read: none once any of them is known to hold nothing."""
    if any(part.fact in facts and facts[part.fact] is None for part in route.parts):
        return []
    return [part for part in route.parts if part.fact not in facts]


class Walk:
    """One episode of a policy that does not recover.

    Raises:
        SpecError: the briefing has no plan.
    """

    attempts = 1
    """How often the policy makes a failing call before it escalates."""

    def __init__(self, briefing: Briefing) -> None:
        if briefing.plan is None:
            raise SpecError(
                "expected a compiled plan, got plan=None; reference policies need a benchmark with plans"
            )
        self.plan = briefing.plan
        self.briefing = briefing
        self.tools = frozenset(tool.name for tool in briefing.tools)
        self.facts: Memory = {}
        self.sources: dict[str, Source] = {}

    def play(self) -> Play:
        """Pursue every goal, then close; escalate where the policy says so."""
        try:
            for goal in self.plan.goals:
                handover = yield from self.pursue(goal)
                if handover:
                    yield handover.call
                    return
            yield Utterance("That is all I can do for you. Goodbye.", last=True)
        except Escalate as why:
            yield self.plan.escalate(str(why))

    def pursue(self, goal: Goal) -> Steps[Handover | None]:
        """Do what a goal wants until it wants nothing more or cannot be served."""
        done = 0
        for _ in range(PATIENCE):
            decision = goal.decide(self.facts, done)
            if self.uneasy(self.grounds(decision, done)):
                continue
            if not (yield from self.confirmed(goal, decision, done)):
                continue
            match decision:
                case Done():
                    return None
                case Handover():
                    return decision
                case Need(fetch):
                    fetch = self.at_hand(fetch)
                    self.sources[fetch.fact] = Source(fetch, (yield from self.obtain(fetch, self.facts)))
                case Ask(fact, question):
                    self.facts[fact] = yield from self.tell(question)
                case Say(text):
                    yield from self.tell(text)
                    done += 1
                case Act() if (yield from self.carry_out(decision)):
                    done += 1
                case Act() | Stuck():
                    sorry = self.give_up(decision)
                    if sorry:
                        yield from self.tell(sorry)
                        return None
        return None

    def tell(self, text: str) -> Steps[ToolResponse | str]:
        """Say something, and look which tools there are once the user has answered."""
        reply = yield Utterance(text)
        self.tools = frozenset(tool.name for tool in self.briefing.tools)
        return reply

    def carry_out(self, act: Act) -> Steps[bool]:
        """Carry out a write by the first way that works; False when a tool itself said no.

        Raises:
            Escalate: no way works.
        """
        why: Escalate | None = None
        for way in self.ways(act):
            try:
                for part in way:
                    if not (yield from self.write(part)):
                        return False
            except Escalate as failed:
                why = failed
            else:
                return True
        raise why or Escalate(f"every way to do what {act.call.name} does is blocked")

    def all_ways(self, act: Act) -> list[tuple[Act, ...]]:
        """Return a write and the other ways to its end state whose tools this episode offers."""
        others = [way for way in act.instead if all(call.name in self.tools for call in way)]
        return [(act,), *(tuple(Act(call, act.used) for call in way) for way in others)]

    def note(self, act: Act, reading: Reading) -> None:
        """Keep what the tool of a write answered, where the plan has a name for it."""
        if act.answer and reading.value is not None:
            self.facts[act.answer] = reading.value

    def give_up(self, decision: Act | Stuck) -> str:
        """Say why a goal cannot be served, or forget something and say nothing: then it is tried again."""
        if isinstance(decision, Act):
            return "" if self.refused(decision) else "I am sorry, the system does not allow this."
        if self.unstick(decision.used):
            return ""
        return f"I am sorry, I could not find what this needs: {decision.reason}."

    def grounds(self, decision: Decision, done: int) -> tuple[str, ...]:
        """Return the facts worth a second look before a decision is carried out."""
        match decision:
            case Act() | Say():
                return decision.used
            case Done() if not done:
                # That there is nothing to do may be what a corrupted fact says.
                return tuple(self.sources)
        return ()

    def at_hand(self, fetch: Fetch) -> Fetch:
        """Leave out the routes whose tools this episode does not offer."""
        routes = [r for r in fetch.routes if all(part.call.name in self.tools for part in r.parts)]
        return Fetch(fetch.fact, tuple(routes), fetch.doubts)

    def obtain(self, fetch: Fetch, facts: Memory) -> Steps[int | None]:
        """Learn a fact; returns the place of the route that had it, or None and the fact is None."""
        for place, route in self.routes(fetch, facts):
            for part in missing(route, facts):
                reading = yield from self.read(part.call)
                if reading.noise:
                    break
                facts[part.fact] = reading.value
                if reading.value is None:
                    break
            if missing(route, facts):
                continue
            values = [facts.get(part.fact) for part in route.parts]
            value = None if any(v is None for v in values) else route.build(values)
            if value is not None:
                facts[fetch.fact] = value
                return place
        facts[fetch.fact] = None
        return None

    def forget(self, fact: str) -> None:
        """Make a goal ask for a fact again, and the next answer a fresh one, whatever the route."""
        for route in self.sources[fact].fetch.routes:
            for part in route.parts:
                self.facts.pop(part.fact, None)
        self.facts.pop(fact, None)

    def happened(self, act: Act) -> Steps[bool | None]:
        """Read afresh, beside the facts the plan decided from, whether a write is done; None: cannot tell."""
        if act.verify is None or act.happened is None:
            return None
        seen: Memory = {}
        try:
            yield from self.obtain(self.at_hand(act.verify), seen)
        except Escalate:
            return None
        record = seen[act.verify.fact]
        return None if record is None else act.happened(record)

    def doubtful(self, fact: str) -> bool:
        """Whether a fact that was found looks wrong."""
        source, value = self.sources.get(fact), self.facts.get(fact)
        return source is not None and value is not None and source.fetch.doubts(value) is not None

    # What follows is the policy's own.

    def read(self, call: ToolCall) -> Steps[Reading]:
        """Make a call of a route; a reading with `noise` makes the walk leave the route."""
        for _ in range(self.attempts):
            reading = yield from ask(call)
            if not reading.noise:
                return reading
        raise Escalate(f"{call.name} fails: {reading.noise}")

    def routes(self, fetch: Fetch, facts: Memory) -> Iterator[tuple[int, Route]]:
        """Give the routes to try, with their places; asked for the next one after each."""
        yield from enumerate(fetch.routes)

    def ways(self, act: Act) -> Iterable[tuple[Act, ...]]:
        """Return the ways to carry out a write that the policy tries, in order; asked for the next after each."""
        return [(act,)]

    def write(self, act: Act) -> Steps[bool]:
        """Carry out a write; returns whether it is done, False when the tool itself said no."""
        lost = False
        for _ in range(self.attempts):
            reading = yield from ask(act.call)
            self.note(act, reading)
            if not reading.noise:
                # After a lost answer, "no" is what a repeat of something already done is told.
                return lost or not reading.genuine
            lost = True
        raise Escalate(f"{act.call.name} fails: {reading.noise}")

    def unstick(self, used: Sequence[str]) -> bool:
        """Forget some of the facts that a goal is stuck with; False gives the goal up."""
        return False

    def uneasy(self, used: Sequence[str]) -> bool:
        """Forget those of the facts behind a decision that look wrong; False goes ahead."""
        return False

    def confirmed(self, goal: Goal, decision: Decision, done: int) -> Steps[bool]:
        """Make sure of a decision before it is carried out; False when it is to be made anew."""
        yield from ()
        return True

    def refused(self, act: Act) -> bool:
        """Forget what led to a write that the tool itself refused; False gives the goal up."""
        return False
