"""Compiles a booking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product

from bench2robust.core.tools import ToolCall

from .choices import booked_legs, passengers, picks, reference
from .draft import CannotCompile, Draft
from .journeys import Journey, numbers, split
from .paying import CARD, CERTIFICATE, GIFT, Kind, Pick, Share, Shares, methods
from .speech import Speech
from .trips import Trips
from .wishes import Book, Legs
from .world import Json

MOST_GIFT_CARDS = 3
"""In one booking; one certificate and one credit card beside them (the policy's limits)."""


def book(calls: Sequence[ToolCall], draft: Draft) -> Book:
    """Compile a `book_reservation`."""
    gold = calls[0].arguments
    cabin, travellers = str(gold["cabin"]), list(gold["passengers"])
    journeys = _journeys(gold, draft)
    said = [one.value for one in draft.speech.cabins()]
    bags, bags_said = _bags(gold, draft)
    insurance = gold["insurance"] == "yes"
    before = sum(isinstance(wish, Book) for wish in draft.wishes)
    best: tuple[Book, list[str]] | None = None
    for trips in (None, *dict.fromkeys(reference(journeys, draft))):
        persons = passengers(travellers, trips, draft)
        legs = _legs(journeys, gold, trips, draft) if persons else None
        if persons is None or legs is None:
            continue
        for shares, paid in _shares(gold, draft):
            wish = Book(legs[0], cabin, persons[0], shares, bags, insurance, before)
            if not draft.fits(wish, calls):
                continue
            cues = {
                "flights": legs[1],
                "passengers": persons[1],
                "payment_methods": paid,
                "cabin": cabin in said or _cabin_of(trips, draft) == cabin,
                "total_baggages": bags_said,
                "insurance": draft.speech.cue("insurance") or not insurance,
            }
            lacking = [argument for argument, grounded in cues.items() if not grounded]
            if best is None or len(lacking) < len(best[1]):
                best = wish, lacking
            break
    if best is None:
        raise CannotCompile("book_reservation")
    for argument in best[1]:
        draft.note(grounded=False, argument=f"book_reservation.{argument}")
    return best[0]


def _journeys(gold: Mapping[str, object], draft: Draft) -> list[Journey]:
    infos: list[dict[str, str]] = list(gold["flights"])  # type: ignore[call-overload]
    found = [{**draft.truth[f"flight {i['flight_number']} {i['date']}"], "date": i["date"]} for i in infos]
    return split(found, str(gold["destination"])) if gold["flight_type"] == "round_trip" else [found]


def _legs(
    journeys: list[Journey], gold: Mapping[str, object], trips: Trips | None, draft: Draft
) -> tuple[Legs, bool] | None:
    """Return the first way to mean the flights that gives them."""
    cabin = str(gold["cabin"])
    wanted = [numbers(journey) for journey in journeys]
    party = len(list(gold["passengers"]))  # type: ignore[call-overload]
    for legs, grounded in booked_legs(journeys, cabin, party, trips, draft):
        found = draft.holds(partial(legs.of, cabin, party))
        if found is not None and [numbers(journey) for journey in found] == wanted:
            return legs, grounded
    return None


def _cabin_of(trips: Trips | None, draft: Draft) -> str:
    return str(trips.one(draft.world).get("cabin")) if trips else ""


def _bags(gold: Mapping[str, object], draft: Draft) -> tuple[int | None, bool]:
    """Return the number of bags, or None for all that are free."""
    total = int(str(gold["total_baggages"]))
    if draft.speech.cue(r"(?:all|maximum|use) [a-z ]*free [a-z ]*(?:bag|luggage)|free bag[a-z]* allowance"):
        return None, True
    return total, total in draft.speech.bags() or not total


def _shares(gold: Mapping[str, object], draft: Draft) -> Iterator[tuple[Shares, bool]]:
    """Give the ways in which the payment could be meant: a chain of kinds, each with what is said of it."""
    speech, user = draft.speech, draft.truth.user
    mine: Mapping[str, Json] = user["payment_methods"]
    used: list[Json] = [mine.get(p["payment_id"], {}) for p in gold["payment_methods"]]  # type: ignore[attr-defined]
    chain = list(dict.fromkeys(str(one.get("source")) for one in used))
    wasted = _wasted(speech) if CERTIFICATE not in chain else None
    if wasted is not None:
        chain = [CERTIFICATE, *chain]
    options = [
        list(_options(source, [m for m in used if m.get("source") == source], draft)) for source in chain
    ]
    graded = sorted(product(*options), key=lambda chosen: sum(not cued for _, cued in chosen))
    for limit in dict.fromkeys((wasted, None)):
        for chosen in graded:
            yield Shares(tuple(share for share, _ in chosen), limit), all(cued for _, cued in chosen)


def _wasted(speech: Speech) -> int | None:
    """Return the amount above which the user would rather not lose what is left of a certificate."""
    amounts = speech.amounts()
    return amounts[0] if amounts and speech.cue(r"wasted|is lost|lose more") else None


def _options(source: str, used: Sequence[Json], draft: Draft) -> Iterator[tuple[Share, bool]]:
    speech = draft.speech
    mine = [one for one in methods(draft.truth.user) if one.get("source") == source]
    cue = {GIFT: r"gift card|\bgcs?\b", CARD: r"card\b|\bcc\b", CERTIFICATE: r"certificate"}[source]
    named = speech.cue(cue)
    kinds = [Kind(source)]
    if used:
        kinds = [*_said_of(used[0], mine, speech), Kind(source)]
    most = MOST_GIFT_CARDS if source == GIFT else 1
    for kind in dict.fromkeys(kinds):
        for which in [*picks(speech, source), *([Pick.FIRST] if most > 1 else [])]:
            yield Share(kind, most, which), named or len(mine) == 1
    for which in Pick:
        yield Share(Kind(source), 1, which), False


def _said_of(method: Json, mine: Sequence[Json], speech: Speech) -> Iterator[Kind]:
    """Give what the words say of a method: its id, digits, brand or value, or that it is the other one."""
    source = str(method["source"])
    others = tuple(m["id"] for m in mine if m["id"] != method["id"] and m["id"] in speech.text)
    if method["id"] in speech.text:
        yield Kind(source, said=str(method["id"]))
    if method.get("last_four") and method["last_four"] in speech.text:
        yield Kind(source, last_four=str(method["last_four"]))
    if source == CARD and method.get("brand") == speech.brand():
        yield Kind(source, brand=speech.brand())
    if source == CERTIFICATE and speech.cue(
        rf"\b{int(method['amount'])}[- ](?:dollar|usd)|\${int(method['amount'])}\b"
    ):
        yield Kind(source, amount=int(method["amount"]))
    if source == CERTIFICATE and others:
        values = tuple(str(a) for a in speech.amounts() if any(m["amount"] == a for m in mine))
        yield Kind(source, other_than=(*others, *values))
