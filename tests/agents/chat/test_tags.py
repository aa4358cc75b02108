"""Reasoning and calls in tags: what is written comes back, and nothing that a model writes breaks the reader."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents.chat.tags import (
    describe_tools,
    split_calls,
    split_reasoning,
    write_call,
    write_responses,
)
from bench2robust.core.tools import ToolSpec

TAGS = [
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<",
    ">",
    "think",
    "{",
    "}",
    '"',
    " ",
    "\n",
    "a",
]
SCRAPS = st.lists(st.sampled_from(TAGS), max_size=14).map("".join)
"""Texts made of tags, parts of tags and what stands beside them."""
NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | SCRAPS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCRAPS, inner, max_size=3),
    max_leaves=6,
)
CALL = st.tuples(NAME, st.dictionaries(SCRAPS, VALUE, max_size=3))
WORDS = st.text("abc .!\n", max_size=12)


@pytest.mark.parametrize(
    ("text", "reasoning", "rest"),
    [
        ("Hello", "", "Hello"),
        (" Hello\n", "", " Hello\n"),
        ("<think>a</think>b", "a", "b"),
        ("<think>\na\n</think>\n\nb", "a", "b"),
        ("a</think>b", "a", "b"),
        ("a\n</think>\n\nb</think>c", "a\nb", "c"),
        ("b<think>a</think>c</think>d", "a", "bcd"),
        ("<think>a", "a", ""),
        ("b<think>a", "a", "b"),
        ("<think>a</think>b<think>c</think>d", "a\nc", "bd"),
        ("<think>a<think>b</think>c</think>d", "a<think>b\nc", "d"),
        ("<think></think>", "", ""),
        ("<thi<think>a</think>nk>b", "a", "b"),
    ],
)
def test_reasoning_is_taken_out(text, reasoning, rest):
    assert split_reasoning(text) == (reasoning, rest)


@given(SCRAPS)
def test_no_reasoning_tag_is_left_and_nothing_more_is_taken(text):
    rest = split_reasoning(text)[1]
    assert "<think>" not in rest
    assert "</think>" not in rest
    assert split_reasoning(rest) == ("", rest)


@given(SCRAPS.filter(lambda t: "</think>" not in t), WORDS)
def test_what_stands_between_the_tags_is_the_reasoning(thought, words):
    assert split_reasoning(f"<think>{thought}</think>{words}") == (
        thought.strip(" \t\r\n"),
        words.strip(" \n"),
    )


@given(st.lists(CALL, min_size=1, max_size=4), WORDS, st.sampled_from(["", " ", "\n", "\n\n"]))
def test_calls_come_back_as_they_were_written(pairs, words, between):
    text = words + between.join(write_call(name, arguments) for name, arguments in pairs)
    rest, calls = split_calls(text)
    assert [(call.name, call.arguments, call.problem) for call in calls] == [
        (name, arguments, "") for name, arguments in pairs
    ]
    assert rest == words.strip(" \n")


@given(SCRAPS)
def test_anything_can_be_read(text):
    """Each call is one, or says why it is none; without the tag there is none and the text stays."""
    rest, calls = split_calls(text)
    if "<tool_call>" not in text:
        assert (rest, calls) == (text, [])
    else:
        assert calls
        assert "</tool_call>" not in rest
    for call in calls:
        assert bool(call.name) is not bool(call.problem)


@given(st.lists(CALL, min_size=1, max_size=2), SCRAPS.filter(lambda t: "<tool_call>" not in t))
def test_a_broken_call_spoils_no_other(pairs, junk):
    sound = [write_call(name, arguments) for name, arguments in pairs]
    text = f"{sound[0]}<tool_call>!{junk}</tool_call>{''.join(sound)}"
    calls = split_calls(text)[1]
    assert [(c.name, c.arguments) for c in calls if not c.problem] == [pairs[0], *pairs]
    assert sum(bool(c.problem) for c in calls) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"name": "f", "arguments": {"a": 1}', "Expecting ',' delimiter"),
        ("{'name': 'f'}", "Expecting property name"),
        ('{"name": "f"} and more', "something follows the JSON object"),
        ('{"arguments": {}}', "expected a JSON object with name and arguments"),
        ('{"name": ""}', "expected a JSON object with name"),
        ('["f"]', "expected a JSON object with name"),
        ('{"name": "f", "arguments": {"a": NaN}}', "NaN is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("", "Expecting value"),
    ],
)
@pytest.mark.parametrize("end", ["</tool_call>", ""])
def test_what_is_no_call_says_why(text, problem, end):
    (call,) = split_calls(f"<tool_call>{text}{end}")[1]
    assert call.problem.startswith(problem)


def test_a_missing_end_tag_does_no_harm():
    call = json.dumps({"name": "f", "arguments": {"a": "</tool_call>"}})
    for text in (f"<tool_call>{call}", f"<tool_call>\n{call}\n<tool_call>{call}</tool_call>"):
        assert all(c.arguments == {"a": "</tool_call>"} for c in split_calls(text)[1])


def test_arguments_may_be_called_parameters_or_be_missing():
    texts = ['{"name": "f", "parameters": {"a": 1}}', '{"name": "f"}']
    assert [split_calls(f"<tool_call>{t}</tool_call>")[1][0].arguments for t in texts] == [{"a": 1}, {}]


def test_tools_and_their_answers_as_text(golden):
    tools = [
        ToolSpec(
            "get_order", "Look an order up.", {"type": "object", "properties": {"id": {"type": "string"}}}
        ),
        ToolSpec("say", 'Says "{it}".', {"type": "object", "properties": {}}),
    ]
    shown = [
        describe_tools(tools),
        write_call("get_order", {"id": "№ 7"}),
        write_responses(["{}", "Error: no"]),
    ]
    golden("chat_text_tools.txt", "\n----\n".join(shown))
