"""The alternative tools say what the standard tools say, over the whole database."""

from __future__ import annotations

import json

import pytest

from bench2robust.core.tools import ToolCall

pytestmark = pytest.mark.tau2


@pytest.fixture
def ask(bench):
    environment = bench.open(bench.tasks()[0])

    def ask(name, /, **arguments):
        answer = environment.call(ToolCall(name, arguments))
        return json.loads(answer.text) if not answer.error and answer.text[:1] in "[{" else answer.text

    return ask


def test_profile_and_payment_methods_are_the_users_record(ask, db):
    for user_id in db["users"]:
        profile, methods = (
            ask("get_user_profile", user_id=user_id),
            ask("list_payment_methods", user_id=user_id),
        )
        assert "payment_methods" not in profile
        assert {**profile, "payment_methods": methods} == ask("get_user_details", user_id=user_id)


def test_reservations_are_found_complete_by_user_route_and_date(ask, db):
    for user_id, user in db["users"].items():
        trips = [ask("get_reservation_details", reservation_id=key) for key in user["reservations"]]
        assert ask("find_reservations", user_id=user_id) == trips
        for trip in trips[:2]:
            origin, destination, date = trip["origin"], trip["destination"], trip["flights"][0]["date"]
            found = ask(
                "find_reservations", user_id=user_id, origin=origin, destination=destination, date=date
            )
            assert trip in found
            assert all((t["origin"], t["destination"]) == (origin, destination) for t in found)
            assert all(date in {f["date"] for f in t["flights"]} for t in found)
    assert ask("find_reservations", user_id="mia_li_3668", date="2024-01-01") == []


def test_search_flights_is_both_searches(ask):
    for origin, destination in (("JFK", "SFO"), ("ATL", "PHL"), ("DEN", "IAH"), ("LGA", "LAX")):
        for date in ("2024-05-10", "2024-05-17", "2024-05-29"):
            route = {"origin": origin, "destination": destination, "date": date}
            assert ask("search_flights", **route) == {
                "direct": ask("search_direct_flight", **route),
                "one_stop": ask("search_onestop_flight", **route),
            }


def test_flight_details_are_status_and_what_the_search_gives(ask, db):
    for number, flight in list(db["flights"].items())[::7]:
        for date, day in flight["dates"].items():
            details = ask("get_flight_details", flight_number=number, date=date)
            assert details["status"] == ask("get_flight_status", flight_number=number, date=date)
            route = {key: details[key] for key in ("origin", "destination")}
            found = [
                f for f in ask("search_direct_flight", **route, date=date) if f["flight_number"] == number
            ]
            assert bool(found) == (day["status"] == "available")
            assert all(details[k] == v for f in found for k, v in f.items() if k != "date")
            assert details["date"] == date


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("find_reservations", {"user_id": "nobody"}, "Error: User nobody not found"),
        ("get_user_profile", {"user_id": "nobody"}, "Error: User nobody not found"),
        ("list_payment_methods", {"user_id": "nobody"}, "Error: User nobody not found"),
        (
            "get_flight_details",
            {"flight_number": "HAT999", "date": "2024-05-10"},
            "Error: Flight HAT999 not found",
        ),
        (
            "get_flight_details",
            {"flight_number": "HAT001", "date": "2024-06-10"},
            "Error: Flight HAT001 not found on date 2024-06-10",
        ),
    ],
)
def test_what_is_not_there_is_a_genuine_error(bench, name, arguments, expected):
    answer = bench.open(bench.tasks()[0]).call(ToolCall(name, arguments))
    assert (answer.text, answer.error) == (expected, True)


def test_they_do_not_exist_where_there_are_no_alternatives(bench):
    call = ToolCall("get_user_profile", {"user_id": "mia_li_3668"})
    for _ in range(2):  # the second time the answers are remembered
        assert not bench.open(bench.tasks()[0]).call(call).error
        refused = bench.open(bench.tasks()[0], alternatives=False).call(call)
        assert (refused.text, refused.error) == ("Error: Tool 'get_user_profile' not found.", True)


def test_they_read_the_live_state(bench):
    task = next(t for t in bench.tasks() if t.id == "20")
    world = bench.open(task)

    def both():
        methods = world.call(ToolCall("list_payment_methods", {"user_id": "mia_li_3668"})).text
        trips = world.call(ToolCall("find_reservations", {"user_id": "mia_li_3668"})).text
        return json.loads(methods), [trip["reservation_id"] for trip in json.loads(trips)]

    before, trips = both()
    for action in task.gold:
        world.call(action.call)
    after, more = both()
    assert before.keys() - after.keys() == {"certificate_7504069"}
    assert more == [*trips, "HATHAT"]
