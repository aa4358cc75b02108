"""The policy that knows what may come: it retries, switches or abstains by expected reward.

It keeps the scenario filter (`memory.filter`) and looks ahead over the ways to the fact at hand
(`lookahead`). A write whose answer was lost is believed done unless what the filter and a look at the
record say together makes that unlikely.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from bench2robust.core.episode import Scenario
from bench2robust.core.noise import NoiseType
from bench2robust.core.plan import Act, Fetch, Part, Route
from bench2robust.core.ports import Briefing
from bench2robust.core.reading import Reading, read
from bench2robust.core.tools import ToolCall, ToolResponse
from bench2robust.injection import Effects
from bench2robust.memory.filter import ScenarioFilter
from bench2robust.memory.knowledge import Knowledge

from .lookahead import Odds, Prospect, Try, choose
from .reference import Strategic
from .steps import Steps
from .walk import Escalate, Memory, missing
from .worth import Worth

_ENDLESS: Final = 10**6
_REJECTED: Final = frozenset({NoiseType.RATE_LIMIT, NoiseType.AUTH_ERROR, NoiseType.SCHEMA_DRIFT})
"""Failures that keep a call from happening, where faults do (`Effects.REQUEST`)."""
_REFUSED: Final = 0.03
"""Chance that a write whose answer was lost had been refused by its tool: few are, and each is a surprise."""
_SURE: Final = 0.9
_MOST_IN_A_ROW: Final = 10
"""Failures in a row after which a tool is given up, whatever the filter says: its limits may be unknown."""
_GONE: Final = 0.5
"""From this probability of a block on, a way is not taken as long as there is another."""


class Bayes(Strategic):
    """Weighs every move by expected reward, under what it is told of the run."""

    worth = Worth()

    def __init__(self, briefing: Briefing, knowledge: Knowledge) -> None:
        super().__init__(briefing)
        self.knowledge = knowledge
        self.filter = ScenarioFilter(knowledge, briefing.tools)
        self.steps = 0
        self.made: Counter[str] = Counter()
        """Identical calls."""
        self.suspicion = 0.0
        """Highest probability of a silent corruption among the answers since this was last set to 0."""
        self.corrupted: defaultdict[str, float] = defaultdict(float)
        """Call to the probability that its last answer was silently corrupted."""
        self.broken: set[str] = set()
        """Tools that fail as they could not under what the policy was told, or without end."""

    # ── what it sees ─────────────────────────────────────────────────────────────────────────────
    def ask(self, call: ToolCall) -> Steps[Reading]:
        """Make a call, count it, and let the filter know."""
        self.steps += 1
        self.made[call.signature()] += 1
        response = yield call
        assert isinstance(response, ToolResponse)
        surprises = self.filter.surprises
        silent = self.filter.observe(call.name, response)
        self.suspicion = max(self.suspicion, silent)
        self.corrupted[call.signature()] = silent
        reading = read(response)
        self.streak[call.name] = self.streak[call.name] + 1 if reading.noise else 0
        if reading.noise and (self.filter.surprises > surprises or self.streak[call.name] >= _MOST_IN_A_ROW):
            self.broken.add(call.name)
        return reading

    def tell(self, text: str) -> Steps[ToolResponse | str]:
        """Say something, which is a step too."""
        self.steps += 1
        return (yield from super().tell(text))

    def proven(self, tool: str) -> bool:
        """Whether a tool is as good as proven blocked, or fails in a way that nothing explains."""
        return tool in self.broken or self.filter.blocked(tool) > 1.0 - 1e-9

    # ── reads ────────────────────────────────────────────────────────────────────────────────────
    def read(self, call: ToolCall) -> Steps[Reading]:
        """Make a call once: whether it is made again is weighed against the other routes."""
        return (yield from self.ask(call))

    def routes(self, fetch: Fetch, facts: Memory) -> Iterator[tuple[int, Route]]:
        """Give the route worth most until one answers, or abstaining is worth more."""
        left = list(enumerate(fetch.routes))
        answered = not left
        while left := [(place, route) for place, route in left if not self.blocked(route, facts)]:
            best = self.best(fetch, [route for _, route in self.untainted(fetch, left)], facts)
            if best is None:
                break
            place, route = self.untainted(fetch, left)[best]
            yield place, route
            if not missing(route, facts):
                answered = True
                left.remove((place, route))
        if not answered:
            raise Escalate(f"every way to learn {fetch.fact} is blocked, as far as can be told")

    def untainted(self, fetch: Fetch, left: Sequence[tuple[int, Route]]) -> list[tuple[int, Route]]:
        """Leave out the routes whose answers would not do, or are not wanted, unless no other is open."""
        good = [one for one in left if one[0] not in self.tainted[fetch.fact]]
        wanted = [one for one in good if one[0] != self.avoiding.get(fetch.fact)]
        if len(wanted) < len(good) and any(self.chance(route) > _GONE for _, route in wanted):
            return wanted
        return good if any(self.chance(route) > 0 for _, route in good) else list(left)

    def chance(self, route: Route) -> float:
        """Return the probability that no tool of a route is blocked."""
        names = [part.call.name for part in route.parts]
        return 0.0 if self.broken.intersection(names) else 1.0 - self.filter.blocked(*names)

    def best(self, fetch: Fetch, routes: Sequence[Route], facts: Memory) -> int | None:
        """Return the place of the route worth most, None when abstaining is worth more."""
        parts = [missing(route, facts) for route in routes]
        for place, to_do in enumerate(parts):
            if not to_do:
                return place
        return choose(self.prospect(parts))

    def prospect(self, ways: Sequence[Sequence[Part]]) -> Prospect:
        """Return how things stand for the ways to a fact."""
        tools = [tuple(dict.fromkeys(part.call.name for part in parts)) for parts in ways]
        weights: defaultdict[tuple[frozenset[tuple[int, int]], bool], float] = defaultdict(float)
        for where, p in self.filter.posterior().items():
            hit = frozenset(
                (option, place)
                for option, names in enumerate(tools)
                for place, name in enumerate(names)
                if name in where.blocked
            )
            # Handing over is right only where this very fact cannot be had: S3 elsewhere has yet to show.
            shut = len({option for option, _ in hit}) == len(ways)
            weights[hit, shut and where.effective is Scenario.S3] += p
        odds = (Odds(round(p, 9), hit, impossible) for (hit, impossible), p in weights.items())
        return Prospect(
            tuple(
                tuple(self.attempt([part.call for part in parts if part.call.name == name]) for name in names)
                for names, parts in zip(tools, ways, strict=True)
            ),
            tuple(sorted((one for one in odds if one.weight > 0), key=_order)),
            self.steps + self.ahead(),
            max(self.made.values(), default=0),
            self.worth,
        )

    def attempt(self, calls: Sequence[ToolCall]) -> Try:
        """Return what calls of one tool may come to."""
        tool = calls[0].name
        limit = self.knowledge.kernels[0].limits.max_consecutive
        left = _ENDLESS if limit is None else max(0, limit - self.streak[tool])
        fails = round(self.filter.outlook(tool).fails, 9)
        return Try(fails, left, self.made[calls[0].signature()], len(calls))

    def ahead(self) -> int:
        """Return how many steps are sure to come: an act and a word at least."""
        return 2

    # ── writes ───────────────────────────────────────────────────────────────────────────────────
    def ways(self, act: Act) -> list[tuple[Act, ...]]:
        """Put the ways first whose tools are likely to be there."""
        ways = self.all_ways(act)
        return sorted(ways, key=lambda way: self.filter.blocked(*(part.call.name for part in way)) > _GONE)

    def write(self, act: Act) -> Steps[bool]:
        """After a failure believe what is likely; look where it is not, and repeat only what has not happened."""
        if act.call.signature() in self.refusals:
            return False
        tool, done, lost = act.call.name, 0.0, False
        while not self.hopeless(tool):
            reading = yield from self.ask(act.call)
            self.note(act, reading)
            if not reading.noise and not (lost and reading.genuine):
                return not reading.genuine
            if reading.noise:
                lost = True
                done = max(done, self.went_through(tool, reading.noise))
            else:
                # Refused after a lost answer: it had been done, unless the record denies it.
                return (yield from self.look(act, _GONE)) >= _GONE
            done = yield from self.look(act, done)
            if done >= _GONE:
                return True
        raise Escalate(f"{tool} is blocked")

    def hopeless(self, tool: str) -> bool:
        """Whether handing over is worth more than calling a tool that a write cannot do without."""
        outlook = self.filter.outlook(tool)
        return (
            tool in self.broken
            or outlook.answers <= 0.0
            or outlook.blocked
            > max(1.0 - outlook.answers, self.filter.scenario(Scenario.S3) * self.worth.abstaining, _SURE)
        )

    def went_through(self, tool: str, noise: NoiseType) -> float:
        """Return the probability that a write whose answer was lost has happened."""
        spec = self.knowledge.injection
        if spec is not None and spec.effects is Effects.REQUEST and noise in _REJECTED:
            return 0.0
        known = 1.0 if spec is not None else 0.5
        return (1.0 - self.filter.blocked(tool)) * (1.0 - _REFUSED) * known

    def look(self, act: Act, done: float) -> Steps[float]:
        """Look at the record until it is clear whether a write has happened; returns how likely it is."""
        for _ in range(2):
            if done > _SURE or act.verify is None:
                break
            self.suspicion = 0.0
            happened = yield from self.happened(act)
            if happened is None:
                break
            if happened:
                return 1.0
            # A record that shows it cannot be made up; one that does not may be corrupted.
            wrong = max(self.suspicion, 1e-3)
            done = done * wrong / (done * wrong + 1.0 - done) if done < 1.0 else 1.0
        return done


def _order(odds: Odds) -> tuple[float, list[tuple[int, int]]]:
    return -odds.weight, sorted(odds.blocked)
