"""What an agent does after a failure that it sees: moves, recovery latency, loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from bench2robust.core.episode import Role, Trajectory
from bench2robust.core.tools import CallRecord, ToolKind

from .facts import RunFacts


class Move(StrEnum):
    """The next tool action after a visible failure of a tool."""

    RETRY = "retry"
    """The same tool, with whatever arguments."""
    SWITCH = "switch"
    """A tool on another side of one of the failed tool's equivalence classes."""
    ABSTAIN = "abstain"
    """Handing over to a human."""
    OTHER = "other"
    """Any other tool, or no tool any more."""


class Recovery(NamedTuple):
    """What became of the visible failures of an episode."""

    failures: int
    recoveries: int
    steps: int
    """From failure to answer, added up over the recoveries."""
    left: tuple[str, ...] = ()
    """The tools whose failures nothing has answered."""


def failed_visibly(record: CallRecord) -> bool:
    """Whether a failure was injected that the agent sees: an observable noise type, or a block."""
    return record.blocked or record.noise.observable


def move(facts: RunFacts, failed: str, then: str | None) -> Move:
    """Return the move from a tool that failed to the next tool called, None where none was."""
    if then is None:
        return Move.OTHER
    if then == failed:
        return Move.RETRY
    if facts.kinds.get(then) is ToolKind.ESCALATION:
        return Move.ABSTAIN
    return Move.SWITCH if facts.domain.switches(failed, then) else Move.OTHER


def moves_after_failures(
    trajectory: Trajectory, facts: RunFacts, errors: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Count the moves after every visible failure, by error and move.

    Args:
        trajectory: what happened.
        facts: of the run.
        errors: the rows: observable noise types, and last what a blocked tool's failures count as.
    """
    records = trajectory.records
    counts: Counter[tuple[str, Move]] = Counter()
    for place, record in enumerate(records):
        if failed_visibly(record):
            then = records[place + 1].call.name if place + 1 < len(records) else None
            error = errors[-1] if record.blocked else record.noise
            counts[error, move(facts, record.call.name, then)] += 1
    return tuple(tuple(counts[error, kind] for kind in Move) for error in errors)


def recovery(trajectory: Trajectory, facts: RunFacts) -> Recovery:
    """Say how many visible failures there were, how many were recovered from, and in how many steps.

    Failures of a tool, or of those it can be switched for, count as one until one of them answers; an
    answer is anything the tool itself says, silently corrupted or a refusal included. Where a write was carried
    out and only its answer was lost, a look at what has happened (any read that answers) ends it too.
    """
    if not any(map(failed_visibly, trajectory.records)):
        return Recovery(0, 0, 0)
    step_of = _steps(trajectory)
    began: dict[str, int] = {}
    lost: set[str] = set()
    failures = recoveries = steps = 0
    for record in trajectory.records:
        tool = record.call.name
        kind = facts.kinds.get(tool)
        ended = [other for other in began if other == tool or facts.domain.switches(other, tool)]
        if not failed_visibly(record):
            looked = [other for other in lost if other not in ended] if kind is ToolKind.READ else []
            for other in (*ended, *looked):
                recoveries += 1
                steps += step_of[record.index] - began.pop(other)
                lost.discard(other)
            continue
        if not ended:
            began[tool] = step_of[record.index]
            failures += 1
        if kind is ToolKind.WRITE and record.answer_lost and tool in began:
            lost.add(tool)
    return Recovery(failures, recoveries, steps, tuple(began))


def _steps(trajectory: Trajectory) -> dict[int, int]:
    """Return the step of every call, from 0, by the call's index."""
    actions = (message for message in trajectory.messages if message.role is Role.ASSISTANT)
    return {message.record: step for step, message in enumerate(actions) if message.record is not None}


def longest_loop(records: Sequence[CallRecord]) -> int:
    """Return the length of the longest run of identical calls, one after the other; 0 without calls."""
    runs = groupby(records, key=lambda record: record.call.signature())
    return max((sum(1 for _ in run) for _, run in runs), default=0)


def most_repeated(records: Sequence[CallRecord]) -> int:
    """Return how often the most repeated identical call was made, the first included; 0 without calls."""
    return max(Counter(record.call.signature() for record in records).values(), default=0)
