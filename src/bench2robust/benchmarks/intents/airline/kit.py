"""Draws airline errands: valid workflows of one to three writes on the stock database, and their words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date as Date
from typing import Any

from bench2robust.benchmarks.intents.wishes import Detail, Errand, Person, Refused, Wish
from bench2robust.benchmarks.tau2.airline.plan.policy import BAG_FEE, COMPENSATION, fare, free_bags
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall

from .frames import (
    BAGS,
    BOOK,
    CANCEL,
    CITIES,
    COMPENSATE,
    COVERED,
    FIRST_NAMES,
    FRAMES,
    LAST_NAMES,
    OTHER,
    REBOOK,
    RENAME,
    SUBJECTS,
)

Json = dict[str, Any]

TOMORROW = "2024-05-16"
"""Trips from here on have not begun; the policy's current time is 2024-05-15 15:00."""
_FREE_CANCELLATION = "2024-05-14T15:00:00"
"""Bookings from here on may be cancelled for any reason."""
_COUNTS = (45, 38, 17)
"""Weights of one to three writes."""
_KINDS = (CANCEL, "cabin", "cabin", "date", BAGS, BAGS, RENAME, BOOK, COMPENSATE)
_CABINS = {"basic_economy": "basic economy", "economy": "economy", "business": "business class"}


class AirlineKit:
    """What the generator asks for of a domain (`generate.Kit`), on an airline database."""

    domain = "airline"

    def __init__(self, db: Mapping[str, Mapping[str, Json]]) -> None:
        self.db = db
        self.people: Sequence[str] = sorted(u for u, user in db["users"].items() if user["reservations"])

    def trips(self, user_id: str) -> list[Json]:
        """Return a user's reservations."""
        return [self.db["reservations"][r] for r in self.db["users"][user_id]["reservations"]]

    def errand(self, draws: Draws, user_id: str) -> Errand | None:
        """Draw an errand of a user; None where the draw is not possible or cannot be said uniquely."""
        wishes: list[Wish] = []
        about: set[str] = set()
        for kind in self._kinds(draws):
            wish = self.wish(draws, user_id, kind)
            if wish is None:
                return None
            number = str(wish.call.arguments.get("reservation_id"))
            if number in about:
                return None
            about.add(number)
            wishes.append(wish)
        return Errand(self.person(user_id, draws), tuple(wishes))

    def rather(self, draws: Draws, errand: Errand) -> Wish | None:
        """Draw another valid wish of the same user: what they say first, before they change their mind."""
        wish = self.wish(draws, errand.person.user_id, draws.choice(_KINDS))
        return None if wish is None or wish.call in [w.call for w in errand.wishes] else wish

    def refused(self, draws: Draws, user_id: str) -> Refused | None:
        """Draw a cancellation that the policy forbids."""
        trips = self.trips(user_id)
        trip = draws.choice(trips)
        if not _upcoming(trip) or self.refundable(trip, covered=False):
            return None
        details = {"trip": which_trip(trip, trips, draws), "reason": Detail(" " + draws.choice(OTHER)[0])}
        wish = Wish(ToolCall(CANCEL, {"reservation_id": trip["reservation_id"]}), FRAMES[CANCEL], details)
        forbidden = {"reservation_id": trip["reservation_id"]}
        return Refused(
            Errand(self.person(user_id, draws), ()), wish, "not_refundable", forbidden, {"user_id": user_id}
        )

    def refundable(self, trip: Json, *, covered: bool) -> bool:
        """Whether the policy lets a trip that has not begun be cancelled."""
        insured = covered and trip["insurance"] == "yes"
        return bool(insured or trip["cabin"] == "business" or trip["created_at"] >= _FREE_CANCELLATION)

    def person(self, user_id: str, draws: Draws) -> Person:
        """Say who the user is; the airline asks for the user id."""
        known = draws.choice(
            ("Your user id is {}.", "You know that your user id is {}.", "You are registered as {}.")
        )
        unknown = draws.choice(
            ("You do not know what the change costs.", "You do not have your papers at hand.")
        )
        return Person(user_id, known.format(user_id), unknown)

    def wish(self, draws: Draws, user_id: str, kind: str) -> Wish | None:
        """Draw the arguments and the words of one write; None where they cannot be said uniquely."""
        user = self.db["users"][user_id]
        made = _DRAW[kind](self, draws, user, self.trips(user_id))
        if made is None:
            return None
        tool, arguments, details = made
        return Wish(ToolCall(tool, arguments), FRAMES[kind], details, SUBJECTS[kind])

    def _kinds(self, draws: Draws) -> list[str]:
        wanted, kinds = draws.weighted(_COUNTS) + 1, list[str]()
        for _ in range(4 * wanted):
            kind = draws.choice(_KINDS)
            if kind not in kinds and not ({kind, *kinds} >= {"cabin", "date"}):
                kinds.append(kind)
            if len(kinds) == wanted:
                break
        return kinds

    def offers(self, origin: str, destination: str, date: str, cabin: str, party: int) -> list[Json]:
        """Return the direct flights of a route on a day that have the seats, the cheapest first."""
        found = []
        for flight in self.db["flights"].values():
            day = flight["dates"].get(date) or {}
            if (flight["origin"], flight["destination"]) != (origin, destination):
                continue
            if day.get("status") == "available" and day["available_seats"][cabin] >= party:
                found.append({**flight, "date": date, "price": day["prices"][cabin]})
        return sorted(found, key=lambda flight: (flight["price"], flight["flight_number"]))

    def status(self, flight: Json) -> str:
        """Return the status of a flight of a reservation."""
        day = self.db["flights"][flight["flight_number"]]["dates"].get(flight["date"]) or {}
        return str(day.get("status"))


