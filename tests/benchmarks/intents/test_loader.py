"""Task files and databases of the user's: what is accepted, and the one line for what is not."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from bench2robust.core.errors import SpecError

from .conftest import play

pytestmark = pytest.mark.tau2

AUTHORS = Path(__file__).parent / "authors_form.json"
"""A record in the authors' form, written for this test, on an order that τ²'s database lacks."""


def load(name):
    from bench2robust.evaluation import load as by_name

    return by_name(name)


def write(folder, data, name="tasks.json"):
    file = folder / name
    file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return file


@pytest.fixture
def record(retail_set):
    return copy.deepcopy(retail_set.records[0])


def test_our_own_file_is_read_back_as_it_was_generated(tmp_path, retail_set):
    benchmark = load(f"retail-3i:{write(tmp_path, retail_set.records)}")
    assert benchmark.tasks() == tuple(retail_set.tasks)
    for task in benchmark.tasks()[::9]:
        assert play(benchmark, task).result.outcome.score.passed


def test_a_file_in_the_authors_form_is_read_as_general_tasks(tmp_path, record):
    del record["bench2robust"]
    record["trajectory_id"] = record["id"] = "traj_0001"
    benchmark = load(f"retail-3i:{write(tmp_path, [record])}")
    (task,) = benchmark.tasks()
    assert (task.id, task.script, task.data["intent"], task.data["source"]) == (
        "traj_0001",
        None,
        "general",
        "3i",
    )
    assert play(benchmark, task).result.outcome.score.passed


def test_the_authors_prohibited_actions_are_scored(tmp_path, record):
    del record["bench2robust"]
    forbidden = record["evaluation_criteria"]["actions"][-1]
    record["evaluation_criteria"]["actions_should_not_taken"] = [
        {"tool_name": forbidden["name"], "arguments": forbidden["arguments"]}
    ]
    benchmark = load(f"retail-3i:{write(tmp_path, [record])}")
    (task,) = benchmark.tasks()
    assert task.data["intent"] == "infeasible"
    assert not play(benchmark, task, "adversary").result.outcome.score.parts["forbidden"]


def test_a_file_of_the_authors_needs_the_database_it_was_made_for(retail_set, tmp_path):
    with pytest.raises(
        SpecError, match=r"task id='traj_0001': .*in the database, got order_id=\"#W0000001\""
    ):
        load(f"retail-3i:{AUTHORS}")
    stock = retail_set.benchmark._parts.data().db
    order = stock["users"]["yusuf_rossi_9620"]["orders"][0]
    database = json.loads(json.dumps(stock).replace(order, "#W0000001"))
    benchmark = load(f"retail-3i:{AUTHORS}@{write(tmp_path, database, 'db.json')}")
    (task,) = benchmark.tasks()
    assert (task.script, task.data["intent"], task.data["forbidden"][0]["name"]) == (
        None,
        "infeasible",
        "cancel_pending_order",
    )


def test_a_database_of_the_users(tmp_path, record, retail_set):
    """A renamed order: found on the user's database, not on the stock one."""
    stock = retail_set.benchmark._parts.data().db
    text = json.dumps(record)
    order = next(o for o in stock["orders"] if o in text)
    renamed = json.loads(text.replace(order, "#W9999999"))
    db = json.loads(json.dumps(stock).replace(order, "#W9999999"))
    file, database = write(tmp_path, [renamed]), write(tmp_path, db, "db.json")
    with pytest.raises(SpecError, match='order_id="#W9999999"'):
        load(f"retail-3i:{file}")
    benchmark = load(f"retail-3i:{file}@{database}")
    assert play(benchmark, benchmark.tasks()[0]).result.outcome.score.passed


def _without(*path):
    def change(record):
        inner = record
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]

    return change


def _action(**values):
    def change(record):
        record["evaluation_criteria"]["actions"][0].update(values)

    return change


def _words(key, value):
    return lambda record: record["user_scenario"]["instructions"].update({key: value})


def _tell(value):
    return lambda record: record["evaluation_criteria"].update(communicate_info=value)


def _criteria(**values):
    return lambda record: record["evaluation_criteria"].update(values)


IDS = ("", "a:b", "a/b", "a,b", "a\\b", "a b", "..", ".", "a\0", "\x7f", "all", "0-5")
"""No ids: they separate, end or stand for something on the command line or in a run folder."""


