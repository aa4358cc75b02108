"""The world as the tools deliver it: τ² retail facts, and every route by which each can be had.

A `World` wraps the facts a policy has so far. Asking it for a fact that is not there raises
`Missing`, which the goal turns into `Need`; so selectors are written as if everything were known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bench2robust.core.plan import Decision, Facts, Fetch, Need, Part, Route, Stuck, never_doubts
from bench2robust.core.tools import ToolCall

Json = dict[str, Any]


class Missing(Exception):
    """A fact is not there yet; carries how to fetch it."""

    def __init__(self, fetch: Fetch) -> None:
        super().__init__(fetch.fact)
        self.fetch = fetch


class NoMatch(Exception):
    """A selector found nothing, or more than it may."""


class Reader(Protocol):
    """What reads facts and remembers which."""

    used: dict[str, None]


def settled(reader: Reader, decide: Callable[[], Decision]) -> Decision:
    """Return a decision, or what keeps it from being made: a fact that is missing, or one that does not fit."""
    try:
        return decide()
    except Missing as missing:
        return Need(missing.fetch)
    except NoMatch as none:
        return Stuck(str(none), tuple(reader.used))


@dataclass(frozen=True, slots=True)
class Known:
    """What the user can say about who they are and which orders they mean."""

    email: str = ""
    first_name: str = ""
    last_name: str = ""
    zip: str = ""
    orders: tuple[str, ...] = ()


def _itself(values: Sequence[Any]) -> Any:
    return values[0]


def _single(side: str, part: Part, build: Callable[[Sequence[Any]], Any] = _itself) -> Route:
    return Route(side, (part,), build)


def _field(name: str) -> Callable[[Sequence[Any]], Any]:
    def build(values: Sequence[Any]) -> Any:
        value = values[0]
        return value.get(name) if isinstance(value, dict) else None

    return build


class World:
    """The facts so far, read with names instead of keys; remembers which it looked at."""

    def __init__(self, known: Known, facts: Facts) -> None:
        self.known = known
        self._facts = facts
        self.used: dict[str, None] = {}

    def _get(self, fact: str, fetch: Callable[[], Fetch]) -> Any:
        self.used[fact] = None
        if fact not in self._facts:
            raise Missing(fetch())
        return self._facts[fact]

    def has(self, fact: str) -> bool:
        """Whether a fact is there (and holds something)."""
        return self._facts.get(fact) is not None

    def user_id(self) -> str:
        """Who the user is."""
        value = self._get("user_id", self._identity)
        if not isinstance(value, str) or not value:
            raise NoMatch("the user cannot be identified")
        return value

    def user(self) -> Json:
        """The user's record."""
        user_id = self.user_id()
        part = Part("user details", ToolCall("get_user_details", {"user_id": user_id}))
        value = self._get("user", lambda: Fetch("user", (_single("get_user_details", part),), user_doubts))
        if not isinstance(value, dict):
            raise NoMatch("no user record")
        return value

    def order_ids(self) -> list[str]:
        """The ids of the user's orders."""
        return [o for o in self.user().get("orders") or [] if isinstance(o, str)]

    def order(self, order_id: str) -> Json:
        """One order, in the shape of `get_order_details`."""
        user_id = self.user_id()
        value = self._get(f"order {order_id}", lambda: order_fetch(order_id, user_id))
        if not isinstance(value, dict):
            raise NoMatch(f"no order {order_id}")
        return value

    def orders(self) -> list[Json]:
        """Every order of the user that there is."""
        found = []
        for order_id in self.order_ids():
            try:
                found.append(self.order(order_id))
            except NoMatch:
                continue
        return found

    def product(self, name: str, options: Mapping[str, str] | None = None) -> Json:
        """A product by name; `options`, where they are complete, open one more route.

        What that route gives is one variant, so the fact is then kept under a name of its own.
        """
        fact = f"product {name}"
        if options is not None and fact not in self._facts:
            fact = f"variant {name} {sorted(options.items())}"
        value = self._get(fact, lambda: self._product(fact, name, options))
        if not isinstance(value, dict):
            raise NoMatch(f"no product {name}")
        return value

    def known_orders(self) -> list[Json]:
        """The orders that are already there, without asking for more."""
        return [v for k, v in self._facts.items() if k.startswith("order ") and isinstance(v, dict)]

    def _identity(self) -> Fetch:
        known = self.known
        routes = []
        if known.email:
            call = ToolCall("find_user_id_by_email", {"email": known.email})
            routes.append(_single("email", Part("user_id by email", call)))
        if known.zip:
            names = {"first_name": known.first_name, "last_name": known.last_name, "zip": known.zip}
            call = ToolCall("find_user_id_by_name_zip", names)
            routes.append(_single("name_zip", Part("user_id by name and zip", call)))
        for order_id in known.orders:
            call = ToolCall("get_user_by_order", {"order_id": order_id})
            routes.append(_single("by_order", Part(f"user_id by order {order_id}", call)))
        for order_id in known.orders:
            routes.append(_single("inside_order", details(order_id), _field("user_id")))
        return Fetch("user_id", tuple(routes), _id_doubts)

    def _product(self, fact: str, name: str, options: Mapping[str, str] | None) -> Fetch:
        routes = []
        product_id, orders = self._where(name)
        if product_id:
            call = ToolCall("get_product_details", {"product_id": product_id})
            routes.append(_single("get_product_details", Part(f"details {name}", call), _has("variants")))
        elif not self.has("types"):
            part = Part("type list", ToolCall("list_all_product_types"))
            if "types" not in self._facts:
                raise Missing(Fetch("types", (_single("list_all_product_types", part),)))
        call = ToolCall("search_product_by_name", {"name": name})
        part = Part(f"search {name}", call)
        routes.append(_single("search_product_by_name", part, _has("variants")))
        for order_id in orders:
            routes.append(_single("check_order_item_availability", lines(order_id), _from_lines(name)))
        if options is not None and product_id:
            arguments = {"product_id": product_id, "options": dict(options)}
            call = ToolCall("get_item_by_product_options", arguments)
            part = Part(f"item {name} {sorted(options.items())}", call)
            routes.append(_single("get_item_by_product_options", part, _from_item(name)))
        return Fetch(fact, tuple(routes), product_doubts)

    def _where(self, name: str) -> tuple[str, list[str]]:
        """Return the product's id, if anything known says it, and the known orders that hold it."""
        product_id, orders = "", []
        for order in self.known_orders():
            for line in items(order):
                if line.get("name") == name:
                    product_id = product_id or str(line.get("product_id") or "")
                    if order.get("order_id") not in orders:
                        orders.append(str(order.get("order_id")))
        types = self._facts.get("types")
        if not product_id and isinstance(types, dict):
            product_id = str(types.get(name) or "")
        return product_id, orders


