"""Search spaces for payment methods and addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench2robust.core.tools import ToolCall

from .choices import find_orders
from .draft import Draft
from .money import FIELDS, Address, Method, Payment, original_method
from .world import Json, NoMatch

_SOURCES = {"credit_card": ("credit card", "credit"), "gift_card": ("gift card",), "paypal": ("paypal",)}


def find_payment(
    call: ToolCall, order: Json, draft: Draft, *, refund: bool = False, due: float = 0.0
) -> Payment:
    """Return a payment selector that gives the gold method; notes it when no word supports it."""
    gold = call.arguments["payment_method_id"]
    for payment in _payments(order, draft, refund):
        try:
            if payment.of(order, draft.world, due) == gold:
                return payment
        except NoMatch:
            continue
    draft.note(False, f"{call.name}.payment_method_id")  # noqa: FBT003
    record = draft.truth.user["payment_methods"][gold]
    other = Method(record["source"], record.get("brand", ""), original=gold == original_method(order))
    return Payment((other,), refund)


def _payments(order: Json, draft: Draft, refund: bool) -> list[Payment]:  # noqa: FBT001
    """Return payment selectors, the most literal reading first."""
    words = draft.words
    places = {
        s: min((p for w in said if (p := words.place(w)) >= 0), default=-1) for s, said in _SOURCES.items()
    }
    named = sorted((s for s, p in places.items() if p >= 0), key=lambda s: places[s])
    brands = [b for b in ("visa", "mastercard", "american express", "amex") if words.has(b)]
    found = []
    if named:
        found.append(Payment(tuple(Method(s) for s in named), refund))
        found += [Payment((Method(s),), refund) for s in reversed(named)]
    found += [Payment((Method("credit_card", b),), refund) for b in brands]
    original = Payment((Method(original=True),), refund)
    if words.has("original") or not named:
        return [original, *found]
    return [*found, original]


def find_address(gold: Mapping[str, Any], draft: Draft) -> Address:
    """Return an address selector that gives the gold address."""
    words, truth = draft.words, draft.truth
    wanted = {f: gold[f] for f in FIELDS}
    if words.has(wanted["address1"]):
        return Address(said=tuple(wanted.items()))
    if truth.user["address"] == wanted:
        return Address()
    holders = [o for o in truth.orders if o["address"] == wanted]
    for holder in holders:
        found = find_orders([holder], (), words, truth, ())
        if found is not None:
            draft.note(found[1], "address")
            return Address(found[0])
    said = tuple((f, v) for f, v in wanted.items() if v and words.has(str(v)))
    address = Address(said=said)
    if address.of(draft.world) == wanted:
        return address
    draft.note(False, "address")  # noqa: FBT003
    return Address(said=tuple(wanted.items()))
