"""Descriptions fit exactly what they describe: checked by reading them back, without the generator's own proof."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.benchmarks.intents.wishes import mine, sentence, tidy
from bench2robust.core.randomness import Draws

pytestmark = pytest.mark.tau2


@pytest.fixture(scope="module")
def kit():
    from bench2robust.benchmarks.intents.domains import RETAIL
    from bench2robust.benchmarks.intents.retail import RetailKit

    return RetailKit(RETAIL.db)


def fits(order, text, products, cities):
    """Whether an order is what a description says, read word by word."""
    if number := re.search(r"#W\d+", text):
        return order["order_id"] == number[0]
    names = {line["name"] for line in order["items"]}
    said = {p for p in products if re.search(rf"\b{re.escape(p)}\b", text)}
    places = {c for c in cities if re.search(rf"\b{re.escape(c)}\b", text)}
    status = next(
        (s for s in ("pending", "delivered", "processed", "cancelled") if s in text), order["status"]
    )
    return said <= names and places <= {order["address"]["city"]} and order["status"] == status


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_an_order_is_described_uniquely(kit, seed):
    from bench2robust.benchmarks.intents.retail.which import which_order

    draws = Draws(seed, "test")
    orders = kit.orders(draws.choice(kit.people))
    order = draws.choice([o for o in orders if o["status"] in ("pending", "delivered")])
    named = sorted({line["name"] for line in draws.some(order["items"])}) if draws.uniform() < 0.5 else []
    found = which_order(order, orders, named, draws)
    products = {p["name"] for p in kit.db["products"].values()}
    cities = {u["address"]["city"] for u in kit.db["users"].values()}
    read = found.text + " with " + " and ".join(named)
    assert [o["order_id"] for o in orders if fits(o, read, products, cities)] == [order["order_id"]]


@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_a_variant_is_described_uniquely(kit, seed):
    """Read back by option values: what is said, in stock, ranked by price where a rank is said."""
    from bench2robust.benchmarks.intents.retail.which import spell, which_variant

    draws = Draws(seed, "test")
    order = draws.choice(kit.orders(draws.choice(kit.people)))
    old = draws.choice(order["items"])
    product = kit.product(old)
    found = which_variant(old, product, draws, same_allowed=True)
    if found is None:
        return
    new, detail = found
    stock = [v for v in product["variants"].values() if v["available"]]
    if "very same" in detail.text:
        assert new["item_id"] == old["item_id"]
        return
    spellings = [Draws(n, "spell") for n in range(40)]
    said = {
        key: {
            value
            for value in {v["options"][key] for v in product["variants"].values()}
            if any(
                re.search(
                    rf"(?<![\w-])(?<!not )(?<!no ){re.escape(spell(key, value, d))}(?![\w-])", detail.text
                )
                for d in spellings
            )
        }
        for key in old["options"]
    }
    pool = [v for v in stock if all(v["options"][k] in values for k, values in said.items() if values)]
    if re.search("same|unchanged|as they are", detail.text):
        kept = [k for k, values in said.items() if not values]
        pool = [v for v in pool if all(v["options"][k] == old["options"][k] for k in kept)]
    if "most expensive" in detail.text:
        pool = [v for v in pool if v["price"] == max(p["price"] for p in pool)]
    elif re.search("cheapest|least expensive", detail.text):
        pool = [v for v in pool if v["price"] == min(p["price"] for p in pool)]
    assert [v["item_id"] for v in pool] == [new["item_id"]], detail.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("You want to cancel your order.", "I want to cancel my order."),
        ("the one you bought, as yours broke", "the one I bought, as mine broke"),
        ("You are Mei Li. You do not repeat yourself.", "I am Mei Li. I do not repeat myself."),
    ],
)
def test_mine(text, said):
    assert mine(text) == said


def test_tidy():
    assert tidy("return it  from  your order , now .") == "return it from your order, now."
    assert sentence("it is late") == "It is late."
