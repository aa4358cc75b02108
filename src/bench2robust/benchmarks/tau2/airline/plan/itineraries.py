"""The flights of a booking: searched for between places that are said, or taken from a reservation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .journeys import Find, Journey, Rank, Request, Spoken, arrival, duration, legs, price
from .trips import Trips
from .world import NoMatch, World


class Places(Protocol):
    """Airports of origin or destination."""

    def of(self, world: World) -> tuple[str, ...]:
        """Return those that will do."""
        ...


@dataclass(frozen=True, slots=True)
class SaidPlaces:
    """Airports that the user's words give."""

    airports: tuple[str, ...]

    def of(self, world: World) -> tuple[str, ...]:
        """Return them."""
        return self.airports


@dataclass(frozen=True, slots=True)
class EndOf:
    """Where a reservation starts, or goes."""

    trips: Trips
    end: str
    """``origin`` or ``destination``."""

    def of(self, world: World) -> tuple[str, ...]:
        """Return it."""
        return (str(self.trips.one(world).get(self.end)),)


@dataclass(frozen=True, slots=True)
class Searched:
    """Legs to be searched for, between the pair of places for which they are best together."""

    origins: Places
    destinations: Places
    finds: tuple[Find, ...]
    dates: Trips | None = None
    """The reservation whose dates are kept, where they are."""

    def of(self, cabin: str, party: int, world: World) -> list[Journey]:
        """Return the legs."""
        found = []
        pairs = [(o, d) for o in self.origins.of(world) for d in self.destinations.of(world)]
        for origin, destination in pairs:
            try:
                found.append(self._between((origin, destination), cabin, party, world))
            except NoMatch:
                if len(pairs) == 1:
                    raise
        if not found:
            raise NoMatch("no flights fit")
        if self.finds[0].rank is Rank.FASTEST:
            return min(found, key=lambda js: sum(map(duration, js)))
        return min(found, key=lambda js: sum(price(j, cabin) for j in js))

    def _between(self, ends: tuple[str, str], cabin: str, party: int, world: World) -> list[Journey]:
        current = [str(leg[0].get("date")) for leg in legs(self.dates.one(world))] if self.dates else []
        journeys: list[Journey] = []
        for place, find in enumerate(self.finds):
            date = current[place] if place < len(current) else ""
            after = arrival(journeys[-1]) if journeys else None
            origin, destination = ends if place == 0 else ends[::-1]
            journeys.append(find.of(Request(origin, destination, cabin, party, date, after), world))
        return journeys


@dataclass(frozen=True, slots=True)
class SameFlights:
    """The flights of a reservation, once more (on another date where one is said)."""

    trips: Trips
    leg: int | None = None
    """Only that leg."""
    day: Spoken | None = None

    def of(self, cabin: str, party: int, world: World) -> list[Journey]:
        """Return the legs with what they cost now."""
        parts = legs(self.trips.one(world))
        if (self.leg or 0) >= len(parts):
            raise NoMatch("no such leg in the reservation")
        wanted = parts if self.leg is None else parts[self.leg : self.leg + 1]
        found = []
        for journey in wanted:
            dated = [{**f, "date": self.day.date} for f in journey] if self.day else journey
            offered = [world.flight(flight) for flight in dated]
            if any(((f.get("available_seats") or {}).get(cabin) or 0) < party for f in offered):
                raise NoMatch(f"no seats in {cabin}")
            found.append(offered)
        return found
