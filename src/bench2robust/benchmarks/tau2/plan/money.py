"""Selectors of payment methods and addresses."""

from __future__ import annotations

from dataclasses import dataclass

from .lines import Orders
from .world import Json, NoMatch, World


@dataclass(frozen=True, slots=True)
class Method:
    """A payment method by what the user calls it."""

    source: str = ""
    """``credit_card``, ``gift_card`` or ``paypal``; empty is any."""
    brand: str = ""
    original: bool | None = None
    """True: the one the order was paid with; False: one it was not paid with."""

    def of(self, order: Json, world: World) -> list[str]:
        """Return the ids that fit."""
        paid = original_method(order)
        if self.original and not self.source:
            return [paid] if paid else []
        found = []
        for key, method in (world.user().get("payment_methods") or {}).items():
            if self.source and method.get("source") != self.source:
                continue
            if self.brand and method.get("brand") != self.brand:
                continue
            if self.original is None or (key == paid) == self.original:
                found.append(str(key))
        return found


def original_method(order: Json) -> str:
    """Return the id of the method an order was paid with, empty where the history is."""
    history = order.get("payment_history") or []
    return str(history[0].get("payment_method_id") or "") if history else ""


@dataclass(frozen=True, slots=True)
class Payment:
    """Which payment method: the first of the user's wishes that is allowed."""

    wishes: tuple[Method, ...]
    refund: bool = False
    """A refund may go to the original method or a gift card only (τ² policy)."""

    def of(self, order: Json, world: World, due: float = 0.0) -> str:
        """Return the method's id; `due` is what a gift card has to cover."""
        paid = original_method(order)
        for wish in self.wishes:
            allowed = [m for m in wish.of(order, world) if self._allowed(m, paid, due, world)]
            if len(allowed) == 1:
                return allowed[0]
            if len(allowed) > 1 and paid in allowed:
                return paid
        raise NoMatch("no payment method fits")

    def _allowed(self, method: str, paid: str, due: float, world: World) -> bool:
        if method == paid and (self.refund or due <= 0):
            return True
        record = (world.user().get("payment_methods") or {}).get(method) or {}
        is_gift_card = record.get("source") == "gift_card"
        if self.refund:
            return is_gift_card
        return not is_gift_card or (record.get("balance") or 0) >= due


# ── addresses ──
FIELDS = ("address1", "address2", "city", "state", "country", "zip")


@dataclass(frozen=True, slots=True)
class Address:
    """Which address: the user's own, that of another order, changed by what the user says."""

    other: Orders | None = None
    """The order it stands in; None is the user's profile."""
    said: tuple[tuple[str, str], ...] = ()
    """Fields in the user's words."""

    def of(self, world: World) -> dict[str, str]:
        """Return the six fields."""
        said = dict(self.said)
        if len(said) == len(FIELDS):
            return {f: said[f] for f in FIELDS}
        record = world.user() if self.other is None else self.other.of(world)[0]
        base = record.get("address") or {}
        if not base:
            raise NoMatch("the address is empty")
        return {f: said.get(f, str(base.get(f, ""))) for f in FIELDS}
