"""Selectors: how a plan says *which* order, lines, variant, payment method or address, without ids.

Each is evaluated on delivered facts. A selector that finds nothing, or several where one is meant,
raises `NoMatch`. Conditions are small frozen values, so a plan can be printed and compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .words import scale
from .world import Json, NoMatch, World, items, variants

PENDING = "pending"
DELIVERED = "delivered"


# ── lines of an order ──────────────────────────────────────────────────────────────────────────
class LineCondition(Protocol):
    """Keeps some of an order's lines."""

    def keep(self, lines: list[Json]) -> list[Json]:
        """Return the lines that stay."""
        ...


@dataclass(frozen=True, slots=True)
class Named:
    """Lines of these products."""

    products: tuple[str, ...]

    def keep(self, lines: list[Json]) -> list[Json]:
        """Keep lines whose product is one of them."""
        return [line for line in lines if line.get("name") in self.products]


@dataclass(frozen=True, slots=True)
class Except:
    """Every line but those of these products (none: every line)."""

    products: tuple[str, ...] = ()

    def keep(self, lines: list[Json]) -> list[Json]:
        """Keep lines whose product is none of them."""
        return [line for line in lines if line.get("name") not in self.products]


@dataclass(frozen=True, slots=True)
class LineOption:
    """Lines with an option value."""

    key: str
    value: str

    def keep(self, lines: list[Json]) -> list[Json]:
        """Keep lines with the option."""
        return [line for line in lines if (line.get("options") or {}).get(self.key) == self.value]


@dataclass(frozen=True, slots=True)
class LinePrice:
    """The line with the highest (or lowest) price."""

    highest: bool

    def keep(self, lines: list[Json]) -> list[Json]:
        """Keep the lines at the extreme price."""
        return extreme(lines, price, self.highest)


def price(thing: Json) -> float:
    """A line's or variant's price."""
    value = thing.get("price")
    return float(value) if isinstance(value, int | float) else 0.0


def extreme(things: list[Json], measure: object, highest: bool) -> list[Json]:  # noqa: FBT001
    """Keep the things at which `measure` (a function of one thing) is highest or lowest."""
    if not things:
        return []
    values = [measure(t) for t in things]  # type: ignore[operator]
    best = max(values) if highest else min(values)
    return [t for t, v in zip(things, values, strict=True) if v == best]


def keep_lines(conditions: Sequence[LineCondition], lines: list[Json]) -> list[Json]:
    """Apply line conditions in order."""
    for condition in conditions:
        lines = condition.keep(lines)
    return lines


@dataclass(frozen=True, slots=True)
class Lines:
    """Which lines of an order: the union of what each tuple of conditions keeps."""

    wishes: tuple[tuple[LineCondition, ...], ...]

    def of(self, order: Json) -> list[Json]:
        """Return the lines; every wish must find at least one."""
        chosen: list[Json] = []
        for conditions in self.wishes:
            found = keep_lines(conditions, items(order))
            if not found:
                raise NoMatch(f"no such item in order {order.get('order_id')}")
            chosen += [line for line in found if not any(line is c for c in chosen)]
        return chosen


# ── orders ─────────────────────────────────────────────────────────────────────────────────────
class OrderCondition(Protocol):
    """Keeps some of the user's orders."""

    def keep(self, orders: list[Json], world: World) -> list[Json]:
        """Return the orders that stay."""
        ...


@dataclass(frozen=True, slots=True)
class HasStatus:
    """Orders in a status (``pending`` also means pending with modified items, where `loose`)."""

    status: str
    loose: bool = False

    def keep(self, orders: list[Json], world: World) -> list[Json]:
        """Keep orders in the status."""
        if self.loose:
            return [o for o in orders if self.status in str(o.get("status"))]
        return [o for o in orders if o.get("status") == self.status]


@dataclass(frozen=True, slots=True)
class Holds:
    """Orders that hold lines that fit, at least `count` of them."""

    lines: tuple[LineCondition, ...]
    count: int = 1

    def keep(self, orders: list[Json], world: World) -> list[Json]:
        """Keep orders that hold such lines."""
        return [o for o in orders if len(keep_lines(self.lines, items(o))) >= self.count]


