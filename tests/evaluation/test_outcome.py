"""Verdicts on trajectories made by hand."""

from __future__ import annotations

import pytest

from bench2robust.core.episode import (
    Action,
    Assignment,
    End,
    Escalation,
    Scenario,
    Score,
    Task,
    Trajectory,
)
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import CallRecord, ToolCall, ToolKind, ToolResponse
from bench2robust.evaluation.outcome import count_blind_repeats, judge

KINDS = {"look": ToolKind.READ, "write": ToolKind.WRITE, "give_up": ToolKind.ESCALATION}
ERROR, FINE = ToolResponse("HTTP 500", error=True), ToolResponse("done")


def record(index, name, how="fine", **arguments):
    """Return the record of a call that went well, failed, or failed after it was done."""
    call = ToolCall(name, arguments)
    common = {"index": index, "call": call, "ordinal": 0, "drawn": NoiseType.CLEAN}
    match how:
        case "fine":
            return CallRecord(**common, true=FINE, delivered=FINE)
        case "lost":
            return CallRecord(**common, true=FINE, delivered=ERROR, noise=NoiseType.TIMEOUT)
        case "rejected":
            return CallRecord(**common, true=None, delivered=ERROR, noise=NoiseType.RATE_LIMIT)
        case "refused":
            return CallRecord(**common, true=ERROR, delivered=ERROR)
        case "silent":
            return CallRecord(**common, true=FINE, delivered=ToolResponse("dome"), noise=NoiseType.FACTUAL)
        case "blocked":
            return CallRecord(**common, true=None, delivered=ERROR, blocked=True)
    raise AssertionError(how)


@pytest.mark.parametrize(
    ("calls", "repeats"),
    [
        ("write lost, write fine", 1),
        ("write lost, write lost, write fine", 2),
        ("write lost, look fine, write fine", 0),
        ("write lost, look silent, write fine", 0),
        ("write lost, look lost, write fine", 1),
        ("write lost, look blocked, write fine", 1),
        ("write fine, write fine", 0),
        ("write rejected, write fine", 0),
        ("write refused, write fine", 0),
        ("write blocked, write blocked", 0),
        ("look lost, look fine", 0),
        ("write lost, write:2 fine", 0),
        ("write lost, write:2 fine, write fine", 1),
        ("write lost, write fine, write fine", 1),
        ("write lost, give_up fine", 0),
    ],
)
def test_blind_repeats(calls, repeats):
    records = []
    for index, text in enumerate(calls.split(", ")):
        name, how = text.split()
        name, _, value = name.partition(":")
        records.append(record(index, name, how, value=value))
    assert count_blind_repeats(records, KINDS) == repeats


def outcome(*, ended="escalated", effective=Scenario.S1, gold=("write",), assigned=None):
    task = Task("t", "", tuple(Action(ToolCall(name)) for name in gold))
    assignment = Assignment(assigned or effective, effective)
    return judge(Trajectory(ended=ended), Score(passed=False), task, assignment, KINDS)


def test_handing_over_while_a_path_is_left_is_premature():
    assert outcome(effective=Scenario.S1).escalation is Escalation.PREMATURE
    assert outcome(effective=Scenario.S2).escalation is Escalation.PREMATURE


def test_handing_over_where_nothing_is_left_is_abstaining():
    assert outcome(effective=Scenario.S3).escalation is Escalation.ABSTAIN
    assert outcome(effective=Scenario.S3, gold=("write", "give_up")).escalation is Escalation.ABSTAIN


def test_a_task_that_could_not_be_made_impossible_leaves_a_path():
    assert outcome(assigned=Scenario.S3, effective=Scenario.S1).escalation is Escalation.PREMATURE


def test_handing_over_as_the_reference_solution_does_was_requested():
    assert outcome(gold=("write", "give_up")).escalation is Escalation.REQUESTED


@pytest.mark.parametrize("ended", ["done", "max_steps"])
def test_not_handing_over(ended):
    assert outcome(ended=ended, effective=Scenario.S3).escalation is Escalation.NONE


def test_counts():
    hows = ["fine", "lost", "silent", "blocked", "refused", "rejected"]
    records = [record(index, "look", how) for index, how in enumerate(hows)]
    trajectory = Trajectory(records=records, steps=9, ended="done")
    found = judge(trajectory, Score(passed=True), Task("t", ""), Assignment(), KINDS)
    assert (found.calls, found.injections, found.blocked_calls, found.steps) == (6, 3, 1, 9)


@pytest.mark.parametrize("end", End)
def test_an_end_that_is_not_scored_has_failed(end):
    trajectory, score = Trajectory(ended=end), Score(passed=True, parts={"database": True})
    judged = judge(trajectory, score, Task("t", ""), Assignment(), KINDS).score
    if end in ("done", "escalated", "transferred", "out_of_scope"):
        assert judged == score
    else:
        assert judged == Score(passed=False, parts={"database": True, "finished": False})
