"""Which reservations the user means: conditions over delivered reservations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .journeys import duration
from .policy import TODAY, flights, people
from .world import Json, NoMatch, World


class TripCondition(Protocol):
    """Something that a reservation is or is not."""

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it is."""
        ...


@dataclass(frozen=True, slots=True)
class Upcoming:
    """It has not begun."""

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it has not."""
        dates = [str(flight.get("date")) for flight in flights(trip)]
        return bool(dates) and min(dates) >= TODAY


@dataclass(frozen=True, slots=True)
class From:
    """It leaves from one of some airports."""

    airports: tuple[str, ...]

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it does."""
        return trip.get("origin") in self.airports


@dataclass(frozen=True, slots=True)
class To:
    """It goes to one of some airports."""

    airports: tuple[str, ...]

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it does."""
        return trip.get("destination") in self.airports


@dataclass(frozen=True, slots=True)
class OnDate:
    """It has a flight on a date (or leaves on it)."""

    date: str
    leaves: bool = False

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it has."""
        dates = [flight.get("date") for flight in flights(trip)]
        return self.date in (dates[:1] if self.leaves else dates)


@dataclass(frozen=True, slots=True)
class InCabin:
    """It is in a cabin."""

    cabin: str

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it is."""
        return trip.get("cabin") == self.cabin


@dataclass(frozen=True, slots=True)
class Party:
    """It is for so many passengers."""

    size: int

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it is."""
        return len(people(trip)) == self.size


@dataclass(frozen=True, slots=True)
class Carries:
    """A passenger bears a name."""

    first: str
    last: str = ""

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether one does."""
        return any(
            p.get("first_name") == self.first and self.last in ("", p.get("last_name")) for p in people(trip)
        )


@dataclass(frozen=True, slots=True)
class CarriesUser:
    """The user is a passenger."""

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether the user is."""
        name = world.user().get("name")
        return any({k: p.get(k) for k in ("first_name", "last_name")} == name for p in people(trip))


@dataclass(frozen=True, slots=True)
class HasFlight:
    """It has a flight of a number."""

    number: str

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it has."""
        return any(flight.get("flight_number") == self.number for flight in flights(trip))


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """It is a round trip (or one way)."""

    kind: str

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it is."""
        return trip.get("flight_type") == self.kind


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A flight that was to leave by today is delayed (or cancelled)."""

    status: str

    def holds(self, trip: Json, world: World) -> bool:
        """Look at the status of each such flight."""
        due = [flight for flight in flights(trip) if str(flight.get("date")) <= TODAY]
        return any(world.status(flight) == self.status for flight in due)


@dataclass(frozen=True, slots=True)
class Clashing:
    """It is on a day on which the user will be elsewhere, and has another reservation that fits."""

    plans: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    """Dates, each with the places (as airports) at which the user will be."""

    def holds(self, trip: Json, world: World) -> bool:
        """Return whether it is."""
        for date, places in self.plans:
            others = [other for other in world.trips() if other != trip]
            elsewhere = not self._fits(trip, date, places) and OnDate(date).holds(trip, world)
            if elsewhere and any(self._fits(other, date, places) for other in others):
                return True
        return False

    def _fits(self, trip: Json, date: str, places: tuple[tuple[str, ...], ...]) -> bool:
        that_day = [flight for flight in flights(trip) if flight.get("date") == date]
        touched = {flight.get(end) for flight in that_day for end in ("origin", "destination")}
        return bool(that_day) and all(touched.intersection(place) for place in places)


@dataclass(frozen=True, slots=True)
class Lasting:
    """One flight takes longer than a time (or every one takes at most a time)."""

    hours: int
    longer: bool

    def holds(self, trip: Json, world: World) -> bool:
        """Look up the schedule of each flight."""
        spans = [duration([world.flight(flight)]) for flight in flights(trip)]
        if not self.longer:
            return all(span <= self.hours * 60 for span in spans)
        return any(span > self.hours * 60 for span in spans)


@dataclass(frozen=True, slots=True)
class Trips:
    """The reservations that are meant: those whose numbers are said, or all that meet the conditions."""

    said: tuple[str, ...] = ()
    conditions: tuple[TripCondition, ...] = ()
    newest: bool | None = None
    """Of those, the one booked last (True), or the last of the user's list (False), or all (None)."""

    def of(self, world: World) -> list[Json]:
        """Return them; NoMatch where there are none."""
        trips = [world.trip(one) for one in self.said] if self.said else world.trips()
        found = [trip for trip in trips if self._meets(trip, world)]
        if not found:
            raise NoMatch("no such reservation")
        if self.newest is None:
            return found
        return [max(found, key=lambda t: str(t.get("created_at")))] if self.newest else found[-1:]

    def _meets(self, trip: Json, world: World) -> bool:
        try:
            return all(condition.holds(trip, world) for condition in self.conditions)
        except NoMatch:  # what is not there (an emptied list, a flight that has left) meets nothing
            return False

    def one(self, world: World) -> Json:
        """Return the only one; NoMatch where there are more."""
        found = self.of(world)
        if len(found) != 1:
            raise NoMatch("more than one such reservation")
        return found[0]
