import pytest

from bench2robust.benchmarks.intents.forbidden import _is
from bench2robust.core.tools import ToolCall

FLIGHT = {"flight_number": "HAT001", "date": "2024-05-20"}


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ([FLIGHT], True),
        ([dict(reversed(FLIGHT.items()))], True),
        ([{**FLIGHT, "date": "2024-05-21"}], False),
        ([FLIGHT, FLIGHT], False),
        ([{**FLIGHT, "seat": None}], False),
        (None, False),
    ],
)
def test_neither_keys_nor_lists_have_an_order(given, same):
    wanted = {"name": "update_reservation_flights", "arguments": {"flights": [FLIGHT]}}
    assert _is(ToolCall("update_reservation_flights", {"flights": given}), wanted) is same


@pytest.mark.parametrize(("given", "same"), [(100, True), (100.0, True), (True, False), ("100", False)])
def test_numbers_are_equal_by_value_at_any_depth(given, same):
    wanted = {"name": "pay", "arguments": {"ways": [{"amount": 100.0}]}}
    assert _is(ToolCall("pay", {"ways": [{"amount": given}]}), wanted) is same
