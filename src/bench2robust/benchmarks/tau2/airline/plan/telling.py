"""Finds expressions for the values that the user must be told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench2robust.core.plan import Goal

from .choosing import find_trips, selects
from .draft import Draft
from .goals import TellGoal, Value
from .paying import CERTIFICATE, GIFT
from .trips import Trips, Upcoming
from .values import Allowance, Balance, Carried, Charged, Cost, Difference, Number, Paid, Refund
from .wishes import Book, Cancel, Rebook, Wish


def tell_goal(tell: Sequence[str], wishes: Sequence[Wish], draft: Draft) -> list[Goal]:
    """Return the goal that tells every value an expression is found for; the others are noted."""
    found = []
    for wanted in tell:
        value = _expression(wanted, wishes, draft)
        if value is None:
            draft.notes.append(f"no expression for the told value {wanted!r}")
        else:
            found.append(value[0])
            draft.note(value[1], f"tell.{wanted}")
    return [TellGoal(draft.known, tuple(found))] if found else []


def _expression(wanted: str, wishes: Sequence[Wish], draft: Draft) -> tuple[Value, bool] | None:
    candidates = [(value, draft.speech.cue(cue)) for value, cue in _values(wishes, draft)]
    for value, grounded in sorted(candidates, key=lambda one: not one[1]):
        if draft.holds(value.of) == wanted:
            return value, grounded
    return None


def _values(wishes: Sequence[Wish], draft: Draft) -> Iterator[tuple[Value, str]]:
    """Give every value there could be to tell, with the words that ask for it."""
    books = tuple(w for w in wishes if isinstance(w, Book))
    rebooks = tuple(w for w in wishes if isinstance(w, Rebook))
    cancels = tuple(w for w in wishes if isinstance(w, Cancel))
    yield Balance(GIFT), r"gift card"
    yield Balance(CERTIFICATE), r"certificate"
    for some in dict.fromkeys((rebooks, *((one,) for one in rebooks))):
        if some:
            yield Difference(some), r"how much|refund|sav|cost|price|difference"
    for part in dict.fromkeys((books, *((one,) for one in books))):
        if part:
            yield Charged(part), r"charge"
            yield Cost(part), r"how much|cost|price|total"
            yield Charged(part, alone=True), r"charge"
    if cancels:
        yield Refund(cancels), r"refund|how much"
    for trips in _mentioned(wishes, draft):
        yield Allowance(trips), r"free|allow|bags|suitcase|luggage"
        yield Carried(trips), r"bags|suitcase|luggage"
        yield Paid(trips), r"cost|price|paid|total"
    yield Paid(Trips((), (Upcoming(),))), r"upcoming|other"
    yield Number(Trips((), (Upcoming(),))), r"how many"
    yield Number(Trips()), r"how many"


def _mentioned(wishes: Sequence[Wish], draft: Draft) -> Iterator[Trips]:
    """Give the reservations that wishes are about, and those that the words alone single out."""
    seen = []
    for wish in wishes:
        trips = getattr(wish, "trips", None)
        if isinstance(trips, Trips) and trips not in seen:
            seen.append(trips)
            yield trips
    for trip in draft.truth.trips():
        found = find_trips([trip], draft, selects([trip], draft))
        if found is not None and found[1] and found[0] not in seen:
            yield found[0]
