"""Intent plans of τ² airline: they reproduce gold, hold no ids, keep branches, and can be misled."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from tests.benchmarks.playing import Played
from tests.benchmarks.playing import play as play_any

from bench2robust import agents
from bench2robust.benchmarks.tau2.airline import airline
from bench2robust.benchmarks.tau2.airline.plan import compile_plan
from bench2robust.benchmarks.tau2.airline.plan.branches import Affordable
from bench2robust.benchmarks.tau2.airline.plan.doubts import flight_doubts, trip_doubts, user_doubts
from bench2robust.benchmarks.tau2.airline.plan.goals import TellGoal, WishGoal
from bench2robust.benchmarks.tau2.airline.plan.policy import Refundable, free_bags
from bench2robust.benchmarks.tau2.airline.plan.speech import Speech, minutes
from bench2robust.benchmarks.tau2.airline.plan.truth import Truth
from bench2robust.benchmarks.tau2.airline.plan.wishes import Book, Cancel, Rebook
from bench2robust.benchmarks.tau2.airline.plan.world import Known, World
from bench2robust.core.episode import Action, Task
from bench2robust.core.noise import NoiseType
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolCall, ToolKind

pytestmark = pytest.mark.tau2

WRITES = {t.name for t in airline().tools(True) if t.kind is ToolKind.WRITE}
TASKS = {task.id: task for task in airline().tasks()}
EXCEPTION = "35"
"""Gold books for a date of birth that is neither in the database nor said."""


def play(task: Task, policy: str, **kwargs: object) -> Played:
    return play_any(task, policy, benchmark=airline(), **kwargs)


def plan(task_id: str) -> Plan:
    return airline().plan(TASKS[task_id])


def writes(played: Played) -> list[str]:
    return sorted(r.call.signature() for r in played.records if r.call.name in WRITES)


@cache
def clean(task_id: str) -> Played:
    return play(TASKS[task_id], "naive")


@pytest.mark.parametrize("task_id", [t for t in TASKS if t != EXCEPTION])
def test_on_pristine_data_a_plan_writes_what_gold_writes_and_tells_what_gold_tells(task_id: str) -> None:
    played = clean(task_id)
    gold = [a.call.signature() for a in TASKS[task_id].gold if a.call.name in WRITES]
    assert writes(played) == sorted(gold)
    assert played.score.passed


@pytest.mark.parametrize("policy", agents.REFERENCE)
@pytest.mark.parametrize("alternatives", [False, True])
def test_every_reference_policy_passes_all_but_the_exception(policy: str, alternatives: bool) -> None:
    passed = [t for t in TASKS if play(TASKS[t], policy, alternatives=alternatives).score.passed]
    assert len(passed) == 49
    assert EXCEPTION not in passed


def test_the_exception_is_noted_with_its_reason(db: dict) -> None:
    (note,) = plan(EXCEPTION).notes
    assert note.startswith("left out, nothing delivered or said gives gold's book_reservation")
    assert "1985-04-04" in note
    assert "1985-04-04" not in TASKS[EXCEPTION].instructions
    assert "1985-04-04" not in str(db["users"]) + str(db["reservations"])


@pytest.mark.parametrize(
    ("blocked", "lost"),
    [
        ({"get_user_details"}, set()),
        ({"get_user_profile", "list_payment_methods"}, set()),
        ({"get_reservation_details"}, set()),
        ({"find_reservations"}, set()),
        ({"get_flight_status"}, set()),
        ({"search_direct_flight", "get_flight_details", "search_onestop_flight"}, set()),
        ({"search_flights"}, set()),
        (
            {"get_user_details", "get_reservation_details", "search_direct_flight", "search_onestop_flight"},
            set(),
        ),
    ],
)
def test_a_plan_finds_the_same_by_other_routes(blocked: set[str], lost: set[str]) -> None:
    hidden = frozenset(blocked)
    runs = {t: play(TASKS[t], "omniscient", alternatives=True, blocked=hidden).score for t in TASKS}
    assert {t for t, score in runs.items() if not score.passed} - {EXCEPTION} == lost


@pytest.mark.parametrize("task_id", TASKS)
def test_a_plan_holds_no_id_amount_or_flight_that_the_user_did_not_say(task_id: str, db: dict) -> None:
    text = repr([g for g in plan(task_id).goals if isinstance(g, WishGoal | TellGoal)])
    said = TASKS[task_id].instructions
    assert not [
        one for one in re.findall(r"'([A-Z0-9]{6})'", text) if one in db["reservations"] and one not in said
    ]
    assert not [n for n in re.findall(r"HAT\d{3}", text) if n not in said]
    assert not [m for m in re.findall(r"(?:credit_card|gift_card|certificate)_\d+", text) if m not in said]
    assert not [u for u in re.findall(r"[a-z]+_[a-z]+_\d{4}", text) if u in db["users"] and u not in said]
    for amount in re.findall(r"(?:limit|amount|unless_wasted)=(\d+)", text):
        assert amount in said
    for date in re.findall(r"date='2024-(\d\d)-(\d\d)'", text):
        assert re.search(rf"\b0?{int(date[1])}(?:st|nd|rd|th)?\b", said)
    for first in re.findall(r"first='(\w+)'", text):
        assert first in said


def test_told_values_all_have_an_expression_and_arguments_without_a_cue_are_listed() -> None:
    assert [n for t in TASKS for n in plan(t).notes if "no expression" in n] == []
    assert {t: plan(t).ungrounded for t in TASKS if plan(t).ungrounded} == {
        "7": ("update_reservation_flights.payment_id",),
        "29": ("update_reservation_flights.payment_id",),
        "30": ("update_reservation_flights.flights",),
        "33": ("update_reservation_baggages.nonfree_baggages",),
        "44": ("update_reservation_flights.payment_id",),
    }


def test_where_gold_cancels_beyond_the_policy_the_plan_says_so() -> None:
    assert [t for t in TASKS if any("beyond the policy" in n for n in plan(t).notes)] == [
        "7",
        "9",
        "37",
        "39",
        "44",
    ]


def test_refusals_are_decisions_on_delivered_facts() -> None:
    """Gold does nothing in 20 tasks; in most of them the plan reads and the policy denies."""
    nothing = [t for t in TASKS if not any(a.call.name in WRITES for a in TASKS[t].gold)]
    assert len(nothing) == 20
    refused = {t for t in nothing if any(isinstance(g, WishGoal) for g in plan(t).goals)}
    assert {"0", "1", "26", "28", "41", "43", "45", "47", "48", "49"} <= refused
    for task_id in refused:
        assert clean(task_id).records
        assert writes(clean(task_id)) == []


def test_limits_on_costs_are_kept() -> None:
    guards = {t: [g for goal in plan(t).goals for g in getattr(goal, "guards", ())] for t in TASKS}
    limited = {
        t: [g.limit for g in found if isinstance(g, Affordable)] for t, found in guards.items() if found
    }
    assert limited["8"] == [500]
    assert limited["12"] == [650]
    assert 100 in limited["32"]
    book = next(g for g in plan("8").goals if isinstance(g, WishGoal) and isinstance(g.wish, Book))
    assert isinstance(book.otherwise, Book)
    assert len(book.otherwise.persons) == 1


MISLED: list[tuple[NoiseType, str, Callable[[Played, Played], bool]]] = [
    # An emptied list of direct flights: a connection is taken instead.
    (NoiseType.PARTIAL, "24", lambda clean, got: bool(set(writes(got)) - set(writes(clean)))),
    # An emptied reservation is missing from the total.
    (NoiseType.PARTIAL, "7", lambda clean, got: got.said != clean.said and writes(got) == writes(clean)),
    # The membership is an earlier one: fewer bags are free.
    (
        NoiseType.STALE,
        "17",
        lambda clean, got: "nonfree_baggages" in str(set(writes(got)) - set(writes(clean))),
    ),
    (NoiseType.STALE, "3", lambda clean, got: got.said != clean.said),
    # A delayed flight looks on time: no certificate is sent.
    (NoiseType.STALE, "27", lambda clean, got: writes(clean) != [] and writes(got) == []),
    # A price moves: another flight is the cheapest.
    (NoiseType.FACTUAL, "16", lambda clean, got: bool(set(writes(got)) - set(writes(clean)))),
    # A price moves: it is above the limit, and the second passenger is dropped.
    (NoiseType.FACTUAL, "8", lambda clean, got: bool(set(writes(got)) - set(writes(clean)))),
    # A fare moves: the write is right, the told refund is not.
    (NoiseType.FACTUAL, "11", lambda clean, got: writes(got) == writes(clean) and got.said != clean.said),
]


@pytest.mark.parametrize(("noise", "task_id", "changed"), MISLED)
def test_a_silent_corruption_misleads_a_plan(
    noise: NoiseType, task_id: str, changed: Callable[[Played, Played], bool]
) -> None:
    """Some of 20 seeds has it; the clean episode and the seeds in which nothing landed do not."""
    clean_run = clean(task_id)
    runs = [play(TASKS[task_id], "naive", noise=noise, seed=seed) for seed in range(20)]
    misled = [run for run in runs if changed(clean_run, run)]
    assert misled
    assert all(any(r.noise is noise and r.corrupted for r in run.records) for run in misled)
    assert not changed(clean_run, clean_run)
    assert any(not run.score.passed for run in misled)


@pytest.mark.parametrize("noise", [NoiseType.PARTIAL, NoiseType.STALE, NoiseType.FACTUAL])
def test_no_corruption_breaks_a_plan(noise: NoiseType) -> None:
    """Whatever is delivered, a plan decides or says that it is stuck; it never raises."""
    for task in TASKS.values():
        for seed in range(3):
            play(task, "strategic", noise=noise, seed=seed, alternatives=True)


def test_doubts_are_never_raised_by_pristine_data(db: dict) -> None:
    assert [u for u in db["users"] if user_doubts(db["users"][u])] == []
    assert [r for r in db["reservations"] if trip_doubts(db["reservations"][r])] == []
    days = [d for f in db["flights"].values() for d in f["dates"].values() if d["status"] == "available"]
    assert len(days) == 4500
    assert [d for d in days if flight_doubts(d)] == []


def test_doubts_are_never_raised_by_what_gold_leaves_behind() -> None:
    for task in TASKS.values():
        environment = airline().open(task)
        for action in task.gold:
            environment.call(action.call)
        world = environment._world
        for trip in world.own["reservations"].values():
            # Gold of task 33 pays for bags that are free, and the fares have changed with what was paid.
            assert trip_doubts(trip.model_dump()) is None, task.id


def test_doubts_see_a_moved_fare_and_an_emptied_field(db: dict) -> None:
    trip = db["reservations"]["4WQ150"]
    dearer = {**trip, "flights": [{**f, "price": round(f["price"] * 1.2)} for f in trip["flights"]]}
    assert trip_doubts(dearer) == "payments do not add up to the fares"
    assert trip_doubts({**trip, "passengers": []}) is not None
    assert user_doubts({**db["users"]["mia_li_3668"], "payment_methods": {}}) == "payment_methods is empty"
    assert (
        flight_doubts({"prices": {"basic_economy": 90, "economy": 80}, "available_seats": {"economy": 1}})
        is not None
    )


def test_the_truth_is_what_the_tools_deliver(bench) -> None:
    """The compiler's searches on raw data against the tools' on the live database."""
    from bench2robust.benchmarks.tau2.provider import airline_data

    truth = Truth(airline_data().db, "mia_li_3668")
    task = Task("read", "", gold=())
    facts: dict[str, object] = {}
    world = World(Known("mia_li_3668"), facts)
    environment = bench.open(task)

    def delivered(ask: Callable[[], object]) -> object:
        import json

        from bench2robust.benchmarks.tau2.airline.plan.world import Missing

        try:
            return ask()
        except Missing as missing:
            route = missing.fetch.routes[0]
            values = [environment.call(part.call).text for part in route.parts]
            facts[missing.fetch.fact] = route.build([json.loads(v) if v[:1] in "[{" else v for v in values])
            return ask()

    pristine = World(Known("mia_li_3668"), truth)
    for route in (("JFK", "SFO", "2024-05-20"), ("ATL", "PHL", "2024-05-29"), ("DEN", "IAH", "2024-05-16")):
        assert delivered(lambda r=route: world.direct(*r)) == pristine.direct(*route)
        assert delivered(lambda r=route: world.connecting(*r)) == pristine.connecting(*route)
    flight = {"flight_number": "HAT023", "date": "2024-05-20", "origin": "JFK", "destination": "SFO"}
    assert delivered(lambda: world.flight(flight)) == pristine.flight(flight)
    assert delivered(lambda: world.status(flight)) == pristine.status(flight) == "available"
    assert delivered(world.user) == pristine.user()
    assert delivered(lambda: world.trip("NO6JO3"))["status"] is None


def made(instructions: str, *gold: tuple[str, dict]) -> Task:
    return Task("made up", instructions, tuple(Action(ToolCall(name, arguments)) for name, arguments in gold))


def compiled(task: Task, db: dict) -> Plan:
    return compile_plan(db, task, airline().open(task).call)


def test_any_task_compiles_without_being_one_of_the_fifty(db: dict) -> None:
    """Words and gold that no τ² task has; the plan still leads where its gold leads."""
    words = (
        "You are Mia Li, user id mia_li_3668. You want the cheapest nonstop flight from Boston to Miami on May 24, "
        "economy, for yourself and Amelia Ahmed, with 2 checked bags and travel insurance, paid with your card "
        "ending in 1907. You also want to cancel your business trip from JFK to DFW."
    )
    flights = World(Known("mia_li_3668"), Truth(db, "mia_li_3668")).direct("BOS", "MIA", "2024-05-24")
    best = min(
        (f for (f,) in flights if f["available_seats"]["economy"] >= 2), key=lambda f: f["prices"]["economy"]
    )
    booking = {
        "user_id": "mia_li_3668", "origin": "BOS", "destination": "MIA", "flight_type": "one_way", "cabin": "economy",
        "flights": [{"flight_number": best["flight_number"], "date": "2024-05-24"}],
        "passengers": [
            {"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"},
            {"first_name": "Amelia", "last_name": "Ahmed", "dob": "1957-03-21"},
        ],
        "payment_methods": [{"payment_id": "credit_card_1955700", "amount": 2 * (best["prices"]["economy"] + 30)}],
        "total_baggages": 2, "nonfree_baggages": 0, "insurance": "yes",
    }  # fmt: skip
    task = made(words, ("book_reservation", booking), ("cancel_reservation", {"reservation_id": "NO6JO3"}))
    found = compiled(task, db)
    assert (found.ungrounded, found.notes) == ((), ())
    assert [type(goal.wish) for goal in found.goals] == [Book, Cancel]
    played = play(task, "naive")
    assert played.score.passed
    assert writes(played) == sorted(a.call.signature() for a in task.gold)


def test_gold_that_genuinely_errors_is_left_out_and_named(db: dict) -> None:
    task = made("You are mia_li_3668. Cancel ZZZZZZ.", ("cancel_reservation", {"reservation_id": "ZZZZZZ"}))
    found = compiled(task, db)
    assert found.goals == ()
    assert "genuinely errors" in found.notes[0]


def test_a_task_without_a_user_says_so(db: dict) -> None:
    assert "no user" in compiled(made("Hello."), db).notes[-1]


def test_rephrased_words_lead_to_the_same_writes() -> None:
    """The reservation's number instead of route and date, and the other way round."""
    by_number = replace(
        TASKS["21"],
        id="21 by number",
        instructions=TASKS["21"].instructions + "\nYour reservation is OBUT9V.",
    )
    assert writes(play(by_number, "naive")) == writes(clean("21"))
    goals = airline().plan(by_number).goals
    assert goals[0].wish.trips.said == ("OBUT9V",)
    assert isinstance(goals[0].wish, Rebook)


