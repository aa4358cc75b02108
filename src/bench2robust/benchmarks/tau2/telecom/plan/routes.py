"""Every route to a telecom fact, and what looks wrong in one by the database's own redundancies.

Parts with the same name are the same call, so what one route has read another need not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench2robust.core.plan import Fetch, Part, Route
from bench2robust.core.tools import ToolCall

from .known import Known

Json = dict[str, Any]
Build = Callable[[Sequence[Any]], Any]

LINE_BY_PHONE = "line by phone"
"""The part that leads from the user's number to the line at once."""


def details(record_id: str, purpose: str = "") -> Part:
    """The call for any one record; with a `purpose` its answer is kept apart from the plan's own."""
    return Part(f"{purpose}details {record_id}", ToolCall("get_details_by_id", {"id": record_id}))


def line_by_phone(phone: str, purpose: str = "") -> Part:
    """The call for the line with a number."""
    return Part(purpose + LINE_BY_PHONE, ToolCall("get_line_by_phone", {"phone_number": phone}))


def identity(known: Known) -> Fetch:
    """The customer's id."""
    routes = []
    if known.phone:
        routes.append(Route("by_phone", (_customer_by_phone(known),), _identified(known)))
        routes.append(Route("by_line", (line_by_phone(known.phone),), _identified(known)))
    if known.customer_id:
        routes.append(Route("by_id", (_customer_by_id(known.customer_id),), _identified(known)))
    if known.birth:
        call = ToolCall("get_customer_by_name", {"full_name": known.name, "dob": known.birth})
        routes.append(Route("by_name", (Part("customers by name", call),), _the_only_one))
    return Fetch("customer_id", tuple(routes))


def customer(known: Known, customer_id: str) -> Fetch:
    """The customer's record."""
    parts = [_customer_by_id(customer_id), details(customer_id)]
    if known.phone:
        parts.insert(0, _customer_by_phone(known))
    routes = tuple(Route(part.call.name, (part,), _with("line_ids")) for part in parts)
    return Fetch("customer", routes, _customer_doubts(known))


def line(fact: str, known: Known, line_id: str) -> Fetch:
    """One of the customer's lines, or at once the one with the user's number; an empty id: only the latter."""
    by_phone = Route("get_line_by_phone", (line_by_phone(known.phone),), _with("phone_number"))
    if not line_id:
        return Fetch(fact, (by_phone,), line_doubts)
    by_id = Route("get_details_by_id", (details(line_id),), _with("phone_number"))
    return Fetch(fact, (by_id, by_phone), line_doubts)


def plan(plan_id: str) -> Fetch:
    """A service plan."""
    routes = (
        Route("get_details_by_id", (details(plan_id),), _with("data_limit_gb")),
        Route("list_plans", (_plans(),), lambda values: _by_id(values[0], "plan_id", plan_id)),
    )
    return Fetch(f"plan {plan_id}", routes)


def bills(customer_id: str, bill_ids: Sequence[str], when: str = "") -> Fetch:
    """The customer's bills; `when` tells one look from another."""
    call = ToolCall("get_bills_for_customer", {"customer_id": customer_id})
    routes = [Route("get_bills_for_customer", (Part(f"{when}bills", call),), _list)]
    if bill_ids:
        parts = tuple(details(bill_id, when) for bill_id in bill_ids)
        routes.append(Route("get_details_by_id", parts, list))
    return Fetch(f"{when}bills of {customer_id}", tuple(routes), bills_doubts)


def line_again(known: Known, line_id: str) -> Fetch:
    """A second look at a line, beside the facts of the plan."""
    routes = (
        Route("get_details_by_id", (details(line_id, "again "),), _with("phone_number")),
        Route("get_line_by_phone", (line_by_phone(known.phone, "again "),), _with("phone_number")),
    )
    return Fetch("line again", routes)


def bill_again(bill_id: str, customer_id: str) -> Fetch:
    """A second look at a bill, beside the facts of the plan."""
    call = ToolCall("get_bills_for_customer", {"customer_id": customer_id})
    routes = (
        Route(
            "get_bills_for_customer",
            (Part("again bills", call),),
            lambda values: _by_id(values[0], "bill_id", bill_id),
        ),
        Route("get_details_by_id", (details(bill_id, "again "),), _with("status")),
    )
    return Fetch("bill again", routes)


def line_doubts(value: Any) -> str | None:
    """Say what looks wrong in a line: redundancies that hold on every line of τ²'s database."""
    for key in ("phone_number", "plan_id"):
        if not value.get(key):
            return f"{key} is empty"
    if value.get("contract_end_date") == "":
        return "contract_end_date is empty"
    if (value.get("status") == "Suspended") != bool(value.get("suspension_start_date")):
        return "status and suspension date disagree"
    return None


def bills_doubts(value: Any) -> str | None:
    """Say what looks wrong in a list of bills."""
    for bill in records(value):
        total = sum(item.get("amount") or 0 for item in records(bill.get("line_items")))
        if abs(total - (bill.get("total_due") or 0)) > 0.005:
            return "items do not add up to the amount due"
    return None


def records(value: Any) -> Iterator[Json]:
    """Give the objects of a list; whatever else there is holds none."""
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _customer_by_phone(known: Known) -> Part:
    call = ToolCall("get_customer_by_phone", {"phone_number": known.phone})
    return Part("customer by phone", call)


def _customer_by_id(customer_id: str) -> Part:
    call = ToolCall("get_customer_by_id", {"customer_id": customer_id})
    return Part(f"customer {customer_id}", call)


def _plans() -> Part:
    return Part("plans", ToolCall("list_plans"))


def _customer_doubts(known: Known) -> Callable[[Any], str | None]:
    def doubts(value: Any) -> str | None:
        if not value.get("line_ids"):
            return "line_ids is empty"
        return "the name is another" if known.name and value.get("full_name") != known.name else None

    return doubts


def _identified(known: Known) -> Build:
    """Take the customer's id from a record that fits who the user says they are."""

    def build(values: Sequence[Any]) -> Any:
        record = values[0]
        if not isinstance(record, dict) or not isinstance(record.get("customer_id"), str):
            return None
        fits = not known.name or record.get("full_name", known.name) == known.name
        return record["customer_id"] if fits else None

    return build


def _the_only_one(values: Sequence[Any]) -> Any:
    found = list(records(values[0]))
    return found[0].get("customer_id") if len(found) == 1 else None


def _with(key: str) -> Build:
    def build(values: Sequence[Any]) -> Any:
        return values[0] if isinstance(values[0], dict) and key in values[0] else None

    return build


def _list(values: Sequence[Any]) -> Any:
    return values[0] if isinstance(values[0], list) else None


def _by_id(value: Any, key: str, wanted: str) -> Any:
    return next((record for record in records(value) if record.get(key) == wanted), None)
