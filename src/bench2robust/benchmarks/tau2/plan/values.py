"""Values to tell the user, as expressions over delivered facts."""

from __future__ import annotations

from dataclasses import dataclass

from .goals import Cancel, Change, Return
from .lines import Lines, Orders, price
from .money import original_method
from .stock import Available, NewItem, VariantCondition
from .world import Json, NoMatch, World, items, variants


def money(amount: float) -> str:
    """Spell an amount with two decimals and no sign."""
    return f"{abs(amount):.2f}"


def paid(order: Json) -> float:
    """What was paid for an order."""
    amounts = [p for p in order.get("payment_history") or [] if p.get("transaction_type") == "payment"]
    if not amounts:
        raise NoMatch(f"no payment in order {order.get('order_id')}")
    return float(amounts[0].get("amount") or 0)


@dataclass(frozen=True, slots=True)
class Balance:
    """The gift card's balance."""

    def of(self, world: World) -> str:
        """Spell it."""
        return money(self.amount(world))

    def amount(self, world: World) -> float:
        """Return it."""
        methods = (world.user().get("payment_methods") or {}).values()
        cards = [m for m in methods if m.get("source") == "gift_card"]
        if not cards:
            raise NoMatch("no gift card")
        return float(cards[0].get("balance") or 0)


@dataclass(frozen=True, slots=True)
class Refund:
    """What the user gets back from cancelling and returning."""

    wishes: tuple[Cancel | Return, ...]

    def of(self, world: World) -> str:
        """Spell it."""
        return money(sum(refund(w, o) for w in self.wishes for o in w.orders.of(world)))


def refund(wish: Cancel | Return, order: Json) -> float:
    """What one order gives back: the payment, or the prices of the returned lines."""
    if isinstance(wish, Return):
        return sum(price(line) for line in wish.lines.of(order))
    return paid(order)


@dataclass(frozen=True, slots=True)
class Rest:
    """What the lines that are kept cost."""

    wish: Return

    def of(self, world: World) -> str:
        """Spell it."""
        return money(sum(paid(o) - refund(self.wish, o) for o in self.wish.orders.of(world)))


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes of items cost more (or less)."""

    wishes: tuple[Change, ...]
    of_order: int | None = None
    """Only that of the n-th order of the only wish."""

    def of(self, world: World) -> str:
        """Spell it."""
        return money(self.amount(world))

    def amount(self, world: World) -> float:
        """Return it; positive is to pay."""
        total = 0.0
        for wish in self.wishes:
            orders = wish.orders.of(world)
            if self.of_order is not None:
                orders = orders[self.of_order : self.of_order + 1]
            total += sum(price(new) - price(old) for o in orders for old, new in wish.pairs(o, world))
        return total


@dataclass(frozen=True, slots=True)
class BalanceAfter:
    """The gift card's balance once a change is paid with it."""

    wishes: tuple[Change, ...]

    def of(self, world: World) -> str:
        """Spell it."""
        return money(Balance().amount(world) - Difference(self.wishes).amount(world))


@dataclass(frozen=True, slots=True)
class TotalAfter:
    """What an order costs after a change."""

    wish: Change

    def of(self, world: World) -> str:
        """Spell it."""
        before = sum(paid(o) for o in self.wish.orders.of(world))
        return money(before + Difference((self.wish,)).amount(world))


@dataclass(frozen=True, slots=True)
class Paid:
    """What an order cost."""

    orders: Orders

    def of(self, world: World) -> str:
        """Spell it."""
        return money(sum(paid(o) for o in self.orders.of(world)))


@dataclass(frozen=True, slots=True)
class LinesCost:
    """What some lines of an order cost together."""

    orders: Orders
    lines: Lines

    def of(self, world: World) -> str:
        """Spell it."""
        return money(sum(price(line) for o in self.orders.of(world) for line in self.lines.of(o)))


