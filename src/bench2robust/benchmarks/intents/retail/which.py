"""Which order, which item, which variant: descriptions that fit exactly one, with the proof.

Each function returns a phrase only after it has counted what else of this user's orders (lines,
variants, payment methods) the phrase would fit. What fits several is never said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench2robust.benchmarks.intents.wishes import Detail, listed
from bench2robust.core.randomness import Draws

Json = dict[str, Any]

_LETTERS = ("XS", "S", "M", "L", "XL", "XXL")


def spell(key: str, value: str, draws: Draws) -> str:
    """Return an option value as a user says it: "size L", "1000ml capacity", "waterproof", "no armrest"."""
    if value in ("yes", "no"):
        if key == "waterproof":
            return key if value == "yes" else f"not {key}"
        return key if value == "yes" else f"no {key}"
    if value == "none":
        return f"no {key}"
    if value.startswith("not "):
        return f"no {key}"
    if value in _LETTERS:
        return draws.choice((f"size {value}", f"{value} size"))
    return draws.choice((f"{key} {value}", f"{value} {key}", f"{value} as the {key}"))


def _one(orders: Sequence[Json], fits: Callable[[Json], bool]) -> bool:
    return sum(map(fits, orders)) == 1


def _names(order: Json) -> list[str]:
    return list(dict.fromkeys(line["name"] for line in order["items"]))


def which_order(order: Json, orders: Sequence[Json], named: Sequence[str], draws: Draws) -> Detail | None:
    """Describe one of a user's orders.

    Args:
        order: the one that is meant.
        orders: all of the user's.
        named: products that the sentence names anyway.
        draws: what to choose with.

    Returns:
        The description; None when a draw gave one that is not unique.
    """
    status = order["status"]
    alike = [o for o in orders if o["status"] == status]
    beside = [o for o in alike if set(named) <= set(_names(o))]
    vague = draws.choice(
        (
            "one of your orders",
            "an order of yours",
            "an order you placed",
            "something you ordered earlier",
        )
        if not named
        else ("one of your orders", "an order of yours", "an order you placed")
    )
    text, answer = draws.choice(list(_descriptions(order, orders, named, draws)))
    # Withholding makes sense only while the rest does not give the order away.
    hidden = answer if len(alike if not named else beside) > 1 else ""
    return Detail(text, vague, hidden)


def _descriptions(
    order: Json, orders: Sequence[Json], named: Sequence[str], draws: Draws
) -> Iterator[tuple[str, str]]:
    """Yield (phrase, answer) pairs, each fitting this order only."""
    status, number, city = order["status"], order["order_id"], order["address"]["city"]
    yield (
        draws.choice((f"order {number}", f"your order {number}", f"the order with number {number}")),
        (draws.choice((f"It is order {number}", f"The order number is {number}", f"That is {number}"))),
    )
    names = [n for n in _names(order) if n not in named]

    def has(*wanted: str) -> Callable[[Json], bool]:
        return lambda o: o["status"] == status and set((*wanted, *named)) <= set(_names(o))

    if _one(orders, has()):
        yield (f"your {status} order" if named else f"your only {status} order"), f"It is the {status} one"
    for name in names:
        if _one(orders, has(name)):
            yield (
                draws.choice(
                    (f"your {status} order with the {name}", f"the {status} order that contains the {name}")
                ),
                f"It is the {status} order that has the {name} in it",
            )
            break
    if len(names) > 1:
        first = draws.index(len(names) - 1)
        pair = names[first : first + 2]
        if _one(orders, has(*pair)):
            both = f"the {pair[0]} and the {pair[1]}"
            yield f"the {status} order in which you bought {both}", f"The {status} one with {both}"
    if _one(orders, lambda o: o["status"] == status and o["address"]["city"] == city):
        verb = "going" if status == "pending" else "that went"
        yield f"your {status} order {verb} to {city}", f"It is the {status} one {verb} to {city}"


def which_items(lines: Sequence[Json], order: Json, draws: Draws) -> Detail | None:
    """Describe lines of an order; None where two lines are of the same product."""
    names = [line["name"] for line in order["items"]]
    if len(set(names)) != len(names):
        return None
    every = len(lines) == len(names)
    if every and len(names) > 1 and draws.uniform() < 0.5:
        text = draws.choice(("the whole lot", "the complete contents", "each and every item"))
        return Detail(text)
    text = listed([_item(line, draws) for line in lines])
    vague = "an item" if len(lines) == 1 else "some items"
    answer = f"I mean {text}" if len(names) > len(lines) else ""
    return Detail(text, vague, answer)


def _item(line: Json, draws: Draws) -> str:
    way = draws.index(4)
    if way == 0:
        key = draws.choice(list(line["options"]))
        return f"the {line['name']} ({spell(key, line['options'][key], draws)})"
    return draws.choice((f"the {line['name']}", f"your {line['name']}", f"the {line['name']} you bought"))


def which_variant(
    old: Json, product: Json, draws: Draws, *, same_allowed: bool
) -> tuple[Json, Detail] | None:
    """Choose a variant to take instead of a line, and describe it; None when the draw is not unique."""
    stock = [v for v in product["variants"].values() if v["available"]]
    others = [v for v in stock if v["item_id"] != old["item_id"]]
    if not others:
        return None
    ways = ["changed", "changed", "full", "cheapest", "dearest", "ranked", "sole"]
    if same_allowed and len(stock) > len(others):
        ways.append("same")
    found = _WAYS[draws.choice(ways)](old, stock, others, draws)
    if found is None:
        return None
    new, text = found
    # With one variant left there is nothing to find out by asking.
    answer = f"The new {old['name']} should be {text}" if len(stock) > 1 else ""
    return new, Detail(f"for {text}", "for another version", answer)


Chosen = tuple[Json, str]


def _changed(old: Json, stock: list[Json], others: list[Json], draws: Draws) -> Chosen | None:
    """Say only what changes; everything else stays as it is."""
    new = draws.choice(others)
    moved = [k for k, v in new["options"].items() if old["options"].get(k) != v]
    if not moved or sum(v["options"] == new["options"] for v in stock) != 1:
        return None
    said = listed([spell(k, new["options"][k], draws) for k in moved])
    rest = draws.choice(
        (", otherwise the same", ", the rest unchanged", ", with its other options as they are")
    )
    return new, f"one with {said}{rest if len(moved) < len(new['options']) else ''}"


def _full(old: Json, stock: list[Json], others: list[Json], draws: Draws) -> Chosen | None:
    """Say every option."""
    new = draws.choice(others)
    if sum(v["options"] == new["options"] for v in stock) != 1:
        return None
    return new, f"one with {listed([spell(k, v, draws) for k, v in new['options'].items()])}"


def _extreme(pool: list[Json], *, highest: bool) -> Json | None:
    best = (max if highest else min)(v["price"] for v in pool)
    found = [v for v in pool if v["price"] == best]
    return found[0] if len(found) == 1 else None


def _cheapest(old: Json, stock: list[Json], others: list[Json], draws: Draws) -> Chosen | None:
    new = _extreme(stock, highest=False)
    if new is None or new["item_id"] == old["item_id"]:
        return None
    return new, draws.choice(("the cheapest one in stock", "the least expensive one you can get"))


def _dearest(old: Json, stock: list[Json], others: list[Json], draws: Draws) -> Chosen | None:
    new = _extreme(stock, highest=True)
    if new is None or new["item_id"] == old["item_id"]:
        return None
    return new, draws.choice(("the most expensive one in stock", "the most expensive version on offer"))


def _ranked(old: Json, stock: list[Json], others: list[Json], draws: Draws) -> Chosen | None:
    """Say one option, and a price rank among what has it."""
    key = draws.choice(list(old["options"]))
    value = draws.choice(sorted({v["options"][key] for v in others}))
    pool = [v for v in stock if v["options"][key] == value]
    highest = draws.uniform() < 0.4
    new = _extreme(pool, highest=highest)
    if len(pool) < 2 or new is None or new["item_id"] == old["item_id"]:
        return None
    rank = "most expensive" if highest else draws.choice(("cheapest", "least expensive"))
    return new, f"the {rank} one in stock with {spell(key, value, draws)}"


def _sole(old: Json, stock: list[Json], others: list[Json], draws: Draws) -> Chosen | None:
    """Say one option that a single variant in stock has."""
    new = draws.choice(others)
    for key, value in new["options"].items():
        if sum(v["options"][key] == value for v in stock) == 1:
            return new, f"the one with {spell(key, value, draws)}"
    return None


def _same(old: Json, stock: list[Json], others: list[Json], draws: Draws) -> Chosen | None:
    why = draws.choice(("yours arrived damaged", "yours is defective", "yours stopped working"))
    return next(
        v for v in stock if v["item_id"] == old["item_id"]
    ), f"a new one of the very same kind, as {why}"


_WAYS: dict[str, Callable[[Json, list[Json], list[Json], Draws], Chosen | None]] = {
    "changed": _changed,
    "full": _full,
    "cheapest": _cheapest,
    "dearest": _dearest,
    "ranked": _ranked,
    "sole": _sole,
    "same": _same,
}
_SOURCES = {"credit_card": "credit card", "gift_card": "gift card", "paypal": "PayPal account"}


def which_method(method_id: str, user: Json, draws: Draws) -> str | None:
    """Name a payment method; None when the name fits several of the user's."""
    methods = user["payment_methods"]
    record = methods[method_id]
    if sum(m["source"] == record["source"] for m in methods.values()) == 1:
        return draws.choice(("your {}", "the {} on file", "the {} in your profile")).format(
            _SOURCES[record["source"]]
        )
    if sum(m.get("brand") == record.get("brand") for m in methods.values()) == 1:
        return f"your {record['brand']} card"
    return None
