"""What each reference policy does, move by move, under faults that the test chooses."""

from dataclasses import replace

import pytest

from bench2robust.agents import INFORMED, NAMES, REFERENCE, create
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.noise import NoiseType

from .toy import (
    AUTH,
    BRIEFING,
    ERRORS,
    FACTUAL,
    PARTIAL,
    REFUSAL,
    STALE,
    STANDARD,
    TIMEOUT,
    Cancel,
    CancelIfCheap,
    Human,
    TellStreet,
    TellTotal,
    run,
    with_plan,
)

MAIL, NAME, ORDER, LIST, ITEMS = "find_by_email", "find_by_name", "get_order", "list_orders", "check_items"
TOLD = ["total 40", "bye"]
NOT_FOUND = "I am sorry, I could not find what this needs: no order with a lamp."
REFUSED = "I am sorry, the system does not allow this."
TRANSIENT = (NoiseType.TIMEOUT, NoiseType.RATE_LIMIT, NoiseType.SERVER_ERROR, NoiseType.MALFORMED)
PERSISTENT = (NoiseType.AUTH_ERROR, NoiseType.SCHEMA_DRIFT)


def standard(briefing):
    return replace(briefing, tools=STANDARD)


def all_moves(*args, **kwargs):
    return {name: run(name, *args, **kwargs).moves for name in REFERENCE}


def test_clean():
    assert all_moves() == {name: [MAIL, ORDER, "cancel", *TOLD] for name in REFERENCE}


@pytest.mark.parametrize("noise", TRANSIENT)
def test_one_transient_failure(noise):
    retried = [MAIL, ORDER, ORDER, "cancel", *TOLD]
    assert all_moves({ORDER: [noise]}) == {
        "naive": [MAIL, ORDER, "hand_over"],
        "retry": retried,
        "switch": [MAIL, ORDER, LIST, ITEMS, "cancel", *TOLD],
        "strategic": retried,
        "omniscient": retried,
    }


@pytest.mark.parametrize("noise", PERSISTENT)
def test_one_persistent_failure(noise):
    retried, switched = [MAIL, ORDER, ORDER, "cancel", *TOLD], [MAIL, ORDER, LIST, ITEMS, "cancel", *TOLD]
    assert all_moves({ORDER: [noise]}) == {
        "naive": [MAIL, ORDER, "hand_over"],
        "retry": retried,
        "switch": switched,
        "strategic": switched,
        "omniscient": retried,
    }


@pytest.mark.parametrize("noise", TRANSIENT)
def test_three_failures_in_a_row(noise):
    assert all_moves({ORDER: [noise] * 3}) == {
        "naive": [MAIL, ORDER, "hand_over"],
        "retry": [MAIL, ORDER, ORDER, ORDER, "hand_over"],
        "switch": [MAIL, ORDER, LIST, ITEMS, "cancel", *TOLD],
        "strategic": [MAIL, ORDER, ORDER, ORDER, LIST, ITEMS, "cancel", *TOLD],
        "omniscient": [MAIL, ORDER, ORDER, ORDER, ORDER, "cancel", *TOLD],
    }


def test_the_usual_route_is_blocked():
    switched = [MAIL, ORDER, LIST, ITEMS, "cancel", *TOLD]
    assert all_moves(blocked={ORDER}) == {
        "naive": [MAIL, ORDER, "hand_over"],
        "retry": [MAIL, ORDER, ORDER, ORDER, "hand_over"],
        "switch": switched,
        "strategic": switched,
        "omniscient": [MAIL, LIST, ITEMS, "cancel", *TOLD],
    }


def test_every_route_is_blocked():
    assert all_moves(blocked={ORDER, ITEMS}) == {
        "naive": [MAIL, ORDER, "hand_over"],
        "retry": [MAIL, ORDER, ORDER, ORDER, "hand_over"],
        "switch": [MAIL, ORDER, LIST, ITEMS, "hand_over"],
        # Each tool three times, the part that answered once.
        "strategic": [MAIL, ORDER, LIST, ITEMS, ORDER, ITEMS, ORDER, ITEMS, "hand_over"],
        "omniscient": [MAIL, "hand_over"],
    }


