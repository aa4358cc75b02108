"""What a scored retail or airline episode costs here and in τ²-bench itself, in CPU seconds, measured in one run.

Both sides execute the same gold calls on a fresh environment and judge the result. Upstream's way is
its `get_environment`, its `get_response`, and its `EnvironmentEvaluator` and `CommunicateEvaluator`.
Needs τ² and the libraries in `provider.DEVELOPMENT`.

    python -m bench.episodes
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.benchmarks.tau2 import retail
from bench2robust.benchmarks.tau2.airline import airline
from bench2robust.benchmarks.tau2.benchmark import DomainBenchmark
from bench2robust.core.episode import Mode, Task, Trajectory
from bench2robust.evaluation import RunSpec
from bench2robust.evaluation.schedule import Schedule


@dataclass(frozen=True, slots=True)
class EpisodeCost:
    """CPU seconds for one gold episode, opened, replayed and scored, and what was measured."""

    ours: float
    """Once warm, the best round."""
    upstream: float
    """Mean over `upstream_episodes`."""
    opening: float
    """Opening an environment here; once warm, the best round."""
    upstream_opening: float
    """Upstream's `get_environment`, mean over three."""
    warm_up: float
    """CPU seconds to import τ² (unless it is there already), load its data and play every task once here."""
    ours_episodes: int
    upstream_episodes: int
    passed: bool
    """Whether every measured episode passed on both sides (gold plans must)."""

    @property
    def ratio(self) -> float:
        """How many of our episodes fit into one of upstream's."""
        return self.upstream / self.ours


def measure(
    make: Callable[[], DomainBenchmark] = retail, upstream_tasks: int = 8, rounds: int = 5
) -> EpisodeCost:
    """Measure gold replay and scoring on both sides.

    Args:
        make: gives the benchmark.
        upstream_tasks: how many tasks, evenly spread, upstream plays (each takes 0.2 to 2 s).
        rounds: how often all tasks are played here; the best round counts.
    """
    started = time.process_time()
    benchmark = make()
    tasks = benchmark.tasks()
    passed = all(play(benchmark, task) for task in tasks)
    warm_up = time.process_time() - started
    ours = min(_seconds(lambda: [play(benchmark, task) for task in tasks]) for _ in range(rounds))
    sample = tasks[:: max(1, len(tasks) // upstream_tasks)][:upstream_tasks]
    verdicts: list[bool] = []
    domain = benchmark.domain
    play_upstream(sample[0], domain)  # imports, not measured
    upstream = _seconds(lambda: verdicts.extend(play_upstream(task, domain) for task in sample))
    opening = min(_seconds(lambda: [benchmark.open(task) for task in tasks]) for _ in range(rounds))
    constructor = _constructor(domain)
    return EpisodeCost(
        ours=ours / len(tasks),
        upstream=upstream / len(sample),
        opening=opening / len(tasks),
        upstream_opening=_seconds(lambda: [constructor() for _ in range(3)]) / 3,
        warm_up=warm_up,
        ours_episodes=rounds * len(tasks),
        upstream_episodes=len(sample),
        passed=passed and all(verdicts),
    )


def strategic_seconds(benchmark: str = "tau2-retail", seed: int = 0) -> float:
    """Return CPU seconds for one scored ``strategic`` episode under noise, scenarios and alternatives.

    All tasks in `inject_alt`; plans and certificates are made before the clock starts.
    """
    spec = RunSpec(benchmark=benchmark, agents=("strategic",), modes=(Mode.INJECT_ALT,), seeds=(seed,))
    schedule = Schedule(spec)
    for place in range(len(schedule)):
        schedule.play(place)
    return _seconds(lambda: [schedule.play(place) for place in range(len(schedule))]) / len(schedule)


def play(benchmark: DomainBenchmark, task: Task) -> bool:
    """Play and score the gold plan here."""
    environment = benchmark.open(task)
    for action in task.gold:
        environment.call(action.call)
    return environment.score(Trajectory.saying([told(task)])).passed


def _constructor(domain: str) -> Callable[[], Any]:
    """Return upstream's ``get_environment`` of a domain."""
    get_environment: Callable[[], Any] = importlib.import_module(
        f"tau2.domains.{domain}.environment"
    ).get_environment
    return get_environment


def play_upstream(task: Task, domain: str) -> bool:
    """Play and score the gold plan with τ²'s own code."""
    from tau2.data_model import message, tasks
    from tau2.evaluator.evaluator_communicate import CommunicateEvaluator
    from tau2.evaluator.evaluator_env import EnvironmentEvaluator

    get_environment = _constructor(domain)
    environment = get_environment()
    messages: list[Any] = []
    for number, action in enumerate(task.gold):
        call = message.ToolCall(id=str(number), name=action.call.name, arguments=dict(action.call.arguments))
        messages.append(message.AssistantMessage(role="assistant", tool_calls=[call]))
        messages.append(environment.get_response(call))
    messages.append(message.AssistantMessage(role="assistant", content=told(task)))
    theirs = tasks.Task.model_validate(task.data)
    database = EnvironmentEvaluator.calculate_reward(get_environment, theirs, messages)
    communicated = CommunicateEvaluator.calculate_reward(theirs, messages)
    return bool(database.reward == 1.0 and communicated.reward == 1.0)


def told(task: Task) -> str:
    """Return a text that tells the user everything the task asks for."""
    return "Done. " + " ".join(task.tell)


def _seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def report(cost: EpisodeCost) -> Sequence[str]:
    """Return the lines that `python -m bench.episodes` prints."""
    return (
        f"gold replay and score, CPU ms an episode: ours {cost.ours * 1e3:.3f} ({cost.ours_episodes} episodes,"
        f" best round), upstream {cost.upstream * 1e3:.0f} ({cost.upstream_episodes} episodes, mean)",
        f"upstream / ours: {cost.ratio:.0f}",
        f"opening an environment, CPU ms: ours {cost.opening * 1e3:.4f}, upstream {cost.upstream_opening * 1e3:.0f}",
        f"warm-up (import, data, every task once): {cost.warm_up:.2f} CPU s",
        f"every episode passed on both sides: {cost.passed}",
    )


if __name__ == "__main__":
    for one in (retail, airline):
        print("\n".join((one.__name__, *report(measure(one)))))
