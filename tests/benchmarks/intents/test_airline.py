"""The airline's 3I-shaped tasks hold what retail's hold."""

from __future__ import annotations

import pytest

from bench2robust.core.episode import Trajectory
from bench2robust.core.errors import SpecError
from bench2robust.core.tools import ToolCall

from .conftest import play
from .test_generator import check_set, dump
from .test_intents import Says

pytestmark = pytest.mark.tau2

SMALL = {"general": 24, "ambiguous": 24, "changing": 12, "infeasible": 10}
WRITES = {
    "cancel_reservation", "update_reservation_flights", "update_reservation_baggages",
    "update_reservation_passengers", "book_reservation", "send_certificate",
}  # fmt: skip


def make(seed=0, **counts):
    from bench2robust.benchmarks.intents.domains import AIRLINE, generated
    from bench2robust.benchmarks.intents.generate import Counts

    return generated(AIRLINE, Counts(**counts), seed)


@pytest.fixture(scope="module")
def records():
    return make(**SMALL)


@pytest.fixture(scope="module")
def airline(records):
    from bench2robust.benchmarks.intents.domains import AIRLINE, as_tasks, benchmark_of

    tasks = as_tasks(records)
    return benchmark_of(AIRLINE, "airline-3i", lambda: tasks)


def writes(task):
    return [a.call for a in task.gold if a.call.name in WRITES]


def test_counts_novelty_and_bytes(records):
    check_set(records, SMALL)
    assert dump(make(**SMALL)) == dump(records)
    assert dump(make(1, **SMALL)) != dump(records)


def test_tau2_reads_every_task(records):
    from tau2.data_model.tasks import Task

    for record in records:
        assert Task.model_validate(record).id == record["id"]


def test_gold_replays_and_a_missing_write_fails(airline):
    for task in airline.tasks():
        environment = airline.open(task, alternatives=False)
        for action in task.gold:
            assert not environment.call(action.call).error, task.id
        assert environment.score(Trajectory.saying(["I am sorry, I cannot do that."])).passed
        for left_out in writes(task):
            environment = airline.open(task)
            for call in writes(task):
                if call is not left_out:
                    environment.call(call)
            assert not environment.score(Trajectory.saying(["I am sorry, I cannot do that."])).passed


@pytest.mark.parametrize("agent", ["naive", "retry", "switch", "strategic", "omniscient"])
def test_every_reference_policy_passes_every_task_in_clean(airline, agent):
    for task in airline.tasks():
        for mode in ("clean", "clean_alt"):
            assert play(airline, task, agent, mode).result.outcome.score.passed, (task.id, mode)


def test_every_argument_is_grounded(airline):
    for task in airline.tasks():
        plan = airline.plan(task)
        assert not plan.ungrounded, task.id
        assert not plan.notes, task.id


def test_the_usual_kinds_of_write_occur(airline):
    assert {call.name for task in airline.tasks() for call in writes(task)} >= WRITES - {"send_certificate"}


def test_each_reservation_is_described_uniquely():
    """Read back: number, ends and day of departure together fit one reservation of the user."""
    import re
    from datetime import date

    from bench2robust.benchmarks.intents.airline import AirlineKit
    from bench2robust.benchmarks.intents.airline.kit import _city, which_trip
    from bench2robust.benchmarks.intents.domains import AIRLINE
    from bench2robust.core.randomness import Draws

    kit = AirlineKit(AIRLINE.db)
    for seed in range(300):
        draws = Draws(seed, "test")
        trips = kit.trips(draws.choice(kit.people))
        trip = draws.choice(trips)
        text = which_trip(trip, trips, draws).text

        def fits(one, text=text):
            if number := re.search(r"reservation (\w+)", text):
                return one["reservation_id"] == number[1]
            day = re.search(r"May (\d+)", text)
            leaves = date.fromisoformat(one["flights"][0]["date"])
            if " from " in text and f"from {_city(one['origin'])} to {_city(one['destination'])}" not in text:
                return False
            return day is None or (leaves.month, leaves.day) == (5, int(day[1]))

        assert [t["reservation_id"] for t in trips if fits(t)] == [trip["reservation_id"]], text


def test_infeasible_cancellations_are_scored(airline):
    for task in airline.tasks()[-SMALL["infeasible"] :]:
        attempt = task.data["bench2robust"]["attempt"]
        cancel = ToolCall(attempt["name"], attempt["arguments"])
        assert play(airline, task, Says("I am sorry, that cannot be done.")).result.outcome.score.passed
        score = play(airline, task, Says("I am sorry, that cannot be done.", cancel)).result.outcome.score
        assert not score.parts["forbidden"]
        assert not play(airline, task, "idle").result.outcome.score.passed


def test_the_loader_checks_airline_ids(tmp_path, records):
    from pathlib import Path

    from bench2robust.benchmarks.intents.domains import AIRLINE, from_file

    text = dump(records[:1]).decode()
    file = Path(tmp_path / "tasks.json")
    file.write_text(text, encoding="utf-8")
    assert from_file(AIRLINE, "airline-3i", file).tasks()[0].id == "general-0"
    number = next(
        a.arguments["reservation_id"] for a in _calls(records[0]) if "reservation_id" in a.arguments
    )
    file.write_text(text.replace(number, "NOWHERE"), encoding="utf-8")
    with pytest.raises(SpecError, match='reservation_id="NOWHERE"'):
        from_file(AIRLINE, "airline-3i", file)


def _calls(record):
    return [ToolCall(a["name"], a["arguments"]) for a in record["evaluation_criteria"]["actions"]]


@pytest.mark.slow
def test_the_whole_set():
    from bench2robust.benchmarks.intents.domains import AIRLINE

    counts = {intent: count for intent, count in AIRLINE.counts.to_dict().items() if count}
    assert counts == {"general": 254, "ambiguous": 254, "changing": 76}
    check_set(make(**counts), counts)
