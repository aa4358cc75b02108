"""Reading completions: every form that servers send, and no form that breaks the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents.chat.reply import Unreadable, clean, read_reply, shorten

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    "content",
    "tool_calls",
    "reasoning",
    "reasoning_content",
    "refusal",
    "function",
    "id",
    "name",
    "arguments",
]
MESSAGE = st.dictionaries(
    st.sampled_from(KEYS),
    st.recursive(
        JSON,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def completion(finish="stop", usage=None, **message):
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def call(arguments, name="f", number="c1"):
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_words_reasoning_and_tokens():
    usage = {"prompt_tokens": 7, "completion_tokens": 3}
    reply = read_reply(completion(usage=usage, content="<think>a</think>b", reasoning_content="c"), tags=True)
    assert (reply.text, reply.content, reply.reasoning) == ("b", "<think>a</think>b", "c")
    assert (reply.finish, reply.prompt_tokens, reply.completion_tokens) == ("stop", 7, 3)


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        (" ", {}),
        ('{"a": "é"}', {"a": "é"}),
    ],
)
def test_arguments_that_can_be_read(arguments, read):
    (proposal,) = read_reply(completion(tool_calls=[call(arguments)]), tags=False).calls
    assert (proposal.name, proposal.arguments, proposal.problem) == ("f", read, "")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"a": 1', "Expecting ',' delimiter"),
        ("[1]", r"expected a JSON object of arguments, got [1]"),
        ('"{}"', "expected a JSON object of arguments"),
        ("7", "expected a JSON object of arguments, got 7"),
        ("null", "expected a JSON object of arguments, got null"),
        ('{"a": Infinity}', "Infinity is not JSON"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ([1], "expected a JSON object of arguments, got [1]"),
    ],
)
def test_arguments_that_cannot(arguments, problem):
    (proposal,) = read_reply(completion(tool_calls=[call(arguments)]), tags=False).calls
    assert proposal.arguments is None
    assert proposal.problem.startswith(problem)


def test_a_call_without_a_name_is_none():
    for name in ("", None, 7):
        (proposal,) = read_reply(completion(tool_calls=[call("{}", name)]), tags=False).calls
        assert proposal.problem == "it has no name"


def test_tags_are_read_on_request_only_and_never_beside_real_calls():
    text = 'Wait. <tool_call>{"name": "g", "arguments": {}}</tool_call>'
    assert [c.name for c in read_reply(completion(content=text), tags=True).calls] == ["g"]
    assert read_reply(completion(content=text), tags=True).text == "Wait."
    assert read_reply(completion(content=text), tags=False).text == text
    assert [
        c.name for c in read_reply(completion(content=text, tool_calls=[call("{}")]), tags=True).calls
    ] == ["f"]


def test_calls_in_reasoning_are_thoughts():
    text = '<think>Shall I <tool_call>{"name": "g"}</tool_call>?</think>No.'
    reply = read_reply(completion(content=text), tags=True)
    assert (reply.text, reply.calls) == ("No.", ())


def test_missing_ids_are_made_up():
    reply = read_reply(completion(tool_calls=[call("{}", number=""), call("{}", number=None)]), tags=False)
    assert [c.id for c in reply.calls] == ["call_0", "call_1"]


def test_content_in_parts_and_refusals():
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert read_reply(completion(content=parts), tags=False).text == "ab"
    assert read_reply(completion(content=None, refusal="No."), tags=False).text == "No."
    assert read_reply(completion(content=None, reasoning="r"), tags=False).reasoning == "r"


def test_halves_of_surrogate_pairs_are_replaced():
    reply = read_reply(completion(content="a\ud800b", tool_calls=[call("{", "f\udfff")]), tags=False)
    for text in (reply.content, reply.text, reply.calls[0].name, reply.calls[0].raw):
        text.encode()
    assert clean("a\ud83d\ude00") != ""


@pytest.mark.parametrize(
    "bad",
    [None, "", "<html>", [], {}, {"choices": []}, {"choices": [1]}, {"choices": [{}]}, {"error": {"code": 500}},
     {"choices": [{"message": "hi"}]}, completion(tool_calls="f"), completion(tool_calls=["f"])],
)  # fmt: skip
def test_what_is_no_completion(bad):
    with pytest.raises(Unreadable, match=r"expected .*, got "):
        read_reply(bad, tags=True)


@given(JSON | MESSAGE.map(lambda message: completion(**message)), st.booleans())
def test_nothing_else_is_ever_raised(answer, tags):
    try:
        reply = read_reply(answer, tags=tags)
    except Unreadable:
        return
    assert all((c.arguments is None) == bool(c.problem) for c in reply.calls)
    assert reply.prompt_tokens >= 0


def test_shorten():
    assert shorten(" a\n b ") == "a b"
    assert shorten("x" * 200, 10) == "x" * 9 + "…"
