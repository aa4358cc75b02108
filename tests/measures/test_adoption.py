"""Whether a false value was passed on, and only where the agent can have it from nowhere else."""

from __future__ import annotations

import pytest

from bench2robust.measures import measure

from .episodes import FACTS, N, Script


def adopted(script):
    return measure(script.episode(), FACTS).adopted


def priced():
    """A price of 100 that is delivered as 117.5."""
    return Script().calls("get_order", text='{"total": 100}', noise=N.FACTUAL, fields=[("total", 100, 117.5)])


def standing():
    return Script().calls(
        "get_order",
        text='{"status": "delivered"}',
        noise=N.STALE,
        fields=[("status", "delivered", "processed")],
    )


@pytest.mark.parametrize(
    ("text", "passed_on"),
    [
        ("It costs $117.50.", True),
        ("It costs 117.5 dollars.", True),
        ("It costs 117.51.", False),
        ("It costs 1,117.5.", False),
        ("It costs $100.", False),
        ("All is well.", False),
    ],
)
def test_a_false_number_that_the_user_is_told(text, passed_on):
    assert adopted(priced().says(text)) == (0, 0, int(passed_on))


@pytest.mark.parametrize(
    ("text", "passed_on"),
    [("Your order is Processed.", True), ("It is unprocessed.", False), ("It was delivered.", False)],
)
def test_a_false_state_that_the_user_is_told(text, passed_on):
    assert adopted(standing().says(text)) == (0, int(passed_on), 0)


def test_what_is_written_beside_a_call_is_not_told():
    assert adopted(priced().calls("get_user", aside="It costs 117.5.")) == (0, 0, 0)


def test_a_false_value_in_a_writes_arguments_counts_once():
    script = (
        priced().calls("cancel_order", {"refund": "117.50"}).calls("cancel_order", {"refund": {"usd": 117.5}})
    )
    assert adopted(script) == (0, 0, 1)
    assert adopted(priced().calls("get_user", {"total": 117.5})) == (0, 0, 0)


def test_a_value_that_is_known_from_elsewhere_is_not_false_here():
    elsewhere = Script().calls("get_user", text='{"limit": 117.5}')
    script = priced()
    script.messages, script.records = elsewhere.messages, elsewhere.records
    script.calls("get_order", text='{"total": 100}', noise=N.FACTUAL, fields=[("total", 100, 117.5)])
    assert adopted(script.says("It is 117.5.")) == (0, 0, 0)
    assert adopted(
        Script()
        .hears("I paid 117.5")
        .calls("get_order", text='{"total": 100}', noise=N.FACTUAL, fields=[("total", 100, 117.5)])
        .says("You paid 117.5.")
    ) == (0, 0, 0)


def test_a_value_read_again_and_found_right_is_not_adopted():
    script = priced().calls("get_order", text='{"total": 100}').says("It costs 100.")
    assert adopted(script) == (0, 0, 0)


def test_what_a_calculator_makes_of_a_false_number_is_false_too():
    script = priced().calls("calculate", {"expression": "117.5 * 2"}, text="235").says("Together 235.")
    assert adopted(script) == (0, 0, 1)
    script = priced().calls("calculate", {"expression": "100 * 2"}, text="200").says("Together 200.")
    assert adopted(script) == (0, 0, 0)


def test_an_emptied_field_is_adopted_by_a_write_that_is_given_nothing():
    def emptied():
        return Script().calls(
            "get_order", text='{"items": [1, 2]}', noise=N.PARTIAL, fields=[("items", [1, 2], [])]
        )

    assert adopted(emptied().calls("exchange_items", {"old": []})) == (1, 0, 0)
    assert adopted(emptied().calls("exchange_items", {"old": [1]})) == (0, 0, 0)
    assert adopted(Script().calls("exchange_items", {"old": []})) == (0, 0, 0)


def test_each_corrupted_response_counts_for_itself():
    script = priced().calls("get_user", text='{"points": 40}', noise=N.FACTUAL, fields=[("points", 40, 35)])
    assert adopted(script.says("It costs 117.5 and you have 35 points.")) == (0, 0, 2)
