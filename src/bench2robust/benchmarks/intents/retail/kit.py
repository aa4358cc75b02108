"""Draws retail errands: valid workflows of one to four writes on the stock database, and their words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench2robust.benchmarks.intents.wishes import Detail, Errand, Person, Refused, Wish
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall

from .frames import FRAMES, KINDS_OF_STREET, REASONS, STREETS, SUBJECTS
from .refusals import draw_refused
from .which import Json, which_items, which_method, which_order, which_variant

CANCEL, RETURN, EXCHANGE = (
    "cancel_pending_order",
    "return_delivered_order_items",
    "exchange_delivered_order_items",
)
ITEMS, ADDRESS, PAYMENT = (
    "modify_pending_order_items",
    "modify_pending_order_address",
    "modify_pending_order_payment",
)
PROFILE = "modify_user_address"

_COUNTS = (40, 34, 17, 9)
"""Weights of one to four writes."""
_ON = {"pending": (CANCEL, ITEMS, ADDRESS, PAYMENT), "delivered": (RETURN, EXCHANGE)}
"""Status to the writes it allows."""
_TOGETHER = frozenset({ITEMS, ADDRESS, PAYMENT})
"""Writes that one order allows beside each other, the change of items last."""


class RetailKit:
    """What the generator asks for of a domain (`generate.Kit`), on a retail database."""

    domain = "retail"

    def __init__(self, db: Mapping[str, Mapping[str, Json]]) -> None:
        self.db = db
        self.people: Sequence[str] = sorted(u for u in db["users"] if self._can_act(u))

    def _can_act(self, user_id: str) -> bool:
        return any(order["status"] in _ON for order in self.orders(user_id))

    def orders(self, user_id: str) -> list[Json]:
        """Return a user's orders."""
        return [self.db["orders"][o] for o in self.db["users"][user_id]["orders"]]

    def product(self, line: Json) -> Json:
        """Return the product of an order's line."""
        return self.db["products"][line["product_id"]]

    def person(self, user_id: str, draws: Draws) -> Person:
        """Say how the user proves who they are: by e-mail or by name and zip code (each unique)."""
        user = self.db["users"][user_id]
        first, last, zip_code = user["name"]["first_name"], user["name"]["last_name"], user["address"]["zip"]
        if draws.uniform() < 0.5:
            known = draws.choice(
                (
                    "Your email address is {}.",
                    "You know your email address is {}.",
                    "You signed up with the email {}.",
                )
            )
            unknown = draws.choice(
                ("You do not remember your zip code.", "You do not know your zip code by heart.")
            )
            return Person(user_id, known.format(user["email"]), unknown)
        known = draws.choice(
            (
                "You are {} {} in zip code {}.",
                "Your name is {} {} and your zip code is {}.",
                "You are {} {}, zip {}.",
            )
        )
        unknown = draws.choice(
            (
                "You do not remember your email address.",
                "You cannot say which email address you signed up with.",
            )
        )
        return Person(user_id, known.format(first, last, zip_code), unknown)

    def errand(self, draws: Draws, user_id: str) -> Errand | None:
        """Draw an errand of a user; None where the draw is not possible or cannot be said uniquely."""
        person = self.person(user_id, draws)
        picks = self._picks(draws, user_id, draws.weighted(_COUNTS) + 1)
        if all(tool == PROFILE for tool, _ in picks):
            return None  # nothing of it needs an order, so nothing could ever need another way to one
        wishes = []
        moves = any(tool == PROFILE for tool, _ in picks)
        for tool, order in picks:
            wish = self.wish(draws, user_id, tool, order, picks)
            if wish is None or (moves and tool == ADDRESS and "profile" in wish.details["address"].text):
                return None  # "the address in your profile" would be the old one or the new one
            wishes.append(wish)
        return self._with_question(Errand(person, tuple(wishes)), draws) if wishes else None

    def rather(self, draws: Draws, errand: Errand) -> Wish | None:
        """Draw another valid wish of the same user: what they say first, before they change their mind."""
        user_id = errand.person.user_id
        picks = self._picks(draws, user_id, 1)
        if not picks:
            return None
        about = {wish.call.arguments.get("order_id") for wish in errand.wishes}
        tool, order = picks[0]
        if order is not None and order["order_id"] not in about and draws.uniform() < 0.7:
            return None  # mostly a change of mind about the same order
        wish = self.wish(draws, user_id, tool, order, picks)
        return None if wish is None or wish.call in [w.call for w in errand.wishes] else wish

    def refused(self, draws: Draws, user_id: str) -> Refused | None:
        """Draw an errand with one wish that the policy forbids."""
        return draw_refused(self, draws, user_id)

    def wish(
        self,
        draws: Draws,
        user_id: str,
        tool: str,
        order: Json | None,
        picks: Sequence[tuple[str, Json | None]],
    ) -> Wish | None:
        """Draw the arguments and the words of one write; None where they cannot be said uniquely."""
        made = _DRAW[tool](
            self, draws, self.db["users"][user_id], order or {}, [t for t, o in picks if o is order]
        )
        if made is None:
            return None
        arguments, details = made
        return Wish(ToolCall(tool, arguments), FRAMES[tool], details, SUBJECTS[tool])

    def _picks(self, draws: Draws, user_id: str, count: int) -> list[tuple[str, Json | None]]:
        """Draw which writes on which orders: each kind once, what an order allows, items last."""
        pool: list[tuple[str, Json | None]] = [
            (tool, order) for order in self.orders(user_id) for tool in _ON.get(order["status"], ())
        ]
        if not pool or draws.uniform() < 0.4:
            pool.append((PROFILE, None))
        picks: list[tuple[str, Json | None]] = []
        for _ in range(4 * count):
            tool, order = draws.choice(pool)
            on_it = {t for t, o in picks if o is order and order is not None}
            if tool not in {t for t, _ in picks} and (not on_it or {*on_it, tool} <= _TOGETHER):
                picks.append((tool, order))
            if len(picks) == count:
                break
        return sorted(picks, key=lambda pick: pick[0] == ITEMS)

    def _with_question(self, errand: Errand, draws: Draws) -> Errand:
        """Sometimes let the user also want to know an amount."""
        tools = {wish.call.name for wish in errand.wishes}
        if draws.uniform() >= 0.3:
            return errand
        if tools <= {CANCEL, RETURN}:
            amount = sum(self.refund(wish.call) for wish in errand.wishes)
            asks = (
                "how much you will get back in total",
                "what the total refund comes to",
                "the sum of the refund",
            )
        elif len(tools & {EXCHANGE, ITEMS}) == 1 and not tools & {CANCEL, RETURN}:
            amount = sum(self.difference(wish.call) for wish in errand.wishes)
            asks = (
                "what the price difference is",
                "how big the difference in price is",
                "the exact price difference",
            )
        else:
            return errand
        if round(abs(amount), 2) < 1:
            return errand
        opening = draws.choice(
            ("You also want to know", "You would like to be told", "Besides, you want to hear")
        )
        return replace(errand, ask=f"{opening} {draws.choice(asks)}.", tell=(f"{abs(amount):.2f}",))

    def refund(self, call: ToolCall) -> float:
        """Return what a cancellation or return gives back."""
        order = self.db["orders"][call.arguments["order_id"]]
        if call.name == CANCEL:
            return float(order["payment_history"][0]["amount"])
        return float(sum(i["price"] for i in order["items"] if i["item_id"] in call.arguments["item_ids"]))

    def difference(self, call: ToolCall) -> float:
        """Return what the new items of a change cost more than the old ones."""
        if "new_item_ids" not in call.arguments:
            return 0.0
        lines = {i["item_id"]: i for i in self.db["orders"][call.arguments["order_id"]]["items"]}
        pairs = zip(call.arguments["item_ids"], call.arguments["new_item_ids"], strict=True)
        return float(
            sum(self.product(lines[a])["variants"][b]["price"] - lines[a]["price"] for a, b in pairs)
        )

    def new_address(self, draws: Draws) -> dict[str, str]:
        """Make up an address: street and number of ours, city, state and zip code of some user."""
        near = self.db["users"][draws.choice(sorted(self.db["users"]))]["address"]
        street = f"{draws.index(880) + 100} {draws.choice(STREETS)} {draws.choice(KINDS_OF_STREET)}"
        unit = f"{draws.choice(('Suite', 'Apt', 'Unit'))} {draws.index(890) + 100}"
        return {
            "address1": street,
            "address2": unit,
            **{k: near[k] for k in ("city", "state", "country", "zip")},
        }

    def spoken(self, address: Mapping[str, str]) -> str:
        """Return an address in full, as a user says it."""
        a = address
        return f"{a['address1']}, {a['address2']}, {a['city']}, {a['state']} {a['zip']}, {a['country']}"


