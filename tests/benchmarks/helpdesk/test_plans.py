"""Helpdesk plans: they reach gold, hold no ids, and are misled by corrupted answers."""

from __future__ import annotations

import re

import pytest

from bench2robust import agents
from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark, helpdesk, task
from bench2robust.benchmarks.helpdesk.desk import Desk
from bench2robust.core.episode import Assignment, Mode
from bench2robust.core.noise import NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall, ToolKind
from bench2robust.domains import load
from bench2robust.evaluation import Job, run_episode
from bench2robust.injection import InjectionSpec, Limits, NoiseProfile
from bench2robust.injection.corruption import corrupt

BENCHMARK = HelpdeskBenchmark(300, seed=9)
NO_NOISE = InjectionSpec(profile=NoiseProfile.empty())
WRITES = {tool.name for tool in helpdesk().tools(alternatives=True) if tool.kind is ToolKind.WRITE}


def play(made, policy, injection=NO_NOISE, mode=Mode.CLEAN, seed=0):
    return run_episode(BENCHMARK, agents.create(policy), Job(made, mode, seed, Assignment(), injection, 100))


def writes(episode):
    return [r.call for r in episode.trajectory.records if r.call.name in WRITES and r.executed]


@pytest.mark.parametrize("policy", agents.REFERENCE)
@pytest.mark.parametrize("mode", [Mode.CLEAN, Mode.CLEAN_ALT])
def test_every_policy_makes_the_gold_writes_in_a_world_without_failures(policy, mode):
    for made in BENCHMARK.tasks():
        episode = play(made, policy, mode=mode)
        assert episode.result.outcome.score.passed, made.instructions
        assert writes(episode) == [a.call for a in made.gold if a.call.name in WRITES]


def test_the_first_policy_makes_exactly_the_gold_calls():
    """Gold reads the usual way, so a policy that fails nowhere reads the same, in the same order."""
    for made in BENCHMARK.tasks():
        calls = [record.call for record in play(made, "naive").trajectory.records]
        gold = [action.call for action in made.gold]
        assert calls[:-1] == gold[:-1] if gold[-1].name == "transfer_to_human" else calls == gold


def test_plans_hold_no_ids_but_what_the_user_says():
    for made in BENCHMARK.tasks():
        text = repr([(goal.introduction, goal.wish) for goal in BENCHMARK.plan(made).goals])
        said = set(re.findall(BENCHMARK.id_pattern, made.instructions))
        assert set(re.findall(BENCHMARK.id_pattern, text)) <= said


def test_a_caller_who_withholds_who_they_are_is_asked_once():
    made = next(t for t in BENCHMARK.tasks() if t.script is not None)
    episode = play(made, "naive")
    said = [message.text for message in episode.trajectory.messages if message.text]
    assert not re.search(r"login is|badge is", said[0])
    assert said[1] == "What is your login or your badge?"
    assert re.search(r"login is|badge is", said[2])
    assert episode.result.outcome.score.passed


@pytest.mark.parametrize("noise", [NoiseType.PARTIAL, NoiseType.STALE, NoiseType.FACTUAL])
def test_every_silent_type_changes_a_write_and_what_is_told(noise):
    spec = InjectionSpec(NoiseProfile({noise: 0.5, NoiseType.CLEAN: 0.5}), Limits.unlimited())
    wrong_writes = wrong_words = 0
    for made in BENCHMARK.tasks():
        clean, noisy = play(made, "naive"), play(made, "naive", spec, Mode.INJECT)
        assert not any(record.noise.observable for record in noisy.trajectory.records)
        wrong_writes += writes(clean) != writes(noisy)
        wrong_words += not noisy.result.outcome.score.parts["communicated"]
    assert wrong_writes >= 15
    assert wrong_words >= 3


def test_strategic_is_misled_less_than_naive_and_omniscient_never():
    spec = InjectionSpec(
        NoiseProfile(
            {NoiseType.PARTIAL: 0.2, NoiseType.STALE: 0.2, NoiseType.FACTUAL: 0.2, NoiseType.CLEAN: 0.4}
        )
    )
    passed = {
        policy: sum(
            play(made, policy, spec, Mode.INJECT).result.outcome.score.passed for made in BENCHMARK.tasks()
        )
        for policy in ("naive", "strategic", "omniscient")
    }
    assert passed["naive"] + 20 < passed["strategic"] < passed["omniscient"] == 300, passed


def test_an_order_whose_answer_is_lost_is_doubled_by_retry_and_verified_by_strategic():
    """A timeout on half of the orders, after they were made: the blind repeat orders twice."""
    lost = {"order_model": {NoiseType.TIMEOUT: 0.5, NoiseType.CLEAN: 0.5}}
    spec = InjectionSpec(NoiseProfile({NoiseType.CLEAN: 1.0}, lost))
    ordering = [t for t in BENCHMARK.tasks() if any(a.call.name == "order_model" for a in t.gold)]
    passed = {
        policy: sum(play(made, policy, spec, Mode.INJECT).result.outcome.score.passed for made in ordering)
        for policy in ("retry", "strategic")
    }
    assert passed["strategic"] == len(ordering)
    assert passed["retry"] < 0.7 * len(ordering)


def test_every_silent_type_lands_on_every_answer_it_should():
    domain = load("helpdesk")
    landed = {noise: set() for noise in (NoiseType.PARTIAL, NoiseType.STALE, NoiseType.FACTUAL)}
    for index in range(40):
        made = task(index)
        world, desk = made.data["world"], Desk(made)
        ticket = next(iter(world.tickets.values()))
        for call in (
            ToolCall("get_tickets", {"user": ticket.user}),
            ToolCall("get_status", {"ticket": ticket.id}),
            ToolCall("list_models", {"kind": "mouse"}),
            ToolCall("find_cheapest", {"kind": "mouse"}),
            ToolCall("get_orders", {"user": ticket.user}),
            ToolCall("add", {"a": 20, "b": 30}),
        ):
            text = desk.call(call).text
            for noise, tools in landed.items():
                rules = domain.fields[call.name]
                if corrupt(noise, text, rules, domain.earlier, Draws(index, call.name)) is not None:
                    tools.add(call.name)
    assert landed == {
        NoiseType.PARTIAL: {"get_tickets", "get_status", "list_models", "find_cheapest", "get_orders"},
        NoiseType.STALE: {"get_tickets", "get_status"},
        NoiseType.FACTUAL: {"get_tickets", "get_status", "list_models", "find_cheapest", "add"},
    }
