"""The five reference policies: no language model, one walk, five ways to recover.

| policy | a call fails | a write's answer is lost | stuck | facts look wrong |
|---|---|---|---|---|
| naive | escalates | escalates | gives the goal up | does not notice |
| retry | same call, three times in all | repeats it blindly | reads again, the same way | does not notice |
| switch | next route | escalates | reads again, next route | does not notice |
| strategic | by the kind of failure | verifies first | reads again, then other routes | reads again |
| omniscient | knows what is blocked | knows what was done | gives the goal up | knows the truth |
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench2robust.core.errors import SpecError
from bench2robust.core.plan import Act, Fetch, Route
from bench2robust.core.ports import Briefing, Play
from bench2robust.core.reading import TRANSIENT, Reading, read
from bench2robust.core.tools import ToolCall
from bench2robust.memory.knowledge import Knowledge

from .steps import Steps, ask
from .walk import PATIENCE, Escalate, Memory, Source, Walk, missing

ATTEMPTS = 3
"""K_max + 1 under the default limits: noise never fails a tool so often in a row, a block always does."""


class Naive(Walk):
    """Escalates at the first failure, gives up a goal that is stuck."""


class Retry(Walk):
    """Makes the same call up to three times, then escalates; repeats writes blindly."""

    attempts = ATTEMPTS

    def __init__(self, briefing: Briefing) -> None:
        super().__init__(briefing)
        self.reads: Counter[str] = Counter()

    def unstick(self, used: Sequence[str]) -> bool:
        """Read the facts again, the same way, three times in all."""
        again = [fact for fact in used if fact in self.sources and self.reads[fact] < ATTEMPTS - 1]
        for fact in again:
            self.reads[fact] += 1
            self.forget(fact)
        return bool(again)


class Switch(Walk):
    """Goes to the next route at once; escalates when there is none, and when a write fails."""

    def __init__(self, briefing: Briefing) -> None:
        super().__init__(briefing)
        self.start: dict[str, int] = {}

    def read(self, call: ToolCall) -> Steps[Reading]:
        """Never make a failing call twice."""
        return (yield from ask(call))

    def routes(self, fetch: Fetch, facts: Memory) -> Iterator[tuple[int, Route]]:
        """Try each route once; escalate at the end if one failed."""
        tried = list(enumerate(fetch.routes))[self.start.get(fetch.fact, 0) :]
        yield from tried
        if any(missing(route, facts) for _, route in tried):
            raise Escalate(f"no way to learn {fetch.fact} works")

    def ways(self, act: Act) -> list[tuple[Act, ...]]:
        """Try another way at once."""
        return self.all_ways(act)

    def unstick(self, used: Sequence[str]) -> bool:
        """Read each fact again by the route after the one that gave it, while there is one."""
        again = [fact for fact in used if self.next_route(fact)]
        for fact in again:
            self.start[fact] = self.next_route(fact)
            self.forget(fact)
        return bool(again)

    def next_route(self, fact: str) -> int:
        """Place of the route after the one that gave a fact, 0 where there is none."""
        source = self.sources.get(fact)
        if source is None or source.route is None or source.route + 1 == len(source.fetch.routes):
            return 0
        return source.route + 1


class Strategic(Walk):
    """Retries what passes, switches where it stays, verifies, doubts, abstains when no path is left.

    Three failures of a tool in a row prove a block, for the whole episode.
    """

    def __init__(self, briefing: Briefing) -> None:
        super().__init__(briefing)
        self.streak: Counter[str] = Counter()
        """Tool to its failures in a row."""
        self.reads: Counter[str] = Counter()
        """Fact to how often it was read again."""
        self.tainted: defaultdict[str, set[int]] = defaultdict(set)
        """Fact to the routes whose answers, though repeated, would not do."""
        self.refusals: set[str] = set()
        """Writes that their tool refused."""
        self.avoiding: dict[str, int] = {}
        """Fact to the route that is to be used only where there is no other (`verification`)."""

    def ask(self, call: ToolCall) -> Steps[Reading]:
        """Make a call and learn about its tool."""
        reading = yield from ask(call)
        self.streak[call.name] = self.streak[call.name] + 1 if reading.noise else 0
        return reading

    def read(self, call: ToolCall) -> Steps[Reading]:
        """Retry a transient failure; leave the route at a persistent one, or when a block is proven."""
        reading = yield from self.ask(call)
        while reading.noise in TRANSIENT and not self.proven(call.name):
            reading = yield from self.ask(call)
        return reading

    def routes(self, fetch: Fetch, facts: Memory) -> Iterator[tuple[int, Route]]:
        """Try the most promising route until one answers or all are proven blocked: then abstain."""
        left = list(enumerate(fetch.routes))
        answered = not left
        while left := [(place, route) for place, route in left if not self.blocked(route, facts)]:
            place, route = min(left, key=lambda one: self.risk(fetch.fact, *one))
            yield place, route
            if not missing(route, facts):
                answered = True
                left.remove((place, route))
        if not answered:
            raise Escalate(f"every way to learn {fetch.fact} is blocked")

    def ways(self, act: Act) -> list[tuple[Act, ...]]:
        """Leave a way out once one of its tools is proven blocked, if another is left."""
        ways = self.all_ways(act)
        return [way for way in ways if not any(self.proven(part.call.name) for part in way)] or ways

    def write(self, act: Act) -> Steps[bool]:
        """After a failure look whether the write has happened; repeat it only if it has not."""
        if act.call.signature() in self.refusals:
            return False
        lost = False
        while not self.proven(act.call.name):
            reading = yield from self.ask(act.call)
            self.note(act, reading)
            if not reading.noise and not (lost and reading.genuine):
                return not reading.genuine
            happened = yield from self.happened(act)
            if happened or not reading.noise:
                # Refused after a lost answer: it had been done, unless a second look denies it again.
                return happened is not False
            lost = True
        raise Escalate(f"{act.call.name} is blocked")

    def unstick(self, used: Sequence[str]) -> bool:
        """Read again what looks wrong, or else everything that was used."""
        return self.uneasy(used) or self.again(used)

    def uneasy(self, used: Sequence[str]) -> bool:
        """Read again what looks wrong by the domain's own redundancies."""
        return self.again([fact for fact in used if self.doubtful(fact)])

    def refused(self, act: Act) -> bool:
        """Read again, once a write, what led to it: a refusal contradicts it."""
        signature = act.call.signature()
        first = signature not in self.refusals
        self.refusals.add(signature)
        return first and self.again(act.used)

    def again(self, facts: Sequence[str]) -> bool:
        """Forget facts to read them three times more the same way, then once by each other route."""
        forgotten = False
        for fact in facts:
            source = self.sources.get(fact)
            if source is None:
                continue
            if self.reads[fact] < ATTEMPTS:
                self.reads[fact] += 1
            elif self.elsewhere(fact, source):
                self.tainted[fact].add(source.route or 0)
            else:
                continue
            self.forget(fact)
            forgotten = True
        return forgotten

    def elsewhere(self, fact: str, source: Source) -> bool:
        """Whether a fact has a route that is open and not yet found wanting."""
        used = self.tainted[fact] | {source.route}
        return source.route is not None and any(
            place not in used and not self.blocked(route, self.facts)
            for place, route in enumerate(source.fetch.routes)
        )

    def proven(self, tool: str) -> bool:
        """Whether a tool is proven blocked."""
        return self.streak[tool] >= ATTEMPTS

    def blocked(self, route: Route, facts: Memory) -> bool:
        """Whether a route still needs a tool that is proven blocked."""
        return any(self.proven(part.call.name) for part in missing(route, facts))

    def risk(self, fact: str, place: int, route: Route) -> tuple[bool, int, bool, int]:
        """Rank a route: tainted ones last, then those whose tools have just failed (so that it was left)."""
        streak = max((self.streak[part.call.name] for part in route.parts), default=0)
        return place in self.tainted[fact], streak, self.avoiding.get(fact) == place, place