Made = tuple[str, dict[str, Any], dict[str, Detail]]
"""Tool, arguments, and the words for each detail of them."""


# ── which reservation, which method ────────────────────────────────────────────────────────────
def which_trip(trip: Json, trips: Sequence[Json], draws: Draws) -> Detail:
    """Describe one of a user's reservations so that it fits no other."""
    text, answer = draws.choice(list(_descriptions(trip, trips)))
    return Detail(
        text, draws.choice(("one of your trips", "a reservation of yours")), answer if len(trips) > 1 else ""
    )


def _descriptions(trip: Json, trips: Sequence[Json]) -> Iterator[tuple[str, str]]:
    number = trip["reservation_id"]
    yield f"reservation {number}", f"It is reservation {number}"
    ends, leaves = (trip["origin"], trip["destination"]), trip["flights"][0]["date"]
    said = f"from {_city(ends[0])} to {_city(ends[1])}"
    if [(t["origin"], t["destination"]) for t in trips].count(ends) == 1:
        yield f"your trip {said}", f"It is the trip {said}"
    if sum(any(f["date"] == leaves for f in t["flights"]) for t in trips) == 1:
        yield f"your trip that leaves on {_day(leaves)}", f"It is the trip that leaves on {_day(leaves)}"
        yield f"your trip {said} on {_day(leaves)}", f"It is the one {said} on {_day(leaves)}"


def _city(code: str) -> str:
    return CITIES.get(code, code)


def _day(date: str) -> str:
    return f"May {Date.fromisoformat(date).day}"


def _upcoming(trip: Json) -> bool:
    return trip.get("status") != "cancelled" and min(f["date"] for f in trip["flights"]) >= TOMORROW


def _method(user: Json, due: float, draws: Draws) -> tuple[str, Detail] | None:
    """Choose a method that can pay, and name it; None where the name fits several."""
    methods = list(user["payment_methods"].values())
    usable = [
        m
        for m in methods
        if m["source"] == "credit_card" or (m["source"] == "gift_card" and m["amount"] >= due)
    ]
    if not usable:
        return None
    method = draws.choice(usable)
    alike = [m for m in methods if m["source"] == method["source"]]
    if method["source"] == "credit_card":
        said = f"your credit card ending in {method['last_four']}"
        if len(alike) == 1 and draws.uniform() < 0.5:
            said = "your credit card"
    elif len(alike) == 1:
        said = "your gift card"
    else:
        said = f"your gift card {method['id']}"
    spoken = draws.choice((", paying with {}", " and use {} for it", ", to be settled with {}"))
    answer = f"Use {said}" if len(usable) > 1 else ""
    return str(method["id"]), Detail(spoken.format(said), "", answer)


