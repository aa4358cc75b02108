"""What a BFCL call, and a scored gold episode, cost here and in BFCL itself, in CPU seconds, in one run.

Both sides make the same gold calls of all 200 tasks of a category, each task on state of its own, and get the
same answers, which is checked before anything is measured. BFCL's way is its `execute_multi_turn_func_call`, call
by call, and its `multi_turn_checker` for the verdict. The best round counts, so both sides are warm: modules and
data are loaded, and here the text of large unchanged answers is remembered from the rounds before.

    python -m bench.bfcl
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from bench2robust.benchmarks.bfcl import BfclBenchmark, Category
from bench2robust.core.episode import Mode, Task
from bench2robust.evaluation import RunSpec
from bench2robust.evaluation.schedule import Schedule
from bench2robust.testing.subject import GoldReplay, Subject


@dataclass(frozen=True, slots=True)
class CallCost:
    """CPU seconds for one gold call, opening the task included, and for one scored gold episode."""

    ours: float
    upstream: float
    ours_scored: float
    """A whole gold episode through `run_episode`: opened, played, scored."""
    upstream_scored: float
    """Its ``multi_turn_checker`` on the same calls; it makes them and gold's again."""
    calls: int

    BOUND: ClassVar[float] = 5.0
    """The least `ratio` that is wanted."""

    @property
    def ratio(self) -> float:
        """How many of our calls fit into one of BFCL's."""
        return self.upstream / self.ours


def measure(category: Category = Category.BASE, rounds: int = 3) -> CallCost:
    """Measure gold calls and gold episodes on both sides; the best round counts."""
    benchmark = BfclBenchmark("bench", category, unabridged=True)
    tasks = benchmark.tasks()
    subject = Subject(benchmark, tasks)
    for task in tasks:
        benchmark.truth(task)
    calls = sum(len(task.gold) for task in tasks)
    same_answers(benchmark)
    return CallCost(
        ours=_best(rounds, lambda: [ours(benchmark, task) for task in tasks]) / calls,
        upstream=_best(rounds, lambda: [_Upstream.calls(benchmark, task) for task in tasks]) / calls,
        ours_scored=_best(rounds, lambda: [subject.play(task, GoldReplay()) for task in tasks]) / len(tasks),
        upstream_scored=_best(rounds, lambda: [_Upstream.verdict(benchmark, task) for task in tasks])
        / len(tasks),
        calls=calls,
    )


def same_answers(benchmark: BfclBenchmark) -> int:
    """Make all gold calls on both sides and return how many there were.

    Raises:
        AssertionError: some call is answered differently.
    """
    made = 0
    for task in benchmark.tasks():
        here, there = ours(benchmark, task), _Upstream.calls(benchmark, task)
        if here != there:
            raise AssertionError(f"expected the same answers in task={task.id!r}, got {here} and {there}")
        made += len(here)
    return made


def ours(benchmark: BfclBenchmark, task: Task) -> list[str]:
    """Make the gold calls here, each in its turn, and return the answers."""
    environment = benchmark.open(task)
    turn, answers = 0, []
    for action in task.gold:
        while turn < action.turn:
            turn += 1
            environment.begin(turn)
        answers.append(environment.call(action.call).text)
    return answers


class _Upstream:
    """BFCL's executor and checker; a name of its own each time, or it would go on with used instances."""

    trial = 0

    @classmethod
    def _name(cls) -> str:
        cls.trial += 1
        return f"bench{cls.trial}"

    @classmethod
    def calls(cls, benchmark: BfclBenchmark, task: Task) -> list[str]:
        from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils

        entry, name = benchmark.blueprint(task).entry, cls._name()
        answers: list[str] = []
        for line in (line for lines in entry.gold for line in lines):
            answers += multi_turn_utils.execute_multi_turn_func_call(
                [line], entry.config, list(entry.classes), name, entry.id, entry.long_context
            )[0]
        cls._forget(multi_turn_utils, name)
        return answers

    @classmethod
    def verdict(cls, benchmark: BfclBenchmark, task: Task) -> bool:
        from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker, multi_turn_utils

        entry, name = benchmark.blueprint(task).entry, cls._name()
        raw = {
            "id": entry.id,
            "initial_config": json.loads(json.dumps(entry.config)),
            "involved_classes": list(entry.classes),
        }
        decoded = [[[line] for line in lines] for lines in entry.gold]
        gold = [list(lines) for lines in entry.gold]
        found = multi_turn_checker.multi_turn_checker(decoded, gold, raw, "", name)
        cls._forget(multi_turn_utils, name)
        return bool(found["valid"])

    @staticmethod
    def _forget(module: Any, name: str) -> None:
        for key in [key for key in vars(module) if key.startswith(f"{name}_")]:
            delattr(module, key)


def strategic_seconds(seed: int = 0) -> float:
    """Return CPU seconds for one scored ``strategic`` episode under noise and scenarios, once warm."""
    spec = RunSpec(
        benchmark="bfcl-multi-turn", agents=("strategic",), modes=(Mode.INJECT_ALT,), seeds=(seed,)
    )
    schedule = Schedule(spec)
    for place in range(len(schedule)):
        schedule.play(place)
    return _best(1, lambda: [schedule.play(place) for place in range(len(schedule))]) / len(schedule)


def _best(rounds: int, work: Callable[[], Any]) -> float:
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def report(cost: CallCost) -> Sequence[str]:
    """Return the lines that `python -m bench.bfcl` prints for a category."""
    return (
        f"  gold call, state included, CPU µs: ours {cost.ours * 1e6:.1f}, BFCL {cost.upstream * 1e6:.1f}"
        f" ({cost.calls} calls, the same answers): {cost.ratio:.2f} times faster"
        f" ({'at least' if cost.ratio >= cost.BOUND else 'below'} {cost.BOUND:g})",
        f"  gold episode with verdict, CPU ms: ours {cost.ours_scored * 1e3:.2f}, BFCL's checker {cost.upstream_scored * 1e3:.2f}",
    )


if __name__ == "__main__":
    for category in Category:
        print(category)
        print("\n".join(report(measure(category))))
    print(f"strategic episode in inject_alt, CPU ms: {strategic_seconds() * 1e3:.2f}")
