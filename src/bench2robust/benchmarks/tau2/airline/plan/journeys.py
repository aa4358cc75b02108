"""Which flights the user wants, out of what the searches deliver."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from .policy import flights
from .speech import minutes
from .world import Json, NoMatch, World

Journey = list[Json]
"""Flights that bring one from an origin to a destination, in order."""


def legs(trip: Json) -> list[Journey]:
    """Split a reservation's flights into the way there and, for a round trip, the way back."""
    found, there = flights(trip), str(trip.get("destination"))
    if not found:
        raise NoMatch(f"no flights in reservation {trip.get('reservation_id')}")
    return split(found, there) if trip.get("flight_type") == "round_trip" else [found]


def split(found: Journey, there: str) -> list[Journey]:
    """Split flights after the first that arrives at `there`."""
    for place, flight in enumerate(found, 1):
        if flight.get("destination") == there and place < len(found):
            return [found[:place], found[place:]]
    return [found]


def price(journey: Journey, cabin: str) -> int:
    """What a journey costs for one passenger."""
    amounts = [(flight.get("prices") or {}).get(cabin) for flight in journey]
    if not amounts or any(amount is None for amount in amounts):
        raise NoMatch("a flight has no price")
    return sum(amount for amount in amounts if amount is not None)


def seats(journey: Journey, cabin: str) -> int:
    """How many passengers a journey still takes."""
    return min((flight.get("available_seats") or {}).get(cabin) or 0 for flight in journey)


def duration(journey: Journey) -> int:
    """Minutes from departure to arrival, stops included."""
    first, last = journey[0], journey[-1]
    days = Date.fromisoformat(str(last["date"])) - Date.fromisoformat(str(first["date"]))
    return days.days * 24 * 60 + _arrives(last) - _leaves(first)


def _leaves(flight: Json) -> int:
    return minutes(str(flight.get("scheduled_departure_time_est")))


def _arrives(flight: Json) -> int:
    return minutes(str(flight.get("scheduled_arrival_time_est")))


# ── when ───────────────────────────────────────────────────────────────────────────────────────
class Day(Protocol):
    """A date, said or relative to a date that is known."""

    def of(self, current: str) -> str:
        """Return it, given the date of the flight it replaces (empty where there is none)."""
        ...


@dataclass(frozen=True, slots=True)
class Spoken:
    """A date that the user says."""

    date: str

    def of(self, current: str) -> str:
        """Return it."""
        return self.date


@dataclass(frozen=True, slots=True)
class Shifted:
    """So many days after the date of the flight it replaces."""

    days: int = 0

    def of(self, current: str) -> str:
        """Return it."""
        try:
            return (Date.fromisoformat(current) + timedelta(days=self.days)).isoformat()
        except ValueError:
            raise NoMatch("no date to start from") from None


# ── which ──────────────────────────────────────────────────────────────────────────────────────
class Stops(StrEnum):
    """How many stops a journey may have."""

    NONE = "nonstop"
    ONE = "one stop"
    ANY = "any"


class Rank(StrEnum):
    """Which of several journeys."""

    CHEAPEST = "cheapest"
    SECOND_CHEAPEST = "second cheapest"
    DEAREST = "dearest"
    FASTEST = "fastest"
    EARLIEST = "earliest"
    LATEST = "latest"
    ARRIVES_FIRST = "arrives first"
    ONLY = "the only one"


@dataclass(frozen=True, slots=True)
class Window:
    """A bound on a time of day."""

    kind: str
    """after, before (both of the departure), arrive_after or arrive_before."""
    clock: str

    def holds(self, journey: Journey) -> bool:
        """Return whether a journey keeps it."""
        bound = minutes(self.clock)
        at = _arrives(journey[-1]) if self.kind.startswith("arrive") else _leaves(journey[0])
        return at >= bound if self.kind.endswith("after") else at <= bound


@dataclass(frozen=True, slots=True)
class Find:
    """A journey to be searched for."""

    day: Day
    stops: Stops = Stops.ANY
    rank: Rank = Rank.ONLY
    windows: tuple[Window, ...] = ()
    numbers: tuple[str, ...] = ()
    """Flight numbers that the user says; the journey has them."""
    not_before: bool = False
    """Leave only after the journey before it has arrived (a return on the same day)."""

    def of(self, request: Request, world: World) -> Journey:
        """Return the journey; NoMatch where there is none, or where nothing says which."""
        found = [j for j in self.candidates(request, world) if self._fits(j, request)]
        if not found:
            raise NoMatch(f"no flight from {request.origin} to {request.destination} fits")
        return pick(found, self.rank, request.cabin)

    def candidates(self, request: Request, world: World) -> list[Journey]:
        """Return every journey of the route on the day."""
        date = self.day.of(request.current)
        route = (request.origin, request.destination, date)
        found: list[Journey] = []
        if self.stops is not Stops.ONE:
            found += world.direct(*route)
        if self.stops is not Stops.NONE:
            found += world.connecting(*route)
        return found

    def _fits(self, journey: Journey, request: Request) -> bool:
        if seats(journey, request.cabin) < request.party:
            return False
        if any(not (flight.get("prices") or {}).get(request.cabin) for flight in journey):
            return False
        if not all(window.holds(journey) for window in self.windows):
            return False
        if any(number not in {f.get("flight_number") for f in journey} for number in self.numbers):
            return False
        return not (self.not_before and request.after and _moment(journey[0], _leaves) < request.after)


@dataclass(frozen=True, slots=True)
class Request:
    """What a search is about."""

    origin: str
    destination: str
    cabin: str
    party: int
    current: str = ""
    """Date of the flight that is replaced."""
    after: tuple[str, int] | None = None
    """When the journey before it arrives."""


def _moment(flight: Json, clock: Callable[[Json], int]) -> tuple[str, int]:
    """Date and minutes; a time past midnight counts to the next date."""
    late, at = divmod(clock(flight), 24 * 60)
    return Shifted(late).of(str(flight.get("date"))), at


def arrival(journey: Journey) -> tuple[str, int] | None:
    """When a journey arrives, None where its schedule is not known (a kept flight of a reservation)."""
    if not journey or "scheduled_arrival_time_est" not in journey[-1]:
        return None
    return _moment(journey[-1], _arrives)


def pick(found: list[Journey], rank: Rank, cabin: str) -> Journey:
    """Return the one of some journeys that a rank means; of equals the first."""
    keys: dict[Rank, Callable[[Journey], float]] = {
        Rank.CHEAPEST: lambda j: price(j, cabin),
        Rank.DEAREST: lambda j: -price(j, cabin),
        Rank.FASTEST: duration,
        Rank.EARLIEST: lambda j: _leaves(j[0]),
        Rank.LATEST: lambda j: -_leaves(j[0]),
        Rank.ARRIVES_FIRST: lambda j: duration(j) + _leaves(j[0]),
    }
    if rank is Rank.ONLY:
        if len(found) > 1:
            raise NoMatch("more than one flight fits")
        return found[0]
    if rank is Rank.SECOND_CHEAPEST:
        ordered = sorted(found, key=lambda j: price(j, cabin))
        if len(ordered) < 2:
            raise NoMatch("only one flight fits")
        return ordered[1]
    return min(found, key=keys[rank])


@dataclass(frozen=True, slots=True)
class Keep:
    """The flights stay as they are."""


LegChoice = Keep | Find


def numbers(journey: Iterable[Json]) -> list[dict[str, str]]:
    """Return flights as the write tools want them."""
    return [{"flight_number": str(f.get("flight_number")), "date": str(f.get("date"))} for f in journey]
