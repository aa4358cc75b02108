"""Reads that the ground truth does not show, but that an agent needs to learn a value nobody has told it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench2robust.benchmarks.bfcl.truth import parsed
from bench2robust.benchmarks.bfcl.world import World
from bench2robust.core.tools import ToolCall

from .expressions import Expression, Said

_PLAIN: Mapping[str, tuple[dict[str, Any], ...]] = {
    "get_order_history": ({},),
    "get_user_tickets": ({},),
    "get_all_credit_cards": ({},),
    "ls": ({"a": True},),
    "find": ({"path": "."},),
    "pwd": ({},),
    "list_users": ({},),
    "get_watchlist": ({},),
    "get_account_info": ({},),
    "displayCarStatus": ({"option": "fuel"}, {"option": "doors"}, {"option": "climate"}),
    "check_tire_pressure": ({},),
    "find_nearest_tire_shop": ({},),
    "view_messages_sent": ({},),
}
"""Read to the arguments with which it is tried, in the order in which they are."""

_NAMED: Mapping[str, str] = {
    "get_user_id": "user",
    "get_symbol_by_name": "name",
    "get_nearest_airport_by_city": "location",
    "get_zipcode_based_on_city": "city",
    "get_user_tweets": "username",
    "get_stock_info": "symbol",
    "cat": "file_name",
}
"""Read to the argument that is a name from the user's words."""

_HELD: Mapping[str, str] = {"get_booking_history": "access_token", "get_ticket": "ticket_id"}
"""Read to the argument that an earlier call had already."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A read and what it answers on the pristine run."""

    tool: str
    arguments: dict[str, Expression]
    value: Any


def probes(
    world: World,
    offered: Callable[[str], bool],
    names: Iterator[str],
    held: Mapping[str, tuple[Expression, Any]],
) -> Iterator[Probe]:
    """Try the reads that a task offers, on a copy of its world, and give those that answer.

    Args:
        world: as it is when the value is needed; it is not changed.
        offered: whether a tool exists now.
        names: what the user's words may name.
        held: argument name to what an earlier call gave for it, and its value.
    """
    copy = world.fork()
    spoken = tuple(names)
    tries: list[tuple[str, dict[str, tuple[Expression, Any]]]] = []
    for tool, name in _NAMED.items():
        tries += [(tool, {name: (Said(word), word)}) for word in spoken]
    for tool, name in _HELD.items():
        if name in held:
            tries.append((tool, {name: held[name]}))
    for tool, given in _PLAIN.items():
        tries += [
            (tool, {key: (Said(value), value) for key, value in arguments.items()}) for arguments in given
        ]
    for tool, arguments in tries:
        if not offered(tool):
            continue
        answer = copy.call(ToolCall(tool, {key: value for key, (_, value) in arguments.items()}))
        if not answer.error:
            yield Probe(tool, {key: source for key, (source, _) in arguments.items()}, parsed(answer.text))
