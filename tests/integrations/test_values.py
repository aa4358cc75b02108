"""Values go through corruption and back: types stay, the tool's own object is never touched."""

from __future__ import annotations

import copy
import json
from collections import namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from bench2robust.core.noise import OBSERVABLE, NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import CorruptedField
from bench2robust.injection.corruption import corrupt
from bench2robust.injection.texts import variants
from bench2robust.integrations import values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


class Status(StrEnum):
    OPEN = "open"


@dataclass
class Item:
    price: Decimal
    name: str = "lamp"
    tags: tuple[str, ...] = ("a",)


@dataclass(frozen=True)
class Order:
    order_id: str
    total: float
    items: list[Item] = field(default_factory=list)
    status: Status = Status.OPEN


class Invoice(BaseModel):
    number: int
    amount: float
    lines: list[str]


Point = namedtuple("Point", "x y")


@given(JSON, st.sampled_from([NoiseType.PARTIAL, NoiseType.FACTUAL]), st.integers(0, 50))
def test_what_is_delivered_is_the_corrupted_json_and_the_original_is_untouched(value, noise, seed):
    before = copy.deepcopy(value)
    rules = values.rules(value)
    corruption = rules and corrupt(noise, values.text(value), rules, {}, Draws(seed))
    if corruption:
        text, fields = corruption
        delivered = values.changed(value, fields, text)
        assert delivered == text if isinstance(value, str) else values.plain(delivered) == json.loads(text)
        assert repr(delivered) != repr(before)
    assert repr(value) == repr(before)


@given(JSON)
def test_places_found_are_places_of_the_value(value):
    rules = values.rules(value)
    if rules is None:
        return
    for pattern in (*rules.critical, *rules.numeric):
        here = [json.loads(json.dumps(value))]
        for segment in [] if pattern == "$" else pattern.split("."):
            here = [
                part
                for one in here
                for part in (
                    one
                    if segment == "*" and isinstance(one, list)
                    else [one[segment]]
                    if isinstance(one, dict) and segment in one
                    else []
                )
            ]
        assert here, pattern


def test_types_are_kept_on_the_way_and_at_the_place():
    order = Order("#1", 12.5, [Item(Decimal("3.50")), Item(Decimal("4.25"))])
    fields = (
        CorruptedField("total", 12.5, 14.0),
        CorruptedField("items.1.price", 4.25, 5.0),
        CorruptedField("items.0.tags", ["a"], []),
    )
    new = values.changed(order, fields, "{}")
    assert new == Order("#1", 14.0, [Item(Decimal("3.50"), tags=()), Item(Decimal("5.0"))])
    assert type(new.items[1].price) is Decimal
    assert order.items[0].tags == ("a",)


def test_pydantic_models_and_named_tuples():
    invoice = Invoice(number=7, amount=10.0, lines=["a"])
    assert values.changed(invoice, [CorruptedField("amount", 10.0, 11.5)], "{}") == Invoice(
        number=7, amount=11.5, lines=["a"]
    )
    assert values.changed(Point(1, 2), [CorruptedField("x", 1, 3)], "{}") == Point(3, 2)
    assert values.changed((1, 2), [CorruptedField("1", 2, 3)], "{}") == (1, 3)


def test_a_type_that_cannot_hold_the_new_value_gets_the_json_value():
    assert values.changed({"a": Item(Decimal(1))}, [CorruptedField("a", {}, {})], "{}") == {"a": {}}


def test_an_object_that_cannot_be_changed_becomes_its_json():
    odd = type("Odd", (), {"model_fields": {"a": None}, "a": 1})()
    assert values.changed(odd, [CorruptedField("a", 1, 2)], '{"a": 2}') == {"a": 2}


def test_keys_with_dots_and_keys_that_are_numbers():
    value = {"a.b": {7: 1.0}}
    assert values.changed(value, [CorruptedField("a.b.7", 1.0, 2.0)], "{}") == {"a.b": {7: 2.0}}


def test_ids_dates_and_states_are_left_alone():
    found = values.rules(
        {
            "order_id": 5,
            "userId": 6,
            "created_at": 7,
            "zip": 8,
            "status": "open",
            "price": 1.5,
            "count": 3,
            "name": "lamp",
            "items": [{"id": 1, "price": 2.5}],
            "paid": True,
        }
    )
    assert set(found.numeric) == {"price", "count", "items.*.price"}
    assert set(found.critical) == {"name", "items"}
    assert values.rules([{"a": {"b": 1}}]).critical == ("$", "*.a")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("12", "12"),
        ('{"a": 1}', '{"a": 1}'),
        (None, "null"),
        (Point(1, 2), '{"x": 1, "y": 2}'),
        ({3, 1, 2}, "[1, 2, 3]"),
        (Decimal("3"), "3"),
        (Order("#1", 1.0), '{"order_id": "#1", "total": 1.0, "items": [], "status": "open"}'),
    ],
)
def test_text_of_a_value(value, text):
    assert values.text(value) == text


def test_a_value_that_holds_itself_has_a_text():
    value: list[object] = []
    value.append(value)
    assert values.text(value) == "<list>"
    assert values.rules(value) is None or values.rules(value).numeric == ()


@pytest.mark.parametrize(
    "value",
    [
        *(text for noise in OBSERVABLE[:3] for text in variants(noise, ("a",))),
        *variants(NoiseType.SCHEMA_DRIFT, ("a",)),
        "An error occurred while running the tool. Please try again.",
        "Tool 'f' timed out after 3 seconds.",
        "Error 404",
        {"error": "no such order"},
        '{"error": "no such order"}',
    ],
)
def test_errors_without_a_flag_are_seen(value):
    assert values.failed(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Errors happen.",
        "ok",
        {"error": None},
        '{"error": null, "a": 1}',
        '{"a": "error: x"}',
        3,
        None,
        [],
        "HTTP is a",
    ],
)
def test_answers_are_no_errors(value):
    assert not values.failed(value)