def test_the_write_is_blocked():
    assert all_moves(blocked={"cancel"}) == {
        "naive": [MAIL, ORDER, "cancel", "hand_over"],
        "retry": [MAIL, ORDER, "cancel", "cancel", "cancel", "hand_over"],
        "switch": [MAIL, ORDER, "cancel", "hand_over"],
        "strategic": [MAIL, ORDER, "cancel", ORDER, "cancel", ORDER, "cancel", ORDER, "hand_over"],
        "omniscient": [MAIL, ORDER, "hand_over"],
    }


@pytest.mark.parametrize("noise", ERRORS)
def test_the_answer_of_a_write_is_lost(noise):
    done = {name: run(name, {"cancel": [noise]}) for name in REFERENCE}
    assert all(episode.shop.cancelled for episode in done.values())
    assert {name: episode.moves for name, episode in done.items()} == {
        "naive": [MAIL, ORDER, "cancel", "hand_over"],
        # The repeat is refused, which is how something already done looks.
        "retry": [MAIL, ORDER, "cancel", "cancel", *TOLD],
        "switch": [MAIL, ORDER, "cancel", "hand_over"],
        "strategic": [MAIL, ORDER, "cancel", ORDER, *TOLD],
        "omniscient": [MAIL, ORDER, "cancel", *TOLD],
    }


def test_a_read_comes_back_emptied():
    assert all_moves({ORDER: [PARTIAL]}) == {
        "naive": [MAIL, ORDER, NOT_FOUND, NOT_FOUND, "bye"],
        "retry": [MAIL, ORDER, MAIL, ORDER, "cancel", *TOLD],
        "switch": [MAIL, ORDER, NAME, LIST, ITEMS, "cancel", *TOLD],
        # Only what looks wrong.
        "strategic": [MAIL, ORDER, ORDER, "cancel", *TOLD],
        "omniscient": [MAIL, ORDER, ORDER, "cancel", *TOLD],
    }


def test_a_read_comes_back_emptied_every_time():
    given_up = [NOT_FOUND, NOT_FOUND, "bye"]
    assert all_moves({ORDER: [PARTIAL] * 20}, change=standard) == {
        "naive": [MAIL, ORDER, *given_up],
        "retry": [MAIL, ORDER, MAIL, ORDER, MAIL, ORDER, *given_up],
        "switch": [MAIL, ORDER, *given_up],
        "strategic": [
            MAIL,
            *[ORDER] * 4,
            *[
                MAIL,
            ]
            * 3,
            *given_up,
        ],
        "omniscient": [MAIL, *[ORDER] * 21, "cancel", *TOLD],
    }


def test_only_strategic_and_omniscient_notice_what_does_not_add_up():
    believed = [MAIL, ORDER, "cancel", "total 45", "bye"]
    noticed = [MAIL, ORDER, ORDER, "cancel", *TOLD]
    assert all_moves({ORDER: [FACTUAL]}) == {
        "naive": believed,
        "retry": believed,
        "switch": believed,
        "strategic": noticed,
        "omniscient": noticed,
    }


def test_what_still_does_not_add_up_is_read_by_another_route_and_then_believed():
    four_times = [MAIL, *[ORDER] * 4]
    assert run("strategic", {ORDER: [FACTUAL] * 9}).moves == [*four_times, LIST, ITEMS, "cancel", *TOLD]
    alone = run("strategic", {ORDER: [FACTUAL] * 9}, change=standard)
    assert alone.moves == [*four_times, "cancel", "total 45", "bye"]


def test_strategic_doubts_that_there_is_nothing_to_do():
    nothing, noticed = [MAIL, ORDER, "bye"], [MAIL, ORDER, ORDER, "cancel", "bye"]
    assert all_moves({ORDER: [FACTUAL]}, change=with_plan(CancelIfCheap())) == {
        "naive": nothing,
        "retry": nothing,
        "switch": nothing,
        "strategic": noticed,
        "omniscient": noticed,
    }


def test_a_route_that_is_proven_blocked_is_not_used_against_doubts():
    faults = {LIST: [TIMEOUT] * 3, ORDER: [FACTUAL] * 9}
    moves = run("strategic", faults, change=with_plan(TellStreet(), TellTotal())).moves
    assert moves == [MAIL, *[LIST] * 3, ORDER, "Main St", *[ORDER] * 3, "total 45", "bye"]


