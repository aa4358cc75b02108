"""Certificates: what each task is eligible for, established by playing it.

Noise is off and the alternative tools exist. The omniscient agent says what is viable, the agent that
does nothing and the one that issues the gold writes blind say what is impossible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from bench2robust import agents
from bench2robust.core.domain import Domain, EquivalenceClass, Side
from bench2robust.core.episode import Assignment, Mode, Scenario, Task
from bench2robust.core.ports import Benchmark, DualControl
from bench2robust.core.tools import CallRecord, ToolKind
from bench2robust.injection import Eligibility, InjectionSpec, Mix, NoiseProfile, ScenarioSpec, assign

from . import registry
from .episode import Job, domain_of, run_episode
from .lines import Episode

MAX_STEPS = 200
_NO_NOISE = InjectionSpec(profile=NoiseProfile.empty())
_NOT_NEEDED = "the reference agent passes without it"
_ONLY_S3 = ScenarioSpec(Mix(0, 0, 100))


def certify(benchmark: str) -> Mapping[str, Eligibility]:
    """Return what every task of a benchmark is eligible for, by task id (computed once in a process)."""
    return _certify(benchmark, registry.stamps(benchmark))


def eligibility(benchmark: str, task: str) -> Eligibility:
    """Return what one task is eligible for (computed once in a process, and only for tasks asked about)."""
    return _eligibility(benchmark, task, registry.stamps(benchmark))


@cache
def _certify(benchmark: str, _: registry.Stamps) -> Mapping[str, Eligibility]:
    return {task.id: eligibility(benchmark, task.id) for task in registry.load(benchmark).tasks()}


@cache
def _eligibility(benchmark: str, task: str, stamps: registry.Stamps) -> Eligibility:
    return certify_task(registry.load(benchmark), _tasks(benchmark, stamps)[task])


@cache
def _tasks(benchmark: str, _: registry.Stamps) -> Mapping[str, Task]:
    return {task.id: task for task in registry.load(benchmark).tasks()}


def certify_task(benchmark: Benchmark, task: Task) -> Eligibility:
    """Return what one task is eligible for, and why not for the rest.

    A class is relevant when the omniscient agent fails with all its sides blocked. A side counts when
    that agent passes with all *other* sides of the class blocked. The primary side is the one whose
    tool the agent calls first when nothing is blocked. A class can be made impossible (S3) when a gold
    write that changes the state needs it, and neither doing nothing nor issuing the gold writes blind
    passes with the class, and every write that needs it, blocked.
    """
    trial = _Trial(benchmark, task)
    open_world = trial.play("omniscient")
    sides: dict[str, tuple[str, ...]] = {}
    primary: dict[str, str] = {}
    reasons: dict[str, str] = {}
    solvable = open_world.result.outcome.score.passed
    for cls in trial.domain.classes if solvable else ():
        if trial.passes("omniscient", cls.tools):
            reasons[cls.name] = _NOT_NEEDED
            continue
        counting = tuple(side.name for side in cls.sides if trial.passes("omniscient", _others(cls, side)))
        sides[cls.name] = counting
        if (first := _first_side(open_world.trajectory.records, cls)) is not None:
            primary[cls.name] = first
        if len(counting) < 2:
            reasons[cls.name] = (
                f"by itself only {counting[0]} is enough" if counting else "no side is enough by itself"
            )
    if not solvable:
        reasons["s2"] = f"the reference agent fails with nothing blocked ({_failed_parts(open_world)})"
    elif not any(len(counting) >= 2 for counting in sides.values()):
        reasons["s2"] = _why_not_s2(reasons)
    s3, why_not = trial.impossible()
    if why_not:
        reasons["s3"] = why_not
    return Eligibility(sides, primary, s3, reasons)


@dataclass(frozen=True, slots=True)
class _Trial:
    """One task, played without noise under whatever is blocked."""

    benchmark: Benchmark
    task: Task

    @property
    def domain(self) -> Domain:
        return domain_of(self.benchmark)

    def play(self, agent: str, assignment: Assignment | None = None) -> Episode:
        job = Job(self.task, Mode.INJECT_ALT, 0, assignment or Assignment(), _NO_NOISE, MAX_STEPS)
        return run_episode(self.benchmark, agents.create(agent), job)

    def passes(self, agent: str, blocked: frozenset[str]) -> bool:
        """Whether an agent passes with these tools blocked."""
        assignment = Assignment(Scenario.S2, Scenario.S2, blocked - self.domain.exempt)
        return self.play(agent, assignment).result.outcome.score.passed

    def impossible(self) -> tuple[tuple[str, ...], str]:
        """Return the classes that S3 can take away, and why there are none."""
        needed = self._needed()
        if not needed:
            return (), "the gold changes nothing"
        left = []
        for cls in (cls for cls in self.domain.classes if cls.name in needed):
            block = assign(0, self.task.id, _ONLY_S3, Eligibility(s3=(cls.name,)), self.domain)
            beaten = [a for a in ("idle", "adversary") if self.play(a, block).result.outcome.score.passed]
            if not beaten:
                left.append(cls.name)
        return tuple(left), "" if left else "the task can be passed without the writes that S3 blocks"

    def _needed(self) -> set[str]:
        """Return the classes needed by the gold writes that change the state."""
        kinds = {tool.name: tool.kind for tool in self.benchmark.tools(alternatives=True)}
        environment = self.benchmark.open(self.task)
        needed: set[str] = set()
        user, turn = None, 0
        for action in self.task.gold:
            if turn < action.turn and isinstance(environment, DualControl):
                # The user's turns may change the environment: take them as gold does.
                if user is None:
                    user = environment.user()
                    user.reply(None)
                while turn < action.turn:
                    user.reply("Done.")
                    turn += 1
            answer = environment.call(action.call)
            if kinds.get(action.call.name) is ToolKind.WRITE and not answer.error:
                needed.update(self.domain.needs.get(action.call.name, ()))
        return needed


def _others(cls: EquivalenceClass, side: Side) -> frozenset[str]:
    """Return the tools of every other side; a tool shared with the side stays."""
    return cls.tools.difference(side.tools)


def _first_side(records: list[CallRecord], cls: EquivalenceClass) -> str | None:
    for record in records:
        for side in cls.sides:
            if record.call.name in side.tools:
                return side.name
    return None


def _failed_parts(episode: Episode) -> str:
    parts = [name for name, passed in episode.result.outcome.score.parts.items() if not passed]
    return ", ".join(parts) or "failed"


def _why_not_s2(reasons: Mapping[str, str]) -> str:
    """Join the reasons of the classes."""
    if not reasons:
        return "the domain has no equivalence classes"
    if set(reasons.values()) == {_NOT_NEEDED}:
        return f"the reference agent passes without {', '.join(reasons)}"
    return "; ".join(f"{name}: {why}" for name, why in reasons.items())
