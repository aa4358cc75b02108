"""Our verdict on the live world is τ²'s verdict on the transcript, where nothing is injected."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench2robust.core.episode import Action, Trajectory
from bench2robust.core.errors import BenchmarkError
from bench2robust.core.tools import ToolCall

from .playing import replay

pytestmark = pytest.mark.tau2

SAMPLE = 9
"""One task in so many is compared by default; the slow test compares all."""


def agree(bench, upstream, task, actions):
    """Replay and compare the verdicts part by part; returns whether it passed."""
    environment, exchanges = replay(bench, task, actions)
    score = environment.score(Trajectory())
    assert score.parts == upstream.verdict(task, exchanges), task.id
    assert score.passed == all(score.parts.values())
    return score.passed


def spoilt(action):
    """The same write with a wrong argument that τ² accepts, or None."""
    arguments = dict(action.call.arguments)
    if "gb_amount" in arguments:
        arguments["gb_amount"] += 1.0
    elif "line_id" in arguments:
        arguments["line_id"] = "L1001" if action.call.name == "enable_roaming" else "L1003"
    elif "bill_id" in arguments:
        arguments["bill_id"] = "B1002"
    elif "mode" in arguments:
        arguments["mode"] = "2g_only"
    else:
        return None
    return replace(action, call=ToolCall(action.call.name, arguments))


def compare(bench, upstream, task):
    gold = task.gold
    assert agree(bench, upstream, task, gold), f"gold fails: {task.id}"
    assert not agree(bench, upstream, task, ()), f"nothing passes: {task.id}"
    for place, action in enumerate(gold):
        agree(bench, upstream, task, (*gold[:place], *gold[place + 1 :]))
        wrong = spoilt(action)
        if wrong is not None:
            assert not agree(bench, upstream, task, (*gold[:place], wrong, *gold[place + 1 :])), task.id


def test_verdicts_of_a_sample(bench, upstream):
    for task in bench.tasks()[::SAMPLE]:
        compare(bench, upstream, task)


@pytest.mark.slow
def test_verdicts_of_every_task(bench, upstream):
    for task in bench.tasks():
        compare(bench, upstream, task)


def test_gold_passes_on_every_task_here(bench):
    for task in bench.tasks():
        environment, _ = replay(bench, task, task.gold)
        assert environment.score(Trajectory()).passed, task.id


def test_a_toggle_twice_is_a_toggle_undone(bench, upstream):
    task = next(t for t in bench.tasks() if "toggle_data" in {a.call.name for a in t.gold})
    again = Action(ToolCall("toggle_data"), by_user=True)
    assert not agree(bench, upstream, task, (*task.gold, again))
    assert agree(bench, upstream, task, (*task.gold, again, again))


def test_a_gold_action_counts_whoever_made_it_and_with_any_summary(bench, upstream):
    task = next(t for t in bench.tasks() if t.gold[0].call.name == "transfer_to_human_agents")
    other = Action(ToolCall("transfer_to_human_agents", {"summary": "Something else."}))
    assert agree(bench, upstream, task, (other,))


def test_a_call_that_errors_is_a_call_made(bench, upstream):
    task = next(t for t in bench.tasks() if t.gold[0].call.name == "transfer_to_human_agents")
    assert agree(bench, upstream, task, (Action(ToolCall("transfer_to_human_agents", {"reason": "x"})),))


def test_scoring_twice_gives_the_same(bench):
    for task in bench.tasks()[::SAMPLE]:
        environment, _ = replay(bench, task, task.gold[:-1])
        assert environment.score(Trajectory()) == environment.score(Trajectory())


@pytest.mark.parametrize(
    "change",
    [
        {"evaluation_criteria": {"reward_basis": ["DB"], "actions": [], "env_assertions": []}},
        {"initial_state": {"message_history": [{"role": "user", "content": "Hello"}]}},
        {"evaluation_criteria": None},
    ],
)
def test_a_task_that_cannot_be_judged_is_refused(bench, change):
    task = bench.tasks()[0]
    with pytest.raises(BenchmarkError, match=r"expected .* got id="):
        bench.open(replace(task, id="odd", data={**task.data, **change}))


def test_actions_of_the_user_count_as_actions(bench, upstream):
    """No base task asks for it; the full set and other task files may."""
    task = next(t for t in bench.tasks() if any(a.by_user for a in t.gold))
    criteria = {**task.data["evaluation_criteria"], "reward_basis": ["ENV_ASSERTION", "ACTION"]}
    asked = replace(task, id="actions too", data={**task.data, "evaluation_criteria": criteria})
    assert agree(bench, upstream, asked, asked.gold)
    check = Action(ToolCall("check_sim_status"), by_user=True)
    assert not agree(bench, upstream, asked, (check, *asked.gold[1:]))
