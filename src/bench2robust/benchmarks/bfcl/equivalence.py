"""Other ways to a read's data, and to a write's end state. What holds in a task is checked there (`truth`).

Each way is a side of a class in ``domains/bfcl.toml``. A way to data says which calls to make instead and how
their answers make the answer of the usual tool; a way to an end state says which calls to make instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.core.tools import ToolCall

Arguments = Mapping[str, Any]
Answer = tuple[Arguments, Any]
"""The arguments of a call and its parsed answer."""

_EVERY_LINE = 1_000_000
"""More lines than any file has."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Another way to what a read tells."""

    tool: str
    """The usual tool."""
    side: str
    """The side that this way is."""
    tools: tuple[str, ...]
    """The tools it takes, in order."""
    calls: Callable[[Arguments], tuple[ToolCall, ...]]
    """The arguments of the usual call to the calls to make instead."""
    build: Callable[[Arguments, Sequence[Answer]], Any]
    """The usual call's arguments and these calls' answers to the usual answer; None or an exception (of
    the data's shape) where they do not hold it."""

    def answer(self, arguments: Arguments, answers: Sequence[Answer]) -> Any:
        """Return what the usual tool would have answered, or None."""
        try:
            return self.build(arguments, answers)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, ZeroDivisionError):
            return None


@dataclass(frozen=True, slots=True)
class Writing:
    """Other calls that leave the state that a write leaves."""

    tool: str
    calls: Callable[[Arguments], tuple[ToolCall, ...]]


def _lines_of(args: Arguments, text: str) -> list[str]:
    lines = text.splitlines()
    count = min(args.get("lines", 10), len(lines))
    return lines[-count:]


def _same_file(args: Arguments, answers: Sequence[Answer]) -> str:
    """Return the whole content of the file that a call names, from the one answer there is."""
    given, value = answers[0]
    if given["file_name"] != args["file_name"]:
        raise KeyError(given["file_name"])
    if "file_content" in value:
        return str(value["file_content"])
    if "last_lines" in value:
        return str(value["last_lines"])
    if given["pattern"]:
        raise KeyError(given["pattern"])
    return "\n".join(value["matching_lines"])


_WHOLE: Mapping[str, Arguments] = {"cat": {}, "tail": {"lines": _EVERY_LINE}, "grep": {"pattern": ""}}
"""Tool to the arguments with which it shows a whole file."""


def _file_readings() -> list[Reading]:
    def whole(tool: str) -> Callable[[Arguments], tuple[ToolCall, ...]]:
        return lambda args: (ToolCall(tool, {"file_name": args["file_name"], **_WHOLE[tool]}),)

    made: dict[str, Callable[[Arguments, Sequence[Answer]], Any]] = {
        "cat": lambda args, found: {"file_content": _same_file(args, found)},
        "tail": lambda args, found: {"last_lines": "\n".join(_lines_of(args, _same_file(args, found)))},
        "grep": lambda args, found: {
            "matching_lines": [x for x in _same_file(args, found).splitlines() if args["pattern"] in x]
        },
    }
    return [
        Reading(tool, other, (other,), whole(other), build)
        for tool, build in made.items()
        for other in _WHOLE
        if other != tool
    ]


def _listed(args: Arguments, answers: Sequence[Answer]) -> Any:
    given, value = answers[0]
    prefix = f"{given.get('path', '.').rstrip('/')}/"
    names = [match.removeprefix(prefix) for match in value["matches"]]
    shown = [n for n in names if "/" not in n and (args.get("a") or not n.startswith("."))]
    return {"current_directory_content": shown}


def _invoice(args: Arguments, answers: Sequence[Answer]) -> Any:
    booking = answers[0][1]["booking_history"][args["booking_id"]]
    kept = ("travel_date", "travel_from", "travel_to", "travel_class", "travel_cost", "transaction_id")
    return {"invoice": {"booking_id": args["booking_id"], **{key: booking[key] for key in kept}}}


