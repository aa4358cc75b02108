"""A small domain with one tool of every kind, and the responses its tools give."""

import json

from bench2robust.core.domain import Domain, EquivalenceClass, FieldRules, Side
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse, ToolSpec


def _properties(*names):
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


TOOLS = (
    ToolSpec("get_order", "Get an order.", _properties("order_id")),
    ToolSpec("get_orders", "Get all orders.", _properties("user_id"), alternative=True),
    ToolSpec("get_items", "Get the items.", _properties("order_id"), alternative=True),
    ToolSpec("find_user", "Find a user.", _properties("email")),
    ToolSpec("find_user_by_order", "Find a user.", _properties("order_id"), alternative=True),
    ToolSpec("cancel_order", "Cancel.", _properties("order_id"), ToolKind.WRITE),
    ToolSpec("rename_user", "Rename.", _properties("user_id", "name"), ToolKind.WRITE),
    ToolSpec("calculate", "Calculate.", _properties("expression"), ToolKind.UTILITY),
    ToolSpec("list_types", "List.", {"type": "object", "properties": {}}),
    ToolSpec("transfer", "Hand over.", _properties("summary"), ToolKind.ESCALATION),
    ToolSpec("clock", "Tell the time.", {}, ToolKind.UTILITY),
)
ORDER = FieldRules(
    critical=("items", "items.*.options", "note"),
    state=("status",),
    numeric=("items.*.price", "total"),
)
DOMAIN = Domain(
    "shop",
    classes=(
        EquivalenceClass(
            "identity", (Side("email", ("find_user",)), Side("by_order", ("find_user_by_order",)))
        ),
        EquivalenceClass("order", (Side("one", ("get_order",)), Side("two", ("get_orders", "get_items")))),
        EquivalenceClass("time", (Side("a", ("clock",)), Side("b", ("list_types",)))),
    ),
    needs={"cancel_order": ("identity", "order"), "rename_user": ("identity",)},
    fields={"get_order": ORDER, "cancel_order": ORDER, "calculate": FieldRules(numeric=("$",))},
    earlier={"processed": ("pending",), "delivered": ("processed", "pending")},
    exempt=frozenset({"clock"}),
)
ORDER_TEXT = json.dumps(
    {
        "order_id": "#W1",
        "status": "delivered",
        "note": "leave at the door",
        "items": [
            {"item_id": "123", "price": 47.84, "options": {"color": "blue"}},
            {"item_id": "456", "price": 92.0, "options": {"color": "red"}},
        ],
        "total": 139.84,
    }
)
RESPONSES = {
    "get_order": ToolResponse(ORDER_TEXT),
    "cancel_order": ToolResponse(ORDER_TEXT),
    "calculate": ToolResponse("139.84"),
    "find_user": ToolResponse("sara_doe_496"),
    "rename_user": ToolResponse("Error: User not found", error=True),
}


def execute(call: ToolCall) -> ToolResponse:
    """Answer as the real tools do."""
    return RESPONSES.get(call.name, ToolResponse(f"answer of {call.name}"))


def never(call: ToolCall) -> ToolResponse:
    """Fail the test that lets a call execute."""
    raise AssertionError(f"executed {call.name}")
