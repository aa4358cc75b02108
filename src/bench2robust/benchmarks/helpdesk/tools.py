"""The tools of the helpdesk as an agent is told of them, and the policy text."""

from __future__ import annotations

from typing import Any, Final

from bench2robust.core.tools import ToolKind, ToolSpec

from .world import KINDS, TOPICS

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_TOPIC: Final = {"type": "string", "enum": list(TOPICS)}
_KIND: Final = {"type": "string", "enum": list(KINDS)}


def _takes(**parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": parameters,
        "required": list(parameters),
        "additionalProperties": False,
    }


TOOLS: Final = (
    ToolSpec("find_user_by_login", "The user number of a login.", _takes(login=_TEXT)),
    ToolSpec("find_user_by_badge", "The user number of a badge.", _takes(badge=_TEXT)),
    ToolSpec("get_tickets", "All tickets of a user: topic, state, priority.", _takes(user=_TEXT)),
    ToolSpec("list_models", "All models of a kind, cheapest first: price, stock.", _takes(kind=_KIND)),
    ToolSpec("get_orders", "The models a user has ordered, latest last.", _takes(user=_TEXT)),
    ToolSpec(
        "set_state",
        "Close a ticket, or open a solved or closed one again.",
        _takes(ticket=_TEXT, state={"type": "string", "enum": ["open", "closed"]}),
        ToolKind.WRITE,
    ),
    ToolSpec(
        "set_priority",
        "Set the priority of a ticket that is not closed.",
        _takes(ticket=_TEXT, priority={"type": "integer", "minimum": 1}),
        ToolKind.WRITE,
    ),
    ToolSpec(
        "order_model", "Order one of a model for a user.", _takes(user=_TEXT, model=_TEXT), ToolKind.WRITE
    ),
    ToolSpec("add", "The sum of two numbers.", _takes(a=_NUMBER, b=_NUMBER), ToolKind.UTILITY),
    ToolSpec("transfer_to_human", "Hand over to a person.", _takes(summary=_TEXT), ToolKind.ESCALATION),
    ToolSpec(
        "find_ticket",
        "The number of a user's ticket on a topic.",
        _takes(user=_TEXT, topic=_TOPIC),
        alternative=True,
    ),
    ToolSpec("get_status", "The state and priority of a ticket.", _takes(ticket=_TEXT), alternative=True),
    ToolSpec(
        "find_cheapest", "The cheapest model of a kind: price, stock.", _takes(kind=_KIND), alternative=True
    ),
)
"""Ten standard tools and three alternatives."""

POLICY: Final = """\
You work at an IT helpdesk and act through tools, one call at a time.
Find out who the user is, by login or badge, before you do anything for them.
Do what the user asks, once, and nothing else. Tell them what they ask to know.
New tickets have priority 5. Only a solved or closed ticket can be opened again.
If the user wants a person, or nothing you can try works, call transfer_to_human."""

ADDENDUM: Final = """
find_ticket and get_status together tell what get_tickets tells about one ticket.
find_cheapest tells what list_models tells about the cheapest model."""