def test_a_refusal_makes_strategic_read_again_and_ends_the_goal_of_the_others():
    refused = [MAIL, ORDER, "cancel", REFUSED, *TOLD]
    assert all_moves({ORDER: [STALE]}) == {
        "naive": refused,
        "retry": refused,
        "switch": refused,
        "strategic": [MAIL, ORDER, "cancel", MAIL, ORDER, "cancel", *TOLD],
        "omniscient": [MAIL, ORDER, ORDER, "cancel", *TOLD],
    }


def test_strategic_does_not_repeat_a_write_that_was_refused():
    moves = run("strategic", {ORDER: [STALE] * 9}, change=standard).moves
    assert moves == [MAIL, ORDER, "cancel", MAIL, ORDER, REFUSED, *TOLD]


def test_strategic_comes_back_to_a_route_that_it_left():
    moves = run("strategic", {ORDER: [AUTH], LIST: [AUTH]}).moves
    assert moves == [MAIL, ORDER, LIST, ORDER, "cancel", *TOLD]


def test_strategic_keeps_a_part_that_a_route_it_left_has_read():
    moves = run("strategic", {ORDER: [AUTH, AUTH], ITEMS: [AUTH]}).moves
    assert moves == [MAIL, ORDER, LIST, ITEMS, ORDER, ITEMS, "cancel", *TOLD]


def test_only_failures_in_a_row_prove_a_block():
    moves = run("strategic", {"cancel": [TIMEOUT], ORDER: [TIMEOUT, TIMEOUT, None, TIMEOUT]}).moves
    assert moves == [MAIL, ORDER, ORDER, ORDER, "cancel", ORDER, ORDER, *TOLD]


def test_strategic_remembers_a_block_for_the_whole_episode():
    plan = with_plan(TellTotal(), TellStreet(), Cancel())
    moves = run("strategic", blocked={ORDER}, faults={"cancel": [TIMEOUT]}, change=plan).moves
    first = [MAIL, ORDER, LIST, ITEMS, "total 40", "Main St"]
    # It verifies by the open route, since the other failed persistently.
    assert moves == [*first, "cancel", LIST, ITEMS, "bye"]


def test_strategic_verifies_with_the_same_recovery_and_beside_what_it_knows():
    moves = run("strategic", {"cancel": [TIMEOUT], ORDER: [None, AUTH]}).moves
    assert moves == [MAIL, ORDER, "cancel", ORDER, LIST, ITEMS, *TOLD]


def test_a_misleading_verification_costs_strategic_one_repeat():
    moves = run("strategic", {"cancel": [TIMEOUT], ORDER: [None, STALE]}).moves
    # It looks again, for the refusal and the first look contradict each other.
    assert moves == [MAIL, ORDER, "cancel", ORDER, "cancel", ORDER, *TOLD]


def test_strategic_finds_out_that_a_write_whose_answer_was_lost_had_been_refused():
    faults = {ORDER: [STALE], "cancel": [TIMEOUT]}
    assert run("retry", faults).moves == [MAIL, ORDER, "cancel", "cancel", *TOLD]
    assert not run("retry", faults).shop.cancelled
    episode = run("strategic", faults)
    assert episode.moves == [MAIL, ORDER, *["cancel", ORDER] * 2, MAIL, ORDER, "cancel", *TOLD]
    assert episode.shop.cancelled


def test_strategic_repeats_a_write_that_it_cannot_verify():
    change = with_plan(Cancel(verify=False))
    assert run("strategic", {"cancel": [TIMEOUT]}, change=change).moves == [
        MAIL,
        ORDER,
        "cancel",
        "cancel",
        "bye",
    ]
    nothing_answers = {"cancel": [TIMEOUT], ORDER: [None, *[TIMEOUT] * 3], LIST: [TIMEOUT] * 3}
    moves = run("strategic", nothing_answers).moves
    assert moves == [MAIL, ORDER, "cancel", *[ORDER] * 3, *[LIST] * 3, "cancel", *TOLD]


def test_omniscient_repeats_a_write_until_it_has_run():
    assert run("omniscient", {"cancel": [PARTIAL]}).moves == [MAIL, ORDER, "cancel", *TOLD]


@pytest.mark.parametrize("name", REFERENCE)
def test_what_a_tool_itself_refuses_is_not_retried(name):
    change = with_plan(Cancel("bob@shop.org"))
    assert run(name, change=change).moves == [MAIL, NAME, ORDER, "cancel", "bye"]
    sorry = "I am sorry, I could not find what this needs: no such user."
    nobody = with_plan(Cancel("bob@shop.org"))
    moves = run(name, change=lambda briefing: standard(nobody(briefing))).moves
    again = {"retry": 2, "strategic": 3}.get(name, 0)
    assert moves == [MAIL, *[MAIL] * again, sorry, "bye"]


