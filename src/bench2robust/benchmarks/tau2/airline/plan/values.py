"""Values to tell the user, as expressions over delivered facts. Amounts are whole dollars, as in the database."""

from __future__ import annotations

from dataclasses import dataclass

from .journeys import price
from .paying import CARD, methods
from .policy import free_bags, paid, people
from .trips import Trips
from .wishes import Book, Cancel, Rebook
from .world import NoMatch, World


def dollars(amount: float) -> str:
    """Spell an amount without sign, and without decimals where it has none."""
    return f"{abs(amount):g}" if abs(amount) < 1e6 else str(abs(amount))


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many bags are free on a reservation."""

    trips: Trips

    def of(self, world: World) -> str:
        """Spell it."""
        trip = self.trips.one(world)
        return str(free_bags(world.user(), str(trip.get("cabin")), len(people(trip))))


@dataclass(frozen=True, slots=True)
class Carried:
    """How many bags a reservation has."""

    trips: Trips

    def of(self, world: World) -> str:
        """Spell it."""
        return str(self.trips.one(world).get("total_baggages"))


@dataclass(frozen=True, slots=True)
class Paid:
    """What reservations cost together."""

    trips: Trips

    def of(self, world: World) -> str:
        """Spell it."""
        return dollars(sum(paid(trip) for trip in self.trips.of(world)))


@dataclass(frozen=True, slots=True)
class Number:
    """How many reservations there are."""

    trips: Trips

    def of(self, world: World) -> str:
        """Spell it."""
        return str(len(self.trips.of(world)))


@dataclass(frozen=True, slots=True)
class Balance:
    """What is left on gift cards or certificates, together."""

    source: str

    def of(self, world: World) -> str:
        """Spell it."""
        found = [one.get("amount") or 0 for one in methods(world.user()) if one.get("source") == self.source]
        if not found:
            raise NoMatch(f"no {self.source}")
        return dollars(sum(found))


@dataclass(frozen=True, slots=True)
class Difference:
    """What changes of flights cost (or give back) together."""

    wishes: tuple[Rebook, ...]

    def of(self, world: World) -> str:
        """Spell it."""
        return dollars(sum(wish.due(trip, world) for wish in self.wishes for trip in wish.trips.of(world)))


@dataclass(frozen=True, slots=True)
class Refund:
    """What cancelling gives back."""

    wishes: tuple[Cancel, ...]

    def of(self, world: World) -> str:
        """Spell it."""
        trips = [trip for wish in self.wishes for trip in wish.trips.of(world)]
        rules = [wish.rule for wish in self.wishes for _ in wish.trips.of(world)]
        allowed = [t for t, rule in zip(trips, rules, strict=True) if rule is None or rule.holds(t, world)]
        return dollars(sum(map(paid, allowed)))


@dataclass(frozen=True, slots=True)
class Cost:
    """What bookings cost together."""

    wishes: tuple[Book, ...]

    def of(self, world: World) -> str:
        """Spell it."""
        return dollars(sum(wish.total(world) for wish in self.wishes))


@dataclass(frozen=True, slots=True)
class Charged:
    """What bookings charge to credit cards together (for one passenger: as if there were no others)."""

    wishes: tuple[Book, ...]
    alone: bool = False

    def of(self, world: World) -> str:
        """Spell it."""
        return dollars(sum(self._of(wish, world) for wish in self.wishes))

    def _of(self, wish: Book, world: World) -> float:
        user, total = world.user(), wish.total(world)
        if self.alone:
            total = sum(price(leg, wish.cabin) for leg in wish.journeys(world))
        cards = {one.get("id") for one in methods(user) if one.get("source") == CARD}
        return sum(float(str(p["amount"])) for p in wish.shares.of(total, user) if p["payment_id"] in cards)