@pytest.mark.parametrize(
    ("membership", "cabin", "passengers", "free"),
    [("regular", "basic_economy", 2, 0), ("silver", "economy", 2, 4), ("gold", "business", 1, 4)],
)
def test_free_bags_are_the_policys(membership: str, cabin: str, passengers: int, free: int) -> None:
    assert free_bags({"membership": membership}, cabin, passengers) == free


def test_cancellation_follows_the_policy(db: dict) -> None:
    world = World(Known("chen_lee_6825"), Truth(db, "chen_lee_6825"))
    trips = {
        t["reservation_id"]: t
        for t in (db["reservations"][k] for k in db["users"]["chen_lee_6825"]["reservations"])
    }
    rule = Refundable()
    assert rule.holds(trips["JW6LEQ"], world)  # business
    assert not rule.holds(trips["TVN3KL"], world)  # economy, booked long ago, no insurance
    assert not rule.holds(trips["ZBCR1P"], world)  # business, but one flight is in the air
    fresh = {**trips["TVN3KL"], "created_at": "2024-05-14T15:00:01"}
    assert rule.holds(fresh, world)
    insured = {**trips["TVN3KL"], "insurance": "yes"}
    assert Refundable(covered=True).holds(insured, world)
    assert not rule.holds(insured, world)


