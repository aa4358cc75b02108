"""One episode: task, agent, user and injected environment in, trajectory and outcome out.

`run_episode` plays agents that answer at once, such as the reference policies; `run_episode_async`
those that wait for a model's endpoint. The conversation is the same (`talk.Talk`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from bench2robust import agents, domains
from bench2robust.core.domain import Domain
from bench2robust.core.episode import Assignment, End, Mode, Task, Usage
from bench2robust.core.errors import AgentError, BenchmarkError, EpisodeLostError
from bench2robust.core.plan import Plan
from bench2robust.core.ports import (
    Agent,
    AwaitingAgent,
    AwaitingUser,
    Benchmark,
    Briefing,
    DualControl,
    Environment,
    ErrorCap,
    NewUser,
    OwnTools,
    Play,
    Scene,
    Session,
    Utterance,
)
from bench2robust.core.tools import ToolResponse, ToolSpec
from bench2robust.injection import InjectionSpec, Injector, NoiseProfile

from .blame import blaming
from .lines import Episode, Result, episode_id
from .memory import Recall
from .outcome import judge
from .talk import Rules, Talk

_RETURNED: Final = object()
_NOTHING = InjectionSpec(profile=NoiseProfile.empty())


@dataclass(frozen=True, slots=True)
class Job:
    """What decides an episode besides the benchmark, the agent and the user."""

    task: Task
    mode: Mode
    seed: int
    assignment: Assignment
    injection: InjectionSpec
    """What is injected, in the modes that inject."""
    max_steps: int
    recall: Recall | None = None
    """What the agent is told of a tool memory; None for nothing."""


def run_episode(benchmark: Benchmark, agent: Agent, job: Job) -> Episode:
    """Play one episode and judge it.

    Raises:
        AgentError: the agent raised, or did something its port does not allow.
        BenchmarkError: the benchmark or its environment raised.
    """
    stage = _Stage.set(benchmark, job, agent.name, planned=agent.name in agents.PLANNED)
    user = agents.Scripted.of(job.task) if stage.dual is None else stage.dual.user()
    opening = user.reply(None) or ""
    talk = stage.talk(user_ends=False)
    talk.hear(opening)
    oracle = stage.injector if agent.omniscient else None
    play = agent.play(replace(stage.briefing(opening), oracle=oracle))
    answer: ToolResponse | str | None = None
    while not talk.over:
        action = _next(play, answer, agent.name)
        if action is _RETURNED:
            talk.end(End.DONE)
            break
        answer = talk.act(action)
        if isinstance(action, Utterance) and not talk.over:
            with blaming(BenchmarkError, "the user broke"):
                words = user.reply(action.text)
            answer = talk.hear(words)
    play.close()
    return stage.judge(talk)


async def run_episode_async(benchmark: Benchmark, agent: AwaitingAgent, user: NewUser, job: Job) -> Episode:
    """Play one episode with an agent and a user that may wait for something outside, and judge it.

    Many may run at the same time in one event loop; they share nothing but the agent's and the user's
    endpoints. Cancelling one leaves nothing behind.

    Args:
        benchmark: where the task is from.
        agent: who acts.
        user: makes the user; `agents.scripted`, `agents.ticket`, or a simulated one.
        job: the rest.

    Raises:
        AgentError: the agent raised, or did something its port does not allow.
        BenchmarkError: the benchmark, its environment or the user raised.
        EndpointFatalError: no episode of the run can work.
        EpisodeLostError: this one is lost to the endpoint.
    """
    stage = _Stage.set(benchmark, job, agent.name)
    with blaming(BenchmarkError, "the user broke"):
        guest = user(Scene(job.task, stage.environment, stage.episode, job.seed))
    talk = stage.talk(user_ends=guest.ends_talk)
    greeting = agents.GREETING if guest.ends_talk else ""
    if greeting:
        talk.greet(greeting)
    session: Session | None = None
    try:
        opening = await _answered(talk, guest, greeting or None)
        answer: ToolResponse | str | None = None
        while not talk.over:
            with blaming(AgentError, f"agent={agent.name!r} broke"):
                session = session or agent.start(replace(stage.briefing(opening), greeting=greeting))
                before = copy(session.usage)
                action = await session.act(answer)
            if action is None:
                talk.end(session.ended or End.DONE)
                break
            answer = talk.act(action, session.aside, _spent(before, session.usage))
            if isinstance(action, Utterance) and not talk.over:
                answer = await _answered(talk, guest, action.text)
    except EpisodeLostError as lost:
        lost.usage = (session.usage if session else Usage()) + guest.usage
        raise
    return stage.judge(talk, session.usage if session else Usage(), guest.usage)


async def _answered(talk: Talk, user: AwaitingUser, said: str | None) -> str:
    """Have the user answer, and return the words."""
    before = copy(user.usage)
    with blaming(BenchmarkError, "the user broke"):
        words = await user.reply(said)
    return talk.hear(words, user.parting, _spent(before, user.usage))


def _spent(before: Usage, after: Usage) -> Usage | None:
    """Return what was spent in between, None where no model was asked."""
    if after.requests == before.requests:
        return None
    minus = Usage(
        -before.requests, -before.prompt_tokens, -before.completion_tokens, -before.cost, -before.seconds
    )
    return after + minus


def _next(play: Play, answer: ToolResponse | str | None, agent: str) -> object:
    """Return what an agent that answers at once does next, or `_RETURNED`."""
    with blaming(AgentError, f"agent={agent!r} broke"):
        try:
            return next(play) if answer is None else play.send(answer)
        except StopIteration:
            return _RETURNED


@cache
def _load_domain(name: str) -> Domain:
    return domains.load_file(name) if name.endswith(".toml") else domains.load(name)


def domain_of(benchmark: Benchmark) -> Domain:
    """Return the benchmark's domain, loaded once."""
    return _load_domain(benchmark.domain)


