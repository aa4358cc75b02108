"""Every response is the text that τ² gives, and the database is left as τ² leaves it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench2robust.benchmarks.tau2.environment import DomainEnvironment
from bench2robust.benchmarks.tau2.store import Base
from bench2robust.core.tools import ToolCall

from .test_airline_verdicts import user_of

pytestmark = pytest.mark.tau2

USERS = ("mia_li_3668", "anya_garcia_5901", "mohamed_silva_9265")
GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.just(1.5),
    st.text(max_size=4),
    st.lists(st.text(max_size=3), max_size=2),
)
ARGUMENTS = {
    "book_reservation": (
        "user_id", "origin", "destination", "flight_type", "cabin", "flights", "passengers", "payment_methods",
        "total_baggages", "nonfree_baggages", "insurance",
    ),
    "calculate": ("expression",),
    "cancel_reservation": ("reservation_id",),
    "get_flight_status": ("flight_number", "date"),
    "get_reservation_details": ("reservation_id",),
    "get_user_details": ("user_id",),
    "list_all_airports": (),
    "search_direct_flight": ("origin", "destination", "date"),
    "search_onestop_flight": ("origin", "destination", "date"),
    "send_certificate": ("user_id", "amount"),
    "transfer_to_human_agents": ("summary",),
    "update_reservation_baggages": ("reservation_id", "total_baggages", "nonfree_baggages", "payment_id"),
    "update_reservation_flights": ("reservation_id", "cabin", "flights", "payment_id"),
    "update_reservation_passengers": ("reservation_id", "passengers"),
}  # fmt: skip


@st.composite
def calls(draw):
    """A call about one of a few users: mostly sensible arguments, now and then anything."""
    from bench2robust.benchmarks.tau2.provider import airline_data

    db = airline_data().db
    user = db["users"][draw(st.sampled_from(USERS))]
    trip = db["reservations"][draw(st.sampled_from(user["reservations"]))]
    flight = db["flights"][draw(st.sampled_from([f["flight_number"] for f in trip["flights"]]))]
    date = draw(
        st.sampled_from(
            ["2024-05-10", "2024-05-15", *(f"2024-05-{day}" for day in range(18, 24)), "2024-06-01"]
        )
    )
    method = draw(st.sampled_from(sorted(user["payment_methods"])))
    bags = draw(st.integers(0, 4))
    sensible = {
        "user_id": user["user_id"],
        "reservation_id": draw(st.sampled_from([trip["reservation_id"], "HATHAT", "HATHAU", "ZZZZZZ"])),
        "origin": flight["origin"],
        "destination": flight["destination"],
        "date": date,
        "flight_number": flight["flight_number"],
        "flight_type": draw(st.sampled_from(["one_way", "round_trip"])),
        "cabin": draw(st.sampled_from(["basic_economy", "economy", "business"])),
        "flights": draw(
            st.sampled_from([[{"flight_number": flight["flight_number"], "date": date}], trip["flights"][:1]])
        ),
        "passengers": draw(st.sampled_from([trip["passengers"], trip["passengers"][:1]])),
        "payment_id": method,
        "payment_methods": [{"payment_id": method, "amount": draw(st.integers(50, 250))}],
        "total_baggages": bags,
        "nonfree_baggages": draw(st.integers(0, bags)),
        "insurance": draw(st.sampled_from(["yes", "no"])),
        "amount": draw(st.sampled_from([50, 100])),
        "expression": draw(st.sampled_from(["2 + 2", "1/0", "3 * (5 - 1)", "x"])),
        "summary": "help",
    }
    name = draw(st.sampled_from([*ARGUMENTS, "book_reservation", "no_such_tool"]))
    arguments = {key: sensible[key] for key in ARGUMENTS.get(name, ())}
    if name == "book_reservation" and draw(st.booleans()):  # at the right price, so that it goes through
        day = flight["dates"].get(date, {})
        each = day.get("prices", {}).get(arguments["cabin"], 0) + (
            30 if arguments["insurance"] == "yes" else 0
        )
        arguments["flights"] = [{"flight_number": flight["flight_number"], "date": date}]
        total = each * len(arguments["passengers"]) + 50 * arguments["nonfree_baggages"]
        arguments["payment_methods"] = [{"payment_id": method, "amount": total}]
    if draw(st.integers(0, 5)) == 0:
        spoilt = draw(st.sampled_from([*arguments, "extra", "self", "requestor", "tool_name"]))
        if spoilt in arguments and draw(st.booleans()):
            del arguments[spoilt]
        else:
            arguments[spoilt] = draw(GARBAGE)
    return ToolCall(name, arguments)


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_every_gold_call_gets_the_same_text(bench, upstream_of, every):
    for task in bench.tasks()[::every]:
        ours, theirs = bench.open(task), upstream_of(user_of(task))
        environment = theirs.open()
        for action in task.gold:
            answer = ours.call(action.call)
            assert (answer.text, answer.error) == theirs.respond(environment, action.call)
            assert not answer.error
        assert ours.changes() == theirs.changes(environment), task.id


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(calls(), min_size=1, max_size=12))
def test_any_calls_get_the_same_text_and_leave_the_same_database(bench, upstream_of, sequence):
    upstream = upstream_of(*USERS)
    ours, theirs = bench.open(bench.tasks()[0]), upstream.open()
    for call in sequence:
        answer = ours.call(call)
        assert (answer.text, answer.error) == upstream.respond(theirs, call), call
    assert ours.changes() == upstream.changes(theirs)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(calls(), max_size=6), st.lists(calls(), max_size=6))
def test_two_episodes_do_not_see_each_other(bench, first, second):
    """Interleaved, each episode answers and ends as it does alone."""
    task = bench.tasks()[0]

    def alone(sequence):
        environment = bench.open(task)
        return [environment.call(call) for call in sequence], environment.changes()

    a, b = bench.open(task), bench.open(task)
    answers_a, answers_b = [], []
    for i in range(max(len(first), len(second))):
        answers_a += [a.call(call) for call in first[i : i + 1]]
        answers_b += [b.call(call) for call in second[i : i + 1]]
    assert (answers_a, a.changes()) == alone(first)
    assert (answers_b, b.changes()) == alone(second)


READS = [
    *(ToolCall("get_user_details", {"user_id": user}) for user in USERS),
    *(ToolCall("find_reservations", {"user_id": user}) for user in USERS),
    *(ToolCall("list_payment_methods", {"user_id": user}) for user in USERS),
    *(ToolCall("get_reservation_details", {"reservation_id": key}) for key in ("HATHAT", "HATHAU", "K1NW8N")),
    ToolCall("search_flights", {"origin": "JFK", "destination": "SFO", "date": "2024-05-20"}),
    ToolCall("get_flight_details", {"flight_number": "HAT023", "date": "2024-05-20"}),
]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(calls() | st.sampled_from(READS), max_size=8))
def test_a_remembered_answer_is_the_answer_of_a_world_without_memory(bench, sequence):
    """The process remembers answers to reads; an episode's own writes must show all the same."""
    task, shared = bench.tasks()[0], bench._shared
    ours, plain = bench.open(task), DomainEnvironment(shared, dict)
    for call in [*sequence, *READS]:
        forgetful = Base(shared.base.raw, shared.code.records)
        shared.base._answers, kept = forgetful._answers, shared.base._answers
        try:
            expected = plain.call(call)
        finally:
            shared.base._answers = kept
        assert ours.call(call) == expected, call


def test_records_are_never_deleted(bench):
    world = bench.open(bench.tasks()[0])._world
    with pytest.raises(TypeError, match="deletes no records, got table='users', key='mia_li_3668'"):
        del world.users["mia_li_3668"]
    with pytest.raises(AttributeError, match="no table 'orders' here; known: flights, users, reservations"):
        _ = world.orders
    assert (len(world.users), len(world.reservations)) == (500, 2000)
