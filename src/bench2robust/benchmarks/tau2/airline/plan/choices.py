"""The compiler's search for flights, payment methods and passengers: those the words hold a cue for, first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date as Date
from functools import partial
from itertools import product
from typing import Any

from .choosing import find_trips, selects
from .draft import Draft
from .itineraries import EndOf, Places, SaidPlaces, SameFlights, Searched
from .journeys import (
    Find,
    Journey,
    Keep,
    LegChoice,
    Rank,
    Request,
    Shifted,
    Spoken,
    Stops,
    Window,
    arrival,
    legs,
    numbers,
)
from .paying import CARD, GIFT, AsFor, Kind, OfKind, Original, Payer, Pick, Possible, methods
from .persons import Everyone, Me, Named, Nth, Persons, Saved, Told
from .policy import people
from .speech import Speech
from .trips import Trips
from .wishes import Legs, Rebook
from .world import Json

Graded = tuple[Any, bool]
"""A candidate, and whether the user's words hold a cue for it."""

_RANKS = (
    (Rank.SECOND_CHEAPEST, r"second[- ](?:cheapest|lowest)"),
    (Rank.CHEAPEST, r"cheapest|lowest|least expensive|best price"),
    (Rank.FASTEST, r"fastest|shortest|quickest"),
    (Rank.ARRIVES_FIRST, r"arrives? (?:the )?(?:earliest|first|as early)"),
    (Rank.EARLIEST, r"earliest|first flight|morning"),
    (Rank.LATEST, r"latest|last flight|evening"),
    (Rank.DEAREST, r"most expensive"),
)
_GUESSES = (Rank.CHEAPEST, Rank.EARLIEST, Rank.LATEST, Rank.FASTEST)


def ranks(speech: Speech) -> list[Graded]:
    """Return the ranks to try: those said, none at all, then guesses."""
    said = [rank for rank, cue in _RANKS if speech.cue(cue)]
    if Rank.SECOND_CHEAPEST in said and speech.low.count("cheapest") < 2:
        said.remove(Rank.CHEAPEST)
    return [*((r, True) for r in said), (Rank.ONLY, True), *((r, False) for r in _GUESSES if r not in said)]


def stops(speech: Speech, journey: Journey) -> list[Graded]:
    """Return how many stops to try."""
    direct, one = speech.cue(r"non-?stop|\bdirect"), speech.cue(r"one[- ]stop|stop-?over|layover|connect")
    here = Stops.NONE if len(journey) == 1 else Stops.ONE
    found: list[Graded] = [(Stops.NONE, True)] if direct and here is Stops.NONE else []
    if one and here is Stops.ONE:
        found.append((Stops.ONE, True))
    return [*found, (Stops.ANY, True), *([] if found else [(here, False)])]


def days(speech: Speech, journey: Journey, current: str) -> list[Graded]:
    """Return the dates to try for a journey: as before, said, or some days later."""
    date = str(journey[0]["date"])
    found: list[Graded] = []
    if current == date:
        found.append((Shifted(), True))
    if any(said.value == date for said in speech.dates):
        found.append((Spoken(date), True))
    if current:
        shift = (Date.fromisoformat(date) - Date.fromisoformat(current)).days
        cue = (
            r"next day|day after|one day|a day|day later|tomorrow"
            if abs(shift) == 1
            else rf"\b{abs(shift)} days"
        )
        if shift:
            found.append((Shifted(shift), speech.cue(cue)))
    return sorted(found, key=lambda graded: not graded[1]) or [(Spoken(date), False)]


def finds(
    journey: Journey, request: Request, draft: Draft, *, late: Sequence[bool]
) -> list[tuple[Find, bool]]:
    """Return the searches that lead to a journey of gold, the best grounded first."""
    speech = draft.speech
    said = tuple(n for n in speech.flight_numbers if n in {f["flight_number"] for f in journey})
    windows = tuple(dict.fromkeys(Window(kind, clock) for kind, clock in speech.windows))
    found = []
    for (day, a), (stop, b), (rank, c) in product(
        days(speech, journey, request.current), stops(speech, journey), ranks(speech)
    ):
        for kept, not_before in product((windows, ()) if windows else ((),), late):
            find = Find(day, stop, rank, kept, said, not_before)
            given = draft.holds(partial(find.of, request))
            if given is not None and numbers(given) == numbers(journey):
                found.append((find, a and b and c and kept == windows))
    return sorted(found, key=lambda graded: not graded[1])