def test_words_are_understood() -> None:
    speech = Speech(
        "Fly from sf to New York on May 22nd or the 25th, not before 11am, and arrive before 7 pm. Add 2 more bags. "
        "Cancel IFOYYZ and upgrade M20IZO to business, up to $1,200 on your card ending in 7334. No luggage."
    )
    assert [said.value for said in speech.dates] == ["2024-05-22", "2024-05-25"]
    assert [airports for _, airports in speech.places] == [("SFO",), ("JFK", "LGA", "EWR")]
    assert speech.windows == [("after", "11:00:00"), ("arrive_before", "19:00:00")]
    assert speech.bags() == [2, 0]
    assert [speech.verb(said.at) for said in speech.literals(["IFOYYZ", "M20IZO"])] == ["cancel", "change"]
    assert speech.amounts() == [1200]
    assert speech.last_four({"a": "7334", "b": "1234"}) == ["7334"]
    assert Speech("either EWR or JFK").airports_for("JFK")[0] == ("EWR", "JFK")
    assert Speech("from New York").airports_for("JFK") == [("JFK",), ("JFK", "LGA", "EWR")]
    assert [said.value for said in Speech("from basic economy to business").cabins()] == [
        "basic_economy",
        "business",
    ]
    assert minutes("01:30:00+1") == 25 * 60 + 30
