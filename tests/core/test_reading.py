import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.noise import OBSERVABLE, NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.reading import classify, parse, read
from bench2robust.core.tools import ToolResponse
from bench2robust.injection import texts

GENUINE = """
Order not found
User not found
Product not found
Variant not found
Payment method not found
Invalid characters in expression
Non-pending order cannot be cancelled
Non-pending order cannot be modified
Non-delivered order cannot be exchanged
Non-delivered order cannot be returned
Invalid reason
Number of 5047954489 not found.
Item 4290000500 not found
New item 5031234296 not found or available
The number of items to be exchanged should match.
The new item id should be different from the old item id
Insufficient gift card balance to pay for the price difference
There should be exactly one payment for a pending order
Payment method should be the original payment method
Some item not found
User mia_li_3668 not found
Reservation 4WQ150 not found
Flight HAT429 not available on date 2024-05-20
Not enough seats on flight HAT500
Too many reservations
Certificate cannot be used to update reservation
Gift card balance is not enough
Not enough balance in payment method gift_card_401
Payment amount does not add up, total price is 503, but paid 429
Number of passengers does not match
Function get_orders not found in agent tools
RetailTools.get_order_details() missing 1 required positional argument: 'order_id'
""".strip().splitlines()

TYPICAL = {
    NoiseType.TIMEOUT: (
        "Read timed out.",
        "connection timeout",
        "HTTP 504 Gateway Timeout",
        "deadline exceeded",
    ),
    NoiseType.RATE_LIMIT: (
        "429: too many requests",
        "Rate limit exceeded, retry in 3 s",
        '{"error": {"code": 429}}',
    ),
    NoiseType.SERVER_ERROR: ("500 Internal Server Error", "status=503", "Service temporarily unavailable"),
    NoiseType.AUTH_ERROR: ("401 Unauthorized", "Invalid API key", "Access denied", "token has expired"),
    NoiseType.MALFORMED: (
        '{"a": 1, "b',
        "[",
        "mia_\ufffd\ufffd",
        "%$#@!{{{;;",
        "JSONDecodeError: Expecting value: line 1 column 1",
        "could not be parsed",
        "Unexpected token < in JSON",
    ),
    NoiseType.SCHEMA_DRIFT: (
        "Missing required field: status",
        "schema validation failed",
        "unknown property 'x'",
    ),
}
TRUE_TEXTS = (
    "mia_li_3668",
    '{"order_id": "#W1", "items": [{"timeout": 1}]}',
    "[1, 2, 3]",
    "[{}]",
    '"x"',
    "true",
    "",
)
FIELDS = ("order_id", "status", "timeout", "token", "rate_limit", "json", "code", "result")


@pytest.mark.parametrize("message", GENUINE)
def test_what_a_tool_itself_says_is_no_failure(message):
    assert classify(f"Error: {message}") is None
    assert read(ToolResponse(f"Error: {message}", error=True)).genuine


@pytest.mark.parametrize(("noise", "text"), [(noise, text) for noise in TYPICAL for text in TYPICAL[noise]])
def test_what_servers_and_clients_usually_say(noise, text):
    assert classify(text) is noise


@pytest.mark.parametrize("noise", [n for n in OBSERVABLE if n is not NoiseType.MALFORMED])
def test_every_text_of_the_injector(noise):
    found = texts.variants(noise, FIELDS)
    assert found
    assert {text: classify(text) for text in found} == dict.fromkeys(found, noise)


def test_every_malformed_text_of_the_injector():
    for true in TRUE_TEXTS:
        found = {texts.malformed(true, Draws(seed, "malformed")) for seed in range(200)}
        assert {text: classify(text) for text in found} == dict.fromkeys(found, NoiseType.MALFORMED)


@given(st.text())
def test_any_text_can_be_read(text):
    for error in (True, False):
        reading = read(ToolResponse(text, error=error))
        assert not (reading.genuine and reading.noise)
        assert reading.genuine or reading.noise or not error


@given(
    st.from_regex(r"[a-z]+_[a-z]+_[0-9]{4}", fullmatch=True) | st.from_regex(r"#W[0-9]{7}", fullmatch=True)
)
def test_a_plain_answer_is_its_own_value(text):
    assert read(ToolResponse(text)).value == text


def test_json_is_parsed_and_anything_else_is_text():
    assert parse('{"a": [1, "x"]}') == {"a": [1, "x"]}
    assert parse("12.5") == 12.5
    assert parse("Transfer successful") == "Transfer successful"
    assert parse("[" * 100_000) == "[" * 100_000


def test_a_list_as_python_prints_it_is_read_and_a_damaged_one_is_not():
    assert parse("[{'id': 1, 'open': True}, 'x']") == [{"id": 1, "open": True}, "x"]
    assert read(ToolResponse("[{'id': 1}]")).value == [{"id": 1}]
    assert parse("{'result': mpf('2.0')}") == "{'result': mpf('2.0')}"
    assert parse("[__import__('os')]") == "[__import__('os')]"
    assert read(ToolResponse("[{'id': 1")).noise is NoiseType.MALFORMED


def test_a_damaged_answer_counts_as_malformed_even_when_it_is_not_marked_as_an_error():
    assert read(ToolResponse('{"id": "o1", "sta')).noise is NoiseType.MALFORMED
    assert read(ToolResponse('{"id": "o1", "status": "HTTP 500"}')).noise is None
