"""Our verdict on the live environment is τ²'s verdict on the transcript, where nothing is injected."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bench2robust.core.episode import Action, Task, Trajectory
from bench2robust.core.tools import ToolCall, ToolKind

pytestmark = pytest.mark.tau2

SAMPLE = ("3", "19", "20")
"""Compared on the whole database by default: a value to tell, a cancellation, a booking."""
NOTHING_TOLD = "I took care of it."


def user_of(task):
    return re.search(r"[a-z]+_[a-z]+_\d{4}", task.instructions)[0]


def plays(bench, task, calls, said):
    environment = bench.open(task)
    exchanges = [(call, environment.call(call).text) for call in calls]
    return environment.score(Trajectory.saying(said)), exchanges


def agree(bench, upstream, task, calls, said):
    """Play calls and compare the verdicts; returns ours."""
    score, exchanges = plays(bench, task, calls, said)
    ours = (score.parts["database"], score.parts["communicated"])
    assert ours == upstream.verdict(task, exchanges, said), task.id
    assert score.passed == all(ours)
    return ours


def told(task):
    return "Here it is: " + " ".join(task.tell)


def writes(bench, task):
    """Indices of the gold calls that change the database."""
    kinds = {spec.name: spec.kind for spec in bench.tools(True)}
    return [i for i, action in enumerate(task.gold) if kinds[action.call.name] is ToolKind.WRITE]


def extra(task):
    return ToolCall("send_certificate", {"user_id": user_of(task), "amount": 7})


def spoilt(call, task):
    """The same write with one wrong argument that τ² accepts; a cancellation becomes something else."""
    arguments = dict(call.arguments)
    if call.name == "send_certificate":
        arguments["amount"] += 50
    elif "passengers" in arguments:
        first, *others = arguments["passengers"]
        arguments["passengers"] = [{**first, "dob": "1900-01-01"}, *others]
    elif "total_baggages" in arguments:
        arguments["total_baggages"] += 1
    elif "flights" in arguments:
        arguments["flights"] = [*arguments["flights"], arguments["flights"][0]]
    else:
        return extra(task)
    return ToolCall(call.name, arguments)


def wrong_write(task, calls, found):
    """The gold plan with its last write wrong; with a write too many where gold has none."""
    if not found:
        return [*calls, extra(task)]
    return [*calls[: found[-1]], spoilt(calls[found[-1]], task), *calls[found[-1] + 1 :]]


def compare(bench, upstream, task):
    calls = [action.call for action in task.gold]
    found = writes(bench, task)
    said = [told(task)]
    assert agree(bench, upstream, task, calls, said) == (True, True), task.id
    assert agree(bench, upstream, task, wrong_write(task, calls, found), said) == (False, True), task.id
    if found:
        short = calls[: found[-1]] + calls[found[-1] + 1 :]
        assert agree(bench, upstream, task, short, [NOTHING_TOLD]) == (False, not task.tell), task.id
    if task.tell:
        assert agree(bench, upstream, task, calls, [NOTHING_TOLD]) == (True, False), task.id


@pytest.mark.slow
@pytest.mark.parametrize("task_id", SAMPLE)
def test_a_sample_of_tasks_gets_the_upstream_verdict_on_the_whole_database(bench, upstream, task_id):
    compare(bench, upstream, next(task for task in bench.tasks() if task.id == task_id))


def test_a_sample_of_tasks_gets_the_upstream_verdict(bench, upstream_of):
    for task in bench.tasks():
        if task.id in SAMPLE:
            compare(bench, upstream_of(user_of(task)), task)


@pytest.mark.slow
def test_every_task_gets_the_upstream_verdict(bench, upstream_of):
    for task in bench.tasks():
        compare(bench, upstream_of(user_of(task)), task)


def test_every_gold_plan_passes_and_a_wrong_or_missing_step_fails(bench):
    """Ours alone, on all 50 tasks; that τ² agrees is the tests above."""
    assert len(bench.tasks()) == 50
    changing = 0
    for task in bench.tasks():
        calls = [action.call for action in task.gold]
        found = writes(bench, task)
        said = [told(task)]
        assert plays(bench, task, calls, said)[0].passed, task.id
        assert not plays(bench, task, wrong_write(task, calls, found), said)[0].passed, task.id
        for i in found:
            assert not plays(bench, task, calls[:i] + calls[i + 1 :], said)[0].passed, task.id
        changing += bool(found)
        for value in task.tell:
            rest = " ".join(other for other in task.tell if value not in other)
            assert not plays(bench, task, calls, [rest])[0].passed, task.id
    assert changing == 30


def test_nothing_done_passes_only_where_nothing_is_asked(bench):
    nothing = [
        t.id for t in bench.tasks() if bench.open(t).score(Trajectory.saying([told(t)])).parts["database"]
    ]
    assert len(nothing) == 20


def test_a_booking_repeated_blindly_is_a_second_booking(bench):
    task = next(t for t in bench.tasks() if t.id == "20")
    (booking,) = (a.call for a in task.gold if a.call.name == "book_reservation")
    card = [{"payment_id": "credit_card_4421486", "amount": 255}]
    again = ToolCall(booking.name, {**booking.arguments, "payment_methods": card})
    environment = bench.open(task)
    first, second = environment.call(booking), environment.call(again)
    assert (first.error, second.error) == (False, False)
    assert [key for table, key in environment.changes() if table == "reservations"] == ["HATHAT", "HATHAU"]
    assert not environment.score(Trajectory.saying([])).passed


def test_any_task_of_the_domain_can_be_opened(bench):
    call = ToolCall("cancel_reservation", {"reservation_id": "EHGLP3"})
    environment = bench.open(Task("made up", "", gold=(Action(call),)))
    assert not environment.score(Trajectory.saying([])).passed
    environment.call(call)
    assert environment.score(Trajectory.saying([])).passed


def test_gold_that_changes_is_not_judged_by_the_old_gold(bench):
    task = next(t for t in bench.tasks() if t.id == "19")
    assert not bench.open(task).score(Trajectory.saying([])).parts["database"]
    assert bench.open(replace(task, gold=())).score(Trajectory.saying([])).parts["database"]
    assert not bench.open(task).score(Trajectory.saying([])).parts["database"]