@dataclass(frozen=True, slots=True)
class Lacks:
    """Orders without a product."""

    product: str

    def keep(self, orders: list[Json], world: World) -> list[Json]:
        """Keep orders without it."""
        return [o for o in orders if all(line.get("name") != self.product for line in items(o))]


@dataclass(frozen=True, slots=True)
class Size:
    """Orders with a number of lines."""

    count: int

    def keep(self, orders: list[Json], world: World) -> list[Json]:
        """Keep orders of that size."""
        return [o for o in orders if len(items(o)) == self.count]


@dataclass(frozen=True, slots=True)
class SentTo:
    """Orders whose address has a value in a field."""

    field: str
    value: str

    def keep(self, orders: list[Json], world: World) -> list[Json]:
        """Keep orders sent there."""
        return [o for o in orders if (o.get("address") or {}).get(self.field) == self.value]


@dataclass(frozen=True, slots=True)
class SentElsewhere:
    """Orders whose address is not (or is) the user's own."""

    elsewhere: bool = True

    def keep(self, orders: list[Json], world: World) -> list[Json]:
        """Keep orders sent elsewhere than the profile says."""
        own = world.user().get("address")
        return [o for o in orders if (o.get("address") != own) == self.elsewhere]


@dataclass(frozen=True, slots=True)
class PricedLine:
    """The order whose line of a product has the highest (or lowest) price."""

    product: str
    highest: bool

    def keep(self, orders: list[Json], world: World) -> list[Json]:
        """Keep the orders at the extreme."""
        pairs = [(price(line), o) for o in orders for line in items(o) if line.get("name") == self.product]
        if not pairs:
            return []
        best = (max if self.highest else min)(p for p, _ in pairs)
        return [o for p, o in pairs if p == best]


@dataclass(frozen=True, slots=True)
class Orders:
    """Which orders: one that the user names by number, or those that fit the conditions."""

    said: str = ""
    """The order number in the user's words."""
    conditions: tuple[OrderCondition, ...] = ()
    every: bool = False
    """Whether every order that fits is meant, rather than the only one."""

    def of(self, world: World) -> list[Json]:
        """Return the orders, at least one; exactly one unless `every`."""
        found = [world.order(self.said)] if self.said else world.orders()
        for condition in self.conditions:
            found = condition.keep(found, world)
        if not found:
            raise NoMatch("no order fits")
        if len(found) > 1 and not self.every:
            raise NoMatch("several orders fit")
        return found


# ── variants of a product ──────────────────────────────────────────────────────────────────────
class VariantCondition(Protocol):
    """Keeps some of a product's variants, seen from the line to be replaced."""

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Return the variants that stay."""
        ...


@dataclass(frozen=True, slots=True)
class Available:
    """Variants in stock."""

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants in stock."""
        return [v for v in stock if v.get("available")]


@dataclass(frozen=True, slots=True)
class Is:
    """Variants with an option value."""

    key: str
    value: str

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants with the value."""
        return [v for v in stock if (v.get("options") or {}).get(self.key) == self.value]


@dataclass(frozen=True, slots=True)
class Prefer:
    """The first of these values that any variant has; no restriction when none has one."""

    key: str
    values: tuple[str, ...]

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants with the best value that there is."""
        for value in self.values:
            found = Is(self.key, value).keep(stock, old, world)
            if found:
                return found
        return stock


@dataclass(frozen=True, slots=True)
class OneOf:
    """The first of these values that any variant has, and nothing else."""

    key: str
    values: tuple[str, ...]

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants with the best of the values."""
        for value in self.values:
            found = Is(self.key, value).keep(stock, old, world)
            if found:
                return found
        return []


@dataclass(frozen=True, slots=True)
class SameAsOld:
    """Variants with the same value as the old line."""

    key: str

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants like the old line in this option."""
        value = (old.get("options") or {}).get(self.key)
        return Is(self.key, value).keep(stock, old, world) if value else []