def details(order_id: str) -> Part:
    """The call for one order's details."""
    return Part(f"details {order_id}", ToolCall("get_order_details", {"order_id": order_id}))


def lines(order_id: str) -> Part:
    """The call for one order's lines with what is in stock for each."""
    return Part(f"lines {order_id}", ToolCall("check_order_item_availability", {"order_id": order_id}))


def order_fetch(order_id: str, user_id: str, purpose: str = "") -> Fetch:
    """Return both routes to an order; with a `purpose` its facts are kept apart from the plan's own."""

    def apart(part: Part) -> Part:
        return Part(f"{purpose} {part.fact}", part.call) if purpose else part

    summary = Part("summaries", ToolCall("get_orders_for_user", {"user_id": user_id}))
    routes = (
        _single("get_order_details", apart(details(order_id)), _has("items")),
        Route("orders_and_availability", (apart(summary), apart(lines(order_id))), _merge(order_id, user_id)),
    )
    fact = f"order {order_id}"
    return Fetch(f"{purpose} {fact}" if purpose else fact, routes, never_doubts if purpose else order_doubts)


def user_fetch(user_id: str, purpose: str) -> Fetch:
    """Return the route to the user's record, its facts kept apart from the plan's own."""
    part = Part(f"{purpose} user details", ToolCall("get_user_details", {"user_id": user_id}))
    return Fetch(f"{purpose} user", (_single("get_user_details", part),))