def _deep(record):
    record["note"] = json.loads("[" * 200 + "]" * 200)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_without("id"), "task number 1: expected a key 'id', found none"),
        (
            _without("user_scenario", "instructions"),
            "expected a key 'user_scenario.instructions.reason_for_call'",
        ),
        (
            _without("evaluation_criteria", "actions"),
            "expected a key 'evaluation_criteria.actions', found none",
        ),
        (_action(name="find_user_id_by_mail"), "got tool='find_user_id_by_mail'; did you mean"),
        (_action(arguments=[]), "expected a table of arguments for tool="),
        (
            _action(name="get_user_details", arguments={"user_id": "no_one_1"}),
            'get_user_details: expected an id that is in the database, got user_id="no_one_1"',
        ),
        (
            _action(name="return_delivered_order_items", arguments={"item_ids": ["12"]}),
            'got item_ids="12"',
        ),
        (
            _action(name="get_user_details", arguments={"user_id": {}}),
            r"get_user_details: user_id: expected string, got \{\}",
        ),
        (lambda r: r.update(initial_state={}), "expected a task without initial_state"),
        (lambda r: r.update(bench2robust=[]), r"bench2robust: expected a table, got \[\]"),
        (
            lambda r: r.update(bench2robust={"opening": "Hi.", "answers": [{}]}),
            "expected a key 'bench2robust.answers.0.asks', found none",
        ),
        (lambda r: r["bench2robust"].update(intent="x"), 'bench2robust.intent: expected .* got "x"'),
        (lambda r: r["bench2robust"].update(intent="changing"), "expected a key 'bench2robust.opening'"),
        *((lambda r, i=i: r.update(id=i), "id: expected a text without") for i in IDS),
        (lambda r: r.update(id="a\ud800"), r"id: expected a text that can be written, .* \"a\\ud800\""),
        (_words("known_info", "\udfff"), r"known_info: expected a text that can be written"),
        (_criteria(env_assertions=[{"func_name": "x"}]), "env_assertions: expected none"),
        (
            _criteria(reward_basis=["ENV_ASSERTION"]),
            'expected DB and COMMUNICATE .* got \\["ENV_ASSERTION"\\]',
        ),
        (_criteria(reward_basis=[]), "reward_basis: expected DB and COMMUNICATE"),
        (
            _criteria(reward_basis=["DB"], communicate_info=["12"]),
            "reward_basis: expected DB and COMMUNICATE",
        ),
        (_words("reason_for_call", " "), "reason_for_call: expected words"),
        (_words("known_info", 3), "known_info: expected a text, got 3"),
        (_tell("12"), 'evaluation_criteria.communicate_info: expected a list, got "12"'),
        (_tell(["12", 12]), "evaluation_criteria.communicate_info.1: expected a text, got 12"),
        (_action(name=None), "evaluation_criteria.actions.0.name: expected a text, got null"),
        (
            _without("evaluation_criteria", "actions", 0, "name"),
            "expected a key 'evaluation_criteria.actions.0.name', found none",
        ),
        (
            _action(name="get_user_details", arguments={}),
            "actions.0: get_user_details: expected an argument 'user_id', found none",
        ),
        (
            _action(name="find_user_id_by_email", arguments={"email": "a", "mail": "b"}),
            'find_user_id_by_email: expected arguments email, got "mail"',
        ),
        (
            _action(name="find_user_id_by_email", arguments={"email": 3}),
            "find_user_id_by_email: email: expected string, got 3",
        ),
        (_deep, "expected at most 60 levels of nesting"),
    ],
)
def test_a_wrong_task_is_one_line_with_file_and_task(tmp_path, record, change, problem):
    change(record)
    file = write(tmp_path, [record])
    with pytest.raises(SpecError, match=problem) as caught:
        load(f"retail-3i:{file}")
    message = str(caught.value)
    assert message.startswith(f"{file}: task ")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[{", "expected JSON in file="),
        ("{}", "expected a list of tasks, got {}"),
        ("[]", "expected a list of tasks"),
        ("[" * 100_000 + "]" * 100_000, "got a nest too deep to read"),
        ('[{"id": NaN}]', "expected JSON in file=.*NaN is no JSON"),
        ("[" * 90 + "]" * 90, "task number 1: expected at most 60 levels of nesting"),
    ],
)
def test_a_file_that_is_no_list_of_tasks(tmp_path, text, problem):
    with pytest.raises(SpecError, match=problem):
        load(f"retail-3i:{write(tmp_path, text)}")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SpecError, match="expected a file that can be read"):
        load(f"retail-3i:{tmp_path / 'none.json'}")