# ── kinds of wish ──────────────────────────────────────────────────────────────────────────────
def _cancel(kit: AirlineKit, draws: Draws, user: Json, trips: Sequence[Json]) -> Made | None:
    covered = draws.uniform() < 0.6
    allowed = [t for t in trips if _upcoming(t) and kit.refundable(t, covered=covered)]
    if not allowed:
        return None
    trip = draws.choice(allowed)
    said, answer = draws.choice(COVERED if covered else OTHER)
    details = {"trip": which_trip(trip, trips, draws), "reason": Detail(f" {said}", "", answer)}
    return CANCEL, {"reservation_id": trip["reservation_id"]}, details


def _cabin(kit: AirlineKit, draws: Draws, user: Json, trips: Sequence[Json]) -> Made | None:
    trip = draws.choice(trips)
    cabin = draws.choice([c for c in _CABINS if c != trip["cabin"]])
    party, total = len(trip["passengers"]), 0
    if not _upcoming(trip):
        return None
    for flight in trip["flights"]:
        day = kit.db["flights"][flight["flight_number"]]["dates"].get(flight["date"]) or {}
        if day.get("status") != "available" or day["available_seats"][cabin] < party:
            return None
        total += day["prices"][cabin]
    method = _method(user, total * party - fare(trip), draws)
    if method is None:
        return None
    said = _CABINS[cabin]
    details = {
        "trip": which_trip(trip, trips, draws),
        "cabin": Detail(said, "another cabin", f"I would like to change to {said}"),
        "payment": method[1],
    }
    return REBOOK, _flights(trip, cabin, trip["flights"], method[0]), details


def _flights(trip: Json, cabin: str, flights: Sequence[Json], method: str) -> dict[str, Any]:
    return {
        "reservation_id": trip["reservation_id"],
        "cabin": cabin,
        "flights": [{"flight_number": f["flight_number"], "date": f["date"]} for f in flights],
        "payment_id": method,
    }


def _date(kit: AirlineKit, draws: Draws, user: Json, trips: Sequence[Json]) -> Made | None:
    trip = draws.choice(trips)
    party, date = len(trip["passengers"]), f"2024-05-{17 + draws.index(13)}"
    if not _upcoming(trip) or trip["flight_type"] != "one_way" or trip["cabin"] == "basic_economy":
        return None
    offers = kit.offers(trip["origin"], trip["destination"], date, trip["cabin"], party)
    if date == trip["flights"][0]["date"] or not _cheapest_is_one(offers):
        return None
    method = _method(user, offers[0]["price"] * party - fare(trip), draws)
    if method is None:
        return None
    details = {
        "trip": which_trip(trip, trips, draws),
        "date": Detail(_day(date), "another day", f"It should be {_day(date)}"),
        "payment": method[1],
    }
    return REBOOK, _flights(trip, trip["cabin"], offers[:1], method[0]), details


def _cheapest_is_one(offers: Sequence[Json]) -> bool:
    return bool(offers) and [o["price"] for o in offers].count(offers[0]["price"]) == 1


def _bags(kit: AirlineKit, draws: Draws, user: Json, trips: Sequence[Json]) -> Made | None:
    trip, more = draws.choice(trips), draws.index(3) + 1
    if not _upcoming(trip):
        return None
    total = trip["total_baggages"] + more
    extra = max(0, total - free_bags(user, trip["cabin"], len(trip["passengers"])))
    if extra < trip["nonfree_baggages"]:
        return None
    method = _method(user, BAG_FEE * (extra - trip["nonfree_baggages"]), draws)
    if method is None:
        return None
    said = f"{('one', 'two', 'three')[more - 1]} more checked bag{'s' if more > 1 else ''}"
    details = {
        "trip": which_trip(trip, trips, draws),
        "bags": Detail(said, "more baggage", f"I want {said}"),
        "payment": method[1],
    }
    arguments = {"total_baggages": total, "nonfree_baggages": extra, "payment_id": method[0]}
    return BAGS, {"reservation_id": trip["reservation_id"], **arguments}, details


