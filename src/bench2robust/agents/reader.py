"""The policy `reader`: it knows about recovering only what the memory's block and the live notes say.

So what a variant of a memory is worth can be measured without a language model: the text is parsed
(`bench2robust.memory.advice`), never the memory or the domain looked at. Without text it plays as `naive`
does: it escalates at the first failure, takes facts on trust, and leaves a way only for one that answers.

| the text says | then it |
|---|---|
| 1. retry at least once | makes a failing call a second time |
| 2. after switching, verify | reads facts again that it has by another way and that look wrong or do not suffice |
| 3. confirm every field, do not guess | reads facts again that look wrong or are missing, before it acts |
| 5. check the response of a write | looks whether a write with a failed answer has happened, before it repeats it |
| 6. transfer after exhausting | goes on to three failures in a row on every way it was told of, then escalates |
| P(recovery), P(switch) | switches where the switch looks better, else retries where recovery is likely (at least 0.50), up to three failures in a row |
| P(blocked) of at least 0.50 | switches, if it can |
| an alternative, a path | may go that way when a tool fails; it is told of no other |

Constraint 4 (prices) changes nothing: a plan's arithmetic is always right. A constraint is known by the
template's words; others mean nothing to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Final

from bench2robust.core.noise import NoiseType
from bench2robust.core.plan import Act, Fetch, Route
from bench2robust.core.ports import Briefing
from bench2robust.core.reading import Reading, read
from bench2robust.core.tools import ToolCall
from bench2robust.memory.advice import read_block
from bench2robust.memory.content import UNIFORM, Alternative
from bench2robust.memory.notes import read_note

from .reference import ATTEMPTS
from .steps import Steps, hear
from .walk import Escalate, Memory, Walk, missing

HIGH: Final = 0.5
"""From here on a probability is high."""


class Rule(StrEnum):
    """A constraint, by the words of the template that tell it."""

    RETRY = "retry at least once"
    VERIFY = "after switching, verify"
    CONFIRM = "before any irreversible action, confirm"
    CHECK = "after calling a write tool, check the response"
    EXHAUST = "only transfer after exhausting"


class _Told:
    """What the texts have said so far."""

    def __init__(self, block: str) -> None:
        said = read_block(block)
        self._recovery: dict[tuple[str, NoiseType], float] = {
            (tool, noise): p for tool, row in said.recovery.items() for noise, p in row.items()
        }
        self._blocked: dict[str, float] = {}
        self._ways: dict[str, tuple[Alternative, ...]] = dict(said.alternatives)
        for path in said.paths:
            known = self._ways.get(path.source, ())
            if path.tools not in [way.tools for way in known]:
                self._ways[path.source] = (*known, Alternative(path.tools, UNIFORM, path.note))
        kept = " ".join(said.constraints).lower()
        self.rules = frozenset(rule for rule in Rule if rule in kept)

    def add(self, text: str) -> None:
        """Take a note in; what it says is newer."""
        note = read_note(text)
        if note is None:
            return
        self._recovery[note.tool, note.noise] = note.recovery
        if note.blocked is not None:
            self._blocked[note.tool] = note.blocked
        if note.alternatives:
            self._ways[note.tool] = note.alternatives

    def recovery(self, tool: str, noise: NoiseType) -> float | None:
        """Return P(recovery) where it was told."""
        return self._recovery.get((tool, noise))

    def blocked(self, tool: str) -> bool:
        """Whether a tool is told to be blocked rather than not."""
        return self._blocked.get(tool, 0.0) >= HIGH

    def switch(self, tool: str, others: Sequence[frozenset[str]]) -> float | None:
        """Return the best P(switch) from a tool among the ways to some sets of tools; None where none leads there."""
        ways = [way for way in self._ways.get(tool, ()) if any(not s.isdisjoint(way.tools) for s in others)]
        return max((way.probability for way in ways), default=None)

    def leads(self, tool: str, others: frozenset[str]) -> bool:
        """Whether the ways around a tool, together, hold all of some tools."""
        return others <= {other for way in self._ways.get(tool, ()) for other in way.tools}


class _Move(StrEnum):
    """What to do after a failure."""

    RETRY = "retry"
    SWITCH = "switch"
    ESCALATE = "escalate"


class Reader(Walk):
    """Does what it is told, and nothing else."""

    def __init__(self, briefing: Briefing) -> None:
        super().__init__(briefing)
        self.told = _Told(briefing.memory)
        self.streak: Counter[str] = Counter()
        """Tool to its failures in a row."""
        self.reads: Counter[str] = Counter()
        """Fact to how often it was read again."""
        self.others: Callable[[], Sequence[frozenset[str]]] = tuple
        """The tools of each way that it could go instead of the present one, as far as is told by now."""

    def ask(self, call: ToolCall) -> Steps[Reading]:
        """Make a call, read what comes back, and the note with it."""
        response = yield from hear(call)
        if response.note:
            self.told.add(response.note)
        reading = read(response)
        self.streak[call.name] = self.streak[call.name] + 1 if reading.noise else 0
        return reading

    def move(self, tool: str, noise: NoiseType) -> _Move:
        """Return what to do after a failure of a tool."""
        failures = self.streak[tool]
        if Rule.RETRY in self.told.rules and failures == 1:
            return _Move.RETRY
        again, switch = self.told.recovery(tool, noise), self.told.switch(tool, self.others())
        if switch is not None and (self.told.blocked(tool) or (again is not None and switch > again)):
            return _Move.SWITCH
        patient = (again is not None and again >= HIGH) or Rule.EXHAUST in self.told.rules
        if patient and failures < ATTEMPTS:
            return _Move.RETRY
        if switch is not None and (switch >= HIGH or Rule.EXHAUST in self.told.rules):
            return _Move.SWITCH
        return _Move.ESCALATE

    def read(self, call: ToolCall) -> Steps[Reading]:
        """Retry or leave the route, as told; escalate where nothing was."""
        while True:
            reading = yield from self.ask(call)
            if not reading.noise:
                return reading
            match self.move(call.name, reading.noise):
                case _Move.SWITCH:
                    return reading
                case _Move.ESCALATE:
                    raise Escalate(f"{call.name} fails: {reading.noise}")

    def routes(self, fetch: Fetch, facts: Memory) -> Iterator[tuple[int, Route]]:
        """Try the routes in the plan's order; once one has failed, only those that the text leads to."""
        left = list(enumerate(fetch.routes))
        failed: set[str] = set()
        answered = not left
        while left:
            usable = [one for one in left if self.usable(one[1], failed)]
            if not usable:
                break
            place, route = min(usable, key=lambda one: (self.failures(one[1]), one[0]))
            self.others = partial(self.beside, route, [other for at, other in left if at != place])
            yield place, route
            gone = [part.call.name for part in missing(route, facts) if self.streak[part.call.name]]
            failed.update(gone)
            if not gone:
                answered = True
            if not gone or Rule.EXHAUST not in self.told.rules or self.exhausted(route):
                left.remove((place, route))
        self.others = tuple
        if not answered:
            raise Escalate(f"no way to learn {fetch.fact} that I know of works")

    def beside(self, route: Route, left: Sequence[Route]) -> list[frozenset[str]]:
        """Return the tools of the routes that the text leads to from another."""
        tools = _tools(route)
        return [_tools(other) for other in left if self.leads(tools, other) and not self.exhausted(other)]

    def usable(self, route: Route, failed: set[str]) -> bool:
        """Whether a route may be tried after some tools have failed: the text leads there, or it is what failed."""
        return not failed or not failed.isdisjoint(_tools(route)) or self.leads(frozenset(failed), route)

    def leads(self, tools: frozenset[str], route: Route) -> bool:
        """Whether the text tells a way around one of the tools, of which a route is made."""
        return any(self.told.leads(tool, _tools(route) - (tools - {tool})) for tool in tools)

    def failures(self, route: Route) -> int:
        """Return how often in a row a route's tools have failed, at most."""
        return max((self.streak[tool] for tool in _tools(route)), default=0)

    def exhausted(self, route: Route) -> bool:
        """Whether retrying a route is at its end."""
        return self.failures(route) >= ATTEMPTS

    def ways(self, act: Act) -> Iterator[tuple[Act, ...]]:
        """Return the ways to carry out a write that the text leads to, by what is told when they are needed."""
        left = self.all_ways(act)[1:]

        def told() -> list[frozenset[str]]:
            return [tools for tools in map(_acting, left) if self.told.leads(act.call.name, tools)]

        self.others = told
        yield (act,)
        while left:
            way = left.pop(0)
            if self.told.leads(act.call.name, _acting(way)):
                yield way

    def write(self, act: Act) -> Steps[bool]:
        """Retry as told, having looked first if told so; a way that is left is escalated by the walk."""
        lost = False
        while True:
            reading = yield from self.ask(act.call)
            self.note(act, reading)
            if not reading.noise:
                # After a lost answer, "no" is what a repeat of something already done is told.
                return lost or not reading.genuine
            lost = True
            others = self.others
            if Rule.CHECK in self.told.rules and (yield from self.happened(act)):
                return True
            self.others = others
            if self.move(act.call.name, reading.noise) is not _Move.RETRY:
                raise Escalate(f"{act.call.name} fails: {reading.noise}")

    def uneasy(self, used: Sequence[str]) -> bool:
        """Read again what looks wrong, if told to confirm it, or to verify what came by another way."""
        return self.again([fact for fact in used if self.doubtful(fact) and self.verifies(fact)])

    def unstick(self, used: Sequence[str]) -> bool:
        """Read again what was used, if told not to guess, or to verify what came by another way."""
        return self.again([fact for fact in used if self.verifies(fact)])

    def verifies(self, fact: str) -> bool:
        """Whether a fact that looks wrong, or that does not help, is worth another look."""
        source = self.sources.get(fact)
        switched = source is not None and source.route not in (0, None)
        return Rule.CONFIRM in self.told.rules or (switched and Rule.VERIFY in self.told.rules)

    def again(self, facts: Sequence[str]) -> bool:
        """Forget facts to read them again, three times more at most."""
        forgotten = [fact for fact in facts if fact in self.sources and self.reads[fact] < ATTEMPTS]
        for fact in forgotten:
            self.reads[fact] += 1
            self.forget(fact)
        return bool(forgotten)


def _tools(route: Route) -> frozenset[str]:
    return frozenset(part.call.name for part in route.parts)


def _acting(way: Sequence[Act]) -> frozenset[str]:
    return frozenset(act.call.name for act in way)
