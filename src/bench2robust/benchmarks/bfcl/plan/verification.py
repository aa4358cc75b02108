"""How to tell that a write has happened when its answer was lost: the read that shows it, and what it shows.

Only writes that must not be made twice are here. The others can be repeated: they leave the same state, or
their tool refuses the second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .expressions import Expression, Said
from .goals import Arguments, Happened


@dataclass(frozen=True, slots=True)
class Check:
    """The read that shows a write."""

    tool: str
    arguments: Callable[[Arguments], dict[str, Expression]]
    happened: Happened
    before: bool = False
    """Whether the read has to be made before the write too; never by a tool on a side of a class."""


def _none(arguments: Arguments) -> dict[str, Expression]:
    return {}


def _same(*names: str) -> Callable[[Arguments], dict[str, Expression]]:
    return lambda arguments: {name: arguments[name] for name in names}


def _tweeted(arguments: Mapping[str, Any], _: Any, found: Any) -> bool:
    return any(tweet["content"] == arguments["content"] for tweet in found)


def _commented(arguments: Mapping[str, Any], _: Any, found: Any) -> bool:
    return any(comment["content"] == arguments["comment_content"] for comment in found)


def _booked(arguments: Mapping[str, Any], _: Any, found: Any) -> bool:
    asked = {key: value for key, value in arguments.items() if key != "access_token"}
    return any(asked.items() <= booking.items() for booking in found["booking_history"].values())


def _moved_money(kind: str) -> Happened:
    return lambda arguments, _, found: any(
        entry["type"] == kind and entry["amount"] == arguments["amount"]
        for entry in found["transaction_history"]
    )


CHECKS: Mapping[str, Check] = {
    "post_tweet": Check("search_tweets", lambda arguments: {"keyword": arguments["content"]}, _tweeted),
    "comment": Check("get_tweet_comments", _same("tweet_id"), _commented),
    "mention": Check(
        "get_tweet",
        _same("tweet_id"),
        lambda arguments, _, found: set(arguments["mentioned_usernames"]) <= set(found["mentions"]),
    ),
    "send_message": Check(
        "view_messages_sent",
        _none,
        lambda arguments, _, found: arguments["message"] in found["messages"][arguments["receiver_id"]],
    ),
    "create_ticket": Check(
        "get_user_tickets",
        _none,
        lambda arguments, _, found: any(
            ticket["title"] == arguments["title"]
            and ticket["description"] == arguments.get("description", "")
            and ticket["priority"] == arguments.get("priority", 1)
            for ticket in found
        ),
    ),
    "book_flight": Check("get_booking_history", _same("access_token"), _booked),
    "register_credit_card": Check(
        "get_all_credit_cards",
        _none,
        lambda arguments, _, found: any(
            card["card_number"] == arguments["card_number"] for card in found["credit_card_list"].values()
        ),
    ),
    "fund_account": Check("get_transaction_history", _none, _moved_money("deposit")),
    "withdraw_funds": Check("get_transaction_history", _none, _moved_money("withdrawal")),
    "place_order": Check(
        "get_order_history",
        _none,
        lambda _, before, found: len(found["history"]) > len(before["history"]),
        before=True,
    ),
    "cd": Check("pwd", _none, lambda _, before, found: found != before, before=True),
    "resolve_ticket": Check(
        "get_ticket", _same("ticket_id"), lambda _, before, found: found["status"] == "Resolved"
    ),
    "cancel_order": Check(
        "get_order_details", _same("order_id"), lambda _, before, found: found["status"] == "Cancelled"
    ),
}
"""Write to the read that shows it. `cd` is checked where it goes up, which repeats; the last two are here for
what a stale answer does to whoever relies on it."""


def check_of(tool: str, arguments: Arguments) -> Check | None:
    """Return how to tell that a write has happened, where there is a way and a need."""
    if tool == "cd" and arguments["folder"] != Said(".."):
        return None
    return CHECKS.get(tool)
