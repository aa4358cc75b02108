"""The benchmark that is being checked, and the ways in which its tasks are played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, cast

from bench2robust import agents
from bench2robust.core.domain import Domain
from bench2robust.core.episode import Assignment, Mode, Task
from bench2robust.core.ports import Agent, Benchmark, Briefing, Environment, Play, Utterance
from bench2robust.core.tools import ToolCall, ToolKind, ToolSpec
from bench2robust.evaluation import Episode, Job, certify_task, run_episode
from bench2robust.evaluation.episode import domain_of
from bench2robust.evaluation.lines import encode
from bench2robust.injection import Eligibility, InjectionSpec, NoiseProfile

from .state import State

NO_TOOL: Final = "no_such_tool"
MAX_STEPS: Final = 400
NO_NOISE: Final = InjectionSpec(profile=NoiseProfile.empty())


class Skip(Exception):
    """A check that cannot be made; the text says why."""


@dataclass(slots=True)
class GoldReplay:
    """An agent that makes gold calls and says what has to be told, at the end or before it hands over.

    It moves on to the user's next request where gold does, and asks the user for what the user does.
    """

    left_out: frozenset[int] = frozenset()
    """Places of the gold actions that are not made."""
    instead: Mapping[int, ToolCall] = field(default_factory=dict)
    """Places of gold actions to what is called in their place."""
    more: tuple[ToolCall, ...] = ()
    """What is called after the last gold action, or before the one that hands over."""
    silent: bool = False
    """Whether nothing is told."""
    name: str = "gold"
    omniscient: bool = False

    def play(self, briefing: Briefing) -> Play:
        """Make the calls, in order."""
        turn, task, more = 0, briefing.task, self.more
        told = "Done." if self.silent else "Done. " + " ".join(task.tell)
        endings = {tool.name for tool in briefing.tools if tool.kind is ToolKind.ESCALATION}
        for place, action in enumerate(task.gold):
            while turn < action.turn:
                yield Utterance("Done.")
                turn += 1
            if place in self.left_out:
                continue
            if action.call.name in endings:
                for call in more:
                    yield call
                more = ()
                yield Utterance(told)
            call = self.instead.get(place, action.call)
            yield Utterance(f"Please do {call.signature()}.") if action.by_user else call
        for call in more:
            yield call
        for _ in task.script.turns[turn:] if task.script else ():
            yield Utterance("Done.")
        yield Utterance(told, last=True)


class _Keeping:
    """A benchmark that keeps the environments it opens."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self.opened: list[Environment] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._benchmark, name)

    def open(self, task: Task, *, alternatives: bool = True) -> Environment:
        """Open an environment, and keep it."""
        self.opened.append(self._benchmark.open(task, alternatives=alternatives))
        return self.opened[-1]


@dataclass
class Subject:
    """A benchmark under check, and those of its tasks that are looked at."""

    benchmark: Benchmark
    tasks: Sequence[Task]
    _certificates: dict[str, Eligibility] = field(default_factory=dict)

    @cached_property
    def tools(self) -> Sequence[ToolSpec]:
        """Every tool, alternatives included."""
        return self.benchmark.tools(alternatives=True)

    @cached_property
    def kinds(self) -> dict[str, ToolKind]:
        """The kind of every tool."""
        return {tool.name: tool.kind for tool in self.tools}

    @cached_property
    def domain(self) -> Domain:
        """The benchmark's domain."""
        return domain_of(self.benchmark)

    @cached_property
    def exceptions(self) -> dict[str, str]:
        """The tasks looked at that the benchmark says nobody can honestly pass, and why."""
        listed: dict[str, str] = getattr(self.benchmark, "exceptions", {})
        return {task.id: listed[task.id] for task in self.tasks if task.id in listed}

    def certificate(self, task: Task) -> Eligibility:
        """Return what a task is eligible for."""
        if task.id not in self._certificates:
            self._certificates[task.id] = certify_task(self.benchmark, task)
        return self._certificates[task.id]

    def play(
        self,
        task: Task,
        agent: Agent | str,
        mode: Mode = Mode.CLEAN,
        assignment: Assignment | None = None,
        injection: InjectionSpec = NO_NOISE,
    ) -> Episode:
        """Play one episode."""
        agent = agents.create(agent) if isinstance(agent, str) else agent
        job = Job(task, mode, 0, assignment or Assignment(), injection, MAX_STEPS)
        return run_episode(self.benchmark, agent, job)

    def passes(
        self, task: Task, agent: Agent | str, mode: Mode = Mode.CLEAN, assignment: Assignment | None = None
    ) -> bool:
        """Whether an agent passes without noise."""
        return self.play(task, agent, mode, assignment).result.outcome.score.passed

    def writes(self, task: Task) -> list[int]:
        """Return the places of the gold actions that change something: the user's, and writes that are done."""
        records = iter(self.play(task, GoldReplay()).trajectory.records)
        found = []
        for place, action in enumerate(task.gold):
            if action.by_user or (
                not next(records).genuine_error and self.kinds.get(action.call.name) is ToolKind.WRITE
            ):
                found.append(place)
        return found

    def matters(self, task: Task, place: int) -> bool:
        """Whether gold ends in another state without one of its writes; the verdict is not asked.

        What differs between two plays of gold, or after a call of a tool that does not exist, is the
        environment's bookkeeping and not its world.
        """
        gold, without, again = (
            State.of(self.replay(task, agent)[1])
            for agent in (GoldReplay(), GoldReplay(frozenset((place,))), GoldReplay())
        )
        return bool(again.differing(without) - self.bookkeeping(task) - gold.differing(again))

    def bookkeeping(self, task: Task) -> set[str]:
        """Return what changes in an environment when a tool is called that does not exist."""
        environment = self.benchmark.open(task)
        fresh = State.of(environment)
        environment.call(ToolCall(NO_TOOL))
        return fresh.differing(State.of(environment))

    def replay(self, task: Task, agent: Agent) -> tuple[Episode, Environment]:
        """Play one episode without noise; returns the environment that it left, too."""
        keeping = _Keeping(self.benchmark)
        job = Job(task, Mode.CLEAN, 0, Assignment(), NO_NOISE, MAX_STEPS)
        return run_episode(cast(Benchmark, keeping), agent, job), keeping.opened[-1]

    def prints(self) -> dict[str, str]:
        """Return a digest of everything that happens in a task: told, called, answered, injected.

        Under the empty id, of what the benchmark says of itself.
        """
        return {"": self._own_print(), **{task.id: self._print(task) for task in self.tasks}}

    def _own_print(self) -> str:
        own = self.benchmark
        said = [own.version, *(own.policy(also) for also in (False, True)), repr(self.tools)]
        text = repr([*said, [task.id for task in own.tasks()]])
        return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()

    def _print(self, task: Task) -> str:
        digest = blake2b(repr((task.instructions, task.tell, task.script)).encode(), digest_size=8)
        digest.update(encode(self.play(task, GoldReplay())))
        digest.update(encode(self.play(task, "strategic", Mode.INJECT_ALT, injection=InjectionSpec())))
        return digest.hexdigest()
