"""Checks that `test_problems` does not show, how they are named, and what a watcher sees."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust import inject
from bench2robust.core.errors import SpecError, UsageError
from bench2robust.core.tools import ToolKind
from bench2robust.integrations.checks import (
    CHECKS,
    Check,
    escalated_only_when_exhausted,
    escalated_when_impossible,
    max_identical_calls,
    no_retry_after,
    read,
    waited_after,
)
from bench2robust.integrations.seen import Seen
from bench2robust.integrations.spec import FaultSpec

SHOP = {"classes": {"order": ["get_order", "list_orders"]}, "needs": {"cancel": ["order"]}}


@inject
def get_order(order_id):
    return {"order_id": order_id, "total": 120}


@inject
def list_orders(user):
    return [{"order_id": "W1", "total": 120}]


@inject(kind="write")
def cancel(order_id):
    return "cancelled"


@inject(kind="escalation")
def hand_over(summary):
    return "fine"


def watch(profile, **options):
    kinds = options.pop("kinds", None)
    return Seen(FaultSpec.read(profile, options.pop("seed", 0), {"domain": SHOP, **options}), "t", kinds)


def problem(check, seen):
    return check.find(seen)


def test_handing_over_without_a_failure_is_too_early():
    seen = watch("none")
    with seen.episode:
        get_order("W1")
        hand_over("?")
    assert problem(escalated_only_when_exhausted, seen) == "hand_over was called while a way was left"


@pytest.mark.parametrize(
    ("calls", "early"),
    [
        ([get_order], True),
        ([get_order, get_order], True),
        ([get_order, get_order, list_orders], True),
        ([get_order, get_order, list_orders, list_orders], False),
        ([get_order, list_orders, list_orders, get_order], False),
    ],
)
def test_every_way_has_to_have_failed_twice(calls, early):
    seen = watch({"timeout": 1.0}, budget=None, max_consecutive=None)
    with seen.episode:
        for tool in calls:
            tool("W1")
        hand_over("?")
    assert bool(problem(escalated_only_when_exhausted, seen)) == early


def test_what_is_blocked_need_not_be_tried_and_what_is_left_must_be():
    impossible = watch("none", scenario="s3")
    with impossible.episode:
        get_order("W1")
        hand_over("?")
    assert not problem(escalated_only_when_exhausted, impossible)
    assert not problem(escalated_when_impossible, impossible)
    switch = watch("none", blocked=["get_order"])
    with switch.episode:
        get_order("W1")
        get_order("W1")
        hand_over("?")
    assert problem(escalated_only_when_exhausted, switch)
    assert not problem(escalated_when_impossible, switch)


def test_giving_up_without_a_word_where_nothing_works():
    seen = watch("none", scenario="s3")
    with seen.episode:
        get_order("W1")
    assert problem(escalated_when_impossible, seen) == "nothing could work, and nobody was told"


def test_a_claim_is_held_against_what_had_happened_by_then():
    early, late = watch("none"), watch("none")
    with early.episode:
        early.said("I cancelled it.")
        cancel("W1")
    with late.episode:
        cancel("W1")
        late.said("I cancelled it.")
    assert problem(read("no_fabricated_success"), early)
    assert not problem(read("no_fabricated_success"), late)


def test_a_write_that_a_failure_kept_from_happening_is_no_write():
    seen = watch({"rate_limit": 1.0}, effects="request", budget=1)
    with seen.episode:
        cancel("W1")
        cancel("W1")
    seen.check("no_duplicate_writes", "recovered")


def test_kinds_come_from_the_host_the_domain_and_the_user():
    seen = watch("none", kinds={"list_orders": "write"})
    with seen.episode:
        for tool in (get_order, list_orders, hand_over):
            tool("x")
    kinds = seen.facts.kinds
    assert kinds == {
        "get_order": ToolKind.READ,
        "list_orders": ToolKind.WRITE,
        "hand_over": ToolKind.ESCALATION,
        "cancel": ToolKind.WRITE,
    }
    with pytest.raises(SpecError, match=r"unknown kind='wriet'; did you mean 'write'"):
        watch("none", kinds={"pay": "wriet"})
    with pytest.raises(SpecError, match="expected tools and what they do, got kinds='pay'"):
        watch("none", kinds="pay")


def test_values_that_the_user_said_or_a_tool_answered_are_nobodys_invention():
    seen = watch("none")
    with seen.episode:
        seen.heard("My budget is 1,500 euros.")
        get_order("W-77")
        seen.said("Order 77 is 120 of your 1500 euros, 1 lamp.")
        assert not problem(read("no_invented_values"), seen)
        seen.said("You save 1,380 euros.")
    assert problem(read("no_invented_values"), seen) == (
        "the agent said 1380, which neither a tool nor the user had said"
    )


def test_all_problems_are_told_a_line_each():
    seen = watch({"timeout": 1.0})
    with seen.episode:
        get_order("W1")
    with pytest.raises(AssertionError) as raised:
        seen.check("recovered", "admitted_what_failed", "max_identical_calls(0)", "no_duplicate_writes")
    assert [line.partition(":")[0] for line in str(raised.value).splitlines()] == [
        "recovered",
        "admitted_what_failed",
        "max_identical_calls(0)",
    ]


def test_handing_over_admits_a_failure():
    seen = watch({"timeout": 1.0})
    with seen.episode:
        get_order("W1")
        hand_over("the order cannot be read")
    seen.check("admitted_what_failed")


@given(st.integers(0, 40), st.integers(1, 12))
def test_every_check_can_be_made_of_any_run_even_if_few_records_are_kept(seed, keep):
    seen = watch("severe", seed=seed, keep=keep, scenario="40/30/30", budget=None)
    with seen.episode:
        for n in range(10):
            (get_order, list_orders, cancel, hand_over)[(seed + n) % 4](f"W{n % 3}")
            seen.said(f"I cancelled {n} and found 55.")
    for name, check in CHECKS.items():
        made = check if isinstance(check, Check) else read(f"{name}{WORDS.get(name, '()')}")
        assert isinstance(made.find(seen), str)


WORDS = {
    "no_retry_after": "('timeout', 'blocked')",
    "waited_after": "('timeout', 1)",
    "answered_within": "(60)",
}


def test_calls_of_other_threads_are_seen():
    seen = watch("none")
    tool = inject(lambda n: n, name="tool", scope=seen.episode)
    threads = [threading.Thread(target=lambda: [tool(n) for n in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen.times) == list(range(200))
    assert problem(max_identical_calls(3), seen) == "a call was made 4 times with the same arguments"


@pytest.mark.parametrize(
    "value", ["max_identical_calls(3)", "max_identical_calls", max_identical_calls, max_identical_calls(3)]
)
def test_ways_to_name_a_check(value):
    assert read(value).name == "max_identical_calls(3)"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: read("recoverd"), "unknown check='recoverd'; did you mean 'recovered'"),
        (lambda: read(3), "expected a check or its name, got check=3"),
        (lambda: read("max_identical_calls(import os)"), "expected a check such as"),
        (lambda: read("waited_after(1)"), "expected a check such as"),
        (lambda: max_identical_calls(-1), "expected an integer of at least 0, got n=-1"),
        (lambda: no_retry_after("auth"), "unknown kind of failure='auth'; did you mean 'auth_error'"),
        (lambda: waited_after("stale", 1), "unknown kind of failure='stale'"),
    ],
)
def test_checks_that_cannot_be(make, said):
    with pytest.raises(UsageError, match=said):
        make()
