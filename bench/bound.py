"""How far the policies are from the best possible on helpdesk: a dynamic program under the true profile and limits.

The program plays a *relaxed* episode, in which everything is at least as easy as in the real one, for its
agent's expected reward (Eq. 2 without its partial term; in S3 a handover counts what a pass would have):

- the agent knows which facts the true solution needs, in the order of the compiled plan, and which scenarios
  its own task may draw, with their probabilities; the real agent finds out;
- a silent corruption never misleads and is seen at once (it still uses the budget);
- a write whose answer is lost is seen to have happened, and one that is blocked is seen to be;
- where it depends on the scenario whether the budget is spent, the agent is told the scenario;
- all that has to be told is told in one step, and nobody says goodbye.

What is blocked stays hidden but for what the answers show, exactly as in the filter: the state holds, for
each tool, whether it has answered, or how often it has failed with one text that a block may show.

So the value bounds the expected reward of every agent that reads the facts it decides by, in the plan's order
(all reference policies do). It does not bound an agent that guesses a fact, or an id, without any answer.
Of the pass rate no such program is needed: with 100 steps an agent can read everything until the budget of
noise is spent, so the best possible is the share of episodes that are not S3.

    python -m bench.bound            # first 40 tasks, five seeds for the policies; about ten minutes
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bench2robust.agents.worth import efficiency, repetition
from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark
from bench2robust.core.episode import Assignment, Mode, Scenario, Task
from bench2robust.core.noise import OBSERVABLE
from bench2robust.core.plan import Act, Ask, Handover, Need, Say
from bench2robust.core.reading import read
from bench2robust.core.tools import ToolCall, ToolResponse
from bench2robust.evaluation.certificate import eligibility
from bench2robust.evaluation.episode import domain_of
from bench2robust.injection import InjectionSpec, Mix, ScenarioSpec
from bench2robust.injection.texts import BLOCK_TYPES, field_names, variants
from bench2robust.memory.kernel import Answer, Kernel
from bench2robust.memory.prior import law

from .recovery import AGENTS, MIXES, play

BENCHMARK = HelpdeskBenchmark()
DOMAIN = domain_of(BENCHMARK)
SPECS = {tool.name: tool for tool in BENCHMARK.tools(alternatives=True)}
SPEC = InjectionSpec()
KERNEL = Kernel(SPEC.profile, SPEC.limits, DOMAIN)
BUDGET, IN_A_ROW = SPEC.limits.budget, SPEC.limits.max_consecutive
THETA = SPEC.profile.default
BLOCK_SHARE = {t: THETA[t] / sum(THETA[t] for t in BLOCK_TYPES) for t in BLOCK_TYPES}
TEXTS = {
    (name, t): len(variants(t, field_names(spec, DOMAIN.fields.get(name))))
    for name, spec in SPECS.items()
    for t in BLOCK_TYPES
}
MOST_WORTH = 3
"""One identical call more than this and the reward is 0."""
FAILING = sum(THETA[t] for t in OBSERVABLE)
Group = tuple[frozenset[str], bool, float]
"""Tools of the course that are blocked, whether nothing can work, prior probability."""
Odds = list[tuple[Group, float]]
OPEN = "open"
"""Status of a tool that has answered, or failed as no blocked one does."""


class Read(NamedTuple):
    """One call that answers a part of a fact."""

    part: str
    tool: str
    silent: float
    """Probability of a draw that lands as a silent corruption."""


@dataclass
class Course:
    """What the true solution of a task takes, in order."""

    facts: list[tuple[tuple[Read, ...], ...]] = field(default_factory=list)
    """Each fact or write: its routes, as calls."""
    writes: list[str | None] = field(default_factory=list)
    """The writing tool, where it is a write."""
    free_steps: int = 0
    """Steps that are not calls, and the handover."""


def course(task: Task, *, alternatives: bool) -> Course:
    """Follow the compiled plan with true answers."""
    environment, found, facts, told = BENCHMARK.open(task, alternatives=alternatives), Course(), {}, False
    names = {tool.name for tool in BENCHMARK.tools(alternatives=alternatives)}
    for goal in BENCHMARK.plan(task).goals:
        done = 0
        while True:
            match goal.decide(facts, done):
                case Need(fetch):
                    routes = [r for r in fetch.routes if all(p.call.name in names for p in r.parts)]
                    reads = []
                    for route in routes:
                        answers = [environment.call(part.call) for part in route.parts]
                        for part, answer in zip(route.parts, answers, strict=True):
                            facts.setdefault(part.fact, read(answer).value)
                        reads.append(
                            tuple(_read(p.fact, p.call, a) for p, a in zip(route.parts, answers, strict=True))
                        )
                    values = [facts[part.fact] for part in routes[0].parts]
                    facts[fetch.fact] = routes[0].build(values)
                    found.facts.append(tuple(reads))
                    found.writes.append(None)
                case Ask(fact):
                    facts[fact] = task.script.answers[0].text
                    found.free_steps += 1
                case Act(call):
                    answer = environment.call(call)
                    found.facts.append(((_read(f"write {len(found.facts)}", call, answer),),))
                    found.writes.append(call.name)
                    done += 1
                case Say():
                    told = True
                    done += 1
                case Handover():
                    found.free_steps += 1
                    break
                case _:
                    break
    found.free_steps += told
    return found


def _read(part: str, call: ToolCall, answer: ToolResponse) -> Read:
    kernel = KERNEL.of(SPECS[call.name])
    weighed = kernel.weigh(answer)
    assert isinstance(weighed, Answer)
    return Read(part, call.name, weighed.silent)


class State(NamedTuple):
    """Where the relaxed episode stands."""

    item: int
    alive: frozenset[int]
    """Groups of scenarios that are still possible."""
    known: frozenset[str]
    """Parts answered, as far as they are needed again."""
    tools: tuple[tuple[str, object, int], ...]
    """Tool, status, injections in a row, where they matter: `OPEN`, or (text type, failures with that text)."""
    used: int
    """Budget used by what was surely noise; failures that may be a block count once they are not."""
    calls: int
    most: int
    again: tuple[tuple[str, int], ...]
    """Failed calls of parts not answered yet."""


class Program:
    """The dynamic program of one task."""

    def __init__(self, it: Course, prior: Sequence[tuple[Assignment, float]]) -> None:
        self.it, self.values = it, {}
        tools = {r.tool for routes in it.facts for route in routes for r in route}
        groups: dict[tuple[frozenset[str], bool], float] = {}
        for where, p in prior:
            key = where.blocked & tools, where.effective is Scenario.S3
            groups[key] = groups.get(key, 0.0) + p
        self.groups: list[Group] = [(blocked, s3, p) for (blocked, s3), p in groups.items() if p > 0]

        self.tools = [frozenset(r.tool for route in it.facts[i] for r in route) for i in range(len(it.facts))]
        self.parts = [frozenset(r.part for route in it.facts[i] for r in route) for i in range(len(it.facts))]
        for later in (self.tools, self.parts):
            later.append(frozenset())
            for i in range(len(it.facts) - 1, -1, -1):
                later[i] |= later[i + 1]
        # From here on, by item: tools and parts that the rest of the course may use.

    def best(self) -> float:
        """Return the highest expected reward."""
        everything = frozenset(range(len(self.groups)))
        return self.value(State(0, everything, frozenset(), (), 0, 0, 0, ()))

    def tidy(self, s: State) -> State:
        """Forget what no longer matters, so that states that go on alike are one."""
        alive = frozenset(g for g, w in self.weights(s) if w > 0)
        used, tools = s.used, []
        for tool, status, row in s.tools:
            blocking = sum(tool in self.groups[g][0] for g in alive)
            if status != OPEN and not blocking:
                used, status, row = used + status[1], OPEN, status[1]
            if status == OPEN:
                if row and tool in self.tools[s.item]:
                    tools.append((tool, OPEN, row))
            elif blocking < len(alive):
                tools.append((tool, status, row))
        return s._replace(
            alive=alive,
            used=min(used, BUDGET),
            tools=tuple(tools),
            known=s.known & self.parts[s.item],
            again=tuple(entry for entry in s.again if entry[0] in self.parts[s.item]),
        )

    def weights(self, s: State) -> list[tuple[int, float]]:
        """Return the joint weight of each group of scenarios with what the tools have shown."""
        out = []
        for g in s.alive:
            blocked, _, p = self.groups[g]
            for tool, status, _ in s.tools:
                if status == OPEN:
                    p *= tool not in blocked
                    continue
                kind, n = status
                if tool in blocked:
                    p *= BLOCK_SHARE[kind] / TEXTS[tool, kind]
                elif n > IN_A_ROW or self.spent(s, blocked) > BUDGET:
                    p = 0.0  # no noise: the limits forbid it
                else:
                    p *= (THETA[kind] / TEXTS[tool, kind]) ** n
            out.append((g, p))
        return out

    def spent(self, s: State, blocked: frozenset[str]) -> int:
        """Return the budget used, if these tools are blocked."""
        pending = sum(status[1] for tool, status, _ in s.tools if status != OPEN and tool not in blocked)
        return s.used + pending

    def reward(self, s: State, more: int = 0) -> float:
        """Return what a pass is worth now, after some more steps."""
        return efficiency(s.calls + self.it.free_steps + more) * repetition(s.most)

    def value(self, s: State) -> float:
        """Return the expected reward of the best way on."""
        if s.most > MOST_WORTH:
            return 0.0
        s = self.tidy(s)
        if s not in self.values:
            weights = self.weights(s)
            total = sum(w for _, w in weights)
            self.values[s] = self.best_of(s, [(self.groups[g], w / total) for g, w in weights])
        return self.values[s]

    def best_of(self, s: State, odds: Odds) -> float:
        """Return the value of a state that is met for the first time."""
        s3 = sum(w for (_, impossible, _), w in odds if impossible)
        best = s3 * self.reward(s, 1)
        if s.item == len(self.it.facts):
            return max(best, (1.0 - s3) * self.reward(s))
        options = {}
        for route in self.it.facts[s.item]:
            left = [r for r in route if r.part not in s.known]
            if not left:
                return max(best, self.value(s._replace(item=s.item + 1)))
            options[left[0].part] = left[0]
        open_ = [r for r in options.values() if any(w > 0 and r.tool not in g[0] for g, w in odds)]
        move = self.call if self.it.writes[s.item] is None else self.write
        return max(best, *(move(s, odds, r) for r in open_), 0.0)

    def write(self, s: State, odds: Odds, r: Read) -> float:
        """Return the expected reward of a write: it happens, unless it is blocked, and then that is seen."""
        rooms = {self.room(s, g[0], r) for g, w in odds if w > 0 and r.tool not in g[0]}
        if len(rooms) > 1:
            return self.told(s, odds)
        after = s._replace(item=s.item + 1, calls=s.calls + 1, most=max(s.most, 1))
        works = sum(w for g, w in odds if r.tool not in g[0])
        noisy = FAILING + r.silent if rooms == {True} else 0.0
        _, row = _status(s, r.tool)
        value = (1.0 - works) * self.reward(after, 1)
        value += works * (1.0 - noisy) * self.value(_with(after, r.tool, OPEN, 0))
        if noisy:
            hit = _with(after._replace(used=s.used + 1), r.tool, OPEN, row + 1)
            value += works * noisy * self.value(hit)
        return value

    def call(self, s: State, odds: Odds, r: Read) -> float:
        """Return the expected reward of making a call now."""
        if len({self.room(s, g[0], r) for g, w in odds if w > 0 and r.tool not in g[0]}) > 1:
            return self.told(s, odds)
        outcomes: dict[State, float] = {}
        for group, w in odds:
            for state, p in self.outcomes(s, odds, r, group[0]):
                if w * p > 0:
                    outcomes[state] = outcomes.get(state, 0.0) + w * p
        return sum(p * self.value(state) for state, p in outcomes.items())

    def told(self, s: State, odds: Odds) -> float:
        """Return the value for an agent that is told the scenario: more than one that is not can have.

        Where the scenarios differ in whether the budget is spent, an answer would tell them apart a little,
        which the state does not hold.
        """
        groups = {g: i for i, g in enumerate(self.groups)}
        return sum(w * self.value(s._replace(alive=frozenset({groups[g]}))) for g, w in odds if w > 0)

    def room(self, s: State, blocked: frozenset[str], r: Read) -> bool:
        """Return whether the limits leave room for noise on a call, if these tools are blocked."""
        status, row = _status(s, r.tool)
        return self.spent(s, blocked) < BUDGET and row + _pending(status) < IN_A_ROW

    def outcomes(
        self, s: State, odds: Odds, r: Read, blocked: frozenset[str]
    ) -> Iterator[tuple[State, float]]:
        """Give what a call may lead to if these tools are blocked."""
        status, row = _status(s, r.tool)
        if status is None and not any(r.tool in g[0] for g, _ in odds):
            status = OPEN
        pending = _pending(status)
        made = dict(s.again).get(r.part, 0) + 1
        base = s._replace(calls=s.calls + 1, most=max(s.most, made))
        failed = base._replace(again=tuple(sorted({**dict(s.again), r.part: made}.items())))
        if r.tool in blocked:
            if pending:
                yield _with(failed, r.tool, (status[0], min(pending + 1, IN_A_ROW + 1)), 0), 1.0
            else:
                for kind, share in BLOCK_SHARE.items():
                    yield _with(failed, r.tool, (kind, 1), 0), share
            return
        # Not blocked: what was pending on this tool was noise.
        again = tuple((part, n) for part, n in s.again if part != r.part)
        answered = base._replace(known=s.known | {r.part}, again=again, used=s.used + pending)
        if not self.room(s, blocked, r):
            yield _with(answered, r.tool, OPEN, 0), 1.0
            return
        hit = s.used + pending + 1
        yield _with(answered, r.tool, OPEN, 0), 1.0 - FAILING - r.silent
        yield _with(answered._replace(used=hit), r.tool, OPEN, row + pending + 1), r.silent
        spoiled = _with(failed._replace(used=hit), r.tool, OPEN, row + pending + 1)
        for kind in OBSERVABLE:
            same = 0.0
            if kind in BLOCK_TYPES and status != OPEN and (not pending or kind == status[0]):
                same = 1.0 / TEXTS[r.tool, kind] if pending else 1.0
                yield _with(failed, r.tool, (kind, pending + 1), 0), THETA[kind] * same
            yield spoiled, THETA[kind] * (1.0 - same)


def _status(s: State, tool: str) -> tuple[Any, int]:
    return next(((status, row) for name, status, row in s.tools if name == tool), (None, 0))


def _pending(status: Any) -> int:
    return status[1] if isinstance(status, tuple) else 0


def _with(s: State, tool: str, status: object, row: int) -> State:
    rest = tuple(entry for entry in s.tools if entry[0] != tool)
    return s._replace(tools=tuple(sorted((*rest, (tool, status, row)), key=lambda e: e[0])))


def bound(task: Task, mode: Mode, mix: str) -> float:
    """Return the bound on the expected reward of one task."""
    if mode is Mode.INJECT_ALT:
        prior = list(law(ScenarioSpec(Mix.parse(mix)), eligibility("helpdesk", task.id), DOMAIN))
    else:
        prior = [(Assignment(), 1.0)]
    return Program(course(task, alternatives=mode.alternatives), prior).best()


def main(tasks: int) -> None:
    """Print the bound beside what the policies get."""
    ids = BENCHMARK.tasks()[:tasks]
    print("| | bound | " + " | ".join((*AGENTS, "omniscient")) + " |\n|---|---|" + "---|" * 5)
    for mode, mix in ((Mode.INJECT, MIXES[0]), *((Mode.INJECT_ALT, mix) for mix in MIXES)):
        most = np.mean([bound(task, mode, mix) for task in ids])
        rows, n = play("helpdesk", mode, mix, (*AGENTS, "omniscient"))
        got = [rows[a][:, 1][np.arange(len(rows[a])) % n < tasks].mean() for a in (*AGENTS, "omniscient")]
        where = f"`{mode}`" + (f", mix {mix}" if mode is Mode.INJECT_ALT else "")
        print(f"| {where} | {most:.3f} | " + " | ".join(f"{x:.3f}" for x in got) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
