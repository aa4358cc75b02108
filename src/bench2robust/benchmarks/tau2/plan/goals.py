"""Goals of a retail plan: what the user wants, decided from delivered facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench2robust.core.plan import Act, Decision, Done, Facts, Fetch, Goal, Handover, Say
from bench2robust.core.tools import ToolCall

from .lines import Lines, Orders, price
from .money import Address, Payment
from .stock import NewItem
from .world import Json, Known, Reader, World, order_fetch, settled, user_fetch


class Guard(Protocol):
    """A condition on the delivered facts that the user attached to a wish."""

    def holds(self, world: World) -> bool:
        """Return whether the wish applies."""
        ...


@dataclass(frozen=True, slots=True)
class Write:
    """A write that is decided, with how to see whether it has happened."""

    call: ToolCall
    verify: Fetch
    happened: Callable[[Any], bool]


class Wish(Protocol):
    """One kind of change that the user wants."""

    def writes(self, world: World) -> list[Write]:
        """Return the writes it takes; NoMatch where the facts do not say which, [] where denied."""
        ...


@dataclass(frozen=True, slots=True)
class WriteGoal:
    """A wish, when it applies, and what the user wants instead when it does not."""

    known: Known
    wish: Wish
    guards: tuple[Guard, ...] = ()
    otherwise: Goal | None = None

    def decide(self, facts: Facts, done: int) -> Decision:
        """Decide from the facts (see `core.plan`)."""
        world = World(self.known, facts)
        return settled(world, lambda: self._decide(world, facts, done))

    def _decide(self, world: World, facts: Facts, done: int) -> Decision:
        if not all(guard.holds(world) for guard in self.guards):
            return self.otherwise.decide(facts, done) if self.otherwise else Done("does not apply")
        return next_write(self.wish.writes(world), done, world)


def next_write(writes: Sequence[Write], done: int, world: Reader) -> Decision:
    """Return the first write that is not carried out yet, or that nothing is left."""
    if done >= len(writes):
        return Done("" if writes else "not allowed")
    write = writes[done]
    return Act(write.call, tuple(world.used), write.verify, write.happened)


def say(texts: Iterable[str], world: Reader) -> Decision:
    """Tell the user what they asked for."""
    return Say("This is what you asked for: " + "; ".join(texts), tuple(world.used))


class Value(Protocol):
    """A value to tell the user, as an expression over delivered facts."""

    def of(self, world: World) -> str:
        """Return the value as text."""
        ...


@dataclass(frozen=True, slots=True)
class TellGoal:
    """The user wants to know something."""

    known: Known
    values: tuple[Value, ...]

    def decide(self, facts: Facts, done: int) -> Decision:
        """Decide from the facts (see `core.plan`)."""
        if done:
            return Done()
        world = World(self.known, facts)
        return settled(world, lambda: say([value.of(world) for value in self.values], world))


@dataclass(frozen=True, slots=True)
class HandoverGoal:
    """The reference solution ends with a human."""

    call: ToolCall

    def decide(self, facts: Facts, done: int) -> Decision:
        """Hand over."""
        return Handover(self.call)


# ── kinds of change ────────────────────────────────────────────────────────────────────────────
def _status_is(status: str) -> Callable[[Any], bool]:
    return lambda order: isinstance(order, dict) and order.get("status") == status


def _address_is(address: dict[str, str]) -> Callable[[Any], bool]:
    return lambda record: isinstance(record, dict) and record.get("address") == address


def _on_order(world: World, order: Json, call: ToolCall, happened: Callable[[Any], bool]) -> Write:
    return Write(call, order_fetch(str(order.get("order_id")), world.user_id(), "check"), happened)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel pending orders."""

    orders: Orders
    reason: str
    """In the user's words."""

    def writes(self, world: World) -> list[Write]:
        """One write for each pending order that is meant."""
        found = []
        for order in self.orders.of(world):
            if order.get("status") == "pending":
                arguments = {"order_id": order.get("order_id"), "reason": self.reason}
                call = ToolCall("cancel_pending_order", arguments)
                found.append(_on_order(world, order, call, _status_is("cancelled")))
        return found


