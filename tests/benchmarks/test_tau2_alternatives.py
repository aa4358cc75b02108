"""The alternative tools say what the standard tools say, for every record of the database."""

from __future__ import annotations

import json

import pytest

from bench2robust.benchmarks.tau2.provider import retail_data
from bench2robust.core.tools import ToolCall

pytestmark = pytest.mark.tau2

SHIRT = "9523456873"


@pytest.fixture
def ask(bench):
    environment = bench.open(bench.tasks()[0])

    def ask(name, /, **arguments):
        answer = environment.call(ToolCall(name, arguments))
        if answer.error or not answer.text.startswith(("{", "[")):
            return answer.text
        parsed = json.loads(answer.text)
        assert json.dumps(parsed) == answer.text
        return parsed

    return ask


def consistent_order(ask, order_id):
    """What the order tools say of one order, against each other."""
    order = ask("get_order_details", order_id=order_id)
    assert ask("get_user_by_order", order_id=order_id) == order["user_id"]
    summaries = ask("get_orders_for_user", user_id=order["user_id"])
    summary = next(s for s in summaries if s["order_id"] == order_id)
    assert summary == {
        "order_id": order_id,
        "status": order["status"],
        "address": order["address"],
        "payment_history": order["payment_history"],
        "fulfillments": [{"tracking_id": f["tracking_id"]} for f in order["fulfillments"]],
        "items": [item["name"] for item in order["items"]],
        "total": round(sum(item["price"] for item in order["items"]), 2),
    }
    lines = ask("check_order_item_availability", order_id=order_id)
    assert len(lines) == len(order["items"])
    for line, item in zip(lines, order["items"], strict=True):
        variants = ask("get_product_details", product_id=item["product_id"])["variants"].values()
        assert line == {
            **item,
            "available_variants": [
                {"item_id": v["item_id"], "options": v["options"], "price": v["price"]}
                for v in variants
                if v["available"]
            ],
        }


def test_every_order(ask):
    for order_id in retail_data().db["orders"]:
        consistent_order(ask, order_id)


def test_every_user(ask):
    for user_id, user in retail_data().db["users"].items():
        text = ask("get_orders_for_user", user_id=user_id)
        assert [order["order_id"] for order in text] == user["orders"]


def test_summaries_hold_no_item_ids_options_or_item_prices(ask):
    items = {v for p in retail_data().db["products"].values() for v in p["variants"]}
    for user_id in retail_data().db["users"]:
        text = json.dumps(ask("get_orders_for_user", user_id=user_id))
        assert "item_id" not in text
        assert "options" not in text
        assert "price" not in text
        assert not any(item in text for item in items & set(text.replace('"', " ").split()))


def test_every_product_and_variant(ask):
    for product_id, product in retail_data().db["products"].items():
        details = ask("get_product_details", product_id=product_id)
        for name in (product["name"], product["name"].upper(), product["name"].lower()):
            assert ask("search_product_by_name", name=name) == details
        for variant in details["variants"].values():
            found = ask("get_item_by_product_options", product_id=product_id, options=variant["options"])
            assert found == {"name": product["name"], "product_id": product_id, **variant}
            assert list(found) == ["name", "product_id", "item_id", "options", "available", "price"]
            assert ask("get_item_details", item_id=variant["item_id"]) == variant


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("get_orders_for_user", {"user_id": "nobody"}, "Error: User not found"),
        ("get_user_by_order", {"order_id": "W2378156"}, "Error: Order not found"),
        ("check_order_item_availability", {"order_id": ""}, "Error: Order not found"),
        ("search_product_by_name", {"name": "shirt"}, "Error: Product not found"),
        ("get_item_by_product_options", {"product_id": "0", "options": {}}, "Error: Product not found"),
        (
            "get_item_by_product_options",
            {"product_id": SHIRT, "options": {"color": "blue"}},
            "Error: Item not found",
        ),
        (
            "get_item_by_product_options",
            {"product_id": SHIRT, "options": "blue"},
            "Error: Item not found",
        ),
        ("get_item_details", {"item_id": "6086499569"}, "Error: Item not found"),
    ],
)
def test_what_is_not_there_is_a_genuine_error(bench, name, arguments, expected):
    answer = bench.open(bench.tasks()[0]).call(ToolCall(name, arguments))
    assert (answer.text, answer.error) == (expected, True)


@pytest.mark.parametrize("arguments", [{}, {"nme": "T-Shirt"}, {"name": 3}, {"name": None}])
def test_wrong_arguments_are_a_genuine_error(bench, arguments):
    answer = bench.open(bench.tasks()[0]).call(ToolCall("search_product_by_name", arguments))
    assert answer.error
    assert answer.text.startswith("Error: ")


def test_they_read_the_live_state(bench):
    """Asked before a write, so that a remembered answer would show."""
    for task in bench.tasks():
        for action in task.gold:
            if action.call.name != "modify_pending_order_items":
                continue
            environment = bench.open(task)
            order_id = action.call.arguments["order_id"]
            ask = ToolCall("check_order_item_availability", {"order_id": order_id})
            before = json.loads(environment.call(ask).text)
            assert not environment.call(action.call).error
            after = json.loads(environment.call(ask).text)
            assert after != before
            assert {line["item_id"] for line in after} >= set(action.call.arguments["new_item_ids"])

            def read(name, /, environment=environment, **arguments):
                text = environment.call(ToolCall(name, arguments)).text
                return json.loads(text) if text[0] in "[{" else text

            consistent_order(read, order_id)
