"""The airline's rules as arithmetic and decisions over delivered fields (τ²'s ``policy.md``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from .world import Json, NoMatch, World

NOW = "2024-05-15T15:00:00"
"""The current time, which the policy states."""
TODAY = NOW[:10]

_FREE_BAGS: Mapping[str, Mapping[str, int]] = {
    "regular": {"basic_economy": 0, "economy": 1, "business": 2},
    "silver": {"basic_economy": 1, "economy": 2, "business": 3},
    "gold": {"basic_economy": 2, "economy": 3, "business": 4},
}
BAG_FEE = 50
INSURANCE_FEE = 30
COMPENSATION = {"cancelled": 100, "delayed": 50}
"""Dollars for each passenger, by what happened to the flight."""


def flights(trip: Json) -> list[Json]:
    """The flights of a reservation."""
    return [flight for flight in trip.get("flights") or [] if isinstance(flight, dict)]


def people(trip: Json) -> list[Json]:
    """The passengers of a reservation."""
    found = [person for person in trip.get("passengers") or [] if isinstance(person, dict)]
    if not found:
        raise NoMatch(f"no passengers in reservation {trip.get('reservation_id')}")
    return found


def free_bags(user: Json, cabin: str, passengers: int) -> int:
    """How many checked bags a booking has free."""
    level, by_cabin = str(user.get("membership")), str(cabin)
    if level not in _FREE_BAGS or by_cabin not in _FREE_BAGS[level]:
        raise NoMatch(f"no allowance for {level} members in {by_cabin}")
    return _FREE_BAGS[level][by_cabin] * passengers


def fare(trip: Json) -> int:
    """What the flights of a reservation cost for all passengers."""
    return sum(flight.get("price") or 0 for flight in flights(trip)) * len(people(trip))


def paid(trip: Json) -> int:
    """What was paid for a reservation."""
    return sum(payment.get("amount") or 0 for payment in trip.get("payment_history") or [])


def flown(trip: Json, world: World) -> bool:
    """Whether any flight of a reservation has taken off. Only today's flights need a look at their status."""
    dates = [str(flight.get("date")) for flight in flights(trip)]
    if any(date < TODAY for date in dates):
        return True
    today = [flight for flight in flights(trip) if flight.get("date") == TODAY]
    return any(world.status(flight) in ("landed", "flying") for flight in today)


@dataclass(frozen=True, slots=True)
class Refundable:
    """When a reservation may be cancelled."""

    covered: bool = False
    """Whether the user's reason is one that the insurance covers (health, weather)."""
    any_reason: bool = False
    """Take an insurance to cover whatever the reason, where gold does."""
    even_flown: bool = False
    """Do not ask whether a flight has taken off, where gold does not."""

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether this reservation may be."""
        if not self.even_flown and flown(trip, world):
            return False
        insured = trip.get("insurance") == "yes" and (self.covered or self.any_reason)
        if insured or trip.get("cabin") == "business" or _within_a_day(str(trip.get("created_at"))):
            return True
        return any(world.status(f) == "cancelled" for f in flights(trip) if str(f.get("date")) <= TODAY)


def _within_a_day(created: str) -> bool:
    try:
        age = datetime.fromisoformat(NOW) - datetime.fromisoformat(created)
    except ValueError:
        return False
    return age <= timedelta(days=1)


def may_be_compensated(user: Json, trip: Json) -> bool:
    """Whether the policy allows a certificate for a cancelled or delayed flight."""
    member = user.get("membership") in ("silver", "gold")
    return member or trip.get("insurance") == "yes" or trip.get("cabin") == "business"
