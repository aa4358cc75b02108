"""What `bayes` does differently from `strategic`, and why; and verification."""

from dataclasses import replace

import pytest

from bench2robust.agents import INFORMED, create
from bench2robust.core.noise import NoiseType
from bench2robust.injection import Effects, InjectionSpec, Limits, Mix, NoiseProfile, ScenarioSpec
from bench2robust.memory.knowledge import Knowledge

from .toy import (
    AUTH,
    BRIEFING,
    DOMAIN,
    FACTUAL,
    KNOWLEDGE,
    PARTIAL,
    REFUSAL,
    STALE,
    TIMEOUT,
    Cancel,
    CancelIfCheap,
    Episode,
    TellTotal,
    run,
    with_plan,
)

MAIL, NAME, ORDER, LIST, ITEMS = "find_by_email", "find_by_name", "get_order", "list_orders", "check_items"
TOLD = ["total 40", "bye"]
NO_S3 = replace(KNOWLEDGE, scenarios=ScenarioSpec(Mix(40, 60, 0)))


def played(name, knowledge, faults=None, blocked=(), change=lambda briefing: briefing):
    agent = create(name, knowledge)
    return Episode(faults or {}, frozenset(blocked)).play(agent.play(change(BRIEFING)))


# ── reads ──────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", ["bayes", "bayes-verified"])
@pytest.mark.parametrize("blocked", [MAIL, NAME, ORDER, LIST, ITEMS])
def test_it_gets_through_with_one_side_blocked(name, blocked):
    assert played(name, NO_S3, blocked={blocked}).fulfilled


def test_a_blocked_tool_is_left_after_two_equal_failures_and_not_tried_again():
    assert played("bayes", NO_S3, blocked={ORDER}).moves == [MAIL, ORDER, LIST, ITEMS, "cancel", *TOLD]


def test_a_text_that_no_block_shows_is_retried_at_once():
    assert played("bayes", NO_S3, {MAIL: [TIMEOUT]}).moves[:3] == [MAIL, MAIL, ORDER]


def test_a_third_identical_call_is_avoided_while_there_is_another_route():
    """Strategic calls the same tool a third time; Eq. 2 takes half the reward for that."""
    faults = {ORDER: [TIMEOUT, TIMEOUT]}
    assert run("strategic", faults).moves.count(ORDER) == 3
    moves = played("bayes", NO_S3, faults).moves
    assert moves.count(ORDER) == 2
    assert moves[-4:] == [ITEMS, "cancel", *TOLD]


def test_it_abstains_when_every_side_is_proven_blocked():
    moves = played("bayes", KNOWLEDGE, blocked={MAIL, NAME}).moves
    assert moves[-1] == "hand_over"
    assert set(moves[:-1]) == {MAIL, NAME}
    assert len(moves) <= 1 + len(run("strategic", blocked={MAIL, NAME}).moves)


def test_without_s3_it_goes_on_where_strategic_gives_up():
    """Told that no task is impossible, it does not take failures at both sides for a block of both."""
    three = {MAIL: [AUTH] * 2, NAME: [TIMEOUT, AUTH, TIMEOUT]}
    assert played("bayes", NO_S3, three).fulfilled


@pytest.mark.parametrize("knowledge", [KNOWLEDGE, Knowledge(DOMAIN), replace(KNOWLEDGE, injection=None)])
def test_it_hands_over_when_a_tool_fails_without_end_and_without_reason(knowledge):
    moves = played("bayes", knowledge, {MAIL: [TIMEOUT] * 99, NAME: [TIMEOUT] * 99}).moves
    assert moves[-1] == "hand_over"
    assert len(moves) < 25


def test_nothing_told_is_not_nothing_known():
    """Of an unknown profile, limits and mix it knows what repetition means."""
    assert played("bayes", Knowledge(DOMAIN), blocked={ORDER}).fulfilled


# ── writes ─────────────────────────────────────────────────────────────────────────────────────
def test_a_lost_answer_is_believed_where_writes_are_never_blocked():
    """Strategic looks at the order first."""
    faults = {"cancel": [TIMEOUT]}
    assert run("strategic", faults).moves == [MAIL, ORDER, "cancel", ORDER, *TOLD]
    assert played("bayes", NO_S3, faults).moves == [MAIL, ORDER, "cancel", *TOLD]