Made = tuple[dict[str, Any], dict[str, Detail]]
"""Arguments, and the words for each detail of them."""


def _cancel(kit: RetailKit, draws: Draws, user: Json, order: Json, on_it: Sequence[str]) -> Made | None:
    which = which_order(order, kit.orders(user["user_id"]), (), draws)
    reason = draws.choice(sorted(REASONS))
    said, answer = draws.choice(REASONS[reason])
    if which is None:
        return None
    arguments = {"order_id": order["order_id"], "reason": reason}
    return arguments, {"order": which, "reason": Detail(f" {said}", "", answer)}


def _return(kit: RetailKit, draws: Draws, user: Json, order: Json, on_it: Sequence[str]) -> Made | None:
    lines = draws.some(order["items"])
    items = which_items(lines, order, draws)
    paid = order["payment_history"][0]["payment_method_id"]
    allowed = [m for m in user["payment_methods"] if m == paid or m.startswith("gift_card")]
    method = draws.choice(allowed)
    said = _said_method(method, paid, user, draws)
    which = which_order(order, kit.orders(user["user_id"]), _named(items, lines), draws)
    if items is None or said is None or which is None:
        return None
    spoken = draws.choice(
        (", with the refund going to {}", " and be refunded to {}", ", the refund to go to {}")
    )
    answer = f"Refund it to {said}" if len(allowed) > 1 else ""
    text = spoken.format(said) if answer or draws.uniform() < 0.6 else ""
    arguments = {
        "order_id": order["order_id"],
        "item_ids": [line["item_id"] for line in lines],
        "payment_method_id": method,
    }
    return arguments, {"item": items, "order": which, "payment": Detail(text, "", answer)}


