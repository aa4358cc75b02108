"""The scenario filter: what is blocked, given what the tools have answered so far (DESIGN 4.14a).

Exact under a known profile, limits and mix. Hidden are the scenario (with class and side), how much of the
budget is used and how many injections in a row each tool has seen; an explicit failure shows in all of
them, a silent corruption in none. The filter is the forward recursion over all of it together:

    p(h, b, r | history)      h scenario, b budget used, r injections in a row by tool

Scenarios that block the same of the tools called so far explain a history equally well, so they share one
distribution over (b, r): a *branch*. A branch in which a called tool is blocked knows nothing of b and r
from that tool (blocking is outside the limits) and dies when the tool answers, or with another text.
See docs/design/scenario-filter.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import fsum
from typing import NamedTuple

from bench2robust.core.episode import Assignment, Scenario
from bench2robust.core.tools import ToolResponse, ToolSpec

from .kernel import Answer, Failure, Kernel
from .knowledge import Knowledge

State = tuple[int, ...]
"""Budget used, then injections in a row of each tool met, in the order in which they were met."""


class Outlook(NamedTuple):
    """What the next call of a tool may come to."""

    blocked: float
    """Probability that the tool is blocked."""
    fails: float
    """Probability of an explicit failure, if it is not."""
    corrupts: float
    """Probability that an answer, if one comes, is silently corrupted. What can land is known only once the
    answer is there: this takes every draw to land."""

    @property
    def answers(self) -> float:
        """Probability that an answer comes, right or wrong."""
        return (1.0 - self.blocked) * (1.0 - self.fails)


class _Branch:
    """What the scenarios share that block the same of the tools met so far, under one profile."""

    __slots__ = ("blocked", "scenarios", "states")

    def __init__(
        self, blocked: frozenset[str], scenarios: Mapping[Assignment, float], states: Mapping[State, float]
    ) -> None:
        self.blocked = blocked
        """Tools met that are blocked here."""
        self.scenarios = scenarios
        """The scenarios, weighed against each other by their prior."""
        self.states = states
        """Joint weights: the likelihood of the history together with a state."""

    @property
    def prior(self) -> float:
        """Prior weight of the scenarios together."""
        return fsum(self.scenarios.values())

    @property
    def weight(self) -> float:
        """Joint weight of scenarios and history."""
        return self.prior * fsum(self.states.values())

    def met(self, tool: str) -> Iterable[_Branch]:
        """Split by whether a tool met for the first time is blocked."""
        states = {(*state, 0): p for state, p in self.states.items()}
        hit = {where: p for where, p in self.scenarios.items() if tool in where.blocked}
        if len(hit) < len(self.scenarios):
            rest = {where: p for where, p in self.scenarios.items() if tool not in where.blocked}
            yield _Branch(self.blocked, rest, states)
        if hit:
            yield _Branch(self.blocked | {tool}, hit, states)


class _World:
    """The branches under one kernel."""

    def __init__(self, kernel: Kernel, prior: Mapping[Assignment, float]) -> None:
        self.kernel = kernel
        limits = kernel.limits
        self.budget = limits.budget
        self.in_a_row = limits.max_consecutive
        self.branches = [_Branch(frozenset(), prior, {(0,): 1.0})]

    def open(self, state: State, place: int) -> bool:
        """Whether the limits leave room for a fault on the tool at a place of the state."""
        return (self.budget is None or state[0] < self.budget) and (
            self.in_a_row is None or state[place] < self.in_a_row
        )

    def hit(self, state: State, place: int) -> State:
        """Return the state after a fault; what is without limit is not counted."""
        used = state[0] if self.budget is None else state[0] + 1
        if self.in_a_row is None:
            return (used, *state[1:])
        return (used, *state[1:place], state[place] + 1, *state[place + 1 :])

    def failed(self, branch: _Branch, place: int, failure: Failure) -> dict[State, float]:
        """Return the states after a failure of a tool that is not blocked: the limits had room for it."""
        return {
            self.hit(state, place): p * failure.noise
            for state, p in branch.states.items()
            if failure.noise and self.open(state, place)
        }

    def answered(self, branch: _Branch, place: int, answer: Answer) -> dict[State, float]:
        """Return the states after an answer: clean, withheld, or silently corrupted."""
        after: defaultdict[State, float] = defaultdict(float)
        for state, p in branch.states.items():
            calm = (*state[:place], 0, *state[place + 1 :])
            if not self.open(state, place):
                after[calm] += p
                continue
            after[calm] += p * answer.clean
            if answer.silent:
                after[self.hit(state, place)] += p * answer.silent
        return after

    def room(self, branch: _Branch, place: int | None) -> float:
        """Return the share of a branch's weight in which the limits leave room for a fault on a tool."""
        total = fsum(branch.states.values())
        if place is None:
            # A tool not met yet has seen nothing in a row.
            left = fsum(
                p for state, p in branch.states.items() if self.budget is None or state[0] < self.budget
            )
        else:
            left = fsum(p for state, p in branch.states.items() if self.open(state, place))
        return left / total


