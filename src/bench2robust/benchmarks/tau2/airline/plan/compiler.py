"""Compiles a gold solution into an intent plan, on the pristine database, guided by gold.

Every argument of every effective gold write becomes a selector over delivered fields: what the user's
words and the policy demand, then the fewest extra conditions that lead where gold leads. Nothing here
knows a task; what a task is about comes from its words and its gold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bench2robust.benchmarks.tau2.plan.compiler import ESCALATION, escalate
from bench2robust.benchmarks.tau2.plan.goals import HandoverGoal
from bench2robust.core.episode import Task
from bench2robust.core.plan import Goal, Plan
from bench2robust.core.tools import ToolCall, ToolResponse

from .book import book
from .branches import goals_of, refusals
from .choices import leg_choices, payers, renamed
from .choosing import find_trips, selects
from .draft import CannotCompile, Draft
from .journeys import Journey, legs, split
from .policy import COMPENSATION, Refundable, people
from .speech import Speech
from .telling import tell_goal
from .trips import Trips
from .truth import Truth
from .wishes import Bags, Cancel, Compensate, Rebook, Rename, Wish
from .world import Json, Known

__all__ = ["compile_plan", "escalate", "who"]

_HEALTH = r"\bsick|unwell|\bill\b|health|medical|weather|doctor|hospital"


def compile_plan(db: Json, task: Task, execute: Callable[[ToolCall], ToolResponse]) -> Plan:
    """Compile the gold solution of a task in τ²'s form; it need not be one of τ²'s.

    Args:
        db: the pristine database as JSON.
        task: the task.
        execute: a fresh environment's `call`, to see which gold calls genuinely error.
    """
    speech = Speech(task.instructions)
    gold = [action.call for action in task.gold]
    writes, notes = _effective(task, execute)
    handover = tuple(HandoverGoal(call) for call in gold if call.name == ESCALATION)
    user_id = who(db, speech, gold)
    if user_id is None:
        return Plan(handover, escalate, notes=(*notes, "no user can be told from the task"))
    draft = Draft(speech, Truth(db, user_id), Known(user_id), notes=notes)
    compiled = _wishes(writes, draft)
    goals: list[Goal] = [*goals_of(compiled, draft), *refusals(draft)]
    goals += tell_goal(task.tell, compiled, draft)
    return Plan((*goals, *handover), escalate, tuple(draft.ungrounded), tuple(draft.notes))


def who(db: Json, speech: Speech, gold: Sequence[ToolCall]) -> str | None:
    """Return the id of the user of a task: the one said, else that of the gold calls."""
    said = [word for word in re.findall(r"[a-z]+_[a-z]+_\d+", speech.text) if word in db["users"]]
    if said:
        return str(said[0])
    for call in gold:
        if call.arguments.get("user_id") in db["users"]:
            return str(call.arguments["user_id"])
        if call.arguments.get("reservation_id") in db["reservations"]:
            return str(db["reservations"][call.arguments["reservation_id"]]["user_id"])
    return None


def _effective(task: Task, execute: Callable[[ToolCall], ToolResponse]) -> tuple[list[ToolCall], list[str]]:
    """Return the gold writes that change something, and a note for each gold call that errors."""
    writes, notes = [], []
    for action in task.gold:
        response = execute(action.call)
        if response.error:
            notes.append(f"left out, genuinely errors: {action.call.signature()}: {response.text}")
        elif action.call.name in _WISH:
            writes.append(action.call)
    return writes, notes


def _wishes(writes: Sequence[ToolCall], draft: Draft) -> list[Wish]:
    """Compile writes in order; writes that one selector can find together become one wish."""
    rest = list(writes)
    while rest:
        call = rest.pop(0)
        alike = [c for c in rest if c.name == call.name and c.name in _TOGETHER]
        each_once = (
            len({c.arguments["reservation_id"] for c in [call, *alike]}) == 1 + len(alike) if alike else False
        )
        wish = _together([call, *alike], draft) if each_once else None
        if wish is not None:
            rest = [c for c in rest if c not in alike]
        try:
            draft.wishes.append(wish or _WISH[call.name]([call], draft))
        except CannotCompile as argument:
            draft.notes.append(
                f"left out, nothing delivered or said gives gold's {argument}: {call.signature()}"
            )
    return draft.wishes


def _together(calls: Sequence[ToolCall], draft: Draft) -> Wish | None:
    """Return one wish for several writes where it reproduces them all, else None."""
    ungrounded, notes = len(draft.ungrounded), len(draft.notes)
    try:
        return _WISH[calls[0].name](calls, draft)
    except CannotCompile:
        del draft.ungrounded[ungrounded:], draft.notes[notes:]
        return None


def _cancel(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    wanted = [draft.trip(call) for call in calls]
    covered = draft.speech.cue(_HEALTH)
    rules = [
        Refundable(covered, any_reason, even_flown)
        for even_flown in (False, True)
        for any_reason in (False, True)
    ]
    found = []
    for rule in (*rules, None):
        one = find_trips(wanted, draft, _gives(partial(Cancel, rule=rule), calls, draft))
        if one is not None:
            found.append((rule, *one))
    if not found:
        raise CannotCompile("cancel_reservation.reservation_id")
    rule, trips, grounded = next((one for one in found if one[2]), found[0])
    draft.note(grounded, "cancel_reservation.reservation_id")
    if rule is None or rule.any_reason or rule.even_flown:
        draft.notes.append(
            f"gold cancels beyond the policy: {[c.arguments['reservation_id'] for c in calls]}"
        )
    return Cancel(trips, rule)


def _gives(make: Callable[[Trips], Wish], calls: Sequence[ToolCall], draft: Draft) -> Callable[[Trips], bool]:
    """Return the test whether a wish about some reservations gives exactly these writes."""
    return lambda trips: draft.fits(make(trips), calls)


def _trips(calls: Sequence[ToolCall], draft: Draft) -> Trips:
    wanted = [draft.trip(call) for call in calls]
    found = find_trips(wanted, draft, selects(wanted, draft))
    if found is None:
        raise CannotCompile(f"{calls[0].name}.reservation_id")
    draft.note(found[1], f"{calls[0].name}.reservation_id")
    return found[0]


def _rebook(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    call, trip = calls[0], draft.trip(calls[0])
    trips, cabin = _trips(calls, draft), str(call.arguments["cabin"])
    earlier = next((w for w in reversed(draft.wishes) if isinstance(w, Rebook) and w.trips == trips), None)
    wanted = _journeys(call.arguments["flights"], trip, cabin, draft)
    said = any(one.value == cabin for one in draft.speech.cabins())
    kept = cabin == trip["cabin"]
    between = _between(wanted, trip)
    for chosen, a in leg_choices(trip, wanted, cabin, draft):
        for payer, b in payers(trip, draft):
            wish = Rebook(
                trips, "" if kept and not said else cabin, chosen, payer, between, earlier is not None
            )
            if draft.fits(wish, calls):
                draft.note(a, f"{call.name}.flights")
                draft.note(b, f"{call.name}.payment_id")
                draft.note(kept or said, f"{call.name}.cabin")
                return wish
    raise CannotCompile(f"{call.name}.flights or payment_id")


def _journeys(infos: Sequence[Mapping[str, str]], trip: Json, cabin: str, draft: Draft) -> list[Journey]:
    """Return gold's flights leg by leg, with what the database says of them."""
    old = {(f["flight_number"], f["date"]): f for f in trip["flights"]}
    found: Journey = []
    for info in infos:
        at = info["flight_number"], info["date"]
        now = draft.truth[f"flight {at[0]} {at[1]}"] or {}
        found.append({**old.get(at, {}), **now, "flight_number": at[0], "date": at[1]})
    if trip["flight_type"] != "round_trip":
        return [found]
    same = legs(trip)[0]
    if [(f["flight_number"], f["date"]) for f in found[: len(same)]] == [
        (f["flight_number"], f["date"]) for f in same
    ]:
        return [found[: len(same)], found[len(same) :]]
    back = next(
        (
            n
            for n, f in enumerate(found)
            if n
            and f.get("origin") == found[n - 1].get("destination")
            and found[-1].get("destination") == trip["origin"]
            and f["date"] > found[0]["date"]
        ),
        0,
    )
    there = str(found[back - 1]["destination"]) if back else str(trip["destination"])
    return split(found, there)


