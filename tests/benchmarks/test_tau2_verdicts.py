"""Our verdict on the live environment is τ²'s verdict on the transcript, where nothing is injected."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.episode import Action, Task, Trajectory
from bench2robust.core.tools import ToolCall, ToolKind

pytestmark = pytest.mark.tau2

SAMPLE = 16
"""One task in so many is compared by default; the slow test compares all."""

NOTHING_TOLD = "I took care of it."


def plays(bench, task, calls, said):
    """Play calls and compare the verdicts; returns ours."""
    environment = bench.open(task)
    exchanges = [(call, environment.call(call).text) for call in calls]
    return environment.score(Trajectory.saying(said)), exchanges


def agree(bench, upstream, task, calls, said):
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
    environment = bench.open(task)
    found = []
    for i, action in enumerate(task.gold):
        answer = environment.call(action.call)
        if kinds[action.call.name] is ToolKind.WRITE and not answer.error:
            found.append(i)
    return found


OTHER_REASON = {"no longer needed": "ordered by mistake", "ordered by mistake": "no longer needed"}


def spoilt(call):
    """The same write with one wrong argument that τ² accepts."""
    arguments = dict(call.arguments)
    if "reason" in arguments:
        arguments["reason"] = OTHER_REASON[arguments["reason"]]
    elif "address1" in arguments:
        arguments["address1"] += " B"
    elif "item_ids" in arguments:
        arguments["item_ids"] = arguments["item_ids"][:-1]
        if "new_item_ids" in arguments:
            arguments["new_item_ids"] = arguments["new_item_ids"][:-1]
    else:
        return None
    return ToolCall(call.name, arguments)


EXTRA = ToolCall(
    "modify_user_address",
    {
        "user_id": "yusuf_rossi_9620",
        "address1": "1 Wrong Way",
        "address2": "",
        "city": "Nowhere",
        "state": "CA",
        "country": "USA",
        "zip": "00000",
    },
)


def wrong_write(calls, found):
    """The gold plan with its last write wrong; with a write too many where gold has none."""
    for i in reversed(found):
        bad = spoilt(calls[i])
        if bad is not None:
            return [*calls[:i], bad, *calls[i + 1 :]]
    return [*calls, EXTRA]


def compare(bench, upstream, task):
    calls = [action.call for action in task.gold]
    found = writes(bench, task)
    said = [told(task)]
    assert agree(bench, upstream, task, calls, said) == (True, True), task.id
    assert agree(bench, upstream, task, wrong_write(calls, found), said) == (False, True), task.id
    if found:
        short = calls[: found[-1]] + calls[found[-1] + 1 :]
        assert agree(bench, upstream, task, short, [NOTHING_TOLD]) == (False, not task.tell), task.id
    if task.tell:
        assert agree(bench, upstream, task, calls, [NOTHING_TOLD]) == (True, False), task.id


def test_a_sample_of_tasks_gets_the_upstream_verdict(bench, upstream):
    for task in bench.tasks()[::SAMPLE]:
        compare(bench, upstream, task)


@pytest.mark.slow
def test_every_task_gets_the_upstream_verdict(bench, upstream):
    for task in bench.tasks():
        compare(bench, upstream, task)


def test_every_gold_plan_passes_and_a_wrong_or_missing_step_fails(bench):
    """Ours alone, on all 114 tasks; that τ² agrees is the two tests above."""
    assert len(bench.tasks()) == 114
    changing, dispensable = 0, []
    for task in bench.tasks():
        calls = [action.call for action in task.gold]
        found = writes(bench, task)
        said = [told(task)]
        assert plays(bench, task, calls, said)[0].passed, task.id
        assert not plays(bench, task, wrong_write(calls, found), said)[0].passed, task.id
        for i in found:
            if plays(bench, task, calls[:i] + calls[i + 1 :], said)[0].passed:
                dispensable.append((task.id, calls[i].name))
        changing += bool(found)
        for value in task.tell:
            rest = " ".join(other for other in task.tell if value not in other)
            assert not plays(bench, task, calls, [rest])[0].passed, task.id
    assert changing == 103
    # 22 changes the address and changes it back; in 110 the address is already the one that gold writes
    assert dispensable == [("22", "modify_user_address"), ("110", "modify_user_address")]


def test_nothing_done_passes_only_where_nothing_is_asked(bench):
    passed = [
        task.id
        for task in bench.tasks()
        if bench.open(task).score(Trajectory.saying([told(task)])).parts["database"]
    ]
    assert len(passed) == 11


def test_a_repeated_one_shot_write_changes_nothing_more(bench):
    task = next(t for t in bench.tasks() if any("cancel" in a.call.name for a in t.gold))
    calls = [action.call for action in task.gold]
    cancel = next(call for call in calls if "cancel" in call.name)
    environment = bench.open(task)
    for call in calls:
        environment.call(call)
    again = environment.call(cancel)
    assert again.error
    assert again.text == "Error: Non-pending order cannot be cancelled"
    assert environment.score(Trajectory.saying([told(task)])).passed


def test_a_write_that_never_ran_is_not_done_and_one_that_ran_is_done(bench):
    """Whatever an agent is shown, only what reached the environment counts."""
    task = next(t for t in bench.tasks() if len(writes(bench, t)) == 1)
    environment = bench.open(task)
    (at,) = writes(bench, task)
    for i, action in enumerate(task.gold):
        if i != at:
            environment.call(action.call)
    assert environment.score(Trajectory.saying([told(task)])).parts == {
        "database": False,
        "communicated": True,
    }
    assert environment.changes() == {}
    environment.call(task.gold[at].call)
    assert environment.score(Trajectory.saying([told(task)])).passed


def test_gold_that_changes_is_not_judged_by_the_old_gold(bench):
    task = bench.tasks()[0]
    assert not bench.open(task).score(Trajectory.saying([])).parts["database"]
    assert bench.open(replace(task, gold=())).score(Trajectory.saying([])).parts["database"]
    assert not bench.open(task).score(Trajectory.saying([])).parts["database"]


def test_any_task_of_the_domain_can_be_opened(bench):
    environment = bench.open(Task("made up", "", gold=(Action(EXTRA),)))
    assert not environment.score(Trajectory.saying([])).passed
    environment.call(EXTRA)
    assert environment.score(Trajectory.saying([])).passed


VALUES = st.text(alphabet="0123456789.,$ABab ", min_size=1, max_size=6)
TEXTS = st.lists(st.text(alphabet="0123456789.,$ABab \n", max_size=20), max_size=4)


@given(values=st.lists(VALUES, max_size=3), said=TEXTS, mixed=st.booleans())
def test_communicated_is_the_upstream_rule(bench, upstream, values, said, mixed):
    """Random values and texts; with `mixed` the values are in the texts, with commas put between."""
    if mixed:
        said = [*said, *(",".join(value.upper()) for value in values)]
    task = bench.tasks()[0]
    ours = bench.open(replace(task, tell=tuple(values))).score(Trajectory.saying(said)).parts["communicated"]
    criteria = {**task.data["evaluation_criteria"], "communicate_info": values}
    theirs = upstream.tasks.Task.model_validate({**task.data, "evaluation_criteria": criteria})
    assert ours == upstream.communicated(theirs, upstream.trajectory([], said))
