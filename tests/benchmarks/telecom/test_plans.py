"""Intent plans: they pass everywhere, hold nothing of gold's arguments, and believe what they read."""

from __future__ import annotations

import pytest

from bench2robust import agents
from bench2robust.benchmarks.tau2.provider import telecom_data
from bench2robust.benchmarks.tau2.telecom.benchmark import task_of
from bench2robust.benchmarks.tau2.telecom.plan import compile_plan
from bench2robust.core.episode import Mode, Role
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.domains import load

from .playing import noisy, play

pytestmark = pytest.mark.tau2

WRITES = frozenset(load("telecom").needs)


def calls(episode, names=WRITES):
    """The agent's calls that were really carried out, as signatures."""
    return [r.call.signature() for r in episode.trajectory.records if r.executed and r.call.name in names]


def acts(episode):
    return [m.call.signature() for m in episode.trajectory.messages if m.call is not None]


def changes(episode):
    return [a for a in acts(episode) if not a.startswith(("check_", "run_", "can_"))]


@pytest.mark.parametrize("policy", agents.REFERENCE)
@pytest.mark.parametrize("mode", [Mode.CLEAN, Mode.CLEAN_ALT])
def test_every_policy_passes_every_task_when_nothing_fails(bench, policy, mode):
    failed = [
        t.id for t in bench.tasks() if not play(bench, t, policy, mode=mode).result.outcome.score.passed
    ]
    assert failed == []


def test_what_is_done_is_gold(bench):
    """The agent's writes are gold's, and the user does what gold has them do, unless it changes nothing."""
    for task in bench.tasks():
        episode = play(bench, task, "strategic")
        gold = [a.call.signature() for a in task.gold if a.call.name in WRITES]
        assert sorted(calls(episode)) == sorted(gold), task.id
        if gold or "transfer" not in task.gold[0].call.name:
            by_user = [a.call.signature() for a in task.gold if a.by_user]
            assert set(changes(episode)) == set(by_user), task.id


def test_a_plan_holds_no_id_and_no_amount_of_gold(bench):
    for task in bench.tasks():
        text = repr(bench.plan(task))
        assert not any(word in text for word in ("C1001", "L1002", "B1234321", "P1002", "gb_amount")), task.id
        assert bench.plan(task).notes == ()


def test_an_unknown_gold_action_is_noted(bench):
    from dataclasses import replace

    from bench2robust.core.episode import Action
    from bench2robust.core.tools import ToolCall

    task = replace(bench.tasks()[0], gold=(Action(ToolCall("connect_vpn"), by_user=True),))
    assert compile_plan(task).notes == ("no step for gold action connect_vpn",)


@pytest.mark.slow
def test_the_full_set_passes(bench):
    """All 2,285 tasks of τ²'s full split; nothing in the compiler knows the base tasks."""
    tasks = [task_of(raw) for raw in telecom_data("full").tasks]
    assert len(tasks) == 2285
    failed = [task.id for task in tasks if not play(bench, task, "naive").result.outcome.score.passed]
    assert failed == []


def test_phone_and_records_decide_not_gold(bench):
    """With gold of a worse world, a plan does on a healthy phone nothing that is not needed."""
    from dataclasses import replace

    worst = max(bench.tasks(), key=lambda task: len(task.gold))
    state = worst.data["initial_state"]
    healthy = [a for a in state["initialization_actions"] if a["func_name"].startswith("set_user")]
    data = {**worst.data, "initial_state": {**state, "initialization_actions": healthy}}
    episode = play(bench, replace(worst, id="healthy", data=data), "naive")
    assert changes(episode) == ["toggle_roaming({})"]  # abroad, and τ²'s phones have roaming off
    assert calls(episode) == []


MISLED = {NoiseType.PARTIAL: 50, NoiseType.STALE: 5, NoiseType.FACTUAL: 20}
"""How many of the 71 tasks with a write go wrong at least, over two seeds (measured: 58, 6 and 25; draws are
keyed, so every run gives the same). Stale states matter only where a line is suspended: in 6 of the 71."""


@pytest.mark.parametrize("noise", sorted(MISLED))
def test_a_silent_corruption_misleads(bench, noise):
    """Naive believes what it reads: the writes carried out are then not those of a clean episode."""
    wrong = {
        task.id
        for task in bench.tasks()
        for seed in range(2)
        if any(a.call.name in WRITES for a in task.gold)
        and calls(play(bench, task, "naive", mode=Mode.INJECT, injection=noisy(noise), seed=seed))
        != calls(play(bench, task, "naive"))
    }
    assert len(wrong) >= MISLED[noise], len(wrong)


def test_noise_is_on_the_agents_tools_only(bench):
    """Whatever fails on the way to the agent, the user's phone answers the truth."""
    agent = {spec.name for spec in bench.tools(True)}
    for task, noise in zip(bench.tasks()[::5], NOISE_TYPES * 3, strict=False):
        episode = play(bench, task, "omniscient", mode=Mode.INJECT, injection=noisy(noise, 0.6))
        assert {record.call.name for record in episode.trajectory.records} <= agent
        assert acts(episode) == acts(play(bench, task, "omniscient"))
        for message in episode.trajectory.messages:
            if message.call is not None:
                assert (message.role, message.record) == (Role.USER, None)
                assert message.call.name not in agent


def test_the_policies_stand_in_order_under_noise(bench):
    """One seed of the default noise without alternatives; the gaps are tens of tasks wide."""
    from bench2robust.injection import InjectionSpec

    passed = {
        policy: sum(
            play(bench, task, policy, mode=Mode.INJECT, injection=InjectionSpec()).result.outcome.score.passed
            for task in bench.tasks()
        )
        for policy in agents.REFERENCE
    }
    assert passed["omniscient"] == 114
    assert passed["naive"] < 70 < passed["retry"] < passed["strategic"]


def test_a_write_whose_answer_was_lost_is_not_repeated_by_strategic(bench):
    """A blind repeat refuels twice; looking first does not."""
    task = next(t for t in bench.tasks() if "data_usage_exceeded" in t.id)
    spec = noisy(NoiseType.TIMEOUT, 0.5)
    seen = {policy: [] for policy in ("retry", "strategic")}
    for policy, counts in seen.items():
        for seed in range(20):
            episode = play(bench, task, policy, mode=Mode.INJECT, injection=spec, seed=seed)
            counts.append(len(calls(episode, {"refuel_data"})))
    assert max(seen["strategic"]) == 1
    assert max(seen["retry"]) > 1
