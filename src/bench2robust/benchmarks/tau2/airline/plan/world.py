"""The world as the tools deliver it: τ² airline facts, and every route by which each can be had.

A `World` wraps the facts a policy has so far. Asking it for a fact that is not there raises
`Missing`, which the goal turns into `Need`; so selectors are written as if everything were known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.benchmarks.tau2.plan.world import Json, Missing, NoMatch
from bench2robust.core.plan import Facts, Fetch, Part, Route, never_doubts
from bench2robust.core.tools import ToolCall

from .doubts import flight_doubts, flights_doubts, pairs_doubts, trip_doubts, user_doubts

__all__ = ["Json", "Known", "Missing", "NoMatch", "World"]


@dataclass(frozen=True, slots=True)
class Known:
    """What the user can say about who they are."""

    user_id: str = ""


def _part(fact: str, tool: str, **arguments: Any) -> Part:
    return Part(fact, ToolCall(tool, arguments))


def _itself(values: Sequence[Any]) -> Any:
    return values[0]


def _one(part: Part, build: Callable[[Sequence[Any]], Any] = _itself) -> Route:
    """Return the route of a single call; its side bears the tool's name."""
    return Route(part.call.name, (part,), build)


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
        value = self._facts[fact]
        if value is None:
            raise NoMatch(f"no {fact}")
        return value

    def user(self) -> Json:
        """The user's record, in the shape of `get_user_details`."""
        return _object(self._get("user", lambda: user_fetch(self.known.user_id)), "user")

    def trip_ids(self) -> list[str]:
        """The ids of the user's reservations."""
        return [one for one in self.user().get("reservations") or [] if isinstance(one, str)]

    def trip(self, trip_id: str) -> Json:
        """One reservation, in the shape of `get_reservation_details`."""
        fact = f"reservation {trip_id}"
        return _object(self._get(fact, lambda: trip_fetch(trip_id, self.known.user_id)), fact)

    def trips(self) -> list[Json]:
        """Every reservation of the user that there is."""
        found = []
        for trip_id in self.trip_ids():
            try:
                found.append(self.trip(trip_id))
            except NoMatch:
                continue
        return found

    def direct(self, origin: str, destination: str, date: str) -> list[list[Json]]:
        """The direct flights of a route on a date, each as a journey of one flight."""
        fact = f"direct {origin} {destination} {date}"
        found = self._get(fact, lambda: _direct_fetch(fact, origin, destination, date))
        return [[{**flight, "date": date}] for flight in found if isinstance(flight, dict)]

    def connecting(self, origin: str, destination: str, date: str) -> list[list[Json]]:
        """The connections of a route on a date, each as a journey of two flights."""
        fact = f"connecting {origin} {destination} {date}"
        return list(self._get(fact, lambda: _connecting_fetch(fact, origin, destination, date)))

    def flight(self, flight: Json) -> Json:
        """A flight of a reservation as it can be booked now, with seats and prices."""
        fact = f"flight {flight.get('flight_number')} {flight.get('date')}"
        found = _object(self._get(fact, lambda: _flight_fetch(fact, flight)), fact)
        return {**found, "date": flight.get("date")}

    def status(self, flight: Json) -> str:
        """The status of a flight of a reservation."""
        fact = f"status {flight.get('flight_number')} {flight.get('date')}"
        return str(self._get(fact, lambda: _status_fetch(fact, flight)))


def _object(value: Any, fact: str) -> Json:
    if not isinstance(value, dict):
        raise NoMatch(f"no {fact}")
    return value


# ── routes ─────────────────────────────────────────────────────────────────────────────────────
def user_fetch(user_id: str, purpose: str = "") -> Fetch:
    """Return both routes to the user's record; with a `purpose` its facts are kept apart from the plan's own."""
    apart = f"{purpose} " if purpose else ""
    whole = _part(f"{apart}user details", "get_user_details", user_id=user_id)
    halves = (
        _part(f"{apart}profile", "get_user_profile", user_id=user_id),
        _part(f"{apart}payment methods", "list_payment_methods", user_id=user_id),
    )
    routes = (_one(whole, _with("reservations")), Route("profile_and_payments", halves, _merge))
    return Fetch(f"{apart}user", routes, never_doubts if purpose else user_doubts)


