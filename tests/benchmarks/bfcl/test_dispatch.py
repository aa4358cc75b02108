"""Calls: parsed and dispatched without eval, answered in the words of BFCL's executor."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.benchmarks import bfcl
from bench2robust.benchmarks.bfcl.functions import WRITES, every_function, parse, written
from bench2robust.benchmarks.bfcl.world import World
from bench2robust.core.errors import BenchmarkError
from bench2robust.core.tools import ToolCall, ToolKind

pytestmark = pytest.mark.bfcl

SOURCE = Path(bfcl.__file__).parent


def test_nothing_is_evaluated():
    """No call of eval, exec or compile in the package's code, whatever it is called by."""
    for file in SOURCE.rglob("*.py"):
        names = {node.id for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Name)}
        assert not names & {"eval", "exec", "compile", "__import__", "globals"}, file
        imports = file.read_text()
        assert "multi_turn_utils" not in imports
        assert "multi_turn_checker import" not in imports


@pytest.mark.parametrize(
    "name",
    [
        "__import__('os').system('touch {file}')",
        "(lambda: open('{file}', 'w'))",
        "_load_scenario",
        "__init__",
        "__class__",
        "_set_card_balance",
        "open",
        "exit",
        "os.system",
        "",
        "ls; touch {file}",
    ],
)
def test_a_hostile_tool_name_runs_nothing(base, name, tmp_path):
    file = tmp_path / "ran"
    environment = base.open(base.tasks()[0])
    answer = environment.call(ToolCall(name.format(file=file), {"folder": "x"}))
    assert answer.error
    assert answer.text.endswith("is not defined")
    assert not file.exists()
    assert environment._world.state is base.blueprint(base.tasks()[0]).state


@pytest.mark.parametrize(
    "text",
    [
        "ls(",
        "ls",
        "no_such(a=1)",
        "os.system('x')",
        "ls(a=__import__('os'))",
        "ls(**{'a': 1})",
        "ls(*[1])",
        "ls(1, 2, 3)",
        "ls(a=ls())",
        "(lambda: 1)()",
    ],
)
def test_only_a_plain_call_with_literals_is_parsed(text):
    with pytest.raises(BenchmarkError, match="expected a call of a BFCL function"):
        parse(text)


def test_gold_is_parsed_and_written_back(category):
    for task in category.tasks():
        for action in task.gold:
            assert parse(written(action.call)) == action.call


def test_there_are_128_functions_and_each_is_of_one_kind():
    functions = every_function()
    assert len(functions) == 128
    assert functions.keys() >= WRITES
    assert {name for name, f in functions.items() if f.spec.kind is ToolKind.WRITE} == WRITES


def test_reads_change_nothing(category):
    for task in category.tasks():
        world = World(category.blueprint(task))
        for turn in category.truth(task).turns:
            for step in turn.steps:
                before = world.fork()
                world.call(step.call)
                if step.reads:
                    assert world.state is before.fork().state or world.state == before.state
                    for api, instance in world._instances.items():
                        from bench2robust.benchmarks.bfcl.world import public

                        assert public(instance) == before.state[api]


def test_every_gold_answer_is_the_executors(category, upstream):
    for task in category.tasks():
        entry, truth = category.blueprint(task).entry, category.truth(task)
        steps = [step for turn in truth.turns for step in turn.steps]
        lines = [line for turn in entry.gold for line in turn]
        assert [step.text for step in steps] == upstream.responses(entry, lines), task.id


_VALUES = st.one_of(
    st.booleans(),
    st.integers(-3, 60),
    st.floats(-3, 60, allow_nan=False).filter(lambda x: not x.is_integer()),
    st.sampled_from(
        ["", "x", "..", "/", "economy", "AAPL", "START", "driver", "USD", "Rivermist", "2026-10-06"]
    ),
    st.lists(st.sampled_from(["driver", "AAPL", "@a", 3, 2.5]), max_size=3),
    st.none(),
)


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 199), st.data())
def test_any_call_gets_the_executors_answer(upstream, base, number, data):
    """Gold calls up to some point, then one with arguments changed, left out or added: the same answers, and the
    same ones afterwards."""
    task = base.tasks()[number]
    blueprint = base.blueprint(task)
    steps = [step.call for turn in base.truth(task).turns for step in turn.steps]
    cut = data.draw(st.integers(0, len(steps)), label="cut")
    name = data.draw(st.sampled_from(sorted(blueprint.tools)), label="tool")
    names = blueprint.tools[name].names
    given_names = data.draw(st.lists(st.sampled_from((*names, "odd")), unique=True), label="arguments")
    odd = ToolCall(name, {key: data.draw(_VALUES, label=key) for key in given_names})
    calls = [*steps[:cut], odd, *steps[cut:]]
    environment = base.open(task)
    ours = [environment.call(call).text for call in calls]
    # What BFCL's default lists leak is its own; a call of ours always has lists of its own.
    sent = [
        ToolCall(c.name, {"tags": [], "mentions": []} | dict(c.arguments)) if c.name == "post_tweet" else c
        for c in calls
    ]
    assert ours == upstream.responses(blueprint.entry, [written(call) for call in sent])


def test_integral_floats_become_integers_where_the_schema_says_integer(base):
    for task in base.tasks():
        environment = base.open(task)
        for turn in base.truth(task).turns:
            for step in turn.steps:
                properties = base.blueprint(task).tools[step.call.name].spec.parameters["properties"]
                sent = {
                    key: float(value)
                    if type(value) is int and properties[key]["type"] == "integer"
                    else value
                    for key, value in step.call.arguments.items()
                }
                assert environment.call(ToolCall(step.call.name, sent)).text == step.text


def test_an_argument_of_the_callers_is_never_kept(base):
    task = next(t for t in base.tasks() if t.id == "147")
    environment = base.open(task)
    tags = ["#a"]
    answer = environment.call(ToolCall("post_tweet", {"content": "x", "tags": tags, "mentions": tags}))
    assert not answer.error
    environment.call(ToolCall("mention", {"tweet_id": 1, "mentioned_usernames": ["@b"]}))
    assert tags == ["#a"]


@pytest.mark.parametrize(
    ("number", "call"),
    [
        ("98", ToolCall("get_outside_temperature_from_weather_com")),
        ("91", ToolCall("search_messages", {"keyword": ""})),
        ("48", ToolCall("get_user_tickets", {})),
        ("0", ToolCall("cat", {"file_name": "none"})),
        ("0", ToolCall("cat", {"file": "none"})),
        ("0", ToolCall("cp", {"source": "a", "destination": "b"})),
        ("150", ToolCall("book_flight", {})),
        ("100", ToolCall("get_order_details", {"order_id": 7})),
        ("14", ToolCall("message_login", {"user_id": "nobody"})),
    ],
)
def test_a_tools_own_error_is_marked_as_one(base, number, call):
    task = next(t for t in base.tasks() if t.id == number)
    assert base.open(task).call(call).error


def test_gold_answers_are_no_errors(category):
    for task in category.tasks():
        environment = category.open(task)
        for turn, steps in enumerate(category.truth(task).turns):
            environment.begin(turn)
            assert not any(environment.call(step.call).error for step in steps.steps), task.id