def test_an_id_twice(tmp_path, record):
    with pytest.raises(SpecError, match="got this one twice"):
        load(f"retail-3i:{write(tmp_path, [record, record])}")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda db: db.pop("users"), "expected a table 'users', got users=null"),
        (lambda db: next(iter(db["orders"].values())).pop("status"), "db.json: orders: #W"),
    ],
)
def test_a_database_that_does_not_fit(tmp_path, record, retail_set, change, problem):
    db = copy.deepcopy(retail_set.benchmark._parts.data().db)
    change(db)
    file, database = write(tmp_path, [record]), write(tmp_path, db, "db.json")
    with pytest.raises(SpecError, match=problem):
        load(f"retail-3i:{file}@{database}")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("tau2-retail:x", "expected a benchmark's name alone"),
        ("retail-3i:", "expected a file after the colon of 'retail-3i:', or 'retail-3i' alone"),
        ("retail-3i:@db.json", "expected a task file before the @"),
    ],
)
def test_an_argument_that_cannot_be(name, problem):
    with pytest.raises(SpecError, match=problem):
        load(name)


@pytest.mark.parametrize("intent", ["ambiguous", "changing", "infeasible"])
def test_any_missing_key_of_ours_is_one_line_or_not_needed(tmp_path, retail_set, intent):
    """Every key of the extras of every task, its facts too, taken away or made senseless."""
    from bench2robust.benchmarks.intents.domains import RETAIL, from_file

    def problem(raw):
        file = write(tmp_path, [raw])
        try:
            from_file(RETAIL, "x", file)
        except SpecError as error:
            return str(error).removeprefix(f"{file}: ")
        return "task id="

    by_rule = {t.data["bench2robust"].get("rule"): t for t in retail_set.by_intent[intent]}
    for task in by_rule.values():
        for key in task.data["bench2robust"]:
            for value in (None, 3, "?", {}, [3], [{}], {"name": "?"}):
                raw = copy.deepcopy(retail_set.records[retail_set.tasks.index(task)])
                raw["bench2robust"][key] = value
                if value is None:
                    del raw["bench2robust"][key]
                found = problem(raw)
                assert found.startswith("task id="), (key, value)
                assert "\n" not in found
                assert "KeyError" not in found, (key, value)


@pytest.mark.parametrize("flights", [[3], [{}], [None]])
def test_a_gold_call_with_senseless_insides_is_one_line_or_can_be_planned(tmp_path, flights):
    from bench2robust.benchmarks.intents.domains import AIRLINE, from_file

    trip, record = next(iter(AIRLINE.db["reservations"].items()))
    arguments = {
        "reservation_id": trip,
        "cabin": "economy",
        "flights": flights,
        "payment_id": next(iter(AIRLINE.db["users"][record["user_id"]]["payment_methods"])),
    }
    raw = {
        "id": "odd",
        "user_scenario": {"instructions": {"reason_for_call": "You want to fly.", "task_instructions": ""}},
        "evaluation_criteria": {"actions": [{"name": "update_reservation_flights", "arguments": arguments}]},
    }
    file = write(tmp_path, [raw])
    try:
        benchmark = from_file(AIRLINE, "x", file)
    except SpecError as error:
        problem = str(error)
    else:
        benchmark.plan(benchmark.tasks()[0])
        return
    assert problem.startswith(f"{file}: task id='odd': ")
    assert "\n" not in problem


def airline_raw(name, **arguments):
    """A task with one gold call."""
    return {
        "id": "odd",
        "user_scenario": {"instructions": {"reason_for_call": "You want to fly.", "task_instructions": ""}},
        "evaluation_criteria": {"actions": [{"name": name, "arguments": arguments}]},
    }