class Omniscient(Walk):
    """Never calls a blocked tool and never believes an injected response: the environment's ceiling.

    Raises:
        SpecError: the briefing has no oracle.
    """

    def __init__(self, briefing: Briefing) -> None:
        super().__init__(briefing)
        if briefing.oracle is None:
            raise SpecError(
                "expected an oracle, got oracle=None; the omniscient policy cannot play without one"
            )
        self.oracle = briefing.oracle

    def read(self, call: ToolCall) -> Steps[Reading]:
        """Call until the response is the tool's own."""
        for _ in range(PATIENCE):
            reading = yield from ask(call)
            if not self.oracle.last().injected:
                return reading
        raise Escalate(f"{call.name} never answers undisturbed")

    def routes(self, fetch: Fetch, facts: Memory) -> Iterator[tuple[int, Route]]:
        """Leave out the blocked routes; escalate if that leaves none."""
        is_open = [
            (place, route)
            for place, route in enumerate(fetch.routes)
            if self.oracle.blocked.isdisjoint(part.call.name for part in route.parts)
        ]
        if fetch.routes and not is_open:
            raise Escalate(f"every way to learn {fetch.fact} is blocked")
        yield from is_open

    def ways(self, act: Act) -> list[tuple[Act, ...]]:
        """Leave out the ways that are blocked."""
        ways = self.all_ways(act)
        return [way for way in ways if self.oracle.blocked.isdisjoint(part.call.name for part in way)]

    def write(self, act: Act) -> Steps[bool]:
        """Call until the tool has run; what it answered is known, delivered or not."""
        for _ in range(PATIENCE):
            yield from ask(act.call)
            true = self.oracle.last().true
            if true is not None:
                self.note(act, read(true))
                return not true.error
        raise Escalate(f"{act.call.name} is never carried out")


@dataclass(slots=True)
class Reference:
    """A reference policy as an agent (`core.ports.Agent`)."""

    name: str
    walk: type[Walk]
    omniscient: bool = False

    def play(self, briefing: Briefing) -> Play:
        """Play one episode from the briefing's plan; raises SpecError when the briefing lacks what it needs."""
        return self.walk(briefing).play()


@dataclass(slots=True)
class Informed:
    """A reference policy that is told what holds for every episode of a run, as an agent."""

    name: str
    walk: Callable[[Briefing, Knowledge], Walk]
    knowledge: Knowledge | None = None
    omniscient: bool = False

    def play(self, briefing: Briefing) -> Play:
        """Play one episode from the briefing's plan; raises SpecError without a plan or without knowledge."""
        if self.knowledge is None:
            raise SpecError(
                f"expected what agent={self.name!r} is told, got knowledge=None; give it to agents.create"
            )
        return self.walk(briefing, self.knowledge).play()


REFERENCES = (
    Reference("naive", Naive),
    Reference("retry", Retry),
    Reference("switch", Switch),
    Reference("strategic", Strategic),
    Reference("omniscient", Omniscient, omniscient=True),
)
"""From the weakest to the ceiling."""
