"""What one episode adds: by the truth of its records, and by what was delivered."""

from __future__ import annotations

import pytest

from bench2robust.core.domain import Domain, EquivalenceClass, Side
from bench2robust.core.episode import Trajectory
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.tools import CallRecord, ToolCall, ToolResponse
from bench2robust.injection import texts
from bench2robust.memory import Counts, Sight, counts, observed

N = NoiseType
TEXTS = {
    N.TIMEOUT: "Error: request timed out after 30s",
    N.RATE_LIMIT: "HTTP 429 Too Many Requests",
    N.SERVER_ERROR: "HTTP 502 Bad Gateway",
    N.MALFORMED: "Error: failed to parse tool response as JSON: unexpected end of input",
    N.AUTH_ERROR: "HTTP 401 Unauthorized",
    N.SCHEMA_DRIFT: "Required field 'id' is missing",
}
ORDER = EquivalenceClass(
    "order",
    (Side("one", ("get_order",)), Side("many", ("get_orders", "get_items")), Side("by_name", ("find",))),
)
DOMAIN = Domain(
    "shop", (ORDER,), tools=("get_order", "get_orders", "get_items", "find", "cancel", "transfer")
)


def record(tool, noise=N.CLEAN, *, blocked="", genuine=""):
    """Return the record of a call: clean, with noise, blocked with a text, or refused by the tool with one."""
    true = None if blocked else ToolResponse(genuine or '{"id": 1}', bool(genuine))
    text = blocked or TEXTS.get(noise) or genuine or '{"id": 1}'
    delivered = ToolResponse(text, bool(blocked or genuine or noise.observable))
    return CallRecord(0, ToolCall(tool), 0, true, delivered, noise, noise, bool(blocked))


def errors(*records, sight=Sight.TRUTH):
    return counts(Trajectory(records=list(records)), True, DOMAIN, sight).errors


def switches(*records, sight=Sight.TRUTH):
    return counts(Trajectory(records=list(records)), True, DOMAIN, sight).switches


@pytest.mark.parametrize("noise", NOISE_TYPES)
def test_the_truth_knows_all_nine(noise):
    assert errors(record("get_order", noise)) == {("get_order", noise)}


@pytest.mark.parametrize("noise", NOISE_TYPES)
def test_what_is_delivered_shows_the_observable_six(noise):
    seen = errors(record("get_order", noise), sight=Sight.DELIVERED)
    assert seen == ({("get_order", noise)} if noise.observable else set())


@pytest.mark.parametrize("sight", Sight)
def test_a_block_counts_as_what_its_text_shows(sight):
    for noise in texts.BLOCK_TYPES:
        for text in texts.variants(noise, ("timeout", "token", "status")):
            assert errors(record("get_order", blocked=text), sight=sight) == {("get_order", noise)}


def test_once_an_episode_however_often():
    three = [record("get_order", N.TIMEOUT)] * 3
    assert counts(Trajectory(records=three), False, DOMAIN) == Counts(frozenset({("get_order", N.TIMEOUT)}))


def test_the_tools_own_error_is_no_failure():
    assert not errors(record("cancel", genuine="Error: order not found"))
    assert not errors(record("cancel", genuine="Error: order not found"), sight=Sight.DELIVERED)


def test_only_the_truth_tells_a_tools_own_error_from_one_that_reads_alike():
    looks_like_it = record("cancel", genuine="Error: the payment service timed out")
    assert not errors(looks_like_it)
    assert errors(looks_like_it, sight=Sight.DELIVERED) == {("cancel", N.TIMEOUT)}


@pytest.mark.parametrize("sight", Sight)
def test_a_switch_is_the_next_call_on_another_side(sight):
    failed, fine = record("get_order", N.TIMEOUT), record("get_orders")
    assert switches(failed, fine, sight=sight) == {("get_order", "get_orders")}
    assert switches(fine, record("get_order"), sight=sight) == set(), "nothing had failed"
    assert switches(failed, record("cancel"), fine, sight=sight) == set(), "not the next call"
    assert switches(failed, failed, fine, sight=sight) == {("get_order", "get_orders")}, "after a retry"
    assert switches(record("get_orders", N.TIMEOUT), record("get_items"), sight=sight) == set(), "same side"
    assert switches(failed, record("transfer"), sight=sight) == set(), "handing over is no switch"
    assert switches(record("get_order", blocked="HTTP 403 Forbidden"), record("find"), sight=sight) == {
        ("get_order", "find")
    }


def test_a_chain_of_switches():
    chain = [record("get_order", N.TIMEOUT), record("find", N.SERVER_ERROR), record("get_items")]
    assert switches(*chain) == {("get_order", "find"), ("find", "get_items")}


def test_after_a_silent_failure_nobody_switches_because_of_it():
    assert switches(record("get_order", N.STALE), record("find")) == set()


def test_tools_that_the_domain_does_not_have_are_left_out():
    assert not errors(record("get_ordr", N.TIMEOUT))
    unlisted = Domain("shop")
    trajectory = Trajectory(records=[record("get_ordr", N.TIMEOUT)])
    assert counts(trajectory, True, unlisted).errors == {("get_ordr", N.TIMEOUT)}


def test_answers_alone_say_the_same_as_delivered_records():
    records = [
        record("get_order", N.TIMEOUT),
        record("find", N.STALE),
        record("get_items", blocked="HTTP 401 Unauthorized"),
        record("get_order"),
        record("cancel", genuine="Error: order not found"),
        record("cancel", N.RATE_LIMIT),
    ]
    answers = [(r.call.name, r.delivered) for r in records]
    for passed in (True, False):
        seen = counts(Trajectory(records=records), passed, DOMAIN, Sight.DELIVERED)
        assert observed(answers, passed, DOMAIN) == seen
        assert seen == Counts(
            frozenset({("get_order", N.TIMEOUT), ("get_items", N.AUTH_ERROR), ("cancel", N.RATE_LIMIT)}),
            frozenset({("get_order", "find"), ("get_items", "get_order")}),
            passed,
        )


def test_a_damaged_answer_that_claims_to_be_none_is_malformed():
    answers = [("get_order", ToolResponse('{"id": 1, "ite'))]
    assert observed(answers, True, DOMAIN).errors == {("get_order", N.MALFORMED)}
