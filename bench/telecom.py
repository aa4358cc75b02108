"""What a scored telecom episode costs here and in τ²-bench itself, in CPU seconds, measured in one run.

Both sides carry out the same gold actions, the agent's and the user's, on a fresh environment and judge
the result. Upstream's way is its `get_environment`, its `set_state`, its `get_response`, and its
`EnvironmentEvaluator` and `ActionEvaluator`. Upstream's own loading of the 2,285 tasks is measured apart.
Needs τ² and the libraries in `provider.DEVELOPMENT`.

    python -m bench.telecom
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.benchmarks.tau2.telecom import telecom
from bench2robust.benchmarks.tau2.telecom.benchmark import TelecomBenchmark
from bench2robust.core.episode import Mode, Task, Trajectory
from bench2robust.evaluation import RunSpec
from bench2robust.evaluation.schedule import Schedule


@dataclass(frozen=True, slots=True)
class TelecomCost:
    """CPU seconds, and what was measured."""

    ours: float
    """One gold episode, opened, replayed and scored; once warm, the best round."""
    upstream: float
    """The same upstream, mean over all tasks."""
    opening: float
    """Opening an environment here; once warm, the best round."""
    loading: float
    """Importing τ² and reading the base tasks here."""
    upstream_loading: float
    """Upstream's `get_tasks`, which validates all 2,285 tasks twice."""
    strategic: float
    """One scored ``strategic`` episode in `inject_alt`, users' calls included."""
    passed: bool
    """Whether every measured episode passed on both sides (gold plans must)."""


def measure(rounds: int = 5) -> TelecomCost:
    """Measure all 114 base tasks on both sides."""
    benchmark = telecom()
    loading = _seconds(benchmark.tasks)
    tasks = benchmark.tasks()
    passed = all(play(benchmark, task) for task in tasks)
    ours = min(_seconds(lambda: [play(benchmark, task) for task in tasks]) for _ in range(rounds))
    opening = min(_seconds(lambda: [benchmark.open(task) for task in tasks]) for _ in range(rounds))
    play_upstream(tasks[0])  # imports, not measured
    verdicts: list[bool] = []
    upstream = _seconds(lambda: verdicts.extend(play_upstream(task) for task in tasks))
    from tau2.domains.telecom.environment import get_tasks

    return TelecomCost(
        ours=ours / len(tasks),
        upstream=upstream / len(tasks),
        opening=opening / len(tasks),
        loading=loading,
        upstream_loading=_seconds(get_tasks),
        strategic=strategic_seconds(),
        passed=passed and all(verdicts),
    )


def strategic_seconds(seed: int = 0) -> float:
    """Return CPU seconds for one scored ``strategic`` episode; plans and certificates are made before."""
    spec = RunSpec(benchmark="tau2-telecom", agents=("strategic",), modes=(Mode.INJECT_ALT,), seeds=(seed,))
    schedule = Schedule(spec)
    for place in range(len(schedule)):
        schedule.play(place)
    return _seconds(lambda: [schedule.play(place) for place in range(len(schedule))]) / len(schedule)


def play(benchmark: TelecomBenchmark, task: Task) -> bool:
    """Play and score the gold plan here."""
    environment = benchmark.open(task)
    for action in task.gold:
        (environment.act if action.by_user else environment.call)(action.call)
    return environment.score(Trajectory()).passed


def play_upstream(task: Task) -> bool:
    """Play and score the gold plan with τ²'s own code."""
    from tau2.data_model import message, tasks
    from tau2.domains.telecom.environment import get_environment
    from tau2.evaluator.evaluator_action import ActionEvaluator
    from tau2.evaluator.evaluator_env import EnvironmentEvaluator

    theirs = tasks.Task.model_validate(task.data)
    environment, state = get_environment(), theirs.initial_state
    environment.set_state(state.initialization_data, state.initialization_actions, [])
    messages: list[Any] = []
    for number, action in enumerate(task.gold):
        who = "user" if action.by_user else "assistant"
        speaker = message.UserMessage if action.by_user else message.AssistantMessage
        arguments = dict(action.call.arguments)
        call = message.ToolCall(id=str(number), name=action.call.name, arguments=arguments, requestor=who)
        messages.append(speaker(role=who, tool_calls=[call]))
        messages.append(environment.get_response(call))
    world = EnvironmentEvaluator.calculate_reward(get_environment, theirs, messages)
    actions = ActionEvaluator.calculate_reward(theirs, messages)
    return bool(world.reward == 1.0 and actions.reward == 1.0)


def _seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def report(cost: TelecomCost) -> Sequence[str]:
    """Return the lines that `python -m bench.telecom` prints."""
    return (
        f"gold replay and score, CPU ms an episode: ours {cost.ours * 1e3:.3f}, upstream"
        f" {cost.upstream * 1e3:.1f} (114 tasks each); upstream / ours: {cost.upstream / cost.ours:.0f}",
        f"opening an environment: {cost.opening * 1e6:.0f} CPU µs",
        f"tasks, with importing τ²: ours {cost.loading:.2f} CPU s; upstream, imported already: {cost.upstream_loading:.2f}",
        f"one scored strategic episode in inject_alt: {cost.strategic * 1e3:.2f} CPU ms",
        f"every episode passed on both sides: {cost.passed}",
    )


if __name__ == "__main__":
    print("\n".join(report(measure())))
