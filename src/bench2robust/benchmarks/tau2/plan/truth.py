"""The pristine world: every fact as it truly is, for the compiler to check selectors against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .words import Words
from .world import Json, Known


class Truth(Mapping[str, Any]):
    """Facts of one user computed from the raw database on demand, so that nothing is ever missing."""

    def __init__(self, db: Json, user_id: str) -> None:
        self._db = db
        self.user_id = user_id
        self.user: Json = db["users"][user_id]
        self.orders: list[Json] = [db["orders"][o] for o in self.user["orders"]]
        self.products: dict[str, Json] = {p["name"]: p for p in db["products"].values()}

    def __getitem__(self, fact: str) -> Any:
        kind, _, rest = fact.partition(" ")
        if fact == "user_id":
            return self.user_id
        if kind == "user":
            return self.user
        if kind == "order":
            return self._db["orders"].get(rest)
        if kind == "product":
            return self.products.get(rest)
        if kind == "variant":
            return self.products.get(rest.partition(" [")[0])
        if fact == "types":
            return {name: p["product_id"] for name, p in self.products.items()}
        raise KeyError(fact)

    def __contains__(self, fact: object) -> bool:
        return isinstance(fact, str)

    def __iter__(self) -> Iterator[str]:
        yield from (f"order {o['order_id']}" for o in self.orders)

    def __len__(self) -> int:
        return len(self.orders)

    def owned(self) -> set[str]:
        """Names of the products the user has ordered."""
        return {line["name"] for order in self.orders for line in order["items"]}


def who(db: Json, words: Words, gold: list[tuple[str, Mapping[str, Any]]]) -> str | None:
    """Return the id of the user of a task: from the gold calls, else from the user's words."""
    for name, arguments in gold:
        if arguments.get("user_id") in db["users"]:
            return str(arguments["user_id"])
        if name != "get_order_details" and arguments.get("order_id") in db["orders"]:
            return str(db["orders"][arguments["order_id"]]["user_id"])
    fits = [u for u in db["users"] if known_to(db["users"][u], words) != Known()]
    return fits[0] if len(fits) == 1 else None


def known_to(user: Json, words: Words, orders: tuple[str, ...] = ()) -> Known:
    """Return what the user says of who they are: e-mail, or first name, last name and zip."""
    text = words.text.lower()
    first, last = user["name"]["first_name"], user["name"]["last_name"]
    email = user["email"] if user["email"].lower() in text else ""
    named = first.lower() in text and last.lower() in text
    own_zip = user["address"]["zip"]
    if named and words.has(own_zip):
        return Known(email, first, last, own_zip, orders)
    return Known(email, orders=orders)