def booking(**changed):
    """A booking that τ²'s airline takes, with some arguments changed."""
    from bench2robust.benchmarks.intents.domains import AIRLINE

    db = AIRLINE.db
    flight, date, fares = next(
        (flight, date, day["prices"])
        for flight in db["flights"].values()
        for date, day in flight["dates"].items()
        if day["status"] == "available" and day["available_seats"]["economy"]
    )
    user_id, card = next(
        (user_id, method)
        for user_id, user in db["users"].items()
        for method in user["payment_methods"]
        if method.startswith("credit_card")
    )
    arguments = {
        "user_id": user_id,
        "origin": flight["origin"],
        "destination": flight["destination"],
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [{"flight_number": flight["flight_number"], "date": date}],
        "passengers": [{"first_name": "A", "last_name": "B", "dob": "1990-01-01"}],
        "payment_methods": [{"payment_id": card, "amount": fares["economy"]}],
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
    }
    return airline_raw("book_reservation", **{**arguments, **changed})


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"flights": [{"flight_number": "HAT999", "date": "2024-05-20"}]},
            'flights: expected an id that is in the database, got flight_number="HAT999"',
        ),
        (
            {"payment_methods": [{"payment_id": "credit_card_0", "amount": 1}]},
            'payment_methods: expected an id that is in the database, got payment_id="credit_card_0"',
        ),
        ({"flights": ["HAT999"]}, "flights.0: fits none of anyOf, got 'HAT999'"),
        ({"passengers": ["x"]}, "passengers.0: fits none of anyOf, got 'x'"),
        ({"passengers": [{}]}, "expected a call that is possible, got an error"),
        ({"cabin": "coach"}, "cabin: expected one of ['business', 'economy', 'basic_economy'], got 'coach'"),
        ({"origin": "QQQ"}, 'expected an id that is in the database, got origin="QQQ"'),
        ({"total_baggages": True}, "total_baggages: expected integer, got True"),
        ({"insurance": "no" * 500}, f"got '{'no' * 39}n…"),
        ({"origin": "Q" * 500}, f'got origin="{"Q" * 59}…'),
    ],
)
def test_arguments_are_checked_at_any_depth(tmp_path, changed, problem):
    from bench2robust.benchmarks.intents.domains import AIRLINE, from_file

    with pytest.raises(SpecError) as caught:
        from_file(AIRLINE, "x", write(tmp_path, [booking(**changed)]))
    assert "actions.0: book_reservation: " + problem in str(caught.value) or problem in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_booking_that_can_be_made_is_taken(tmp_path):
    from bench2robust.benchmarks.intents.domains import AIRLINE, from_file

    assert from_file(AIRLINE, "x", write(tmp_path, [booking()])).tasks()[0].id == "odd"


def test_a_reason_that_no_tool_takes(tmp_path, retail_set):
    raw = next(
        r for r in retail_set.records if '"reason": "' in json.dumps(r["evaluation_criteria"]["actions"])
    )
    raw = json.loads(json.dumps(raw).replace('"reason": "no longer needed"', '"reason": "xyz"'))
    raw = json.loads(json.dumps(raw).replace('"reason": "ordered by mistake"', '"reason": "xyz"'))
    with pytest.raises(SpecError, match=r'cancel_pending_order: expected .* got reason="xyz"'):
        load(f"retail-3i:{write(tmp_path, [raw])}")


def test_gold_that_the_tools_refuse(tmp_path, retail_set):
    """More new items than old ones: every id is right, and no agent could do it."""
    for record in retail_set.records:
        for action in record["evaluation_criteria"]["actions"]:
            if "new_item_ids" in action["arguments"]:
                raw = copy.deepcopy(record)
    changed = next(a for a in raw["evaluation_criteria"]["actions"] if "new_item_ids" in a["arguments"])
    changed["arguments"]["new_item_ids"] *= 2
    with pytest.raises(
        SpecError, match=r"expected a call that is possible, got an error \(The number of items"
    ):
        load(f"retail-3i:{write(tmp_path, [raw])}")