@dataclass(frozen=True, slots=True)
class _Stage:
    """Where one episode is played."""

    benchmark: Benchmark
    job: Job
    agent: str
    environment: Environment
    tools: Sequence[ToolSpec]
    policy: str
    plan: Plan | None
    injector: Injector

    @classmethod
    def set(cls, benchmark: Benchmark, job: Job, agent: str, *, planned: bool = False) -> _Stage:
        """Open a fresh environment; `planned` for agents that follow the compiled plan."""
        alternatives = job.mode.alternatives
        with blaming(BenchmarkError, f"benchmark={benchmark.name!r} broke"):
            environment = benchmark.open(job.task, alternatives=alternatives)
            plan = benchmark.plan(job.task) if planned else None
            tools, policy = benchmark.tools(alternatives), benchmark.policy(alternatives)
        injector = Injector(
            job.injection if job.mode.injected else _NOTHING,
            job.seed,
            job.task.id,
            domain=domain_of(benchmark),
            tools=tools,
            blocked=job.assignment.blocked,
        )
        return cls(benchmark, job, agent, environment, tools, policy, plan, injector)

    @property
    def dual(self) -> DualControl | None:
        """The environment, where its user acts in it too."""
        return self.environment if isinstance(self.environment, DualControl) else None

    @property
    def offered(self) -> Sequence[ToolSpec]:
        """The tools on offer now."""
        return self.environment.offered if isinstance(self.environment, OwnTools) else self.tools

    @property
    def episode(self) -> str:
        """The episode's id."""
        return episode_id(self.job.task.id, self.agent, self.job.mode, self.job.seed)

    def briefing(self, opening: str) -> Briefing:
        """Return what the agent is given."""
        recall = self.job.recall
        return Briefing(
            task=self.job.task,
            tools=self.offered,
            policy=self.policy,
            opening=opening,
            plan=self.plan,
            episode=self.episode,
            seed=self.job.seed,
            memory="" if recall is None else recall.block(self.offered, self.job.seed),
        )

    def talk(self, *, user_ends: bool) -> Talk:
        """Return the talk, before its first word."""
        cap = self.benchmark.max_errors if isinstance(self.benchmark, ErrorCap) else None
        recall = self.job.recall
        return Talk(
            self.agent,
            self.injector,
            self.environment,
            {tool.name: tool.kind for tool in self.tools},
            Rules(self.job.max_steps, cap, user_ends),
            self.dual,
            None if recall is None else recall.notes(self.offered, self.job.seed),
        )

    def judge(self, talk: Talk, usage: Usage | None = None, user_usage: Usage | None = None) -> Episode:
        """Return the episode, judged."""
        job, trajectory = self.job, talk.finish()
        with blaming(BenchmarkError, f"benchmark={self.benchmark.name!r} broke"):
            score = self.environment.score(trajectory)
        outcome = judge(trajectory, score, job.task, job.assignment, talk.kinds)
        result = Result(
            job.task.id, self.agent, job.mode, job.seed, job.assignment, outcome, usage, user_usage
        )
        return Episode(result, trajectory)
