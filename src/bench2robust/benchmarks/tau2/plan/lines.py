"""Selectors of lines and orders: how a plan says *which* without ids.

Each is evaluated on delivered facts. A selector that finds nothing, or several where one is meant,
raises `NoMatch`. Conditions are small frozen values, so a plan can be printed and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .world import Json, NoMatch, World, items


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
        return extreme(lines, price, highest=self.highest)


def price(thing: Json) -> float:
    """A line's or variant's price."""
    value = thing.get("price")
    return float(value) if isinstance(value, int | float) else 0.0


def extreme(things: list[Json], measure: Callable[[Json], Any], *, highest: bool) -> list[Json]:
    """Keep the things at which `measure` (a function of one thing) is highest or lowest."""
    if not things:
        return []
    values = [measure(t) for t in things]
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


# ── orders ──
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
