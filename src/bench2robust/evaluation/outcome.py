"""From a trajectory to an outcome: the escalation verdict, blind repeats and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench2robust.core.episode import Assignment, End, Escalation, Outcome, Scenario, Score, Task, Trajectory
from bench2robust.core.tools import CallRecord, ToolKind

Kinds = Mapping[str, ToolKind]
"""Tool name to what calling it may do."""


def judge(trajectory: Trajectory, score: Score, task: Task, assignment: Assignment, kinds: Kinds) -> Outcome:
    """Return the outcome of an episode.

    Args:
        trajectory: what happened.
        score: the benchmark's verdict on the environment that the episode used; where the episode ended in
            a way that is not `End.scored`, a part ``finished`` says so and it has failed.
        task: whose gold actions say whether the reference solution hands over.
        assignment: the scenario, which the certificate made sure of: in S1 and S2 a viable path is left,
            in S3 none is.
        kinds: the kind of every tool of the episode.
    """
    records = trajectory.records
    if not End(trajectory.ended).scored:
        score = Score(passed=False, parts={**score.parts, "finished": False})
    return Outcome(
        score=score,
        escalation=_escalation(trajectory, task, assignment, kinds),
        steps=trajectory.steps,
        calls=len(records),
        injections=sum(record.landed for record in records),
        blocked_calls=sum(record.blocked for record in records),
        blind_repeats=count_blind_repeats(records, kinds),
    )


def _escalation(trajectory: Trajectory, task: Task, assignment: Assignment, kinds: Kinds) -> Escalation:
    if trajectory.ended != End.ESCALATED:
        return Escalation.NONE
    if assignment.effective is Scenario.S3:
        return Escalation.ABSTAIN
    if any(kinds.get(action.call.name) is ToolKind.ESCALATION for action in task.gold):
        return Escalation.REQUESTED
    return Escalation.PREMATURE


def count_blind_repeats(records: Sequence[CallRecord], kinds: Kinds) -> int:
    """Count the writes proposed again, unchanged, after their answer was lost and with no look in between.

    A look is a read whose answer came through; a read that failed visibly has shown the agent nothing.
    """
    lost: set[str] = set()
    repeats = 0
    for record in records:
        kind = kinds.get(record.call.name)
        if kind is ToolKind.READ and not (record.blocked or record.noise.observable):
            lost.clear()
        elif kind is ToolKind.WRITE:
            signature = record.call.signature()
            repeats += signature in lost
            if record.answer_lost:
                lost.add(signature)
            else:
                lost.discard(signature)
    return repeats
