"""Kinds of change that an airline's user wants, decided from delivered facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bench2robust.benchmarks.tau2.plan.goals import Write
from bench2robust.core.tools import ToolCall

from .journeys import Find, Journey, Keep, LegChoice, Request, arrival, legs, numbers, price
from .paying import Payer, Shares
from .persons import Persons
from .policy import (
    BAG_FEE,
    COMPENSATION,
    INSURANCE_FEE,
    Refundable,
    fare,
    flights,
    flown,
    free_bags,
    may_be_compensated,
    people,
)
from .trips import Disturbed, Trips
from .world import Json, NoMatch, World, trip_fetch, user_fetch


class Wish(Protocol):
    """One kind of change that the user wants."""

    def writes(self, world: World) -> list[Write]:
        """Return the writes it takes; NoMatch where the facts do not say which, [] where denied."""
        ...


def _on_trip(trip: Json, world: World, call: ToolCall, happened: Callable[[Json], bool]) -> Write:
    verify = trip_fetch(str(trip.get("reservation_id")), world.known.user_id, "check")
    return Write(call, verify, lambda record: isinstance(record, dict) and happened(record))


def _on_user(world: World, call: ToolCall, happened: Callable[[Json], bool]) -> Write:
    return Write(
        call,
        user_fetch(world.known.user_id, "check"),
        lambda record: isinstance(record, dict) and happened(record),
    )


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel reservations."""

    trips: Trips
    rule: Refundable | None
    """When the policy allows it; None where gold does not ask."""

    def writes(self, world: World) -> list[Write]:
        """One write for each reservation that is meant and may be cancelled.

        One that is cancelled keeps its place: read again, it was this wish that did it.
        """
        found = []
        for trip in self.trips.of(world):
            gone = trip.get("status") == "cancelled"
            if gone or self.rule is None or self.rule.holds(trip, world):
                call = ToolCall("cancel_reservation", {"reservation_id": trip.get("reservation_id")})
                found.append(_on_trip(trip, world, call, lambda record: record.get("status") == "cancelled"))
        return found


@dataclass(frozen=True, slots=True)
class Rebook:
    """Change the flights or the cabin of reservations."""

    trips: Trips
    cabin: str
    """In the user's words; empty: as it is."""
    legs: tuple[LegChoice, ...]
    """For each leg; empty: every flight is kept."""
    payer: Payer
    between: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Airports of origin and destination where the user says others than the reservation's."""
    upgraded: bool = False
    """An earlier wish of the plan has taken the reservation out of basic economy."""

    def writes(self, world: World) -> list[Write]:
        """One write for each reservation that is meant and may be changed."""
        found = []
        for trip in self.trips.of(world):
            cabin = self.cabin_of(trip)
            if self._denied(trip, cabin, world):
                continue
            chosen = [flight for leg in self.journeys(trip, world) for flight in leg]
            arguments = {
                "reservation_id": trip.get("reservation_id"),
                "cabin": cabin,
                "flights": numbers(chosen),
                "payment_id": self.payer.of(trip, self.due(trip, world), world),
            }
            call = ToolCall("update_reservation_flights", arguments)
            found.append(_on_trip(trip, world, call, _flies(cabin, arguments["flights"])))
        return found

    def cabin_of(self, trip: Json) -> str:
        """Return the cabin that is wanted."""
        return self.cabin or str(trip.get("cabin"))

    def journeys(self, trip: Json, world: World) -> list[Journey]:
        """Return the flights wanted, leg by leg; a kept flight in a new cabin must have seats."""
        cabin, party = self.cabin_of(trip), len(people(trip))
        found: list[Journey] = []
        for place, leg in enumerate(legs(trip)):
            choice = self.legs[place] if place < len(self.legs) else Keep()
            if isinstance(choice, Find):
                found.append(choice.of(self._request(trip, place, leg, found, world), world))
            elif cabin == trip.get("cabin"):
                found.append(leg)
            else:
                offered = [world.flight(flight) for flight in leg]
                if any(((f.get("available_seats") or {}).get(cabin) or 0) < party for f in offered):
                    raise NoMatch(f"no seats in {cabin}")
                found.append(offered)
        return found

    def due(self, trip: Json, world: World) -> float:
        """Return what the change costs; below 0 is a refund."""
        cabin, total = self.cabin_of(trip), 0
        for flight in (flight for leg in self.journeys(trip, world) for flight in leg):
            total += flight["price"] if "prices" not in flight else price([flight], cabin)
        return total * len(people(trip)) - fare(trip)

    def _request(self, trip: Json, place: int, leg: Journey, before: list[Journey], world: World) -> Request:
        ends = [str(leg[0].get("origin")), str(leg[-1].get("destination"))]
        said = self.between if place == 0 else self.between[::-1]
        for i, airports in enumerate(said):
            if airports:
                ends[i] = airports[0]
        after = None
        if before:
            last = before[-1][-1]
            after = arrival([last]) or arrival([world.flight(last)])
        date = str((leg[0] if place == 0 or not self._same_day(place) else before[0][0]).get("date"))
        return Request(ends[0], ends[1], self.cabin_of(trip), len(people(trip)), date, after)

    def _same_day(self, place: int) -> bool:
        choice = self.legs[place]
        return isinstance(choice, Find) and choice.not_before

    def _denied(self, trip: Json, cabin: str, world: World) -> bool:
        moves = any(isinstance(leg, Find) for leg in self.legs)
        if trip.get("status") == "cancelled" or (cabin != trip.get("cabin") and flown(trip, world)):
            return True
        return moves and trip.get("cabin") == "basic_economy" and not self.upgraded


def _flies(cabin: str, wanted: object) -> Callable[[Json], bool]:
    return lambda trip: trip.get("cabin") == cabin and numbers(flights(trip)) == wanted