def test_what_is_abandoned_has_to_be_possible(tmp_path, retail_set):
    raw = next(r for r in retail_set.records if r["bench2robust"]["intent"] == "changing")
    raw = copy.deepcopy(raw)
    db = retail_set.benchmark._parts.data().db
    raw["bench2robust"]["abandoned"] = {
        "name": "cancel_pending_order",
        "arguments": {
            "order_id": next(n for n, o in db["orders"].items() if o["status"] == "delivered"),
            "reason": "no longer needed",
        },
    }
    with pytest.raises(
        SpecError, match=r"abandoned: cancel_pending_order: .*Non-pending order cannot be cancelled"
    ):
        load(f"retail-3i:{write(tmp_path, [raw])}")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"order_id": "#W0000000"}, 'expected an id that is in the database, got order_id="#W0000000"'),
        ({"order": "#W2611340"}, 'expected arguments order_id, reason, got "order"'),
        ({"order_id": 3}, "got order_id=3"),
        ({"reason": "xyz"}, 'got reason="xyz"'),
    ],
)
def test_a_forbidden_call_has_to_be_one_that_could_happen(tmp_path, record, retail_set, arguments, problem):
    """Else nothing ever is the forbidden call, and that part of the verdict always passes."""
    theirs = copy.deepcopy(record)
    theirs["evaluation_criteria"]["actions_should_not_taken"] = [
        {"tool_name": "cancel_pending_order", "arguments": arguments}
    ]
    ours = copy.deepcopy(retail_set.records[-1])
    ours["bench2robust"]["forbidden"] = [{"name": "cancel_pending_order", "arguments": arguments}]
    for raw, where in ((theirs, "actions_should_not_taken.0"), (ours, "bench2robust.forbidden.0")):
        with pytest.raises(SpecError) as caught:
            load(f"retail-3i:{write(tmp_path, [raw], where)}")
        assert f"{where}: cancel_pending_order: " in str(caught.value)
        assert problem in str(caught.value)


@pytest.mark.parametrize("cues", [[], ["the weather"]])
def test_an_answer_that_no_question_brings_out(tmp_path, retail_set, cues):
    raw = copy.deepcopy(next(r for r in retail_set.records if r["bench2robust"]["intent"] == "ambiguous"))
    raw["bench2robust"]["answers"][0]["cues"] = cues
    with pytest.raises(SpecError, match=r"answers\.0\.cues: expected one that '.*\?' holds, got \["):
        load(f"retail-3i:{write(tmp_path, [raw])}")


def test_an_answer_to_what_nobody_asks(tmp_path, retail_set):
    raw = copy.deepcopy(retail_set.records[24])
    raw["bench2robust"]["answers"][0]["asks"] = "weather"
    with pytest.raises(SpecError, match=r"answers\.0\.asks: expected one of order, .* got \"weather\""):
        load(f"retail-3i:{write(tmp_path, [raw])}")


def test_an_infeasible_task_without_a_user_never_starts(tmp_path, retail_set, capsys):
    from bench2robust.cli.main import exit_code

    raw = copy.deepcopy(retail_set.records[-1])
    del raw["bench2robust"]["user_id"]
    file = write(tmp_path, [raw])
    out = tmp_path / "run"
    command = ["run", "--benchmark", f"retail-3i:{file}", "--seeds", "1", "--out", str(out)]
    assert exit_code(command) == 2
    error = capsys.readouterr().err
    assert f"{file}: task id='{raw['id']}': expected a key 'bench2robust.user_id', found none" in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("given", "same"),
    [(["a", "b"], True), (["b", "a"], True), (["a"], False), (["a", "a"], False), (None, False)],
)
def test_a_forbidden_call_is_one_in_any_order_of_its_items(given, same):
    from bench2robust.benchmarks.intents.forbidden import _is
    from bench2robust.core.tools import ToolCall

    wanted = {"name": "return_delivered_order_items", "arguments": {"item_ids": ["a", "b"]}}
    call = ToolCall("return_delivered_order_items", {"item_ids": given, "order_id": "#W1"})
    assert _is(call, wanted) is same


def test_a_file_that_has_changed_is_read_again(tmp_path, record):
    from bench2robust.evaluation.certificate import certify

    name = f"retail-3i:{write(tmp_path, [record])}"
    first = load(name)
    assert load(name) is first
    before = certify(name)
    assert certify(name).keys() == {"general-0"}
    write(tmp_path, [{**record, "id": "other"}])
    assert [task.id for task in load(name).tasks()] == ["other"]
    assert list(certify(name).items()) == [("other", before["general-0"])]
    (tmp_path / "tasks.json").unlink()
    with pytest.raises(SpecError, match="expected a file that can be read"):
        load(name)
