"""Task files and databases of the user's: what is accepted, and the one line for what is not."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from bench2robust.core.errors import SpecError

from .conftest import play

pytestmark = pytest.mark.tau2

AUTHORS = Path(__file__).parents[4] / "shared" / "data" / "trajectory2task_retail_sample.json"


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


@pytest.mark.skipif(not AUTHORS.is_file(), reason="the authors' sample is not there")
def test_the_authors_sample_needs_the_database_it_was_made_for():
    with pytest.raises(SpecError, match=r"task id='traj_0028': .*in the database, got order_id='#W1880131'"):
        load(f"retail-3i:{AUTHORS}")


def test_a_database_of_the_users(tmp_path, record, retail_set):
    """A renamed order: found on the user's database, not on the stock one."""
    stock = retail_set.benchmark._parts.data().db
    text = json.dumps(record)
    order = next(o for o in stock["orders"] if o in text)
    renamed = json.loads(text.replace(order, "#W9999999"))
    db = json.loads(json.dumps(stock).replace(order, "#W9999999"))
    file, database = write(tmp_path, [renamed]), write(tmp_path, db, "db.json")
    with pytest.raises(SpecError, match="order_id='#W9999999'"):
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
            "get_user_details: expected an id that is in the database, got user_id='no_one_1'",
        ),
        (
            _action(name="return_delivered_order_items", arguments={"item_ids": ["12"]}),
            "got item_ids='12'",
        ),
        (_action(name="get_user_details", arguments={"user_id": {}}), r"got user_id=\{\}"),
        (lambda r: r.update(initial_state={}), "expected a task without initial_state"),
        (lambda r: r.update(bench2robust={"opening": "Hi.", "answers": [{}]}), "is not a task in τ²'s form"),
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


@pytest.mark.parametrize("name", ["tau2-retail:x", "retail-3i:"])
def test_an_argument_that_cannot_be(name):
    with pytest.raises(SpecError, match="expected a benchmark's name alone"):
        load(name)
