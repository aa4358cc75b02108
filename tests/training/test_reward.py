"""Eq. 2, term by term, on episodes whose reward can be worked out by hand, and on real ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measures.episodes import FACTS, KINDS, ORDER, Script

from bench2robust import agents
from bench2robust.core.domain import Domain, EquivalenceClass, Side
from bench2robust.core.episode import Action, Assignment, Escalation, Message, Role, Scenario
from bench2robust.core.errors import SpecError
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import ToolCall, ToolKind
from bench2robust.evaluation import load, run_episode
from bench2robust.evaluation.episode import domain_of
from bench2robust.injection import InjectionSpec, Mix, ScenarioSpec
from bench2robust.measures import RunFacts
from bench2robust.training import GroupSpec, RewardSpec, Sampler, TaskPool, reward
from bench2robust.training.reward import repetition

LATE = {"id": 7, "reason": "late"}
S3 = RewardSpec(s3_aware=True)


def facts(*gold, kinds=KINDS, classes=(ORDER,)):
    return RunFacts(kinds, Domain("shop", classes=classes), {"t": tuple(gold)})


def gold(tool, by_user=False, **arguments):
    return Action(ToolCall(tool, arguments), by_user)


def all_gold():
    return (
        Script()
        .calls("get_order", {"id": 7})
        .calls("cancel_order", LATE)
        .calls("exchange_items", {"old": [1, 2], "new": [10, 20]})
    )


def test_a_pass_without_detours_is_worth_one():
    got = reward(all_gold().says("Done.").episode(), FACTS)
    assert got.to_dict() == {
        "total": 1.0, "passed": True, "abstained": False, "eff": 1.0, "steps": 4, "rep": 1.0,
        "repeated": 1, "matched": 3, "literal": 3, "required": 3,
    }  # fmt: skip
    assert json.loads(json.dumps(got.to_dict())) == got.to_dict()


@pytest.mark.parametrize(
    ("steps", "eff"), [(0, 1.0), (12, 1.0), (13, 0.98), (25, 0.74), (47, 0.3), (48, 0.3), (500, 0.3)]
)
def test_efficiency_begins_to_fall_after_twelve_steps_and_ends_at_its_floor(steps, eff):
    assert RewardSpec().efficiency(steps) == pytest.approx(eff, abs=1e-12)
    script = Script()
    for _ in range(steps):
        script.says("Hm.")
    assert reward(script.episode(), FACTS).total == pytest.approx(eff, abs=1e-12)


@pytest.mark.parametrize(("times", "rep"), [(0, 1.0), (1, 1.0), (2, 1.0), (3, 0.5), (4, 0.0), (9, 0.0)])
def test_repetition_counts_the_same_call_over_the_whole_episode_the_first_included(times, rep):
    script = Script()
    for place in range(times):
        script.calls("get_order", {"id": 7}).calls("get_user", {"id": place})
    got = reward(script.episode(), FACTS)
    assert (got.rep, got.repeated, repetition(times)) == (rep, max(times, min(times, 1)), rep)
    assert got.total == pytest.approx(rep * got.eff)


def test_the_same_tool_with_other_arguments_is_no_repetition():
    script = Script()
    for place in range(5):
        script.calls("get_order", {"id": place})
    assert reward(script.episode(), FACTS).rep == 1.0


def test_a_failed_episode_is_worth_its_share_of_gold_actions_times_repetition():
    script = Script().calls("get_order", {"id": 7}).calls("cancel_order", LATE)
    assert reward(script.episode(passed=False), FACTS).total == pytest.approx(0.3 * 2 / 3)
    for _ in range(2):
        script.calls("get_order", {"id": 7})
    assert reward(script.episode(passed=False), FACTS).total == pytest.approx(0.3 * 2 / 3 * 0.5)


def test_steps_cost_a_failed_episode_nothing():
    script = all_gold()
    for _ in range(40):
        script.says("Hm.")
    assert reward(script.episode(passed=False), FACTS).total == pytest.approx(0.3)


def test_a_task_without_gold_actions_has_no_partial_credit():
    script = Script().calls("get_order", {"id": 7})
    assert reward(script.episode(passed=False), facts()).total == 0.0
    assert reward(script.episode(), facts()).total == 1.0


def test_without_partial_credit_a_failure_is_worth_nothing():
    got = reward(all_gold().episode(passed=False), FACTS, RewardSpec(partial=0))
    assert (got.total, got.matched) == (0.0, 3)


def test_what_was_not_executed_is_not_matched():
    script = Script().calls("cancel_order", LATE, blocked=True).calls("get_order", {"id": 7}, executed=False)
    assert reward(script.episode(passed=False), FACTS).matched == 0


def test_a_write_whose_answer_was_lost_is_matched():
    script = Script().calls("cancel_order", LATE, noise=NoiseType.TIMEOUT)
    assert reward(script.episode(passed=False), FACTS).matched == 1


def test_a_gold_action_that_the_tool_refuses_is_matched_as_it_is_in_gold():
    script = Script().calls("cancel_order", LATE, refused=True)
    assert reward(script.episode(passed=False), FACTS).matched == 1


def test_each_call_stands_for_one_gold_action():
    twice = facts(gold("cancel_order", **LATE), gold("cancel_order", **LATE))
    once = Script().calls("cancel_order", LATE)
    assert reward(once.episode(passed=False), twice).matched == 1
    assert reward(once.calls("cancel_order", LATE).episode(passed=False), twice).matched == 2


def test_what_the_user_has_to_do_is_matched_by_the_user_only():
    needs = facts(gold("toggle", by_user=True, on=True))
    script = Script().calls("toggle", {"on": True})
    assert reward(script.episode(passed=False), needs).matched == 0
    episode = script.episode(passed=False)
    episode.trajectory.messages.append(Message(Role.USER, "ok", call=ToolCall("toggle", {"on": True})))
    assert reward(episode, needs).matched == 1


# Through an equivalent side.


def test_a_read_through_another_side_is_credited_and_the_literal_count_is_kept():
    script = Script().calls("list_orders", {"user": "u1"}, text='{"7": "open"}').calls("get_items", {"id": 7})
    got = reward(script.calls("cancel_order", LATE).episode(passed=False), FACTS)
    assert (got.matched, got.literal, got.required) == (2, 1, 3)


def test_half_of_a_conjunctive_side_is_not_credited():
    for tool, arguments in (("list_orders", {"user": "u1"}), ("get_items", {"id": 7})):
        script = Script().calls(tool, arguments, text='{"7": "open"}')
        assert reward(script.episode(passed=False), FACTS).matched == 0


def test_a_side_that_was_refused_or_did_not_run_is_not_credited():
    for fate in ({"refused": True}, {"blocked": True}):
        script = Script().calls("list_orders", {"user": "u1"}, text='{"7": "open"}')
        script.calls("get_items", {"id": 7}, **fate)
        assert reward(script.episode(passed=False), FACTS).matched == 0


def test_a_read_about_something_else_is_not_credited():
    script = Script().calls("list_orders", {"user": "u2"}, text='{"8": "open"}').calls("get_items", {"id": 8})
    assert reward(script.episode(passed=False), FACTS).matched == 0


WHO = EquivalenceClass("who", (Side("login", ("by_login",)), Side("badge", ("by_badge",))))
DESK = facts(
    gold("by_login", login="ada"),
    gold("get_tickets", user="u07"),
    kinds={"by_login": ToolKind.READ, "by_badge": ToolKind.READ, "get_tickets": ToolKind.READ},
    classes=(WHO,),
)


@pytest.mark.parametrize(("user", "matched"), [("u07", 1), ("u08", 0)])
def test_another_key_to_the_same_thing_is_recognised_by_what_it_gives(user, matched):
    script = Script().calls("by_badge", {"badge": "b3"}, text=user)
    assert reward(script.episode(passed=False), DESK).matched == matched


def test_what_a_gold_action_has_answered_tells_what_the_task_is_about():
    task = facts(
        gold("by_login", login="ada"),
        gold("get_tickets", topic="vpn"),
        kinds=DESK.kinds,
        classes=(WHO,),
    )
    script = Script().calls("by_badge", {"badge": "b3"}, text="u07")
    assert reward(script.episode(passed=False), task).matched == 0
    script.calls("get_tickets", {"topic": "vpn"}, text='{"t12": {"user": "u07"}}')
    assert reward(script.episode(passed=False), task).matched == 2


def test_a_gold_action_does_not_stand_in_for_another():
    """An order names its user; the gold order alone must not make the gold look-up of the user unnecessary."""
    who = EquivalenceClass("who", (Side("login", ("by_login",)), Side("order", ("get_order",))))
    both = facts(
        gold("by_login", login="ada"),
        gold("get_order", id="W77"),
        kinds={"by_login": ToolKind.READ, "get_order": ToolKind.READ},
        classes=(who,),
    )
    script = Script().calls("get_order", {"id": "W77"}, text='{"id": "W77", "login": "ada"}')
    assert reward(script.episode(passed=False), both).matched == 1
    script.calls("get_order", {"id": "W78"}, text='{"id": "W78", "login": "ada"}')
    assert reward(script.episode(passed=False), both).matched == 2


def test_writes_have_no_equivalent():
    ways = EquivalenceClass("close", (Side("close", ("close",)), Side("edit", ("edit",))))
    kinds = {"close": ToolKind.WRITE, "edit": ToolKind.WRITE}
    script = Script().calls("edit", {"ticket": "t1"})
    only = facts(gold("close", ticket="t1"), kinds=kinds, classes=(ways,))
    assert reward(script.episode(passed=False), only).matched == 0


# S3.


def impossible(*tools, wrong=False, escalation=Escalation.ABSTAIN, scenario=Scenario.S3):
    script = Script()
    for tool in tools:
        script.calls(tool, {"id": 7}, blocked=True)
    if wrong:
        script.calls("cancel_order", {"id": 8})
    episode = script.calls("hand_over").episode(passed=False, scenario=scenario, escalation=escalation)
    episode.result.assignment = Assignment(
        Scenario.S3, scenario, frozenset(ORDER.tools), "order" if scenario is Scenario.S3 else ""
    )
    return episode


RIGHT = ("get_order", "get_order", "list_orders")


def test_the_papers_reward_gives_nothing_for_handing_over():
    got = reward(impossible(*RIGHT), FACTS)
    assert (got.total, got.abstained, got.succeeded) == (0.0, False, False)


def test_the_s3_aware_reward_gives_what_a_pass_would_be_worth():
    got = reward(impossible(*RIGHT), FACTS, S3)
    assert (got.total, got.abstained, got.succeeded, got.passed) == (1.0, True, True, False)
    assert reward(impossible("get_order", *RIGHT), FACTS, S3).total == 0.5
    assert reward(impossible("get_order", "get_order", *RIGHT), FACTS, S3).total == 0.0


@pytest.mark.parametrize(
    "episode",
    [
        impossible("get_order", "list_orders"),
        impossible("get_order", "get_order"),
        impossible(),
        impossible(*RIGHT, wrong=True),
        impossible(*RIGHT, escalation=Escalation.NONE),
        impossible(*RIGHT, scenario=Scenario.S2),
        impossible(*RIGHT, scenario=Scenario.S1, escalation=Escalation.PREMATURE),
    ],
    ids=["no retry", "no alternative", "nothing tried", "wrong write", "went on", "S2", "S1"],
)
def test_handing_over_in_any_other_way_gives_nothing_more(episode):
    assert reward(episode, FACTS, S3) == reward(episode, FACTS)
    assert not reward(episode, FACTS, S3).abstained


def test_a_side_that_this_user_cannot_use_need_not_be_tried():
    episode = impossible("get_order", "get_order")
    assert reward(episode, FACTS, S3, viable=("full",)).abstained
    assert not reward(episode, FACTS, S3, viable=("full", "parts")).abstained


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(KINDS)), st.integers(6, 8), st.booleans(), st.booleans()), max_size=9
    ),
    st.booleans(),
    st.booleans(),
)
def test_bounds_hold_for_any_episode(calls, passed, s3_aware):
    script = Script()
    for tool, number, blocked, refused in calls:
        script.calls(tool, {"id": number}, blocked=blocked, refused=refused)
    episode = script.episode(passed=passed)
    got = reward(episode, FACTS, RewardSpec(s3_aware=s3_aware))
    assert got == reward(episode, FACTS, RewardSpec(s3_aware=s3_aware))
    assert 0 <= got.literal <= got.matched <= got.required == 3
    assert got.total <= (1.0 if passed else 0.3)
    if passed:
        assert got.total == got.eff * got.rep


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"partial": 1.5}, "partial=1.5"), ({"slope": -1}, "slope=-1"), ({"floor": -0.1}, "floor=-0.1")],
)
def test_a_constant_that_cannot_be_is_refused_in_one_line(wrong, said):
    with pytest.raises(SpecError, match=said) as caught:
        RewardSpec(**wrong)
    assert "\n" not in str(caught.value)


def test_on_real_episodes_a_pass_by_the_reference_policy_has_every_gold_action_and_switching_costs_none():
    benchmark = load("helpdesk")
    known = RunFacts.of(benchmark.tools(alternatives=True), domain_of(benchmark), benchmark.tasks())
    sampler = Sampler(TaskPool.of("helpdesk"), GroupSpec(prompts=8, rollouts=2, clean=0, minibatches=1))
    switched = 0
    for iteration in range(4):
        for group in sampler.groups(iteration, ScenarioSpec(Mix(0, 100, 0))):
            for rollout in group.rollouts:
                job = rollout.job(InjectionSpec(), 50)
                got = reward(run_episode(benchmark, agents.create("omniscient"), job), known)
                assert got.passed
                assert got.matched == got.required
                switched += got.literal < got.matched
    assert switched >= 10