def _between(wanted: Sequence[Journey], trip: Json) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return gold's airports of origin and destination where they are not the reservation's."""
    ends = wanted[0][0].get("origin"), wanted[0][-1].get("destination")
    origin, destination = (
        (str(end),) if end and end != trip[key] else ()
        for end, key in zip(ends, ("origin", "destination"), strict=True)
    )
    return origin, destination


def _bags(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    call, trip, trips = calls[0], draft.trip(calls[0]), _trips(calls, draft)
    total = int(call.arguments["total_baggages"])
    more = total - trip["total_baggages"]
    rebooked = [w.cabin_of(trip) for w in draft.wishes if isinstance(w, Rebook) and w.trips == trips]
    cabin = rebooked[-1] if rebooked and rebooked[-1] != trip["cabin"] else ""
    said = draft.speech.bags()
    adds = draft.speech.cue(r"\b(?:add|extra|more|additional)\b")
    numbers = [(more, True, more in said and adds), (total, False, total in said), (more, True, False)]
    ordered = sorted(numbers, key=lambda one: not one[2])
    for all_paid in (False, True):
        for number, relative, a in ordered:
            for payer, b in payers(trip, draft):
                wish = Bags(trips, number, relative, payer, cabin, all_paid)
                if draft.fits(wish, calls):
                    draft.note(a, f"{call.name}.total_baggages")
                    draft.note(not all_paid, f"{call.name}.nonfree_baggages")
                    draft.note(b, f"{call.name}.payment_id")
                    return wish
    raise CannotCompile(f"{call.name}.total_baggages")


def _rename(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    call, trips = calls[0], _trips(calls, draft)
    found = renamed(call.arguments["passengers"], trips, draft)
    if found is None:
        raise CannotCompile(f"{call.name}.passengers")
    draft.note(found[1], f"{call.name}.passengers")
    return Rename(trips, found[0])


def _compensate(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    call = calls[0]
    before = sum(isinstance(wish, Compensate) for wish in draft.wishes)
    ordered = sorted(COMPENSATION, key=lambda status: not draft.speech.cue(status[:5]))
    for status in ordered:
        for trip in draft.truth.trips():
            if len(people(trip)) * COMPENSATION[status] == call.arguments["amount"]:
                make = partial(Compensate, status=status, before=before)
                found = find_trips([trip], draft, _gives(make, calls, draft), disturbed=status)
                if found is not None:
                    draft.note(found[1], f"{call.name}.amount")
                    return Compensate(found[0], status, before)
    raise CannotCompile(f"{call.name}.amount")


_WISH: Mapping[str, Callable[[Sequence[ToolCall], Draft], Wish]] = {
    "cancel_reservation": _cancel,
    "update_reservation_flights": _rebook,
    "update_reservation_baggages": _bags,
    "update_reservation_passengers": _rename,
    "send_certificate": _compensate,
    "book_reservation": book,
}
_TOGETHER = frozenset({"cancel_reservation", "update_reservation_flights"})