def items(order: Json) -> list[Json]:
    """The lines of an order."""
    return [line for line in order.get("items") or [] if isinstance(line, dict)]


def variants(product: Json) -> list[Json]:
    """The variants of a product."""
    return [v for v in (product.get("variants") or {}).values() if isinstance(v, dict)]


def _has(key: str) -> Callable[[Sequence[Any]], Any]:
    def build(values: Sequence[Any]) -> Any:
        value = values[0]
        return value if isinstance(value, dict) and key in value else None

    return build


def _merge(order_id: str, user_id: str) -> Callable[[Sequence[Any]], Any]:
    """Make an order out of its summary and its lines."""

    def build(values: Sequence[Any]) -> Any:
        summaries, found = values
        if not isinstance(summaries, list) or not isinstance(found, list):
            return None
        for summary in summaries:
            if isinstance(summary, dict) and summary.get("order_id") == order_id:
                return {**summary, "user_id": user_id, "items": found}
        return None

    return build


def _from_lines(name: str) -> Callable[[Sequence[Any]], Any]:
    """Make a product (its variants in stock) out of an order's lines."""

    def build(values: Sequence[Any]) -> Any:
        for line in values[0] if isinstance(values[0], list) else ():
            if isinstance(line, dict) and line.get("name") == name:
                stock = line.get("available_variants") or []
                found = {str(v["item_id"]): {**v, "available": True} for v in stock if isinstance(v, dict)}
                return {"name": name, "product_id": line.get("product_id"), "variants": found}
        return None

    return build


def _from_item(name: str) -> Callable[[Sequence[Any]], Any]:
    """Make a product with a single variant out of an item."""

    def build(values: Sequence[Any]) -> Any:
        item = values[0]
        if not isinstance(item, dict) or "item_id" not in item:
            return None
        return {"name": name, "product_id": item.get("product_id"), "variants": {str(item["item_id"]): item}}

    return build


def _id_doubts(value: Any) -> str | None:
    return None if isinstance(value, str) else "not a user id"


def user_doubts(value: Any) -> str | None:
    """Say what looks wrong in the record of a user who has placed orders."""
    if not isinstance(value, dict):
        return "no record"
    for key in ("orders", "payment_methods", "email"):
        if not value.get(key):
            return f"{key} is empty"
    address = value.get("address") or {}
    empty = next((k for k, v in address.items() if not v), "") if address else "address"
    return f"{empty} is empty" if empty and empty != "address2" else None


def order_doubts(value: Any) -> str | None:
    """Say what looks wrong in an order (redundancies that hold on all 1,000 orders of the stock database)."""
    if not isinstance(value, dict):
        return "no record"
    if not items(value) or not value.get("payment_history"):
        return "items or payments are empty"
    if any(not line.get("options") or not line.get("name") for line in items(value)):
        return "an item has no options"
    status = str(value.get("status"))
    if status != "pending (item modified)":
        paid = value["payment_history"][0].get("amount") or 0
        if abs(sum(line.get("price") or 0 for line in items(value)) - paid) > 0.005:
            return "prices do not add up to the payment"
    amounts = {p.get("amount") for p in value["payment_history"]}
    if status == "cancelled" and (len(amounts) != 1 or len(value["payment_history"]) < 2):
        return "cancelled, but not refunded in full"
    if status.startswith("pending") == bool(value.get("fulfillments")):
        return "status and fulfilments disagree"
    address = value.get("address") or {}
    if not address or any(not v for k, v in address.items() if k != "address2"):
        return "address is empty"
    total = value.get("total")
    if total is not None and abs(sum(line.get("price") or 0 for line in items(value)) - total) > 0.005:
        return "prices do not add up to the total"
    return None


def product_doubts(value: Any) -> str | None:
    """Say what looks wrong in a product."""
    if not isinstance(value, dict):
        return "no record"
    if not variants(value):
        return "no variants"
    return "a variant has no options" if any(not v.get("options") for v in variants(value)) else None