def test_a_write_that_its_tool_refuses_ends_the_goal():
    refused = [MAIL, ORDER, "cancel", "cancel", REFUSED, "bye"]
    assert all_moves(change=with_plan(Cancel(), Cancel())) == {
        **{name: refused for name in REFERENCE},
        "strategic": [MAIL, ORDER, "cancel", "cancel", MAIL, ORDER, "bye"],
    }


def test_a_route_is_left_at_the_first_part_that_its_tool_refuses():
    faults = {ORDER: [AUTH], LIST: [REFUSAL]}
    assert run("switch", faults).moves == [MAIL, ORDER, LIST, "hand_over"]
    assert run("strategic", faults).moves == [MAIL, ORDER, LIST, ORDER, "cancel", *TOLD]
    faults = {ORDER: [REFUSAL], LIST: [AUTH]}
    assert run("switch", faults).moves == [MAIL, ORDER, LIST, "hand_over"]
    assert run("strategic", faults).moves == [MAIL, ORDER, LIST, LIST, ITEMS, "cancel", *TOLD]


@pytest.mark.parametrize("name", REFERENCE)
def test_a_part_is_read_once_for_all_facts_that_need_it(name):
    change = with_plan(TellTotal(), TellStreet())
    assert run(name, blocked={MAIL, ORDER}, change=change).moves.count(LIST) <= 1
    assert run(name, change=with_plan(TellStreet(), TellTotal())).moves == [
        MAIL, LIST, "Main St", ORDER, "total 40", "bye",
    ]  # fmt: skip


@pytest.mark.parametrize("name", REFERENCE)
def test_a_hand_over_that_the_solution_asks_for_ends_the_episode(name):
    moves = run(name, change=with_plan(TellTotal(), Human(), Cancel())).moves
    assert moves == [MAIL, ORDER, "total 40", "hand_over"]


@pytest.mark.parametrize("name", REFERENCE)
def test_tools_that_the_episode_does_not_offer_are_never_called(name):
    for blocked in ((), (ORDER,), (MAIL,)):
        moves = run(name, blocked=blocked, change=standard).moves
        assert not {NAME, LIST, ITEMS} & set(moves)


# ── the agents that certify the impossible ─────────────────────────────────────────────────────
def test_the_adversary_writes_blind_and_says_what_is_to_be_told():
    assert run("adversary").moves == ["cancel", "bye"]
    assert run("adversary").shop.cancelled
    assert run("adversary", {"cancel": [TIMEOUT]}).moves == ["cancel", "cancel", "bye"]
    blocked = run("adversary", blocked={"cancel"})
    assert blocked.moves == ["cancel", "cancel", "cancel", "bye"]
    assert not blocked.shop.cancelled


def test_the_adversary_says_every_value():
    play = create("adversary").play(BRIEFING)
    assert next(play).name == "cancel"
    answer = run("idle").shop.call(BRIEFING.task.gold[1].call)
    assert "40" in play.send(answer).text


def test_idle_does_nothing():
    assert run("idle").moves == []


# ── names ──────────────────────────────────────────────────────────────────────────────────────
def test_names():
    assert REFERENCE == ("naive", "retry", "switch", "strategic", "omniscient")
    assert INFORMED == ("strategic-verified", "bayes", "bayes-verified")
    assert (*REFERENCE, "reader", "adversary", "idle", *INFORMED) == NAMES
    assert [create(name).name for name in NAMES] == list(NAMES)
    assert [name for name in NAMES if create(name).omniscient] == ["omniscient"]


def test_an_unknown_name_is_answered_with_a_close_one():
    with pytest.raises(UnknownNameError, match=r"unknown agent='stratgic'; did you mean 'strategic'"):
        create("stratgic")


def test_a_policy_without_what_it_needs_says_so():
    with pytest.raises(SpecError, match="plan=None"):
        create("naive").play(replace(BRIEFING, plan=None))
    with pytest.raises(SpecError, match="oracle=None"):
        create("omniscient").play(BRIEFING)
    with pytest.raises(SpecError, match="expected what agent='bayes' is told, got knowledge=None"):
        create("bayes").play(BRIEFING)
