"""The policy `reader`: what it does comes from the text, and from nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents import create
from bench2robust.core.noise import NOISE_TYPES, OBSERVABLE, NoiseType
from bench2robust.memory.block import block, write
from bench2robust.memory.content import Alternative, Content, Variant
from bench2robust.memory.memory import Memory
from bench2robust.memory.notes import Note
from bench2robust.memory.structure import CONSTRAINTS

from .toy import AUTH, BRIEFING, DOMAIN, FACTUAL, PARTIAL, TIMEOUT, TOOLS, Cancel, Episode, with_plan

MAIL, NAME, ORDER, LIST, ITEMS = "find_by_email", "find_by_name", "get_order", "list_orders", "check_items"
TOLD = ["total 40", "bye"]
RETRY, VERIFY, CONFIRM, PRICES, CHECK, EXHAUST = CONSTRAINTS
NAMES = [tool.name for tool in TOOLS]
EMPTY = "<tool_reliability>\n</tool_reliability>"
LISTING = Alternative((LIST, ITEMS), 0.8)


def keeping(*constraints, recovery=None, **alternatives):
    rows = {tool: dict.fromkeys(NOISE_TYPES, recovery) for tool in NAMES} if recovery is not None else {}
    return write(Content(rows, alternatives, (), constraints or ("Be kind.",)))


def played(text="", faults=None, blocked=(), *, notes=None, briefing=BRIEFING):
    """Play an episode; `notes` gives the note that comes with each failure of a tool."""
    episode = Episode(faults or {}, blocked)
    answering = episode.call
    if notes:

        def call(move):
            response = answering(move)
            return (
                replace(response, note=str(notes[move.name]))
                if response.error and move.name in notes
                else response
            )

        episode.call = call
    return episode.play(create("reader").play(replace(briefing, memory=text)))


faults = st.dictionaries(
    st.sampled_from(NAMES[:-1]), st.lists(st.none() | st.sampled_from(NOISE_TYPES), max_size=4), max_size=4
)


@given(faults, st.sets(st.sampled_from(NAMES[:-1]), max_size=2))
def test_an_empty_block_and_no_block_are_the_same_and_so_is_naive(faults, blocked):
    nothing = played("", faults, blocked)
    assert played(EMPTY, faults, blocked).moves == nothing.moves
    assert played("The tools are reliable.", faults, blocked).moves == nothing.moves
    assert Episode(faults, blocked).play(create("naive").play(BRIEFING)).moves == nothing.moves


@given(faults, st.sets(st.sampled_from(NAMES[:-1]), max_size=2), st.sampled_from(list(Variant)))
def test_only_the_text_counts(faults, blocked, variant):
    text = block(Memory("toy"), DOMAIN, NAMES, variant)
    once, again = played(text, faults, blocked), played(f"Hello.\n{text}\nBye.", faults, blocked)
    assert once.moves == again.moves
    if variant is Variant.SHUFFLED:  # of probabilities that are all alike
        assert once.moves == played(block(Memory("toy"), DOMAIN, NAMES), faults, blocked).moves


@given(faults, st.sets(st.sampled_from(NAMES[:-1]), max_size=2))
def test_it_ends_with_any_faults_and_by_the_book(faults, blocked):
    moves = played(block(Memory("toy"), DOMAIN, NAMES), faults, blocked).moves
    assert moves[-1] in ("bye", "hand_over")
    assert len(moves) < 100


def test_in_a_clean_world_the_text_changes_nothing():
    texts = ["", keeping(*CONSTRAINTS), block(Memory("toy"), DOMAIN, NAMES)]
    assert [played(text).moves for text in texts] == [[MAIL, ORDER, "cancel", *TOLD]] * 3


def test_retry_at_least_once():
    assert played(keeping(RETRY), {ORDER: [TIMEOUT]}).moves == [MAIL, ORDER, ORDER, "cancel", *TOLD]
    assert played(keeping(RETRY), {ORDER: [TIMEOUT, AUTH]}).moves == [MAIL, ORDER, ORDER, "hand_over"]


def test_transfer_only_after_exhausting():
    text = keeping(EXHAUST)
    assert played(text, {ORDER: [AUTH, AUTH]}).moves == [MAIL, ORDER, ORDER, ORDER, "cancel", *TOLD]
    assert played(text, blocked=[ORDER]).moves == [MAIL, ORDER, ORDER, ORDER, "hand_over"]
    told = keeping(EXHAUST, recovery=0.2, get_order=(replace(LISTING, probability=0.1),))
    assert played(told, blocked=[ORDER]).moves == [MAIL, *[ORDER] * 3, LIST, ITEMS, "cancel", *TOLD]


@pytest.mark.parametrize(
    ("recovery", "moves"),
    [
        (0.9, [MAIL, ORDER, ORDER, ORDER, LIST, ITEMS, "cancel", *TOLD]),  # retry, until it is hopeless
        (0.8, [MAIL, ORDER, ORDER, ORDER, LIST, ITEMS, "cancel", *TOLD]),
        (0.7, [MAIL, ORDER, LIST, ITEMS, "cancel", *TOLD]),  # the switch looks better
    ],
)
def test_recovery_is_compared_with_switching(recovery, moves):
    assert played(keeping(recovery=recovery, get_order=(LISTING,)), blocked=[ORDER]).moves == moves


@pytest.mark.parametrize(("recovery", "tries"), [(0.49, 1), (0.5, 3)])
def test_if_both_are_low_it_transfers(recovery, tries):
    text = keeping(recovery=recovery)
    assert played(text, blocked=[ORDER]).moves == [MAIL, *[ORDER] * tries, "hand_over"]
    low = keeping(recovery=0.3, get_order=(replace(LISTING, probability=0.2),))
    assert played(low, blocked=[ORDER]).moves == [MAIL, ORDER, "hand_over"]


def test_it_goes_no_way_that_it_was_not_told_of():
    told = keeping(EXHAUST, recovery=0.2, get_order=(replace(LISTING, tools=(LIST,)),))
    assert played(told, blocked=[ORDER]).moves == [MAIL, *[ORDER] * 3, "hand_over"]  # half of it is no way
    apart = (replace(LISTING, tools=(LIST,)), replace(LISTING, tools=(ITEMS,)))  # as in the dynamic variant
    switched = [MAIL, ORDER, LIST, ITEMS, "cancel", *TOLD]
    assert played(keeping(recovery=0.2, get_order=apart), blocked=[ORDER]).moves == switched


def test_looks_wrong_and_is_read_again_if_told_to_confirm():
    spoilt = {ORDER: [FACTUAL]}
    assert "total 45" in played("", spoilt).moves
    assert played(keeping(CONFIRM), spoilt).moves == [MAIL, ORDER, ORDER, "cancel", *TOLD]
    assert "total 45" in played(keeping(VERIFY), spoilt).moves  # nothing was switched


def test_what_is_missing_is_read_again_if_told_not_to_guess():
    assert "cancel" not in played("", {ORDER: [PARTIAL]}).moves
    assert played(keeping(CONFIRM), {ORDER: [PARTIAL]}).moves == [MAIL, ORDER, MAIL, ORDER, "cancel", *TOLD]


def test_a_lost_write_is_looked_for_if_told_to_check():
    lost = {"cancel": [TIMEOUT]}
    assert played("", lost).moves == [MAIL, ORDER, "cancel", "hand_over"]
    assert played(keeping(RETRY), lost).moves == [MAIL, ORDER, "cancel", "cancel", *TOLD]
    assert played(keeping(RETRY, CHECK), lost).moves == [MAIL, ORDER, "cancel", ORDER, *TOLD]
    blind = with_plan(Cancel(verify=False))(BRIEFING)
    assert played(keeping(RETRY, CHECK), lost, briefing=blind).moves == [
        MAIL,
        ORDER,
        "cancel",
        "cancel",
        "bye",
    ]


def test_what_came_by_another_way_is_verified_if_told_so():
    failing = {ORDER: [TIMEOUT], ITEMS: [PARTIAL]}
    switched = [MAIL, ORDER, LIST, ITEMS]
    trusting = keeping("Be kind.", recovery=0.2, get_order=(LISTING,))
    assert "cancel" not in played(trusting, failing).moves
    told = keeping(VERIFY, recovery=0.2, get_order=(LISTING,))
    assert played(told, failing).moves == [*switched, LIST, ITEMS, "cancel", *TOLD]


def test_prices_are_always_right():
    assert played(keeping(PRICES), {ORDER: [TIMEOUT]}).moves == played("", {ORDER: [TIMEOUT]}).moves


@pytest.mark.parametrize("noise", OBSERVABLE)
def test_a_note_alone(noise):
    note = Note(ORDER, 1, noise, 0.6, 0.1, (LISTING,))
    assert played("", {ORDER: [noise]}, notes={ORDER: note}).moves == [
        MAIL,
        ORDER,
        LIST,
        ITEMS,
        "cancel",
        *TOLD,
    ]
    stay = replace(note, recovery=0.9)
    assert played("", {ORDER: [noise]}, notes={ORDER: stay}).moves == [MAIL, ORDER, ORDER, "cancel", *TOLD]
    stuck = replace(stay, blocked=0.7)
    assert played("", blocked=[ORDER], notes={ORDER: stuck}).moves == [
        MAIL,
        ORDER,
        LIST,
        ITEMS,
        "cancel",
        *TOLD,
    ]


def test_a_tool_that_is_probably_blocked_is_retried_where_nothing_else_is_told():
    note = Note(ORDER, 1, NoiseType.AUTH_ERROR, 0.9, 0.99)
    assert played("", {ORDER: [AUTH]}, notes={ORDER: note}).moves == [MAIL, ORDER, ORDER, "cancel", *TOLD]


def test_a_note_is_newer_than_the_block():
    text = keeping(recovery=0.9)
    note = Note(ORDER, 1, NoiseType.TIMEOUT, 0.1)
    assert played(text, {ORDER: [TIMEOUT]}, notes={ORDER: note}).moves == [MAIL, ORDER, "hand_over"]