class ScenarioFilter:
    """The posterior over scenarios in one episode.

    Args:
        knowledge: profile, limits, mix, population; what is not known is averaged over.
        tools: the tools on offer. Calls of other names show nothing.

    An answer that cannot be under what is known (a profile that is not the run's) leaves the posterior as it
    was and counts in `surprises`.
    """

    def __init__(self, knowledge: Knowledge, tools: Iterable[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._worlds = [_World(kernel, knowledge.prior) for kernel in knowledge.kernels]
        self._places: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        """Tool to the text of its first failure."""
        self.surprises = 0
        """Answers that could not be."""

    def observe(self, tool: str, response: ToolResponse) -> float:
        """Take in what a call of a tool has delivered.

        Returns:
            The probability that the response is a silent corruption, given everything up to it.
        """
        spec = self._tools.get(tool)
        kernels = [world.kernel.of(spec) for world in self._worlds] if spec is not None else []
        seen = [kernel.weigh(response) for kernel in kernels if kernel is not None]
        if not seen:
            return 0.0
        self._meet(tool)
        first = self._texts.get(tool)
        steps = [
            _step(world, one, tool, _Met(self._places[tool], first))
            for world, one in zip(self._worlds, seen, strict=True)
        ]
        total = fsum(branch.weight for branches, _ in steps for branch in branches)
        if total <= 0.0:
            self.surprises += 1
            return 0.0
        for world, (branches, _) in zip(self._worlds, steps, strict=True):
            world.branches = branches
            for branch in branches:
                branch.states = {state: p / total for state, p in branch.states.items()}
        if isinstance(seen[0], Failure):
            self._texts.setdefault(tool, seen[0].text)
        return fsum(silent for _, silent in steps) / total

    def posterior(self) -> dict[Assignment, float]:
        """Return the probability of each scenario, class and side; they sum to 1."""
        joint: defaultdict[Assignment, float] = defaultdict(float)
        for world in self._worlds:
            for branch in world.branches:
                seen = fsum(branch.states.values())
                for where, p in branch.scenarios.items():
                    joint[where] += p * seen
        total = fsum(joint.values())
        return {where: p / total for where, p in joint.items()}

    def scenario(self, scenario: Scenario) -> float:
        """Return the probability of a scenario."""
        return fsum(p for where, p in self.posterior().items() if where.effective is scenario)

    def blocked(self, *tools: str) -> float:
        """Return the probability that at least one of the tools is blocked: for one tool, P(blocked)."""
        return fsum(p for where, p in self.posterior().items() if not where.blocked.isdisjoint(tools))

    def outlook(self, tool: str) -> Outlook:
        """Return what the next call of a tool may come to."""
        spec = self._tools.get(tool)
        place = self._places.get(tool)
        total = working = failing = corrupting = 0.0
        for world in self._worlds:
            kernel = world.kernel.of(spec) if spec is not None else None
            if kernel is None:
                return Outlook(0.0, 0.0, 0.0)
            for branch in world.branches:
                seen = fsum(branch.states.values())
                works = seen * fsum(p for where, p in branch.scenarios.items() if tool not in where.blocked)
                total += seen * branch.prior
                if works:
                    works_in_room = works * world.room(branch, place)
                    working += works
                    failing += works_in_room * kernel.failing
                    corrupting += works_in_room * kernel.corrupting
        answered = working - failing
        return Outlook(
            blocked=1.0 - working / total,
            fails=failing / working if working else 1.0,
            corrupts=corrupting / answered if answered > 0 else 0.0,
        )

    def _meet(self, tool: str) -> None:
        if tool in self._places:
            return
        self._places[tool] = 1 + len(self._places)
        for world in self._worlds:
            world.branches = [part for branch in world.branches for part in branch.met(tool)]


class _Met(NamedTuple):
    """What the filter has noted of a tool that was called."""

    place: int
    """Its place in a state."""
    text: str | None
    """Its first failure's text, which a blocked tool repeats."""


def _step(world: _World, seen: Failure | Answer, tool: str, met: _Met) -> tuple[list[_Branch], float]:
    """Return a world's branches after one response, and the joint weight of a silent corruption."""
    left, silent = [], 0.0
    for branch in world.branches:
        if tool in branch.blocked:
            if isinstance(seen, Answer) or met.text not in (None, seen.text):
                continue
            again = seen.block if met.text is None else 1.0
            states = {state: p * again for state, p in branch.states.items()} if again else {}
        elif isinstance(seen, Failure):
            states = world.failed(branch, met.place, seen)
        else:
            states = world.answered(branch, met.place, seen)
            silent += branch.weight * world.room(branch, met.place) * seen.silent
        if states:
            left.append(_Branch(branch.blocked, branch.scenarios, states))
    return left, silent