@dataclass(frozen=True, slots=True)
class EverSpent:
    """What all lines of a product cost, over all the user's orders."""

    product: str

    def of(self, world: World) -> str:
        """Spell it."""
        lines = [i for o in world.orders() for i in items(o) if i.get("name") == self.product]
        if not lines:
            raise NoMatch(f"no {self.product} was bought")
        return money(sum(price(line) for line in lines))


@dataclass(frozen=True, slots=True)
class InStock:
    """How many variants of a product are in stock."""

    product: str

    def of(self, world: World) -> str:
        """Spell it."""
        return str(sum(bool(v.get("available")) for v in variants(world.product(self.product))))


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of a product: its price, or one of its options."""

    product: str
    conditions: tuple[VariantCondition, ...]
    key: str = ""

    def of(self, world: World) -> str:
        """Spell it."""
        stock = variants(world.product(self.product))
        found = NewItem((Available(), *self.conditions)).candidates(stock, {}, world)
        if not found:
            raise NoMatch(f"no {self.product} fits")
        return str((found[0].get("options") or {}).get(self.key, "")) if self.key else money(price(found[0]))


@dataclass(frozen=True, slots=True)
class Choices:
    """The prices of all variants that a change could take."""

    wish: Change
    swap: int
    conditions: tuple[VariantCondition, ...]

    def of(self, world: World) -> str:
        """Spell them."""
        order = self.wish.orders.of(world)[0]
        old = self.wish.swaps[self.swap].lines.of(order)[0]
        stock = variants(world.product(str(old.get("name"))))
        found = NewItem(self.conditions).candidates(stock, old, world)
        return ", ".join(money(price(v)) for v in found)


@dataclass(frozen=True, slots=True)
class Saved:
    """What taking the cheapest variants instead of some lines would save."""

    orders: Orders
    lines: Lines
    new: NewItem

    def of(self, world: World) -> str:
        """Spell it."""
        saved = 0.0
        for order in self.orders.of(world):
            saved += sum(price(old) - price(self.new.of(old, world)) for old in self.lines.of(order))
        return money(saved)


@dataclass(frozen=True, slots=True)
class NewPrice:
    """The price of the variant that a change takes."""

    wish: Change
    swap: int

    def of(self, world: World) -> str:
        """Spell it."""
        swap = self.wish.swaps[self.swap]
        pairs = swap.pairs(self.wish.orders.of(world)[0], world)
        return ", ".join(money(price(new)) for _, new in pairs)


@dataclass(frozen=True, slots=True)
class LineText:
    """The name of a line, or one of its options."""

    orders: Orders
    lines: Lines
    key: str = ""

    def of(self, world: World) -> str:
        """Spell it."""
        lines = [line for o in self.orders.of(world) for line in self.lines.of(o)]
        texts = [
            str((i.get("options") or {}).get(self.key, "") if self.key else i.get("name")) for i in lines
        ]
        return ", ".join(texts)


@dataclass(frozen=True, slots=True)
class Tracking:
    """The tracking numbers of an order."""

    orders: Orders

    def of(self, world: World) -> str:
        """Spell them."""
        shipments = [f for o in self.orders.of(world) for f in o.get("fulfillments") or []]
        numbers = [str(n) for f in shipments for n in f.get("tracking_id") or []]
        if not numbers:
            raise NoMatch("no tracking number")
        return ", ".join(numbers)


@dataclass(frozen=True, slots=True)
class SentWhere:
    """The address of an order."""

    orders: Orders

    def of(self, world: World) -> str:
        """Spell it."""
        return "; ".join(
            ", ".join(map(str, (o.get("address") or {}).values())) for o in self.orders.of(world)
        )


@dataclass(frozen=True, slots=True)
class PaidWith:
    """The brand of the card an order was paid with."""

    orders: Orders

    def of(self, world: World) -> str:
        """Spell it."""
        methods = world.user().get("payment_methods") or {}
        found = [methods.get(original_method(o)) or {} for o in self.orders.of(world)]
        return ", ".join(str(m.get("brand") or m.get("source") or "") for m in found)