@dataclass(frozen=True, slots=True)
class TheSame:
    """The very same item (or any but that)."""

    same: bool = True

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the old item, or all others."""
        return [v for v in stock if (v.get("item_id") == old.get("item_id")) == self.same]


@dataclass(frozen=True, slots=True)
class LikeOther:
    """Variants with the options that another line of the user has (all, or one option)."""

    orders: tuple[OrderCondition, ...]
    key: str = ""

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants like a line of the same product in the other orders."""
        others = world.orders()
        for condition in self.orders:
            others = condition.keep(others, world)
        found = [i for o in others for i in items(o) if i.get("name") == old.get("name") and i is not old]
        found = [i for i in found if i.get("item_id") != old.get("item_id")]
        if self.key:
            wanted = {(i.get("options") or {}).get(self.key) for i in found}
            return [v for v in stock if (v.get("options") or {}).get(self.key) in wanted]
        return [v for v in stock if any(v.get("options") == i.get("options") for i in found)]


@dataclass(frozen=True, slots=True)
class PriceBound:
    """Variants that cost at most (or less than) the old line, or a number the user said."""

    below: float | None = None
    strict: bool = False

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants within the bound."""
        bound = price(old) if self.below is None else self.below
        return [v for v in stock if price(v) < bound or (price(v) == bound and not self.strict)]


@dataclass(frozen=True, slots=True)
class ByPrice:
    """The cheapest (or dearest)."""

    highest: bool

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at the extreme price."""
        return extreme(stock, price, self.highest)


def _place(thing: Json, key: str) -> float | None:
    placed = scale(str((thing.get("options") or {}).get(key, "")))
    return placed[1] if placed else None


@dataclass(frozen=True, slots=True)
class ByOption:
    """The variants highest (or lowest) in an option that has an order."""

    key: str
    highest: bool

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at the extreme of the option."""
        placed = [v for v in stock if _place(v, self.key) is not None]
        return extreme(placed, lambda v: _place(v, self.key), self.highest)


@dataclass(frozen=True, slots=True)
class Step:
    """The next value up (or down) from the old line's, among those in stock."""

    key: str
    up: bool

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at the nearest value beyond the old one."""
        at = _place(old, self.key)
        if at is None:
            return []
        beyond = [
            v for v in stock if (p := _place(v, self.key)) is not None and (p > at if self.up else p < at)
        ]
        return extreme(beyond, lambda v: _place(v, self.key), not self.up)


@dataclass(frozen=True, slots=True)
class By:
    """Variants whose option differs from the old line's by a number the user said."""

    key: str
    difference: float

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at that distance."""
        at = _place(old, self.key)
        return [] if at is None else [v for v in stock if _place(v, self.key) == at + self.difference]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Variants at or above a value the user said, in an option that has an order."""

    key: str
    value: str

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at or above the value."""
        floor = scale(self.value)
        if floor is None:
            return []
        return [v for v in stock if (p := _place(v, self.key)) is not None and p >= floor[1]]


@dataclass(frozen=True, slots=True)
class ItemNumber:
    """The item whose number the user says."""

    item_id: str

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the item."""
        return [v for v in stock if v.get("item_id") == self.item_id]


@dataclass(frozen=True, slots=True)
class NewItem:
    """Which variant to take instead of a line."""

    conditions: tuple[VariantCondition, ...]

    def candidates(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Return the variants that satisfy every condition, applied in order."""
        for condition in self.conditions:
            stock = condition.keep(stock, old, world)
        return stock

    def options(self, old: Json) -> dict[str, str] | None:
        """Return the complete options where the conditions fix them all, else None."""
        fixed: dict[str, str] = {}
        before = old.get("options") or {}
        for condition in self.conditions:
            if isinstance(condition, Is):
                fixed[condition.key] = condition.value
            elif isinstance(condition, SameAsOld) and condition.key in before:
                fixed[condition.key] = before[condition.key]
            elif isinstance(condition, TheSame) and condition.same:
                fixed = dict(before)
        plain = all(isinstance(c, Available | Is | SameAsOld | TheSame) for c in self.conditions)
        return fixed if plain and before and set(fixed) == set(before) else None

    def of(self, old: Json, world: World) -> Json:
        """Return the one variant."""
        name = str(old.get("name") or "")
        if not name:
            raise NoMatch("the item has no name")
        found = self.candidates(variants(world.product(name, self.options(old))), old, world)
        if len(found) != 1:
            raise NoMatch(f"{'no' if not found else 'several'} {name} variants fit")
        return found[0]


# ── payment methods ────────────────────────────────────────────────────────────────────────────
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


# ── addresses ──────────────────────────────────────────────────────────────────────────────────
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