def trip_fetch(trip_id: str, user_id: str, purpose: str = "") -> Fetch:
    """Return both routes to a reservation; with a `purpose` its facts are kept apart from the plan's own."""
    apart = f"{purpose} " if purpose else ""
    fact = f"{apart}reservation {trip_id}"
    routes = [_one(_part(f"{apart}details {trip_id}", "get_reservation_details", reservation_id=trip_id))]
    if user_id:
        part = _part(f"{apart}all reservations", "find_reservations", user_id=user_id)
        routes.append(_one(part, _among("reservation_id", trip_id)))
    return Fetch(fact, tuple(routes), never_doubts if purpose else trip_doubts)


def _searches(origin: str, destination: str, date: str) -> tuple[Part, Part, Part]:
    """Return the calls of the three searches on a route: direct, with one stop, both."""
    tools = ("search_direct_flight", "search_onestop_flight", "search_flights")
    direct, connecting, both = (
        _part(
            f"{tool} {origin} {destination} {date}", tool, origin=origin, destination=destination, date=date
        )
        for tool in tools
    )
    return direct, connecting, both


def _direct_fetch(fact: str, origin: str, destination: str, date: str) -> Fetch:
    direct, _, both = _searches(origin, destination, date)
    return Fetch(fact, (_one(direct, _list()), _one(both, _list("direct"))), flights_doubts)


def _connecting_fetch(fact: str, origin: str, destination: str, date: str) -> Fetch:
    _, connecting, both = _searches(origin, destination, date)
    return Fetch(fact, (_one(connecting, _list()), _one(both, _list("one_stop"))), pairs_doubts)


def _flight_fetch(fact: str, flight: Json) -> Fetch:
    number, date = str(flight.get("flight_number")), str(flight.get("date"))
    direct, _, both = _searches(str(flight.get("origin")), str(flight.get("destination")), date)
    listed, details = _among("flight_number", number), _details(number, date)
    routes = (
        _one(direct, listed),
        _one(both, lambda v: listed([_list("direct")(v)])),
        _one(details, _with("prices")),
    )
    return Fetch(fact, routes, flight_doubts)


def _status_fetch(fact: str, flight: Json) -> Fetch:
    number, date = str(flight.get("flight_number")), str(flight.get("date"))
    part = _part(f"get_flight_status {number} {date}", "get_flight_status", flight_number=number, date=date)
    return Fetch(fact, (_one(part, _word), _one(_details(number, date), _field("status"))))


def _details(number: str, date: str) -> Part:
    return _part(f"get_flight_details {number} {date}", "get_flight_details", flight_number=number, date=date)


# ── how responses make a fact ──────────────────────────────────────────────────────────────────
def _with(key: str) -> Callable[[Sequence[Any]], Any]:
    """Take an object that has the key."""

    def build(values: Sequence[Any]) -> Any:
        return values[0] if isinstance(values[0], dict) and key in values[0] else None

    return build


def _field(name: str) -> Callable[[Sequence[Any]], Any]:
    def build(values: Sequence[Any]) -> Any:
        return values[0].get(name) if isinstance(values[0], dict) else None

    return build


def _list(name: str = "") -> Callable[[Sequence[Any]], Any]:
    """Take a list, or the list of that name in an object."""

    def build(values: Sequence[Any]) -> Any:
        value = values[0]
        if name:
            value = value.get(name) if isinstance(value, dict) else None
        return value if isinstance(value, list) else None

    return build


def _among(key: str, wanted: str) -> Callable[[Sequence[Any]], Any]:
    """Take the object of a list whose `key` is `wanted`."""

    def build(values: Sequence[Any]) -> Any:
        for value in values[0] if isinstance(values[0], list) else ():
            if isinstance(value, dict) and value.get(key) == wanted:
                return value
        return None

    return build


def _merge(values: Sequence[Any]) -> Any:
    """Make a user's record out of profile and payment methods."""
    profile, methods = values
    if not isinstance(profile, dict) or not isinstance(methods, dict):
        return None
    return {**profile, "payment_methods": methods}


def _word(values: Sequence[Any]) -> Any:
    return values[0] if isinstance(values[0], str) else None