def _sent(args: Arguments, answers: Sequence[Answer]) -> Any:
    given, value = answers[0]
    if given["keyword"]:
        return None
    messages: dict[str, list[str]] = {}
    for message in value["results"]:
        messages.setdefault(message["receiver_id"], []).append(message["message"])
    return {"messages": messages}


def _mean(args: Arguments, answers: Sequence[Answer]) -> Any:
    (summed, total), (divided, quotient) = answers
    numbers = summed["numbers"]
    right = divided["b"] == len(numbers) and divided["a"] == total["result"]
    return quotient if right and sorted(numbers) == sorted(args["numbers"]) else None


def _mean_calls(args: Arguments) -> tuple[ToolCall, ...]:
    numbers = list(args["numbers"])
    return (
        ToolCall("sum_values", {"numbers": numbers}),
        ToolCall("divide", {"a": sum(numbers), "b": len(numbers)}),
    )


def _ticket(args: Arguments, answers: Sequence[Answer]) -> Any:
    return next((ticket for ticket in answers[0][1] if ticket["id"] == args["ticket_id"]), None)


READINGS: tuple[Reading, ...] = (
    *_file_readings(),
    Reading("ls", "find", ("find",), lambda args: (ToolCall("find", {"path": "."}),), _listed),
    Reading(
        "retrieve_invoice",
        "get_booking_history",
        ("get_booking_history",),
        lambda args: (ToolCall("get_booking_history", {"access_token": args["access_token"]}),),
        _invoice,
    ),
    Reading(
        "get_credit_card_balance",
        "get_all_credit_cards",
        ("get_all_credit_cards",),
        lambda args: (ToolCall("get_all_credit_cards", {}),),
        lambda args, found: {"card_balance": found[0][1]["credit_card_list"][args["card_id"]]["balance"]},
    ),
    Reading(
        "get_watchlist",
        "add_to_watchlist",
        ("add_to_watchlist",),
        lambda args: (ToolCall("add_to_watchlist", {"stock": ""}),),  # no such stock: nothing is added
        lambda args, found: {"watchlist": found[0][1]["watchlist"]},
    ),
    Reading("mean", "sum_and_divide", ("sum_values", "divide"), _mean_calls, _mean),
    Reading(
        "displayCarStatus",
        "fillFuelTank",
        ("fillFuelTank",),
        lambda args: (ToolCall("fillFuelTank", {"fuelAmount": 0}),),
        lambda args, found: {"fuelLevel": found[0][1]["fuelLevel"]} if args["option"] == "fuel" else None,
    ),
    Reading(
        "view_messages_sent",
        "search_messages",
        ("search_messages",),
        lambda args: (ToolCall("search_messages", {"keyword": ""}),),
        _sent,
    ),
    Reading(
        "get_ticket",
        "get_user_tickets",
        ("get_user_tickets",),
        lambda args: (ToolCall("get_user_tickets", {}),),
        _ticket,
    ),
)
"""Tier A: the agent only filters or sorts what another tool delivers."""

WRITINGS: tuple[Writing, ...] = (
    Writing("mv", lambda args: (ToolCall("cp", dict(args)), ToolCall("rm", {"file_name": args["source"]}))),
    Writing(
        "close_ticket",
        lambda args: (
            ToolCall("edit_ticket", {"ticket_id": args["ticket_id"], "updates": {"status": "Closed"}}),
        ),
    ),
    Writing("rmdir", lambda args: (ToolCall("rm", {"file_name": args["dir_name"]}),)),
)


def readings(tool: str) -> tuple[Reading, ...]:
    """Return the other ways to what a tool tells."""
    return tuple(reading for reading in READINGS if reading.tool == tool)


def writings(tool: str) -> tuple[Writing, ...]:
    """Return the other ways to what a tool does."""
    return tuple(writing for writing in WRITINGS if writing.tool == tool)