def _named(items: Detail | None, lines: Sequence[Json]) -> list[str]:
    """Return the products that the words for some lines name."""
    return [line["name"] for line in lines if items is not None and line["name"] in items.text]


def _change(most: int) -> Callable[[RetailKit, Draws, Json, Json, Sequence[str]], Made | None]:
    """Return how to draw a change of up to `most` items.

    τ²'s tool that modifies pending orders gives every item the price and options of the last new one, so
    there the result would depend on the order of the list: one item only.
    """

    def made(kit: RetailKit, draws: Draws, user: Json, order: Json, on_it: Sequence[str]) -> Made | None:
        start = draws.index(len(order["items"]))
        lines = order["items"][start : start + 1 + draws.index(most)]
        found = [which_variant(line, kit.product(line), draws, same_allowed=most > 1) for line in lines]
        chosen = [f for f in found if f is not None]
        items = which_items(lines, order, draws)
        if len(chosen) < len(lines) or items is None or not _named(items, lines):
            return None
        which = which_order(order, kit.orders(user["user_id"]), _named(items, lines), draws)
        paid = order["payment_history"][0]["payment_method_id"]
        method = draws.choice(sorted(user["payment_methods"]))
        said = _said_method(method, paid if PAYMENT not in on_it else "", user, draws)
        if which is None or said is None:
            return None
        spoken = draws.choice(
            (
                ", settling any difference with {}",
                " and use {} for the difference",
                ", the difference to go through {}",
            )
        )
        several = len(user["payment_methods"]) > 1
        text = spoken.format(said) if several or draws.uniform() < 0.6 else ""
        answer = f"Use {said} for the difference" if several else ""
        arguments = {
            "order_id": order["order_id"],
            "item_ids": [line["item_id"] for line in lines],
            "new_item_ids": [new["item_id"] for new, _ in chosen],
            "payment_method_id": method,
        }
        option = _options(lines, [detail for _, detail in chosen])
        if not option.answer:
            items = replace(items, answer="")
        return arguments, {
            "item": items,
            "order": which,
            "payment": Detail(text, "", answer),
            "option": option,
        }

    return made


