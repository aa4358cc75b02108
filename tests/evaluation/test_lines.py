"""One episode, one line: nothing is lost, and the line looks as documented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.episode import (
    Assignment,
    Escalation,
    Message,
    Mode,
    Outcome,
    Role,
    Scenario,
    Score,
    Trajectory,
    Usage,
)
from bench2robust.core.errors import AgentError
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.tools import CallRecord, CorruptedField, ToolCall, ToolResponse
from bench2robust.evaluation import Episode, Result
from bench2robust.evaluation.lines import decode, decode_result, encode

TEXT = st.text(st.characters(codec=None, categories=None), max_size=12)  # lone surrogates included
NAME = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=6)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
RESPONSE = st.builds(ToolResponse, TEXT, st.booleans())
COUNT = st.integers(0, 10**9)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, st.floats(0, 1e6), st.floats(0, 1e6))


@st.composite
def records(draw, index):
    call = ToolCall(draw(NAME), draw(st.dictionaries(NAME, VALUE, max_size=3)))
    noise = draw(st.sampled_from([NoiseType.CLEAN, *NOISE_TYPES]))
    true = draw(st.none() | RESPONSE)
    # With no executed answer the delivered one is ours; without noise and block it is the tool's own.
    blocked = true is None and noise is NoiseType.CLEAN
    delivered = true if noise is NoiseType.CLEAN and true is not None else draw(RESPONSE)
    fields = st.builds(CorruptedField, TEXT, VALUE, VALUE)
    return CallRecord(
        index=index,
        call=call,
        ordinal=draw(st.integers(0, 9)),
        true=true,
        delivered=delivered,
        drawn=draw(st.none() | st.sampled_from([NoiseType.CLEAN, *NOISE_TYPES])),
        noise=noise,
        blocked=blocked,
        withheld=draw(st.none() | st.sampled_from(["budget", "consecutive", "not_landed"])),
        corrupted=tuple(draw(st.lists(fields, max_size=2))),
        note=draw(st.just("") | TEXT),
    )


SEED = st.integers(0, 2**63 - 1)


@st.composite
def episodes(draw):
    calls = [draw(records(index)) for index in range(draw(st.integers(0, 3)))]
    messages = [Message(Role.USER, draw(TEXT))]
    for call in calls:
        messages += [
            Message(Role.ASSISTANT, record=call.index),
            Message(Role.TOOL, call.shown, call.index),
        ]
        if draw(st.booleans()):
            messages += [Message(Role.ASSISTANT, draw(TEXT)), Message(Role.USER, draw(TEXT))]
        if draw(st.booleans()):
            by_user = ToolCall(draw(NAME), draw(st.dictionaries(NAME, VALUE, max_size=3)))
            messages.append(Message(Role.USER, draw(TEXT), call=by_user))
    usage = draw(st.tuples(st.none() | USAGE, st.none() | USAGE))
    for message in messages:
        if message.record is not None and message.role is Role.ASSISTANT:
            message.text = draw(TEXT)
        if usage != (None, None) and message.role is not Role.TOOL:
            message.usage = draw(st.none() | USAGE)
    counts = [draw(st.integers(0, 99)) for _ in range(5)]
    score = Score(draw(st.booleans()), draw(st.dictionaries(NAME, st.booleans(), max_size=2)))
    assignment = Assignment(
        draw(st.sampled_from(Scenario)),
        draw(st.sampled_from(Scenario)),
        frozenset(draw(st.lists(NAME, max_size=3))),
        draw(NAME | st.just("")),
        draw(NAME | st.just("")),
    )
    outcome = Outcome(score, draw(st.sampled_from(Escalation)), *counts)
    result = Result(
        draw(TEXT), draw(NAME), draw(st.sampled_from(Mode)), draw(SEED), assignment, outcome, *usage
    )
    ended = draw(st.sampled_from(["done", "escalated", "max_steps"]))
    return Episode(result, Trajectory(messages, calls, outcome.steps, ended))


@given(episodes())
def test_what_is_encoded_comes_back(episode):
    line = encode(episode)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode(line) == episode
    assert decode_result(line) == episode.result
    assert encode(decode(line)) == line


def example() -> Episode:
    """Return an episode that has everything a line can hold."""
    calls = [
        CallRecord(
            0, ToolCall("find", {"name": "Ada"}), 0, ToolResponse("m1"), ToolResponse("m1"), NoiseType.CLEAN
        ),
        CallRecord(
            1,
            ToolCall("get", {"id": "m1"}),
            0,
            ToolResponse('{"fee": 2.0}'),
            ToolResponse("HTTP 500 Internal Server Error", error=True),
            NoiseType.SERVER_ERROR,
            NoiseType.SERVER_ERROR,
        ),
        CallRecord(
            2,
            ToolCall("get", {"id": "m1"}),
            1,
            ToolResponse('{"fee": 2.0}'),
            ToolResponse('{"fee": 2.3}'),
            NoiseType.FACTUAL,
            NoiseType.FACTUAL,
            corrupted=(CorruptedField("fee", 2.0, 2.3),),
        ),
        CallRecord(
            3,
            ToolCall("pay", {}),
            0,
            ToolResponse("Error: missing", error=True),
            ToolResponse("Error: missing", error=True),
            NoiseType.STALE,
            withheld="not_landed",
        ),
        CallRecord(
            4, ToolCall("list"), 0, None, ToolResponse("HTTP 403 Forbidden", error=True), None, blocked=True
        ),
    ]
    messages = [Message(Role.USER, "Hello «τ²»")]
    for call in calls:
        messages += [
            Message(Role.ASSISTANT, record=call.index),
            Message(Role.TOOL, call.delivered.text, call.index),
        ]
    messages.append(Message(Role.ASSISTANT, "Bye"))
    outcome = Outcome(Score(passed=False, parts={"database": False}), Escalation.NONE, 6, 5, 2, 1, 0)
    assignment = Assignment(Scenario.S2, Scenario.S2, frozenset({"list", "keep"}), "loan", "by list")
    return Episode(
        Result("7", "naive", Mode.INJECT_ALT, 3, assignment, outcome), Trajectory(messages, calls, 6, "done")
    )


def test_a_line_is_as_in_the_golden_file():
    golden = Path(__file__).parents[1] / "golden" / "episode_line.json"
    assert json.loads(encode(example())) == json.loads(golden.read_text(encoding="utf-8"))
    assert decode(encode(example())) == example()


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "3", "{}", '{"id": "x"}', '{"calls": [], "messages": [["user"]]}']
)
def test_what_is_no_episode(line):
    with pytest.raises(ValueError, match=r".+"):
        decode(line)
    with pytest.raises(ValueError, match=r".+"):
        decode_result(line)


def test_usage_of_a_message_that_is_not_there():
    data = json.loads(encode(example()))
    data["usage"] = {"messages": [[99, 1, 1, 1, 0.0]]}
    with pytest.raises(ValueError, match="not an episode"):
        decode(json.dumps(data))


def test_a_message_for_a_call_that_is_not_there():
    data = json.loads(encode(example()))
    data["messages"].append(["call", 99])
    with pytest.raises(ValueError, match="not an episode"):
        decode(json.dumps(data))


def test_arguments_that_are_not_json_are_the_agents_fault():
    episode = example()
    call = ToolCall("find", {"name": object()})
    episode.trajectory.records[0].call = call
    with pytest.raises(AgentError, match="agent='naive' gave a call arguments that are not JSON"):
        encode(episode)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seed", "x"),
        ("seed", -1),
        ("agent", 3),
        ("outcome.steps", float("nan")),
        ("outcome.steps", 10**30),
        ("outcome.steps", -5),
        ("outcome.calls", True),
        ("outcome.passed", "yes"),
    ],
)
def test_a_value_that_cannot_be_is_no_episode(key, value):
    data = json.loads(encode(example()))
    *above, name = key.split(".")
    (data[above[0]] if above else data)[name] = value
    for read in (decode, decode_result):
        with pytest.raises(ValueError, match="not an episode"):
            read(json.dumps(data))


def test_a_place_of_a_call_before_the_first_is_no_episode():
    data = json.loads(encode(example()))
    data["messages"].append(["call", -1])
    with pytest.raises(ValueError, match="not an episode"):
        decode(json.dumps(data))


def test_brackets_without_end_are_no_episode():
    for read in (decode, decode_result):
        with pytest.raises(ValueError, match="not an episode"):
            read("[" * 100_000)
