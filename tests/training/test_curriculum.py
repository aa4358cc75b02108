"""Decisions depend on whole numbers only, survive JSON, and are those of Table 11."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measures.episodes import FACTS, Script

from bench2robust.core.domain import Domain
from bench2robust.core.episode import Assignment, Escalation, Mode, Outcome, Scenario, Score, Trajectory
from bench2robust.core.errors import SpecError
from bench2robust.evaluation import Episode, Result
from bench2robust.injection import InjectionSpec, Limits, Mix
from bench2robust.training import PAPER, Criterion, Curriculum, Phase, Progress, Quantity, Reward, Statistics
from bench2robust.training.curriculum import Why
from bench2robust.training.statistics import switched

ONE = 1_000_000


def statistics(
    reward=0.3, s1=(6, 10), s2=(6, 10), switch=(5, 10), s3=(0, 0), s3_steps=0, over=0, clean=(8, 10)
):
    injected = s1[1] + s2[1] + s3[1]
    return Statistics(
        rollouts=injected + clean[1],
        clean=clean[1],
        clean_passed=clean[0],
        injected=injected,
        injected_reward=round(reward * injected * ONE),
        s1=s1[1],
        s1_passed=s1[0],
        s2=s2[1],
        s2_passed=s2[0],
        s2_met=switch[1],
        s2_switched=switch[0],
        s3=s3[1],
        s3_escalated=s3[0],
        s3_steps=s3_steps,
        over_escalated=over,
    )


def after(plan, *seen, progress=None):
    progress = progress or Progress()
    for one in seen:
        progress = plan.observe(progress, one)
    return progress


def at(phase, baseline=None):
    return Progress(phase=phase, baseline=baseline or Statistics())


def test_the_phases_are_those_of_table_11():
    assert [(p.budget, str(p.mix)) for p in PAPER.phases] == [
        (2, "100/0/0"), (2, "80/20/0"), (5, "60/40/0"), (5, "40/50/10"), (5, "30/45/25"),
    ]  # fmt: skip
    phase = PAPER.phases[0]
    assert phase.injection(InjectionSpec(limits=Limits(9, 1))).limits == Limits(2, 1)
    assert phase.scenarios().mix == Mix(100, 0, 0)


def test_phase_1_needs_the_reward_in_each_of_three_iterations():
    good, bad = statistics(0.26), statistics(0.25)
    assert after(PAPER, good, good).phase == 0
    assert after(PAPER, good, good, good).phase == 1
    assert after(PAPER, good, bad, good, good).phase == 0  # 0.25 is not above 0.25
    assert after(PAPER, good, bad, good, good, good).phase == 1
    assert after(PAPER, statistics(0.9), statistics(0.1), statistics(0.9)).phase == 0  # the mean would do


@pytest.mark.parametrize("phase", [1, 2])
@pytest.mark.parametrize(
    ("seen", "advances"),
    [
        (statistics(switch=(3, 10), s1=(3, 10), s2=(3, 10)), True),
        (statistics(switch=(2, 10)), False),
        (statistics(s1=(2, 10), s2=(2, 10)), False),
        (statistics(switch=(0, 0)), False),
    ],
    ids=["both", "switches too seldom", "passes too seldom", "no block met"],
)
def test_phases_2_and_3_need_switches_and_passes(phase, seen, advances):
    assert (after(PAPER, seen, seen, seen, progress=at(phase)).phase == phase + 1) is advances


BEFORE = statistics(s1=(6, 10), s2=(5, 10))


@pytest.mark.parametrize(
    ("seen", "advances"),
    [
        (statistics(s3=(6, 10), s3_steps=149, s2=(5, 10)), True),
        (statistics(s3=(5, 10), s3_steps=100), False),
        (statistics(s3=(6, 10), s3_steps=150), False),
        (statistics(s3=(6, 10), s3_steps=100, s1=(5, 10)), False),
        (statistics(s3=(6, 10), s3_steps=100, s1=(10, 10), s2=(4, 10)), False),
        (statistics(s3=(0, 0)), False),
        (statistics(s3=(6, 10), s3_steps=100, s2=(0, 0)), True),
    ],
    ids=[
        "mastered",
        "not handed over",
        "too slow",
        "S1 fell",
        "S2 fell, S1 rose",
        "no S3",
        "no S2 to compare",
    ],
)
def test_phase_4_needs_timely_transfer_without_regression(seen, advances):
    assert (after(PAPER, seen, seen, seen, progress=at(3, BEFORE)).phase == 4) is advances


def test_non_regression_looks_back_to_the_window_before():
    good = statistics(s1=(9, 10), s2=(9, 10))
    progress = after(PAPER, good, good, good, progress=at(2))
    assert progress.phase == 3
    assert progress.baseline == Statistics.total([good] * 3)
    worse = statistics(s1=(8, 10), s2=(9, 10), s3=(9, 10), s3_steps=50)
    stays = after(PAPER, worse, worse, worse, progress=progress)
    assert stays.phase == 3
    assert (
        after(PAPER, *[statistics(s1=(9, 10), s2=(9, 10), s3=(9, 10), s3_steps=50)] * 3, progress=stays).phase
        == 4
    )


def test_without_any_tolerance_the_same_rate_is_kept():
    plan = Curriculum(
        (PAPER.phases[0], Phase("b", 5, Mix(), PAPER.phases[0].advance, keep=0), PAPER.phases[4])
    )
    assert after(plan, BEFORE, BEFORE, BEFORE, progress=at(1, BEFORE)).phase == 2


def test_rewards_are_rounded_and_not_cut():
    assert int(2 / 3 * ONE) == 666_666
    assert rollout(2 / 3, Scenario.S1, passed=False).injected_reward == 666_667


def test_the_last_phase_ends_early_only_on_sustained_over_transfer():
    much, little = statistics(over=11), statistics(over=10)
    assert not after(PAPER, *[much] * 4, little, *[much] * 4, progress=at(4)).stopped
    stopped = after(PAPER, *[much] * 5, progress=at(4))
    assert stopped.stopped
    last = stopped.transitions[-1]
    assert (last.why, last.entered, last.numbers[0].value) == (Why.OVER_ESCALATION, None, 0.55)
    assert PAPER.observe(stopped, little) == stopped


def test_every_transition_keeps_the_numbers_that_caused_it():
    good = statistics(0.26)
    (transition,) = after(PAPER, good, good, good).transitions
    assert transition.to_dict() == {
        "iteration": 3, "left": 0, "entered": 1, "why": "mastered",
        "numbers": ({"quantity": "reward", "value": 0.26, "of": 60, "threshold": 0.25},),
    }  # fmt: skip


def test_a_limit_ends_a_phase_and_says_so():
    plan = Curriculum((Phase("a", 2, Mix(100, 0, 0), PAPER.phases[0].advance, limit=4), PAPER.phases[1]))
    bad = statistics(0.1)
    assert after(plan, bad, bad, bad).phase == 0
    progress = after(plan, bad, bad, bad, bad)
    assert (progress.phase, progress.within) == (1, 0)
    assert progress.transitions[0].why is Why.LIMIT
    assert progress.transitions[0].numbers[0].value == pytest.approx(0.1)


def test_a_window_never_reaches_into_the_phase_before():
    good = statistics()
    progress = after(PAPER, good, good, good)
    assert progress.phase == 1
    assert after(PAPER, good, good, progress=progress).phase == 1
    assert after(PAPER, good, good, good, progress=progress).phase == 2


def test_too_little_evidence_does_not_count():
    criterion = Criterion(Quantity.SWITCH, 0.25, window=1, least=8)
    assert not criterion.holds((statistics(switch=(7, 7)),))
    assert criterion.holds((statistics(switch=(8, 8)),))


def test_a_flat_curriculum_stays_as_it_is():
    plan = Curriculum.flat(Mix(100, 0, 0))
    assert after(plan, *[statistics()] * 20).phase == 0


COUNTS = st.integers(0, 300)
ANY = st.builds(
    lambda n: statistics(n[0] / 300, (n[1], 300), (n[2], 300), (n[3], 300), (n[4], 300), 20 * n[5], n[6]),
    st.lists(COUNTS, min_size=7, max_size=7),
)


@given(st.lists(ANY, max_size=30), st.integers(0, 30))
def test_progress_survives_json_and_goes_on_the_same(seen, cut):
    """A killed training that resumes from its checkpoint decides as one that was not killed."""
    whole = after(PAPER, *seen)
    part = after(PAPER, *seen[:cut])
    back = Progress.from_dict(json.loads(json.dumps(part.to_dict())))
    assert back == part
    assert after(PAPER, *seen[cut:], progress=back) == whole
    assert 0 <= whole.phase <= 4
    assert len(whole.transitions) == whole.phase + whole.stopped


def test_a_curriculum_survives_json():
    assert Curriculum.from_dict(json.loads(json.dumps(PAPER.to_dict()))) == PAPER


def rollout(reward, scenario, passed, mode=Mode.INJECT_ALT):
    outcome = Outcome(Score(passed), Escalation.NONE, 3, 0, 0, 0, 0)
    assignment = Assignment(scenario, scenario)
    total = Reward(reward, passed, False, 1.0, 3, 1.0, 1, 0, 0, 1)
    episode = Episode(Result("t", "a", mode, 0, assignment, outcome), Trajectory(ended="done"))
    return Statistics.of(episode, total, Domain("d"))


ROLLOUTS = st.lists(
    st.builds(
        rollout,
        st.floats(0, 1),
        st.sampled_from(list(Scenario)),
        st.booleans(),
        st.sampled_from([Mode.CLEAN_ALT, Mode.INJECT_ALT]),
    ),
    max_size=40,
)


@given(ROLLOUTS, st.integers(1, 8), st.randoms(use_true_random=False))
def test_any_order_and_any_parting_among_ranks_decides_the_same(rollouts, ranks, random):
    """Not nearly, but bit for bit: sums of floats would differ in their last digits, and thresholds with them."""
    once = Statistics.total(rollouts)
    shuffled = random.sample(rollouts, len(rollouts))
    parts = [Statistics.total(shuffled[rank::ranks]) for rank in range(ranks)]
    again = Statistics.total(random.sample(parts, ranks))
    assert again == once
    assert after(PAPER, again, again, again).to_dict() == after(PAPER, once, once, once).to_dict()


def test_float_sums_would_indeed_depend_on_the_order():
    """The test above could not fail if they did not."""
    rewards = [0.1, 0.2, 0.3]
    assert sum(rewards) != sum(reversed(rewards))


@pytest.mark.parametrize(
    ("scenario", "escalation", "expected"),
    [
        (Scenario.S1, Escalation.PREMATURE, {"s1": 1, "over_escalated": 1}),
        (Scenario.S2, Escalation.NONE, {"s2": 1, "s2_passed": 1, "s2_met": 1, "s2_switched": 1}),
        (Scenario.S3, Escalation.ABSTAIN, {"s3": 1, "s3_escalated": 1, "s3_steps": 3}),
    ],
)
def test_a_rollout_is_counted_where_it_belongs(scenario, escalation, expected):
    script = Script()
    if scenario is Scenario.S2:
        script.calls("get_order", blocked=True).calls("get_order", blocked=True).calls("list_orders")
    else:
        script.calls("get_user").calls("get_user").says("Hm.")
    made = script.episode(passed=scenario is Scenario.S2, scenario=scenario, escalation=escalation)
    result = Result("t", "a", Mode.INJECT_ALT, 0, made.result.assignment, made.result.outcome)
    reward = Reward(0.25, False, False, 1.0, 3, 1.0, 4, 0, 0, 1)
    got = Statistics.of(Episode(result, made.trajectory), reward, FACTS.domain)
    common = {"rollouts": 1, "looping": 1, "injected": 1, "injected_reward": ONE // 4}
    assert {k: v for k, v in got.to_dict().items() if v} == {**common, **expected}


def test_only_another_side_after_a_block_is_a_switch():
    domain = FACTS.domain
    assert switched(Script().calls("get_order", blocked=True).calls("get_items").records, domain)
    assert not switched(Script().calls("get_items").calls("get_order", blocked=True).records, domain)
    assert not switched(Script().calls("get_order").calls("get_items").records, domain)
    assert not switched(Script().calls("list_orders", blocked=True).calls("get_items").records, domain)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Curriculum(()), r"phases=\(\)"),
        (lambda: Phase("a", -1, Mix()), "budget=-1"),
        (lambda: Phase("a", 1, Mix(), keep=2), "keep=2"),
        (lambda: Phase("a", 1, Mix(), limit=0), "limit=0"),
        (lambda: Criterion(Quantity.PASS, 0.1, window=0), "window=0"),
        (lambda: Statistics(rollouts=-1), "rollouts=-1"),
        (lambda: Statistics(rollouts=1.5), "rollouts=1.5"),
        (lambda: Statistics.from_dict({"rollout": 1}), "statistics='rollout'"),
        (lambda: PAPER.phase(Progress(phase=7)), "phase=7"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(make, said):
    with pytest.raises(SpecError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)