def leg_choices(
    trip: Json, wanted: Sequence[Journey], cabin: str, draft: Draft
) -> Iterator[tuple[tuple[LegChoice, ...], bool]]:
    """Give the choices for each leg of a change: kept where gold keeps it, else searched for."""
    options: list[list[tuple[LegChoice, bool]]] = []
    current, party = legs(trip), len(people(trip))
    for place, journey in enumerate(wanted):
        was = current[place] if place < len(current) else []
        if numbers(journey) == numbers(was):
            options.append([(Keep(), True)])
            continue
        ends = journey[0]["origin"], journey[-1]["destination"]
        request = Request(*ends, cabin, party, str(was[0]["date"]) if was else "")
        choices: list[tuple[LegChoice, bool]] = []
        if place and draft.speech.cue("same day"):
            same_day = replace(request, current=str(wanted[0][0]["date"]), after=arrival(wanted[0]))
            choices += finds(journey, same_day, draft, late=(True,))
        choices += finds(journey, request, draft, late=(False,))
        options.append(choices)
    yield from _combined(options)


def _combined(options: Sequence[Sequence[tuple[Any, bool]]]) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Give every combination: grounded ones first, and among them those that treat all legs alike."""
    found = []
    for chosen in product(*options):
        ways = {(f.stops, f.rank, f.windows) for f, _ in chosen if isinstance(f, Find)}
        found.append((not all(grounded for _, grounded in chosen), len(ways) > 1, chosen))
    for ungrounded, _, chosen in sorted(found, key=lambda one: one[:2]):
        yield tuple(choice for choice, _ in chosen), not ungrounded


# ── who pays ───────────────────────────────────────────────────────────────────────────────────
def payers(trip: Json, draft: Draft) -> Iterator[tuple[Payer, bool]]:
    """Give the methods that could pay for a change, the best grounded first."""
    speech, user = draft.speech, draft.truth.user
    cards = {str(m["id"]): str(m.get("last_four") or "") for m in methods(user)}
    for said in speech.literals(cards):
        yield OfKind(Kind(said.value.rpartition("_")[0], said=said.value)), True
    for digits in speech.last_four(cards):
        yield OfKind(Kind(CARD, last_four=digits)), True
    if speech.cue(r"original|same (?:payment|card|method)"):
        yield Original(), True
    for source, cue in ((GIFT, r"gift card|\bgcs?\b"), (CARD, r"credit card|\bcard\b(?<!gift card)|\bcc\b")):
        if speech.cue(cue):
            yield from (
                (OfKind(Kind(source, brand=speech.brand() if source == CARD else ""), which), True)
                for which in picks(speech, source)
            )
    yield Possible(), True
    for earlier in reversed(draft.wishes):
        if isinstance(earlier, Rebook):
            yield AsFor(earlier.payer, earlier), True
    yield Original(), False
    yield from ((OfKind(Kind(source), which), False) for source in (GIFT, CARD) for which in Pick)
    yield Possible(Pick.FIRST), False


def picks(speech: Speech, source: str) -> list[Pick]:
    """Return which of several methods of a kind to try."""
    small = speech.cue(r"small(?:er|est)|lowest balance|least")
    large = speech.cue(r"larg(?:er|est)|highest|biggest|bigger|as much as possible")
    if source == CARD:
        return [Pick.ONLY]
    return [*([Pick.SMALLEST] if small else []), *([Pick.LARGEST] if large else []), Pick.ONLY]


# ── who travels ────────────────────────────────────────────────────────────────────────────────
def passengers(
    wanted: Sequence[Json], trips: Trips | None, draft: Draft
) -> tuple[tuple[Persons, ...], bool] | None:
    """Return selectors that give the passengers of gold, and whether the words hold their cues."""
    test = _gives(wanted, draft)
    if trips is not None and test((Everyone(trips),)):
        return (Everyone(trips),), True
    chosen, grounded = [], True
    for place, one in enumerate(wanted):
        for candidate, cued in _persons(one, place, trips, draft):
            if _gives([one], draft)((candidate,)):
                chosen.append(candidate)
                grounded = grounded and cued
                break
        else:
            return None
    return tuple(chosen), grounded


def renamed(wanted: Sequence[Json], trips: Trips, draft: Draft) -> tuple[tuple[Persons, ...], bool] | None:
    """Return selectors for the new passengers of a reservation, one of them changed or all chosen anew."""
    now = people(trips.one(draft.world))
    changed = [(old, new) for old, new in zip(now, wanted, strict=False) if old != new]
    if len(now) == len(wanted) and len(changed) == 1:
        old, new = changed[0]
        first, last, dob = (
            new[key] if new[key] != old[key] else "" for key in ("first_name", "last_name", "dob")
        )
        said = draft.speech.person(old["first_name"]) and all(
            part in draft.speech.text for part in (first, last, dob)
        )
        name = (old["first_name"], old["last_name"])
        full = draft.speech.person(*name)
        candidate = Named(trips, name if full else (name[0], ""), first, last, dob)
        if said and _gives(wanted, draft)((candidate,)):
            return (candidate,), True
    return passengers(wanted, trips, draft)


def _gives(wanted: Sequence[Json], draft: Draft) -> Callable[[Sequence[Persons]], bool]:
    def gives(chosen: Sequence[Persons]) -> bool:
        found = draft.holds(lambda world: [one for persons in chosen for one in persons.of(world)])
        return found == [dict(one) for one in wanted]

    return gives


def _persons(one: Json, place: int, trips: Trips | None, draft: Draft) -> Iterator[tuple[Persons, bool]]:
    speech, first, last, dob = draft.speech, one["first_name"], one["last_name"], one["dob"]
    yield Me(), True
    if speech.person(first):
        yield Saved(first, last if speech.person(first, last) else ""), True
    if speech.person(first, last) and dob in speech.text:
        yield Told(first, last, dob), True
    if trips is None:
        return
    yield Nth(trips, place), True
    told = tuple(part if part in speech.text else "" for part in (first, last, dob))
    for at in range(5):
        yield Nth(trips, at, *told), speech.person(first)


# ── where a booking goes ───────────────────────────────────────────────────────────────────────
def reference(journeys: Sequence[Journey], draft: Draft) -> Iterator[Trips]:
    """Give the reservations of the user that a booking could take something from."""
    for earlier in draft.wishes:
        trips = getattr(earlier, "trips", None)
        if isinstance(trips, Trips):
            yield trips
    ends = journeys[0][0]["origin"], journeys[0][-1]["destination"]
    wanted = {f["flight_number"] for journey in journeys for f in journey}
    for trip in draft.truth.trips():
        shares = any(f["flight_number"] in wanted for f in trip["flights"])
        if shares or (trip["origin"], trip["destination"]) == ends:
            found = find_trips([trip], draft, selects([trip], draft))
            if found is not None and found[1]:
                yield found[0]


def booked_legs(
    journeys: Sequence[Journey], cabin: str, party: int, trips: Trips | None, draft: Draft
) -> Iterator[tuple[Legs, bool]]:
    """Give the ways in which a booking's flights could be meant."""
    speech = draft.speech
    ends = journeys[0][0]["origin"], journeys[0][-1]["destination"]
    if trips is not None and speech.cue(r"\bsame\b"):
        yield SameFlights(trips), True
        for said in speech.dates:
            for leg in (0, 1):
                yield SameFlights(trips, leg, Spoken(said.value)), True
    current = [str(leg[0]["date"]) for leg in legs(trips.one(draft.world))] if trips else []
    options = []
    for place, journey in enumerate(journeys):
        there = journey[0]["origin"], journey[-1]["destination"]
        after = arrival(journeys[place - 1]) if place else None
        request = Request(*there, cabin, party, current[place] if place < len(current) else "", after)
        options.append(finds(journey, request, draft, late=(False, True) if place else (False,)))
    for where, known in _ends(ends, trips, speech):
        for chosen, cued in _combined(options):
            yield Searched(*where, chosen, trips), known and cued


def _ends(
    ends: tuple[str, str], trips: Trips | None, speech: Speech
) -> list[tuple[tuple[Places, Places], bool]]:
    options: list[list[Places]] = []
    for code, end in zip(ends, ("origin", "destination"), strict=True):
        said: list[Places] = [SaidPlaces(airports) for airports in speech.airports_for(code)]
        options.append(said + ([EndOf(trips, end)] if trips else []))
    return [((origin, destination), True) for origin, destination in product(*options)]