@dataclass(frozen=True, slots=True)
class Return:
    """Return lines of delivered orders."""

    orders: Orders
    lines: Lines
    payment: Payment

    def writes(self, world: World) -> list[Write]:
        """One write for each delivered order that is meant."""
        found = []
        for order in self.orders.of(world):
            if order.get("status") == "delivered":
                arguments = {
                    "order_id": order.get("order_id"),
                    "item_ids": [line.get("item_id") for line in self.lines.of(order)],
                    "payment_method_id": self.payment.of(order, world),
                }
                call = ToolCall("return_delivered_order_items", arguments)
                found.append(_on_order(world, order, call, _status_is("return requested")))
        return found


@dataclass(frozen=True, slots=True)
class Swap:
    """Lines to be replaced, and by what."""

    lines: Lines
    new: NewItem
    only_if_new: bool = False
    """Leave a line alone that already is what is wanted."""

    def pairs(self, order: Json, world: World) -> list[tuple[Json, Json]]:
        """Return (line, variant) pairs."""
        found = [(line, self.new.of(line, world)) for line in self.lines.of(order)]
        if self.only_if_new:
            found = [(old, new) for old, new in found if old.get("item_id") != new.get("item_id")]
        return found


@dataclass(frozen=True, slots=True)
class Change:
    """Replace lines of an order: modify while it is pending, exchange once it is delivered."""

    orders: Orders
    swaps: tuple[Swap, ...]
    payment: Payment

    def pairs(self, order: Json, world: World) -> list[tuple[Json, Json]]:
        """Return every (line, variant) pair in one order."""
        return [pair for swap in self.swaps for pair in swap.pairs(order, world)]

    def writes(self, world: World) -> list[Write]:
        """One write for each order that is meant, the tool chosen by its delivered status."""
        found = []
        for order in self.orders.of(world):
            tool = _CHANGE.get(str(order.get("status")))
            pairs = self.pairs(order, world) if tool else []
            if tool is None or not pairs:
                continue
            due = round(sum(price(new) - price(old) for old, new in pairs), 2)
            arguments = {
                "order_id": order.get("order_id"),
                "item_ids": [old.get("item_id") for old, _ in pairs],
                "new_item_ids": [new.get("item_id") for _, new in pairs],
                "payment_method_id": self.payment.of(order, world, due),
            }
            found.append(_on_order(world, order, ToolCall(tool[0], arguments), _status_is(tool[1])))
        return found


_CHANGE = {
    "pending": ("modify_pending_order_items", "pending (item modified)"),
    "delivered": ("exchange_delivered_order_items", "exchange requested"),
}


@dataclass(frozen=True, slots=True)
class SendTo:
    """Change the address of pending orders."""

    orders: Orders
    address: Address

    def writes(self, world: World) -> list[Write]:
        """One write for each pending order that is meant."""
        found = []
        for order in self.orders.of(world):
            if "pending" in str(order.get("status")):
                address = self.address.of(world)
                arguments = {"order_id": order.get("order_id"), **address}
                call = ToolCall("modify_pending_order_address", arguments)
                found.append(_on_order(world, order, call, _address_is(address)))
        return found


@dataclass(frozen=True, slots=True)
class MoveTo:
    """Change the user's own address."""

    address: Address

    def writes(self, world: World) -> list[Write]:
        """One write; the record is read before it is changed, so that it can be changed back."""
        world.user()
        address = self.address.of(world)
        call = ToolCall("modify_user_address", {"user_id": world.user_id(), **address})
        return [Write(call, user_fetch(world.user_id(), "check"), _address_is(address))]


@dataclass(frozen=True, slots=True)
class PayWith:
    """Change the payment method of a pending order."""

    orders: Orders
    payment: Payment

    def writes(self, world: World) -> list[Write]:
        """One write for each pending order that is meant."""
        found = []
        for order in self.orders.of(world):
            if "pending" in str(order.get("status")):
                method = self.payment.of(order, world)
                arguments = {"order_id": order.get("order_id"), "payment_method_id": method}
                call = ToolCall("modify_pending_order_payment", arguments)
                found.append(_on_order(world, order, call, _paid_twice))
        return found


def _paid_twice(order: Any) -> bool:
    return isinstance(order, dict) and len(order.get("payment_history") or []) > 1
