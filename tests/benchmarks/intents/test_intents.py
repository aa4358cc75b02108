"""What distinguishes the intents: withheld details, changes of mind, wishes that are forbidden."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench2robust.core.episode import Role, Script
from bench2robust.core.plan import Ask
from bench2robust.core.ports import Utterance
from bench2robust.core.tools import ToolCall

from .conftest import play

pytestmark = pytest.mark.tau2


class Says:
    """An agent that makes some calls and says one thing."""

    omniscient = False
    name = "says"

    def __init__(self, text, *calls):
        self.text, self.calls = text, calls

    def play(self, briefing):
        yield from (call for call in self.calls)
        yield Utterance(self.text, last=True)


def writes(task):
    kinds = ("cancel", "modify", "return", "exchange")
    return [a.call for a in task.gold if a.call.name.startswith(kinds)]


def executed(episode):
    kinds = ("cancel", "modify", "return", "exchange")
    return [r.call for r in episode.trajectory.records if r.executed and r.call.name.startswith(kinds)]


# ── ambiguous ──
def test_each_ambiguous_task_rewrites_one_general_task_with_the_same_gold(retail_set):
    general = retail_set.by_intent["general"]
    for task, of in zip(retail_set.by_intent["ambiguous"], general, strict=True):
        assert task.data["bench2robust"]["of"] == of.id
        assert task.gold == of.gold
        assert task.tell == of.tell
        assert task.instructions != of.instructions


def test_what_is_withheld_is_not_in_the_opening_and_is_said_when_asked(retail_set):
    from bench2robust.agents import Scripted
    from bench2robust.benchmarks.intents.compose import QUESTIONS

    for task in retail_set.by_intent["ambiguous"]:
        user = Scripted.of(task)
        opening = user.reply(None)
        for answer in task.data["bench2robust"]["answers"]:
            for said in answer["text"].split(": ")[1:] or [answer["text"]]:
                assert said not in opening
            assert user.reply(QUESTIONS[answer["asks"]]) == answer["text"]


def test_each_question_asks_for_its_own_kind_only():
    from bench2robust.benchmarks.intents.compose import CUES, QUESTIONS

    for asked, question in QUESTIONS.items():
        heard = {kind for kind, cues in CUES.items() if any(cue.lower() in question.lower() for cue in cues)}
        assert heard == {asked}


def test_the_plan_asks_before_it_decides_anything(retail_set):
    for task in retail_set.by_intent["ambiguous"]:
        for goal in retail_set.benchmark.plan(task).goals:
            assert isinstance(goal.decide({}, 0), Ask)
        said = [m for m in play(retail_set.benchmark, task).trajectory.messages if m.role is not Role.TOOL]
        assert said[1].record is None, "the first thing the agent does is to ask"


@pytest.mark.parametrize("intent", ["ambiguous", "changing"])
def test_a_user_who_never_answers_is_not_served(retail_set, intent):
    for task in retail_set.by_intent[intent]:
        mute = replace(task, script=Script(task.script.opening))
        for agent in ("naive", "strategic", "omniscient"):
            episode = play(_with_plan(retail_set.benchmark, mute, task), mute, agent)
            assert not episode.result.outcome.score.passed, task.id
            if intent == "ambiguous":
                assert executed(episode) == []


def _with_plan(benchmark, mute, task):
    """The benchmark, with the plan of the task for its mute twin."""

    class Wrapped:
        name, domain, version = benchmark.name, benchmark.domain, "test"
        tools, policy, open = benchmark.tools, benchmark.policy, benchmark.open

        def plan(self, asked):
            return benchmark.plan(task)

    return Wrapped()


# ── changing ──
def test_the_abandoned_wish_is_valid_spoils_gold_and_is_not_executed(retail_set):
    for task in retail_set.by_intent["changing"]:
        abandoned = task.data["bench2robust"]["abandoned"]
        call = ToolCall(abandoned["name"], abandoned["arguments"])
        assert not retail_set.benchmark.open(task).call(call).error
        episode = play(retail_set.benchmark, task)
        assert call not in executed(episode)
        assert episode.result.outcome.score.passed
        spoiled = play(retail_set.benchmark, task, Says(" ".join(task.tell), call, *writes(task)))
        assert not spoiled.result.outcome.score.passed, task.id


def test_the_plan_asks_for_confirmation_before_the_first_write(retail_set):
    for task in retail_set.by_intent["changing"]:
        trajectory = play(retail_set.benchmark, task).trajectory
        first = next(
            n
            for n, m in enumerate(trajectory.messages)
            if m.record is not None and trajectory.records[m.record].call in writes(task)
        )
        before = [
            m.text for m in trajectory.messages[:first] if m.role is Role.ASSISTANT and m.record is None
        ]
        assert any("go ahead" in text for text in before), task.id


def test_a_user_who_does_not_switch_gets_what_they_asked_for_first(retail_set):
    """That fails the task, as it should: the plan really pursues the first wish until it is withdrawn."""
    for task in retail_set.by_intent["changing"]:
        mute = replace(task, script=Script(task.script.opening))
        episode = play(_with_plan(retail_set.benchmark, mute, task), mute)
        abandoned = task.data["bench2robust"]["abandoned"]
        assert [(c.name, c.arguments) for c in executed(episode)] == [
            (abandoned["name"], abandoned["arguments"])
        ]


# ── infeasible ──
def test_scoring_of_infeasible_tasks(retail_set):
    for task in retail_set.by_intent["infeasible"]:
        allowed, attempt = writes(task), task.data["bench2robust"]["attempt"]
        forbidden = ToolCall(attempt["name"], attempt["arguments"])
        refuses = play(retail_set.benchmark, task, Says("I am sorry, I cannot do that.", *allowed))
        assert refuses.result.outcome.score.passed, task.id
        silent = play(retail_set.benchmark, task, Says("Done.", *allowed))
        assert silent.result.outcome.score.parts == {
            "database": True,
            "communicated": False,
            "forbidden": True,
        }
        tries = play(retail_set.benchmark, task, Says("I am sorry, I cannot do that.", *allowed, forbidden))
        assert not tries.result.outcome.score.parts["forbidden"], task.id
        handover = ToolCall("transfer_to_human_agents", {"summary": "not allowed"})
        hands_over = play(retail_set.benchmark, task, Says("", *allowed, handover))
        assert hands_over.result.outcome.score.passed, task.id
        assert not play(retail_set.benchmark, task, "idle").result.outcome.score.passed


def test_every_rule_is_really_broken(retail_set):
    """The tools refuse what breaks a rule of theirs; somebody else's order only the policy protects."""
    rules = set()
    for task in retail_set.by_intent["infeasible"]:
        extras = task.data["bench2robust"]
        rules.add(extras["rule"])
        environment = retail_set.benchmark.open(task)
        for call in writes(task):
            environment.call(call)
        answer = environment.call(ToolCall(extras["attempt"]["name"], extras["attempt"]["arguments"]))
        if extras["rule"] == "other_user":
            order = extras["forbidden"][0]["arguments"]["order_id"]
            owner = retail_set.benchmark._parts.data().db["orders"][order]["user_id"]
            assert owner != extras["user_id"]
        else:
            assert answer.error, task.id
    assert len(rules) >= 4


def test_a_stale_status_misleads_the_plan_of_a_refusal(retail_set):
    """Refusing is decided from delivered facts, so an order shown as pending is cancelled (and fails)."""
    from bench2robust.core.plan import Act

    for task in retail_set.by_intent["infeasible"]:
        extras = task.data["bench2robust"]
        if extras["rule"] != "wrong_status" or extras["attempt"]["name"] != "cancel_pending_order":
            continue
        db = retail_set.benchmark._parts.data().db
        goal = retail_set.benchmark.plan(task).goals[-1]
        user = db["users"][extras["user_id"]]
        facts = {"user_id": extras["user_id"], "user": user}
        facts |= {f"order {o}": db["orders"][o] for o in user["orders"]}
        assert not isinstance(goal.decide(facts, 0), Act)
        order = extras["attempt"]["arguments"]["order_id"]
        facts[f"order {order}"] = {**db["orders"][order], "status": "pending"}
        assert isinstance(goal.decide(facts, 0), Act)
        return
    pytest.fail("the set has no such task")