def _rename(kit: AirlineKit, draws: Draws, user: Json, trips: Sequence[Json]) -> Made | None:
    trip = draws.choice(trips)
    party = [dict(person) for person in trip["passengers"]]
    place = draws.index(len(party))
    old = party[place]
    if not _upcoming(trip) or [p["first_name"] for p in party].count(old["first_name"]) > 1:
        return None
    new = {
        "first_name": draws.choice(FIRST_NAMES),
        "last_name": draws.choice(LAST_NAMES),
        "dob": _birthday(draws),
    }
    party[place] = new
    said = (
        f"instead of {old['first_name']} {old['last_name']} it should be {new['first_name']} {new['last_name']}, "
        f"born {new['dob']}"
    )
    details = {
        "trip": which_trip(trip, trips, draws),
        "passenger": Detail(said, "you will say who", said[:1].upper() + said[1:]),
    }
    return RENAME, {"reservation_id": trip["reservation_id"], "passengers": party}, details


def _birthday(draws: Draws) -> str:
    return f"{1950 + draws.index(50)}-{draws.index(12) + 1:02d}-{draws.index(28) + 1:02d}"


def _book(kit: AirlineKit, draws: Draws, user: Json, trips: Sequence[Json]) -> Made | None:
    flight = draws.choice(sorted(kit.db["flights"].values(), key=lambda f: str(f["flight_number"])))
    ends, date, cabin = (
        (flight["origin"], flight["destination"]),
        f"2024-05-{17 + draws.index(13)}",
        draws.choice(list(_CABINS)),
    )
    offers = kit.offers(*ends, date, cabin, 1)
    if not _cheapest_is_one(offers):
        return None
    price = offers[0]["price"]
    cards = [m for m in user["payment_methods"].values() if m["source"] == "credit_card"]
    if not cards:
        return None
    card = draws.choice(cards)
    said = f"your credit card ending in {card['last_four']}"
    route = f"from {_city(ends[0])} to {_city(ends[1])}"
    details = {
        "route": Detail(route),
        "date": Detail(_day(date), "a day that you still have to name", f"It should be {_day(date)}"),
        "cabin": Detail(
            _CABINS[cabin], "a cabin that you still have to name", f"I would like to book {_CABINS[cabin]}"
        ),
        "payment": Detail(f", paying with {said}", "", f"Use {said}" if len(cards) > 1 else ""),
    }
    arguments = {
        "user_id": user["user_id"],
        "origin": ends[0],
        "destination": ends[1],
        "flight_type": "one_way",
        "cabin": cabin,
        "flights": [{"flight_number": offers[0]["flight_number"], "date": date}],
        "passengers": [{**user["name"], "dob": user["dob"]}],
        "payment_methods": [{"payment_id": card["id"], "amount": price}],
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
    }
    return BOOK, arguments, details


def _compensate(kit: AirlineKit, draws: Draws, user: Json, trips: Sequence[Json]) -> Made | None:
    trip = draws.choice(trips)
    disturbed = {kit.status(f) for f in trip["flights"]} & set(COMPENSATION)
    entitled = user["membership"] != "regular" or trip["insurance"] == "yes" or trip["cabin"] == "business"
    if len(disturbed) != 1 or not entitled:
        return None
    (status,) = disturbed
    amount = COMPENSATION[status] * len(trip["passengers"])
    details = {"trip": which_trip(trip, trips, draws), "status": Detail(status)}
    return COMPENSATE, {"user_id": user["user_id"], "amount": amount}, details


_DRAW: dict[str, Callable[[AirlineKit, Draws, Json, Sequence[Json]], Made | None]] = {
    CANCEL: _cancel,
    "cabin": _cabin,
    "date": _date,
    BAGS: _bags,
    RENAME: _rename,
    BOOK: _book,
    COMPENSATE: _compensate,
}
