"""Scripted conversations about τ² tasks, to be played by τ²'s orchestrator and by our loop. Standard library only.

Each task gets its gold solution, and two of the other scripts below in turn, so that every way in which a
talk can go and end is there on many tasks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

STOP, TRANSFER, OUT_OF_SCOPE = "###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"
BAD = ("get_user_details", {"user_id": "nobody"})
HAND_OVER = ("transfer_to_human_agents", {"summary": "The user wants more."})
ENDLESS = 25
"""Steps of ours after which the endless one ends; τ² counts what users and tools do too."""


@dataclass(frozen=True)
class Calls:
    """Calls that an assistant makes together, and what it writes beside them."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    aside: str = ""


@dataclass(frozen=True)
class Conversation:
    name: str
    agent: tuple[str | Calls, ...]
    user: tuple[str, ...]
    """The first answers the greeting. One that never stops says the last for ever."""


def conversations(raw: dict[str, Any], place: int) -> list[Conversation]:
    """The conversations about the task at a place of its domain."""
    gold, *others = _all(raw)
    return [gold, others[place % len(others)], others[(place + 4) % len(others)]]


def _all(raw: dict[str, Any]) -> Iterator[Conversation]:
    criteria = raw["evaluation_criteria"]
    gold = [(a["name"], a["arguments"]) for a in criteria.get("actions") or ()]
    told = "It is done: " + ", ".join(criteria.get("communicate_info") or ())
    opening = raw["user_scenario"]["instructions"]["reason_for_call"]
    each = [Calls((call,)) for call in gold]
    ask, hello = "What else do you need?", (opening, "Nothing else.")
    bye = f"Thank you! {STOP}"
    yield Conversation("gold", (ask, *each, told), (*hello, bye))
    yield Conversation("together", (Calls(tuple(gold or [BAD]), told), "Done."), (opening, bye))
    yield Conversation("short", (ask, *each[:-1], "All done."), (*hello, bye))
    yield Conversation("transferred", (*each, Calls((HAND_OVER,)), "Please hold."), (opening, TRANSFER))
    again = (Calls((HAND_OVER,)), "Please hold.", *each, told)
    yield Conversation("goes on after the transfer", again, (opening, "I would rather not.", bye))
    yield Conversation("errors", (*each, told, *[Calls((BAD,))] * 12, "Done."), (opening, "Go on.", bye))
    yield Conversation("errors together", (*each, Calls((BAD,) * 12), told), (opening, bye))
    yield Conversation("few errors", (*[Calls((BAD,))] * 4, *each, told), (opening, bye))
    yield Conversation("out of scope", (*each, told), (opening, f"I do not know. {OUT_OF_SCOPE}"))
    yield Conversation("wrong number", (*each, told), (STOP,))
    yield Conversation("endless", (*each, *["And now?"] * 60), (opening, "Please go on."))


def digest(messages: list[tuple[str, ...]]) -> str:
    """Six hexadecimal digits for each message, in order."""
    return " ".join(blake2b(json.dumps(m).encode(), digest_size=3).hexdigest() for m in messages)


def signature(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({json.dumps(arguments, sort_keys=True)})"
