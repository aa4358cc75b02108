"""Checks that episodes leave each other alone: one after the other, overlapping, and in threads."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from bench2robust.core.episode import Task
from bench2robust.core.ports import Environment
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse

from .report import Failure
from .state import State
from .subject import GoldReplay, Subject

_THREADS: Final = 3
_ROUNDS: Final = 2
_AT_ONCE: Final = 6
"""Tasks that are played in threads."""
_PATIENCE: Final = 60.0
"""Seconds after which threads that are not done count as stuck."""


def apart(subject: Subject, task: Task) -> Iterator[str]:
    """Check two overlapping episodes of a task, and one of its neighbour between their calls."""
    # Before anything of this task is played: a write that leaks may change nothing the second time.
    if seen := _leaks(subject, task):
        yield f"an episode's writes change the world of another that is open (its {', '.join(sorted(seen))})"
    neighbour = subject.tasks[subject.tasks.index(task) - 1]
    alone = answers(subject.benchmark.open(task), task)
    ours, theirs, other = (subject.benchmark.open(t) for t in (task, task, neighbour))
    strangers = [action.call for action in neighbour.gold if not action.by_user]
    first = []
    for place, call in enumerate(calls_of(task)):
        first.append(ours.call(call))
        if place < len(strangers):
            other.call(strangers[place])
    if first != alone:
        yield "other episodes change what the calls of one get"
    if answers(theirs, task) != alone:
        yield "an episode sees what another one has done"
    _spoil(subject, task)
    if answers(subject.benchmark.open(task), task) != alone:
        yield "an episode that is over changes what the calls of the next one get"


def _spoil(subject: Subject, task: Task) -> None:
    """Do in an episode of its own whatever can be done: calls, right and wrong, handing over, being judged."""
    wrong = (ToolCall(tool.name) for tool in subject.tools)
    subject.play(task, GoldReplay(more=(*wrong, subject.benchmark.plan(task).escalate("help"))))


def _leaks(subject: Subject, task: Task) -> set[str]:
    """Return the attributes of an idle environment that change while another one gets the gold calls."""
    idle, active, warming = (subject.benchmark.open(task) for _ in range(3))
    for call in calls_of(task):  # what reads leave in shared caches is no fault
        if subject.kinds.get(call.name) is not ToolKind.WRITE:
            warming.call(call)
    before = State.of(idle)
    for call in calls_of(task):
        active.call(call)
    return State.of(idle).differing(before)


def threads(subject: Subject) -> Iterator[Failure]:
    """Check episodes in threads that take turns after every line of Python."""
    chosen = [task for task in subject.tasks if calls_of(task)]
    chosen = chosen[:: max(1, len(chosen) // _AT_ONCE)][:_AT_ONCE]
    alone = {task.id: answers(subject.benchmark.open(task), task) for task in chosen}
    found: dict[str, str] = {}

    def work(first: int) -> None:
        for place in range(_ROUNDS * len(chosen)):
            task = chosen[(first + place) % len(chosen)]
            try:
                if answers(subject.benchmark.open(task), task) != alone[task.id]:
                    found.setdefault(task.id, "episodes in other threads change what the calls of one get")
            except Exception as error:  # whatever an author's code raises is what the check found
                found.setdefault(task.id, f"in a thread beside others: {type(error).__name__}: {error}")

    workers = [threading.Thread(target=_taking_turns(work, n), daemon=True) for n in range(_THREADS)]
    for worker in workers:
        worker.start()
    end = time.monotonic() + _PATIENCE
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
    if any(worker.is_alive() for worker in workers):
        yield Failure("", f"expected episodes in {_THREADS} threads to come to an end in {_PATIENCE:.0f} s")
    yield from (Failure(task, problem) for task, problem in found.items())


def _taking_turns(work: Callable[[int], None], n: int) -> Callable[[], None]:
    """Return a thread's work that lets the others go on after every line: what is shared is soon mixed up."""

    def run() -> None:
        sys.settrace(_trace)
        work(n)

    return run


def _trace(frame: FrameType, event: str, argument: Any) -> Any:
    time.sleep(0)
    return _trace


def calls_of(task: Task) -> list[ToolCall]:
    """Return the gold calls that are the agent's."""
    return [action.call for action in task.gold if not action.by_user]


def answers(environment: Environment, task: Task) -> list[ToolResponse]:
    """Make the gold calls, and return what they are answered with."""
    return [environment.call(call) for call in calls_of(task)]