def test_a_rejected_write_is_repeated_where_faults_reject():
    rejecting = replace(NO_S3, injection=InjectionSpec(effects=Effects.REQUEST))
    episode = played("bayes", rejecting, {"cancel": [NoiseType.RATE_LIMIT]})
    # The toy shop executes it all the same: the look that comes first finds it done.
    assert episode.moves == [MAIL, ORDER, "cancel", ORDER, *TOLD]


def test_a_look_that_may_be_corrupted_does_not_undo_what_is_likely():
    """Strategic believes one stale record and cancels again; the double order of helpdesk is the same mistake."""
    faults = {"cancel": [TIMEOUT], ORDER: [None, STALE]}
    assert run("strategic", faults).moves.count("cancel") == 2
    assert played("bayes", NO_S3, faults).moves.count("cancel") == 1


def test_a_refusal_is_looked_into():
    """A refusal contradicts what the write rests on: that is read again, once."""
    assert played("bayes", NO_S3, {"cancel": [REFUSAL]}).moves[:5] == [MAIL, ORDER, "cancel", MAIL, ORDER]


def test_a_write_that_is_proven_blocked_is_handed_over():
    episode = played("bayes", KNOWLEDGE, blocked={"cancel"}, change=with_plan(Cancel(verify=False)))
    assert episode.moves[-1] in ("hand_over", "bye")
    assert not episode.shop.cancelled


# ── verification ───────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", ["strategic-verified", "bayes-verified"])
def test_a_write_is_decided_twice_from_two_sides(name):
    moves = played(name, NO_S3).moves
    assert moves[: moves.index("cancel")] == [MAIL, ORDER, LIST, ITEMS]


@pytest.mark.parametrize("name", ["strategic-verified", "bayes-verified"])
@pytest.mark.parametrize("noise", [STALE, FACTUAL, PARTIAL])
@pytest.mark.parametrize("plan", [with_plan(Cancel(), TellTotal()), with_plan(CancelIfCheap(), TellTotal())])
def test_a_corruption_that_would_change_the_decision_is_outvoted(name, noise, plan):
    assert played(name, NO_S3, {ORDER: [noise]}, change=plan).fulfilled


def test_without_verification_a_wrong_write_is_tried_first():
    """Only the shop's refusal keeps it from happening."""
    assert played("bayes", NO_S3, {ORDER: [STALE]}).moves.count("cancel") == 2
    assert played("bayes-verified", NO_S3, {ORDER: [STALE]}).moves.count("cancel") == 1


def test_what_cannot_be_corrupted_is_not_read_again():
    """The user's number is a bare id; and after the budget is spent the filter trusts everything."""
    assert played("bayes-verified", NO_S3).moves.count(MAIL) == 1
    spent = replace(NO_S3, injection=InjectionSpec(limits=Limits(0)))
    assert played("bayes-verified", spent).moves == [MAIL, ORDER, "cancel", *TOLD]
    assert played("strategic-verified", spent).moves != [MAIL, ORDER, "cancel", *TOLD]


def test_a_profile_without_silent_corruption_needs_no_verification():
    loud = NoiseProfile({NoiseType.TIMEOUT: 0.4, NoiseType.CLEAN: 0.6})
    assert (
        played("bayes-verified", replace(NO_S3, injection=InjectionSpec(loud))).moves
        == played("bayes", NO_S3).moves
    )


def test_a_side_that_is_blocked_does_not_keep_verification_from_ending():
    for name in ("strategic-verified", "bayes-verified"):
        for blocked in (LIST, ITEMS, ORDER):
            assert played(name, NO_S3, blocked={blocked}).fulfilled


# ── being told ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", INFORMED)
def test_an_informed_policy_is_a_new_agent_with_the_same_name(name):
    told = create(name, KNOWLEDGE)
    assert (told.name, told.omniscient, told.knowledge) == (name, False, KNOWLEDGE)
    assert create(name).knowledge is None