def _options(lines: Sequence[Json], details: Sequence[Detail]) -> Detail:
    if len(details) == 1:
        return details[0]
    said = [f"the {line['name']} {detail.text}" for line, detail in zip(lines, details, strict=True)]
    text = f"({'; '.join(said)})"
    return Detail(
        text,
        "for other versions",
        f"I would take {' and '.join(said)}" if all(d.answer for d in details) else "",
    )


def _said_method(method: str, paid: str, user: Json, draws: Draws) -> str | None:
    if method == paid and draws.uniform() < 0.5:
        return draws.choice(("the original payment method", "the original method of payment"))
    return which_method(method, user, draws)


def _address(kit: RetailKit, draws: Draws, user: Json, order: Json, on_it: Sequence[str]) -> Made | None:
    orders = kit.orders(user["user_id"])
    which = which_order(order, orders, (), draws)
    places: list[tuple[Json, str]] = [(kit.new_address(draws), "")] * 2
    if user["address"] != order["address"]:
        places.append(
            (
                user["address"],
                draws.choice(("the address in your profile", "the default address of your profile")),
            )
        )
    places += [
        (other["address"], "the address of your other order, {}") for other in orders
        if other["address"] not in (order["address"], user["address"])
    ]  # fmt: skip
    address, said = draws.choice(places)
    if "{}" in said:
        other = next(o for o in orders if o["address"] == address)
        there = which_order(other, orders, (), draws)
        said = said.format(there.text) if there else ""
    said = said or kit.spoken(address)
    if which is None:
        return None
    answer = f"It should go to {said}"
    return {"order_id": order["order_id"], **_plain(address)}, {
        "order": which,
        "address": Detail(said, "another address", answer),
    }


def _profile(kit: RetailKit, draws: Draws, user: Json, order: Json, on_it: Sequence[str]) -> Made | None:
    address = kit.new_address(draws)
    said = kit.spoken(address)
    details = {"address": Detail(said, "a new address", f"The new address is {said}")}
    return {"user_id": user["user_id"], **_plain(address)}, details


def _plain(address: Mapping[str, str]) -> dict[str, str]:
    return {f: address[f] for f in ("address1", "address2", "city", "state", "country", "zip")}


def _payment(kit: RetailKit, draws: Draws, user: Json, order: Json, on_it: Sequence[str]) -> Made | None:
    paid = order["payment_history"][0]["payment_method_id"]
    others = sorted(m for m in user["payment_methods"] if m != paid)
    which = which_order(order, kit.orders(user["user_id"]), (), draws)
    method = draws.choice(others) if others else ""
    said = which_method(method, user, draws) if others else None
    if which is None or said is None:
        return None
    answer = f"I mean {said}" if len(others) > 1 else ""
    details = {"order": which, "payment": Detail(said, "another payment method", answer)}
    return {"order_id": order["order_id"], "payment_method_id": method}, details


_DRAW: dict[str, Callable[[RetailKit, Draws, Json, Json, Sequence[str]], Made | None]] = {
    CANCEL: _cancel,
    RETURN: _return,
    EXCHANGE: _change(3),
    ITEMS: _change(1),
    ADDRESS: _address,
    PAYMENT: _payment,
    PROFILE: _profile,
}
