"""The 128 functions of the eight API classes: as tools an agent is told of, and how calls of them are prepared."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench2robust.core.errors import BenchmarkError
from bench2robust.core.tools import ToolCall, ToolKind, ToolSpec

from .provider import MODULES, api_class, documents

WRITES = frozenset(
    {
        *("cd", "cp", "echo", "mkdir", "mv", "rm", "rmdir", "touch"),
        *("add_contact", "delete_message", "message_login", "send_message"),
        *(
            "authenticate_twitter",
            "comment",
            "follow_user",
            "mention",
            "post_tweet",
            "retweet",
            "unfollow_user",
        ),
        *("close_ticket", "create_ticket", "edit_ticket", "logout", "resolve_ticket", "ticket_login"),
        *("add_to_watchlist", "cancel_order", "fund_account", "place_order", "remove_stock_from_watchlist"),
        *("trading_login", "trading_logout", "withdraw_funds"),
        *(
            "authenticate_travel",
            "book_flight",
            "cancel_booking",
            "purchase_insurance",
            "register_credit_card",
        ),
        "set_budget_limit",
        *("activateParkingBrake", "adjustClimateControl", "fillFuelTank", "lockDoors", "pressBrakePedal"),
        *("releaseBrakePedal", "setCruiseControl", "setHeadlights", "set_navigation", "startEngine"),
    }
)
"""Functions that may change the state, the current directory included; all others only read."""

DRAWN = frozenset({"get_outside_temperature_from_google", "get_current_speed"})
"""Reads whose answer is drawn anew at every call, so that no two are alike."""

ESCALATION = ToolSpec(
    "transfer_to_human_agents",
    "Transfer the user to a human agent, with a summary of the user's issue. Only transfer if you cannot handle the "
    "user's request with the functions you have.",
    {
        "type": "object",
        "properties": {"summary": {"type": "string", "description": "A summary of the user's issue."}},
        "required": ["summary"],
    },
    ToolKind.ESCALATION,
)
"""The one tool that BFCL does not have: without it, an agent could not give up honestly."""

_HINT = " Note that the provided function is in Python 3 syntax."
"""What BFCL adds to every description."""

_TYPES = {
    "dict": "object", "object": "object", "float": "number", "number": "number", "integer": "integer",
    "string": "string", "boolean": "boolean", "array": "array", "list": "array", "tuple": "array",
}  # fmt: skip

_PLAIN = frozenset({str, int, bool})
"""Types of arguments that are passed as they are."""

_FRESH: Mapping[str, tuple[str, ...]] = {"post_tweet": ("tags", "mentions")}
"""Arguments whose default is one list for the whole process; each call gets a list of its own."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function of an API class."""

    api: str
    spec: ToolSpec
    names: tuple[str, ...]
    """The parameters, in the order of the Python signature."""
    prepare: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """Copies arguments, so that nothing of the caller's is kept, and makes integers of integral floats
    where the schema says integer (JSON has one number type, the API classes compare 2 and 2.0 as text)."""

    shows: bool
    """Whether it may change the public state, which is compared; the current directory is not."""


@cache
def functions(api: str) -> Mapping[str, Function]:
    """Return the functions of an API class by name, in the order of its document."""
    found = {}
    for document in documents(api):
        method = getattr(api_class(api), document["name"])
        found[document["name"]] = _function(api, document, method)
    return found


@cache
def every_function() -> Mapping[str, Function]:
    """Return all 128 functions by name; no name is used twice."""
    return {name: function for api in MODULES for name, function in functions(api).items()}


def parse(text: str) -> ToolCall:
    """Return the call that a line of ground truth writes, with every argument by name.

    Raises:
        BenchmarkError: the text is not one call of a known function with literal arguments.
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise TypeError("not a plain call")  # noqa: TRY301
        names = every_function()[node.func.id].names
        arguments = {name: ast.literal_eval(value) for name, value in zip(names, node.args, strict=False)}
        if len(node.args) > len(names) or any(keyword.arg is None for keyword in node.keywords):
            raise TypeError("too many arguments")  # noqa: TRY301
        arguments |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    except (SyntaxError, TypeError, ValueError, KeyError, RecursionError, MemoryError) as error:
        raise BenchmarkError(
            f"expected a call of a BFCL function with literal arguments, got text={text!r}"
        ) from error
    return ToolCall(node.func.id, arguments)


def written(call: ToolCall) -> str:
    """Return a call as BFCL writes one, the inverse of `parse`."""
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"


def _function(api: str, document: Mapping[str, Any], method: Any) -> Function:
    name = document["name"]
    parameters = {**document["parameters"], "type": "object"}
    parameters["properties"] = {key: _schema(value) for key, value in parameters["properties"].items()}
    kind = ToolKind.WRITE if name in WRITES else ToolKind.READ
    spec = ToolSpec(name, document["description"] + _HINT, parameters, kind)
    names = tuple(inspect.signature(method).parameters)[1:]
    prepare = _preparation(parameters["properties"], _FRESH.get(name, ()))
    return Function(api, spec, names, prepare, kind is ToolKind.WRITE and name != "cd")


def _schema(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema as BFCL's own conversion for OpenAI models gives it."""
    schema = dict(document)
    found = document.get("type", "string")
    if found == "float":
        schema["format"] = "float"
        schema["description"] = schema.get("description", "") + " This is a float type value."
    schema["type"] = _TYPES.get(found, "string")
    if "properties" in schema:
        schema["properties"] = {key: _schema(value) for key, value in schema["properties"].items()}
    elif "items" in schema:
        schema["items"] = {**schema["items"], "type": _TYPES[schema["items"]["type"]]}
    return schema


def _preparation(
    properties: Mapping[str, Any], fresh: tuple[str, ...]
) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    whole = any(schema.get("type") == "integer" for schema in properties.values())
    plain = _PLAIN if whole else _PLAIN | {float}

    def prepare(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if not fresh and plain.issuperset(map(type, arguments.values())):
            return arguments  # nothing in them can be changed, and a call by keywords copies the rest
        ready = dict(arguments)
        for name, value in arguments.items():
            if type(value) not in _PLAIN:
                ready[name] = _coerced(value, properties.get(name, {}))
        for name in fresh:
            ready.setdefault(name, [])
        return ready

    return prepare


def _coerced(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, float):
        return int(value) if schema.get("type") == "integer" and value.is_integer() else value
    if isinstance(value, list | tuple):
        return [_coerced(item, schema.get("items", {})) for item in value]
    if isinstance(value, Mapping):
        inner = schema.get("properties", {})
        return {key: _coerced(item, inner.get(key, {})) for key, item in value.items()}
    return value
