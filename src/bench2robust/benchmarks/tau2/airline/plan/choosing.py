"""The compiler's search for the reservations that the user means."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from bench2robust.benchmarks.tau2.plan.search import Extra, fewest

from .draft import Draft
from .policy import flights, people
from .speech import Speech
from .trips import (
    Carries,
    CarriesUser,
    Clashing,
    Disturbed,
    From,
    HasFlight,
    InCabin,
    Lasting,
    OnDate,
    Party,
    RoundTrip,
    To,
    TripCondition,
    Trips,
    Upcoming,
)
from .world import Json, NoMatch

_ALONE = r"only (?:have|has) one passenger|one passenger|single passenger|travel(?:ing|ling)? alone"
_NEWEST = r"(?:most recent|latest|\brecent|\blast) (?:reservation|flight|trip|booking)"


def find_trips(
    wanted: Sequence[Json], draft: Draft, fits: Callable[[Trips], bool], *, disturbed: str = ""
) -> tuple[Trips, bool] | None:
    """Return a selector of reservations for which `fits` holds, and whether the words hold its cues.

    Args:
        wanted: the reservations that gold is about.
        draft: the task.
        fits: whether a selector leads where gold leads.
        disturbed: the status of a flight that the user complains about.
    """
    for said in _said(wanted, draft):
        if fits(said):
            return said, True
    base = _conditions(wanted, draft)
    if disturbed:
        base.append(Disturbed(disturbed))
    for newest in (True, False, None) if len(wanted) == 1 and draft.speech.cue(_NEWEST) else (None,):
        if fits(selector := Trips((), tuple(base), newest)):
            return selector, True
    found = fewest(base, _extras(wanted, draft), lambda chosen: fits(Trips((), chosen)))
    if found is not None:
        return Trips((), found.conditions), found.grounded
    named = Trips(tuple(str(trip["reservation_id"]) for trip in wanted))
    return (named, False) if fits(named) and _all_said(named.said, draft.speech) else None


def selects(wanted: Sequence[Json], draft: Draft) -> Callable[[Trips], bool]:
    """Return the test whether a selector gives exactly these reservations."""
    ids = [trip["reservation_id"] for trip in wanted]

    def fits(trips: Trips) -> bool:
        try:
            return sorted(str(t.get("reservation_id")) for t in trips.of(draft.world)) == sorted(ids)
        except NoMatch:
            return False

    return fits


def _all_said(ids: Sequence[str], speech: Speech) -> bool:
    return len(speech.literals(ids)) == len(ids)


def _said(wanted: Sequence[Json], draft: Draft) -> Iterator[Trips]:
    """Give the numbers that are said: all of which the same is to be done, then gold's alone."""
    ids = [str(trip["reservation_id"]) for trip in wanted]
    if not _all_said(ids, draft.speech):
        return
    said = draft.speech.literals([*draft.truth.user["reservations"]])
    verbs = {one.value: draft.speech.verb(one.at) for one in said}
    yield Trips(tuple(one for one, verb in verbs.items() if verb in {verbs.get(i) for i in ids}))
    yield Trips(tuple(ids))


def _conditions(wanted: Sequence[Json], draft: Draft) -> list[TripCondition]:
    """Return what the words say of the reservations that is true of them; cheap conditions come first."""
    speech = draft.speech
    found: list[TripCondition] = []
    if speech.cue(r"upcoming|future|coming up"):
        found.append(Upcoming())
    for _, airports in speech.places:
        found += [From(airports), To(airports)]
    for said in speech.dates:
        leaves = all(flights(trip)[0]["date"] == said.value for trip in wanted)
        found.append(OnDate(said.value, leaves))
    found += [InCabin(cabin.value) for cabin in speech.cabins() if _describes(speech, cabin.at)]
    if speech.cue(_ALONE):
        found.append(Party(1))
    if speech.cue(r"yourself|your own name"):
        found.append(CarriesUser())
    found += [HasFlight(number) for number in speech.flight_numbers]
    found += [RoundTrip(kind) for cue, kind in _KINDS if speech.cue(cue)]
    for match in re.finditer(
        r"(longer|more) than (\d+) hours|(?:at most|less than|within) (\d+) hours", speech.low
    ):
        found.append(Lasting(int(match[2] or match[3]), longer=bool(match[1])))
    plans = _whereabouts(speech)
    if plans:
        found.append(Clashing(plans))
    unique = list(dict.fromkeys(found))
    true = [c for c in unique if all(draft.holds(partial(c.holds, t)) for t in wanted)]
    return [c for c in true if not (isinstance(c, From | To) and _wider(c, true))]


_KINDS = ((r"round[- ]?trip", "round_trip"), (r"one[- ]?way", "one_way"))


def _describes(speech: Speech, at: int) -> bool:
    """Whether a cabin that is said says which reservations, not what they shall become."""
    before, after = speech.low[max(0, at - 20) : at], speech.low[at : at + 40]
    return not re.search(r"\b(?:to|into|for|a|in)\s+(?:the\s+)?$", before) and bool(
        re.search(r"^\w+(?: economy| class)? (?:class )?(?:flight|reservation|trip|booking)", after)
    )


def _wider(condition: From | To, others: Sequence[TripCondition]) -> bool:
    """Whether another condition of the kind, on fewer airports, is there too."""
    return any(
        type(other) is type(condition) and set(other.airports) < set(condition.airports)
        for other in others
        if isinstance(other, From | To)
    )


def _whereabouts(speech: Speech) -> tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]:
    """Return the dates for which the user says where they will be, with the places."""
    if not speech.cue(r"will be"):
        return ()
    found, before = [], speech.low.find("will be")
    for said in (one for one in speech.dates if one.at > before):
        places = tuple(airports for at, airports in speech.places if before <= at < said.at)
        if places:
            found.append((said.value, places))
        before = said.at
    return tuple(found)


def _extras(wanted: Sequence[Json], draft: Draft) -> list[Extra[TripCondition]]:
    """Return what is true of the reservations, whether or not the words say so."""
    first, speech, own = wanted[0], draft.speech, draft.truth.user["name"]["first_name"]
    extras: list[Extra[TripCondition]] = [
        Extra(
            Carries(p["first_name"], p["last_name"]),
            p["first_name"] != own and speech.person(p["first_name"]),
        )
        for p in people(first)
    ]
    extras += [Extra(Upcoming(), grounded=speech.cue("flight|trip"))]
    extras += [
        Extra(InCabin(first["cabin"]), grounded=False),
        Extra(Party(len(people(first))), grounded=False),
    ]
    extras += [Extra(RoundTrip(first["flight_type"]), grounded=False)]
    extras += [
        Extra(From((first["origin"],)), grounded=False),
        Extra(To((first["destination"],)), grounded=False),
    ]
    extras += [Extra(OnDate(flights(first)[0]["date"], leaves=True), grounded=False)]
    return extras
