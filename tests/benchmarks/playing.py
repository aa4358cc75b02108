"""Plays one τ² episode with a reference policy, for tests of plans."""

from __future__ import annotations

from dataclasses import dataclass

from bench2robust import agents
from bench2robust.benchmarks.tau2 import retail
from bench2robust.benchmarks.tau2.benchmark import DomainBenchmark
from bench2robust.core.episode import Score, Task, Trajectory
from bench2robust.core.noise import NoiseType
from bench2robust.core.ports import Briefing
from bench2robust.core.tools import CallRecord, ToolCall, ToolKind
from bench2robust.domains import load
from bench2robust.injection import Effects, InjectionSpec, Injector, Limits, NoiseProfile


@dataclass(frozen=True)
class Played:
    score: Score
    records: list[CallRecord]
    said: list[str]


def play(
    task: Task,
    policy: str,
    *,
    noise: NoiseType | None = None,
    seed: int = 0,
    alternatives: bool = False,
    blocked: frozenset[str] = frozenset(),
    benchmark: DomainBenchmark | None = None,
) -> Played:
    """Play with one silent noise type on half of the calls, or none at all; retail unless told otherwise."""
    benchmark, agent = benchmark or retail(), agents.create(policy)
    profile = NoiseProfile.empty() if noise is None else NoiseProfile({noise: 0.5, NoiseType.CLEAN: 0.5})
    spec = InjectionSpec(profile, Limits.unlimited(), Effects.OBSERVATION)
    env = benchmark.open(task, alternatives=alternatives)
    tools = benchmark.tools(alternatives)
    escalation = {t.name for t in tools if t.kind is ToolKind.ESCALATION}
    injector = Injector(spec, seed, task.id, domain=load(benchmark.domain), tools=tools, blocked=blocked)
    game = agent.play(Briefing(task, tools, "", task.instructions, benchmark.plan(task), injector))
    said: list[str] = []
    action = next(game)
    while True:
        if isinstance(action, ToolCall):
            answer = injector.call(action, env.call)
            if action.name in escalation:
                break
            action = game.send(answer)
        else:
            said.append(action.text)
            if action.last:
                break
            action = game.send("ok")
    return Played(env.score(Trajectory.saying(said)), injector.records, said)