@dataclass(frozen=True, slots=True)
class Bags:
    """Change the number of checked bags."""

    trips: Trips
    number: int
    adds: bool
    """Whether so many come on top; else that is the new total."""
    payer: Payer
    cabin: str = ""
    """The cabin that an earlier wish of the plan has brought about; empty: as it is."""
    all_paid: bool = False
    """Every bag is paid for, where gold knows no allowance."""

    def writes(self, world: World) -> list[Write]:
        """One write for each reservation that is meant. Bags cannot be removed."""
        found = []
        for trip in self.trips.of(world):
            total, extra = self.total(trip), self.extra(trip, world)
            if total < (trip.get("total_baggages") or 0):
                continue
            arguments = {
                "reservation_id": trip.get("reservation_id"),
                "total_baggages": total,
                "nonfree_baggages": extra,
                "payment_id": self.payer.of(trip, self.due(trip, world), world),
            }
            call = ToolCall("update_reservation_baggages", arguments)
            found.append(_on_trip(trip, world, call, _carries(total, extra)))
        return found

    def total(self, trip: Json) -> int:
        """Return the number of bags wanted."""
        return self.number + (int(trip.get("total_baggages") or 0) if self.adds else 0)

    def extra(self, trip: Json, world: World) -> int:
        """Return how many of them are not free."""
        if self.all_paid:
            return self.total(trip)
        cabin = self.cabin or str(trip.get("cabin"))
        return max(0, self.total(trip) - free_bags(world.user(), cabin, len(people(trip))))

    def due(self, trip: Json, world: World) -> float:
        """Return what the bags cost."""
        return BAG_FEE * max(0, self.extra(trip, world) - (trip.get("nonfree_baggages") or 0))


def _carries(total: int, extra: int) -> Callable[[Json], bool]:
    return lambda trip: trip.get("total_baggages") == total and trip.get("nonfree_baggages") == extra


@dataclass(frozen=True, slots=True)
class Rename:
    """Change who travels."""

    trips: Trips
    persons: tuple[Persons, ...]

    def writes(self, world: World) -> list[Write]:
        """One write; the number of passengers cannot change."""
        trip = self.trips.one(world)
        wanted = [one for persons in self.persons for one in persons.of(world)]
        if len(wanted) != len(people(trip)):
            return []
        arguments = {"reservation_id": trip.get("reservation_id"), "passengers": wanted}
        call = ToolCall("update_reservation_passengers", arguments)
        return [_on_trip(trip, world, call, lambda record: record.get("passengers") == wanted)]


@dataclass(frozen=True, slots=True)
class Compensate:
    """Give a certificate for a cancelled or delayed flight."""

    trips: Trips
    status: str
    before: int = 0
    """How many wishes of the plan give certificates before."""

    def writes(self, world: World) -> list[Write]:
        """One write, once the facts are confirmed and where the policy allows it."""
        trip, user = self.trips.one(world), world.user()
        if not may_be_compensated(user, trip) or not Disturbed(self.status).holds(trip, world):
            return []
        amount = COMPENSATION[self.status] * len(people(trip))
        call = ToolCall("send_certificate", {"user_id": world.known.user_id, "amount": amount})
        known = set(user.get("payment_methods") or {})

        def happened(record: Json) -> bool:
            return len(set(record.get("payment_methods") or {}) - known) > self.before

        return [_on_user(world, call, happened)]


class Legs(Protocol):
    """Finds the flights of a booking."""

    def of(self, cabin: str, party: int, world: World) -> list[Journey]:
        """Return them, leg by leg."""
        ...


@dataclass(frozen=True, slots=True)
class Book:
    """Book a new reservation."""

    legs: Legs
    cabin: str
    """In the user's words."""
    persons: tuple[Persons, ...]
    shares: Shares
    bags: int | None = 0
    """None: as many as are free."""
    insurance: bool = False
    before: int = 0
    """How many wishes of the plan book before."""

    def writes(self, world: World) -> list[Write]:
        """One write."""
        user, travellers = world.user(), self.travellers(world)
        journeys = self.journeys(world)
        total, extra = self._bags(len(travellers), user)
        arguments = {
            "user_id": world.known.user_id,
            "origin": journeys[0][0].get("origin"),
            "destination": journeys[0][-1].get("destination"),
            "flight_type": "round_trip" if len(journeys) > 1 else "one_way",
            "cabin": self.cabin,
            "flights": numbers(flight for leg in journeys for flight in leg),
            "passengers": travellers,
            "payment_methods": self.shares.of(self.total(world), user),
            "total_baggages": total,
            "nonfree_baggages": extra,
            "insurance": "yes" if self.insurance else "no",
        }
        known = len(user.get("reservations") or [])
        call = ToolCall("book_reservation", arguments)
        return [_on_user(world, call, lambda u: len(u.get("reservations") or []) > known + self.before)]

    def travellers(self, world: World) -> list[dict[str, str]]:
        """Return the passengers."""
        return [one for persons in self.persons for one in persons.of(world)]

    def journeys(self, world: World) -> list[Journey]:
        """Return the flights, leg by leg."""
        return self.legs.of(self.cabin, len(self.travellers(world)), world)

    def total(self, world: World) -> int:
        """Return what the booking costs."""
        party = len(self.travellers(world))
        each = sum(price(leg, self.cabin) for leg in self.journeys(world)) + (
            INSURANCE_FEE if self.insurance else 0
        )
        return each * party + BAG_FEE * self._bags(party, world.user())[1]

    def _bags(self, party: int, user: Json) -> tuple[int, int]:
        if self.bags == 0:
            return 0, 0
        free = free_bags(user, self.cabin, party)
        total = free if self.bags is None else self.bags
        return total, max(0, total - free)
