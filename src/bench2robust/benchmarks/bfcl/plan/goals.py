"""One goal a turn: read what is to be read, write what is to be written, then say so, which ends the turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench2robust.benchmarks.bfcl.equivalence import Reading, Writing
from bench2robust.core.plan import Act, Decision, Done, Facts, Fetch, Need, Part, Route, Say, Stuck
from bench2robust.core.tools import ToolCall

from .doubts import doubts_of
from .expressions import Expression, Lost, Missing, shown

Arguments = Mapping[str, Expression]
Happened = Callable[[Mapping[str, Any], Any, Any], bool]
"""A write's arguments, the record read before it (or None) and the record now: whether it has happened."""

_MOST_TOLD = 200
"""A longer value is not spelled out to the user."""


@dataclass(frozen=True, slots=True)
class Read:
    """A fact that is read, by its usual tool or by another way that holds in the task."""

    fact: str
    tool: str
    arguments: Arguments
    ways: tuple[Reading, ...] = ()
    optional: bool = False
    """Whether the goal goes on without it (it only helps to verify a write)."""

    def fetch(self, facts: Facts) -> Fetch:
        """Return the fetch, with the arguments that the facts give.

        Raises:
            Missing: a fact that an argument needs is not known yet.
            Lost: a fact does not hold an argument.
        """
        arguments = values(self.arguments, facts)
        usual = Part(f"{self.fact}/{self.tool}", ToolCall(self.tool, arguments))
        routes = [Route(self.tool, (usual,), _first)]
        for way in self.ways:
            calls = way.calls(arguments)
            parts = tuple(Part(f"{self.fact}/{way.side}/{call.name}", call) for call in calls)
            routes.append(Route(way.side, parts, _builder(way, arguments, calls)))
        return Fetch(self.fact, tuple(routes), doubts_of(self.tool))


@dataclass(frozen=True, slots=True)
class Write:
    """A write, and how to tell that it has happened."""

    tool: str
    arguments: Arguments
    answer: str = ""
    """The fact that its answer becomes, where a later argument needs it."""
    ways: tuple[Writing, ...] = ()
    used: tuple[str, ...] = ()
    """Facts that may be read again before it: those read since the last write, and what its arguments need
    as long as no write came between."""
    verify: Read | None = None
    happened: Happened | None = None
    before: str = ""
    """The fact that holds the record of `verify` from before the write."""

    def act(self, facts: Facts) -> Act:
        """Return the act; raises as `Read.fetch` does."""
        arguments = values(self.arguments, facts)
        happened = self.happened
        before = facts.get(self.before)
        check: Callable[[Any], bool] | None = None
        if happened is not None and not (self.before and before is None):
            check = _checker(happened, arguments, before)
        return Act(
            ToolCall(self.tool, arguments),
            used=self.used,
            verify=self.verify.fetch(facts) if self.verify is not None and check is not None else None,
            happened=check,
            instead=tuple(way.calls(arguments) for way in self.ways),
            answer=self.answer,
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of the user's asks for (`core.plan.Goal`).

    Args:
        steps: reads and writes, in order.
        report: what to say when there is nothing to do; otherwise what was found is said.
        reads: every read of the plan by its fact, for arguments that come from an earlier one.
        fresh: facts of this turn that may still be read again at its end.
    """

    steps: Sequence[Read | Write]
    report: str = ""
    reads: Mapping[str, Read] = field(default_factory=dict)
    fresh: tuple[str, ...] = ()

    def decide(self, facts: Facts, done: int) -> Decision:
        """Return what to do now."""
        written = 0
        for step in self.steps:
            if isinstance(step, Write):
                written += 1
                if written <= done:
                    continue
            elif step.fact in facts and (step.optional or facts[step.fact] is not None):
                continue
            return self._next(step, facts)
        return Say(self._told(facts), self.fresh) if done == written else Done()

    def _next(self, step: Read | Write, facts: Facts) -> Decision:
        try:
            if isinstance(step, Write):
                return step.act(facts)
            if step.fact in facts:
                raise Lost(step.fact)  # noqa: TRY301
            return Need(step.fetch(facts))
        except Missing as missing:
            return self._need(str(missing), facts)
        except Lost as lost:
            return Stuck(f"{step.tool} needs what {lost} does not hold", self._again(str(lost)))

    def _need(self, fact: str, facts: Facts) -> Decision:
        """Read a fact of an earlier turn that is not there, such as one whose write lost its answer."""
        read = self.reads.get(fact)
        if read is None:
            return Stuck(f"the answer that held {fact} was lost")
        try:
            return Need(read.fetch(facts))
        except (Missing, Lost) as why:
            return Stuck(f"{read.tool} needs {why}, which is not known")

    def _again(self, fact: str) -> tuple[str, ...]:
        return (fact,) if any(isinstance(s, Read) and s.fact == fact for s in self.steps) else ()

    def _told(self, facts: Facts) -> str:
        """Return what the user is told: what was read in this turn."""
        found = [facts[s.fact] for s in self.steps if isinstance(s, Read) and facts.get(s.fact) is not None]
        told = [text for text in (shown(value, short=True) for value in found) if len(text) <= _MOST_TOLD]
        return " ".join([self.report or "Done.", *told])


def values(arguments: Arguments, facts: Facts) -> dict[str, Any]:
    """Return the values of arguments."""
    return {name: expression.value(facts) for name, expression in arguments.items()}


def facts_of(arguments: Arguments) -> Iterator[str]:
    """Return the names of the facts that arguments look at."""
    for expression in arguments.values():
        yield from expression.facts()


def _first(found: Sequence[Any]) -> Any:
    return found[0]


def _builder(
    way: Reading, arguments: Mapping[str, Any], calls: Sequence[ToolCall]
) -> Callable[[Sequence[Any]], Any]:
    return lambda found: way.answer(
        arguments, [(call.arguments, value) for call, value in zip(calls, found, strict=True)]
    )


def _checker(happened: Happened, arguments: Mapping[str, Any], before: Any) -> Callable[[Any], bool]:
    def check(record: Any) -> bool:
        try:
            return happened(arguments, before, record)
        except (KeyError, IndexError, TypeError, AttributeError):
            return False

    return check
