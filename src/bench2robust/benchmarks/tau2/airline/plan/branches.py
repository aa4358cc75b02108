"""Conditions that the user attaches to a wish, and wishes that come to nothing on pristine data.

Both are read from the words and kept only where, on pristine data, they lead where gold leads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench2robust.core.plan import Goal

from .choices import payers
from .choosing import find_trips, selects
from .draft import Draft
from .goals import Guard, WishGoal
from .policy import Refundable, people
from .trips import From, HasFlight, OnDate, Party, To, Trips
from .wishes import Book, Cancel, Rebook, Wish
from .world import World

_LIMIT = (
    r"(?:up to|less than|under|below|at most|no more than|not more than|budget of|maximum of|is above|above|over)"
    r"\s+(?:your budget of )?\$\s?(\d[\d,]*)"
)


@dataclass(frozen=True, slots=True)
class Affordable:
    """What a wish costs keeps to a limit that the user says."""

    wish: Rebook | Book
    limit: int

    def holds(self, world: World) -> bool:
        """Return whether it does."""
        if isinstance(self.wish, Book):
            return self.wish.total(world) <= self.limit
        return sum(self.wish.due(trip, world) for trip in self.wish.trips.of(world)) <= self.limit


def limits(draft: Draft) -> list[int]:
    """Return the limits on costs that the user says, in order."""
    return [int(found.replace(",", "")) for found in re.findall(_LIMIT, draft.speech.low)]


_TELLING = From | To | OnDate | HasFlight | Party
"""Conditions that say which reservation; the others hold of many."""


def goals_of(wishes: Sequence[Wish], draft: Draft) -> list[Goal]:
    """Return a goal for each wish, with the limit on its cost where there is one, and the way out."""
    goals: list[Goal] = []
    said = limits(draft)
    for wish in wishes:
        guards: tuple[Guard, ...] = ()
        if said and isinstance(wish, Rebook | Book) and not draft.speech.cue(r"sum of|wasted"):
            guard = Affordable(wish, said[0])
            if draft.holds(guard.holds):
                guards = (guard,)
        goals.append(WishGoal(draft.known, wish, guards, _instead(wish, draft) if guards else None))
    return goals


def _instead(wish: Wish, draft: Draft) -> Wish | None:
    """Return the booking without its other passengers, where the user would then drop them."""
    drops = draft.speech.cue(r"drop [a-z ]*passenger|only for yourself|book only for")
    if isinstance(wish, Book) and drops and len(wish.persons) > 1:
        return replace(wish, persons=wish.persons[:1])
    return None


def refusals(draft: Draft) -> list[Goal]:
    """Return what the user asks for beside gold's writes: it comes to nothing by policy or by its cost.

    Only where a reservation is named or singled out by the words. What would not come to nothing on
    pristine data is left out.
    """
    speech = draft.speech
    done = {trips for wish in draft.wishes if isinstance(trips := getattr(wish, "trips", None), Trips)}
    goals: list[Goal] = []
    if speech.cue(r"\bcancel\b") and not any(isinstance(wish, Cancel) for wish in draft.wishes):
        for trips in _singled_out(draft, "cancel"):
            rule = Refundable(speech.cue(r"\bsick|unwell|\bill\b|health|weather"))
            if not draft.fits(Cancel(trips, rule), []):
                continue
            goals.append(WishGoal(draft.known, Cancel(trips, rule)))
    if speech.cue(r"business") and limits(draft):
        for trips in _singled_out(draft, "change"):
            upgrade = _upgrade(trips, draft)
            if upgrade is not None and not (done and trips not in done):
                goals.append(upgrade)
    return goals


def _singled_out(draft: Draft, verb: str) -> list[Trips]:
    """Return the selectors of the reservations that something is to be done with."""
    mine = draft.truth.user["reservations"]
    said = [one for one in draft.speech.literals(mine) if draft.speech.verb(one.at) in (verb, "")]
    if said:
        return [Trips(tuple(one.value for one in said))]
    found = [find_trips([trip], draft, selects([trip], draft)) for trip in draft.truth.trips()]
    telling = [
        (sum(isinstance(c, _TELLING) for c in one[0].conditions), one[0]) for one in found if one and one[1]
    ]
    most = max((number for number, _ in telling), default=0)
    certain = [trips for number, trips in telling if number == most]
    return certain if most and len(certain) == 1 else []


def _upgrade(trips: Trips, draft: Draft) -> Goal | None:
    """Return the change to business that costs more than the user wants to pay."""
    wanted = [trip for trip in draft.holds(trips.of) or () if people(trip)]
    if len(wanted) != 1 or wanted[0]["cabin"] == "business":
        return None
    for payer, _ in payers(wanted[0], draft):
        wish = Rebook(trips, "business", (), payer)
        guard = Affordable(wish, limits(draft)[0])
        if draft.holds(guard.holds) is False:
            return WishGoal(draft.known, wish, (guard,))
    return None
