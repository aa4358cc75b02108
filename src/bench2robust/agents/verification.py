"""Verification: what cannot be taken back is decided twice, from readings by different sides.

A silent corruption shows in no single answer. Before a write (or anything else that ends a goal: a value told,
a no, a handover) the policy reads the facts behind it afresh, by another route where there is one, and lets
the goal decide from those alone. Two decisions that agree are
carried out; where they differ it reads on until two agree. Decisions are compared, not values: sides differ
in what they give, and only what changes the decision matters.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from bench2robust.core.plan import Act, Decision, Done, Goal, Handover, Need, Route, Say
from bench2robust.core.ports import Briefing
from bench2robust.core.tools import ToolCall
from bench2robust.memory.knowledge import Knowledge

from .bayes import Bayes
from .reference import Strategic
from .steps import Steps
from .walk import PATIENCE, Escalate, Memory, Source

_ROUNDS: Final = 4
"""Readings after the first; then the policy goes ahead with what most of them say."""
_TRUSTED: Final = 0.01
"""Up to this probability of a silent corruption a reading is not doubted."""


@dataclass(slots=True)
class _Version:
    """What one reading says: its facts, and where they came from."""

    facts: Memory = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)


class Verified(Strategic):
    """Adds verification to a policy; which answers are worth it is the policy's own (`may_lie`)."""

    def __init__(self, briefing: Briefing, knowledge: Knowledge) -> None:
        super().__init__(briefing)
        self.knowledge = knowledge
        self.settled: set[str] = set()
        """Facts behind a decision that two readings agreed on, and answers that came twice alike."""

    def confirmed(self, goal: Goal, decision: Decision, done: int) -> Steps[bool]:
        """Read again what a decision rests on; False when other facts have won, to be decided from anew."""
        doubted = [fact for fact in self.resting_on(decision, done) if self.in_doubt(fact)]
        if not doubted:
            return True
        first = _kind(decision)
        votes, versions = Counter([first]), {first: _Version(self.facts, self.sources)}
        for _ in range(_ROUNDS):
            version = _Version(*self.without(doubted))
            try:
                again = yield from self.decide_afresh(goal, done, version)
            except Escalate:
                break
            self.compare(version)
            if again is not None:
                votes[_kind(again)] += 1
                versions[_kind(again)] = version
                if votes[_kind(again)] == 2:
                    break
        winner = max(votes, key=lambda kind: votes[kind])
        self.avoiding.clear()
        self.settled.update(doubted)
        if winner == first:
            return True
        self.facts, self.sources = versions[winner].facts, versions[winner].sources
        self.settled.update(self.sources)
        return False

    def resting_on(self, decision: Decision, done: int) -> tuple[str, ...]:
        """Return the facts behind a decision that cannot be taken back: also a word, a no, a handover."""
        return tuple(self.sources) if isinstance(decision, Handover) else self.grounds(decision, done)

    def in_doubt(self, fact: str) -> bool:
        """Whether a fact may be silently corrupted and has not been confirmed."""
        route = self.route_of(fact)
        return (
            route is not None
            and fact not in self.settled
            and any(part.fact not in self.settled and self.may_lie(part.call) for part in route.parts)
        )

    def may_lie(self, call: ToolCall) -> bool:
        """Whether the last answer of a call may be silently corrupted, as far as the policy can tell."""
        return call.name in self.knowledge.domain.fields

    def route_of(self, fact: str) -> Route | None:
        """Return the route that gave a fact."""
        source = self.sources.get(fact)
        return None if source is None or source.route is None else source.fetch.routes[source.route]

    def without(self, doubted: list[str]) -> tuple[Memory, dict[str, Source]]:
        """Return the facts that are not doubted; those read again are preferably read by other routes."""
        facts = dict(self.facts)
        for fact in doubted:
            source = self.sources[fact]
            if source.route is not None:
                self.avoiding.setdefault(fact, source.route)
            facts.pop(fact, None)
            for route in source.fetch.routes:
                for part in route.parts:
                    if part.fact not in self.settled:
                        facts.pop(part.fact, None)
        return facts, dict(self.sources)

    def decide_afresh(self, goal: Goal, done: int, version: _Version) -> Steps[Decision | None]:
        """Read what the goal needs and return what it decides, None when it cannot."""
        for _ in range(PATIENCE):
            decision = goal.decide(version.facts, done)
            match decision:
                case Need(fetch):
                    fetch = self.at_hand(fetch)
                    route = yield from self.obtain(fetch, version.facts)
                    version.sources[fetch.fact] = Source(fetch, route)
                case Act() | Say() | Done() | Handover():
                    return decision
                case _:
                    return None
        return None

    def compare(self, version: _Version) -> None:
        """Trust what came twice alike, and read what did not by yet another route the next time."""
        for fact, source in version.sources.items():
            if fact in self.avoiding and source.route is not None:
                self.avoiding[fact] = source.route
            for part in (part for route in source.fetch.routes for part in route.parts):
                value = version.facts.get(part.fact)
                if value is not None and value == self.facts.get(part.fact):
                    self.settled.add(part.fact)


class StrategicVerified(Verified):
    """Strategic, with every decision verified whose grounds a silent corruption could touch."""

    def happened(self, act: Act) -> Steps[bool | None]:
        """Look twice before a write is taken not to have happened: repeating one that has cannot be undone."""
        found = yield from super().happened(act)
        if found is False and act.verify is not None:
            looks = [part.call for route in act.verify.routes for part in route.parts]
            if any(self.may_lie(call) for call in looks):
                found = yield from super().happened(act)
        return found


class BayesVerified(Verified, Bayes):
    """Bayes, with every decision verified whose grounds may be corrupted as far as the filter can tell."""

    def __init__(self, briefing: Briefing, knowledge: Knowledge) -> None:
        Bayes.__init__(self, briefing, knowledge)
        self.settled = set()

    def may_lie(self, call: ToolCall) -> bool:
        """Whether the filter leaves a doubt: none once the budget is spent."""
        return self.corrupted[call.signature()] > _TRUSTED


def _kind(decision: Decision) -> str:
    """Return a text that is equal for decisions that do the same."""
    match decision:
        case Act(call) | Handover(call):
            return call.signature()
        case Say(text):
            return f"say {text}"
    return type(decision).__name__
