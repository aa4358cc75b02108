"""A model in an episode: calls in order and each answered, thoughts kept out, one chance to repair."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.agents.chat import ChatAgent, ChatSpec, TextTools
from bench2robust.agents.chat.agent import NOTHING
from bench2robust.core.episode import End, Task
from bench2robust.core.errors import EndpointFatalError
from bench2robust.core.ports import Briefing, Utterance
from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec

from .serving import Answer, calls, error, said, serve

TOOLS = [ToolSpec(name, "d", {"type": "object", "properties": {}}) for name in ("f", "g")]
ANSWER = ToolResponse('{"ok": true}')


def briefing(greeting=""):
    return Briefing(Task("t", ""), TOOLS, "Be kind.", "I want f.", greeting=greeting, episode="e", seed=3)


def play(script, answers=(), *, greeting="", **spec):
    """Let a session act, once and then once for each answer; returns its actions, the server, the session."""

    async def talk(endpoint, server):
        session = ChatAgent(endpoint).start(briefing(greeting))
        actions = [await session.act(None)]
        for answer in answers:
            actions.append(await session.act(answer))
        return actions, server, session

    return serve(script, talk, **spec)


def sent(server, number=-1):
    """The messages of a request but for the system prompt."""
    return server.requests[number].messages[1:]


def test_words_go_to_the_user_and_back():
    actions, server, session = play([said("Which one?"), said("Fine.")], ["The red one."])
    assert actions == [Utterance("Which one?"), Utterance("Fine.")]
    assert sent(server) == [
        {"role": "user", "content": "I want f."},
        {"role": "assistant", "content": "Which one?"},
        {"role": "user", "content": "The red one."},
    ]
    assert session.usage.requests == 2
    assert session.usage.prompt_tokens == 200


def test_a_note_is_read_behind_the_answer():
    noted = ToolResponse("HTTP 500", error=True, note="<recovery_note>…</recovery_note>")
    _, server, _ = play([calls(("f", {})), said("Done.")], [noted])
    assert sent(server)[-1]["content"] == "HTTP 500\n\n<recovery_note>…</recovery_note>"


def test_a_memory_is_at_the_end_of_the_system_prompt():
    async def talk(endpoint, server):
        await ChatAgent(endpoint).start(replace(briefing(), memory="<tool_reliability>…")).act(None)
        return server.requests[0].messages[0]["content"]

    assert serve([said("Hi.")], talk).endswith("</policy>\n\n<tool_reliability>…")


def test_the_greeting_is_the_models_own_word_and_the_user_ends_the_talk():
    actions, server, _ = play([said("Bye! ###STOP###")], greeting="Hi!")
    assert actions == [Utterance("Bye! ###STOP###")]
    assert sent(server)[0] == {"role": "assistant", "content": "Hi!"}
    assert "###STOP###" not in server.requests[0].messages[0]["content"]


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("Done. ###STOP###", Utterance("Done.", last=True)),
        ("###STOP### Done.", Utterance("Done.", last=True)),
        ("###STOP###", None),
        ("<think>###STOP###</think>Wait.", Utterance("Wait.")),
    ],
)
def test_the_model_ends_the_talk_where_the_user_cannot(text, action):
    actions, server, session = play([said(text)])
    assert actions == [action]
    assert session.ended is None
    assert "###STOP###" in server.requests[0].messages[0]["content"]


def test_calls_that_come_together_are_made_in_order_and_each_is_answered():
    script = [calls(("f", {"a": 1}), ("g", {"b": "é"}), ("f", {}), text="Looking."), said("Done.")]
    answers = [ToolResponse("1"), ToolResponse("Error: 2", error=True), ToolResponse("3")]
    actions, server, _ = play(script, answers)
    assert actions == [
        ToolCall("f", {"a": 1}),
        ToolCall("g", {"b": "é"}),
        ToolCall("f", {}),
        Utterance("Done."),
    ]
    assert len(server.requests) == 2
    asked, *answered = sent(server)[1:]
    assert asked["content"] == "Looking."
    assert [c["function"] for c in asked["tool_calls"]] == [
        {"name": "f", "arguments": '{"a": 1}'},
        {"name": "g", "arguments": '{"b": "é"}'},
        {"name": "f", "arguments": "{}"},
    ]
    assert answered == [
        {"role": "tool", "tool_call_id": f"c{n}", "content": text}
        for n, text in enumerate(["1", "Error: 2", "3"])
    ]


def test_what_is_written_beside_a_call_is_an_aside_of_the_first():
    async def talk(endpoint, server):
        session = ChatAgent(endpoint).start(briefing())
        asides = []
        for answer in (None, ANSWER, ANSWER, "go on"):
            await session.act(answer)
            asides.append(session.aside)
        return asides

    script = [calls(("f", {}), ("g", {}), text="<think>x</think>Looking."), said("Done."), calls(("f", {}))]
    assert serve(script, talk) == ["Looking.", "", "", ""]


@pytest.mark.parametrize("keep", [False, True])
def test_reasoning_is_shown_again_only_where_the_spec_says_so(keep):
    script = [
        said("<think>Hm.</think>Which?"),
        calls(("f", {}), text="<think>So.</think>"),
        said("Done.", reasoning="Field."),
        said("Bye."),
    ]
    actions, server, _ = play(script, ["Red.", ANSWER, "Thanks."], keep_reasoning=keep)
    assert actions == [Utterance("Which?"), ToolCall("f", {}), Utterance("Done."), Utterance("Bye.")]
    said_, called, done = (m for m in sent(server) if m["role"] == "assistant")
    if keep:
        assert said_["content"] == "<think>Hm.</think>Which?"
        assert called["content"] == "<think>So.</think>"
        assert (done["content"], done["reasoning_content"]) == ("Done.", "Field.")
    else:
        assert (said_["content"], called["content"], done["content"]) == ("Which?", None, "Done.")
        assert "Hm." not in json.dumps(server.requests[-1].body)
        assert "Field." not in json.dumps(server.requests[-1].body)


MALFORMED = calls(("f", '{"a": '))


def test_a_model_may_repair_a_call_once():
    actions, server, session = play([MALFORMED, calls(("f", {"a": 1})), said("Done.")], [ANSWER])
    assert actions == [ToolCall("f", {"a": 1}), Utterance("Done.")]
    asked, told = sent(server, 1)[1:]
    assert asked["tool_calls"][0]["function"]["arguments"] == "{}"  # never sent back broken
    assert told["tool_call_id"] == "c0"
    assert told["content"] == (
        "Error: the call of f cannot be read: Expecting value: line 1 column 7 (char 6). "
        'Make it again with a valid JSON object. You wrote: {"a":'
    )
    assert session.ended is None
    assert session.usage.requests == 3


def test_a_call_that_stays_broken_ends_the_episode():
    actions, server, session = play([MALFORMED, MALFORMED])
    assert actions == [None]
    assert session.ended is End.MALFORMED_CALL
    assert len(server.requests) == 2


def test_a_sound_reply_gives_the_chance_back():
    script = [MALFORMED, calls(("f", {})), MALFORMED, said("No."), MALFORMED, MALFORMED]
    actions, _, session = play(script, [ANSWER, "Why?"])
    assert actions == [ToolCall("f", {}), Utterance("No."), None]
    assert session.ended is End.MALFORMED_CALL


def test_the_sound_calls_beside_a_broken_one_are_made():
    script = [calls(("f", {}), ("g", "{"), ("g", {})), said("Done.")]
    actions, server, _ = play(script, [ToolResponse("1"), ToolResponse("3")])
    assert actions == [ToolCall("f", {}), ToolCall("g", {}), Utterance("Done.")]
    assert [m["tool_call_id"] for m in sent(server) if m["role"] == "tool"] == ["c0", "c1", "c2"]


@pytest.mark.parametrize("empty", ["", " \n", "<think>endless", None])
def test_an_empty_reply_is_pointed_out_once(empty):
    actions, server, session = play([said(empty), said("Here."), said(empty), said(empty)], ["Yes?"])
    assert actions == [Utterance("Here."), None]
    assert session.ended is End.EMPTY_REPLY
    assert sent(server, 1)[-1] == {"role": "user", "content": NOTHING}


def test_a_conversation_too_long_ends_the_episode_without_a_crash():
    actions, _, session = play([calls(("f", {})), error(400, "maximum context length is 10")], [ANSWER])
    assert actions == [ToolCall("f", {}), None]
    assert session.ended is End.CONTEXT_EXCEEDED


TAGGED = 'One moment.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\n<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'


def test_tools_as_text(golden):
    script = [said(f"<think>Hm.</think>{TAGGED}"), said("Done.")]
    actions, server, _ = play(
        script, [ANSWER, ToolResponse("Error: no", error=True)], text_tools=TextTools.ON
    )
    assert actions == [ToolCall("f", {"a": 1}), ToolCall("g", {}), Utterance("Done.")]
    body = server.requests[-1].body
    assert "tools" not in body
    golden("chat_text_messages.txt", "\n".join(f"[{m['role']}]\n{m['content']}" for m in body["messages"]))


def test_a_broken_call_in_tags_is_repaired_likewise():
    broken = "<tool_call>{oops</tool_call>"
    actions, server, _ = play([said(broken), said(TAGGED)], text_tools=TextTools.ON)
    assert actions == [ToolCall("f", {"a": 1})]
    told = sent(server)[-1]
    assert told["role"] == "user"
    assert told["content"].startswith("<tool_response>\nError: the call of the tool cannot be read")
    actions, _, session = play([said(broken)] * 2, text_tools=TextTools.ON)
    assert (actions, session.ended) == ([None], End.MALFORMED_CALL)


NO_PARSER = error(
    400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
)


def test_a_server_without_a_parser_is_spoken_to_in_text():
    actions, server, _ = play([NO_PARSER, said(TAGGED), said("Done.")], [ANSWER, ANSWER])
    assert actions == [ToolCall("f", {"a": 1}), ToolCall("g", {}), Utterance("Done.")]
    assert ["tools" in request.body for request in server.requests] == [True, False, False]


def test_unless_the_spec_forbids_it():
    with pytest.raises(EndpointFatalError, match="does not take tools"):
        play([NO_PARSER], text_tools=TextTools.OFF)


def test_tags_that_a_server_leaves_in_the_text_are_calls_unless_the_spec_forbids_it():
    actions, server, _ = play([said(TAGGED), said("Done.")], [ANSWER, ANSWER])
    assert actions == [ToolCall("f", {"a": 1}), ToolCall("g", {}), Utterance("Done.")]
    assert len(sent(server)[1]["tool_calls"]) == 2
    actions, _, _ = play([said(TAGGED)], text_tools=TextTools.OFF)
    assert actions == [Utterance(TAGGED)]


def test_tools_that_come_later_are_offered_then():
    tools = TOOLS[:1]

    async def talk(endpoint, server):
        session = ChatAgent(endpoint).start(Briefing(Task("t", ""), tools, "", "Go."))
        await session.act(None)
        tools.append(TOOLS[1])
        await session.act("More.")
        return [len(request.body["tools"]) for request in server.requests]

    assert serve([said("a"), said("b")], talk) == [1, 2]


@pytest.mark.parametrize(
    ("first", "reply", "roles"),
    [(calls(("f", {})), ANSWER, ["assistant", "tool"]), (said("Which?"), "Red.", ["assistant", "user"])],
)
def test_what_was_cancelled_can_be_asked_again(first, reply, roles):
    async def talk(endpoint, server):
        session = ChatAgent(endpoint).start(briefing())
        await session.act(None)
        for _ in range(2):
            task = asyncio.create_task(session.act(reply))
            before = len(server.requests)
            while len(server.requests) == before:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return await session.act(reply), server

    last, server = serve([first, Answer(hang=True), Answer(hang=True), said("Done.")], talk)
    assert last == Utterance("Done.")
    assert [m["role"] for m in server.requests[-1].messages] == ["system", "user", *roles]
    assert server.requests[-1].body == server.requests[1].body


def test_streamed_or_not_an_episode_is_the_same():
    script = [calls(("f", {"a": 1}), ("g", {}), text="Hm."), said("Which?"), said("Done. ###STOP###")]
    played = [play(script, [ANSWER, ANSWER, "Red."], stream=stream) for stream in (False, True)]
    assert played[0][0] == played[1][0]
    assert played[0][2].usage == played[1][2].usage


def test_the_name_is_the_models():
    assert ChatAgent(ChatSpec("org/m")).name == "chat:org/m"


REPLIES = st.one_of(
    st.sampled_from(["", "Hi.", "<think>a", "###STOP###", TAGGED, "<tool_call>{</tool_call>"]).map(said),
    st.lists(st.tuples(st.sampled_from("fg"), st.sampled_from(["{}", '{"a": 1}', "{", "[]", ""])), min_size=1, max_size=3)
    .map(lambda pairs: calls(*pairs)),
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=8), st.sampled_from(TextTools), st.booleans())
def test_whatever_a_model_writes_what_is_sent_is_sound(script, text_tools, keep):
    """Every call that is sent back has its answer right after it, and no broken arguments are sent."""

    async def talk(endpoint, server):
        session = ChatAgent(endpoint).start(briefing())
        answer = None
        for _ in range(20):
            if len(server.requests) > len(script):
                break
            action = await session.act(answer)
            if action is None or (isinstance(action, Utterance) and action.last):
                break
            answer = ANSWER if isinstance(action, ToolCall) else "Go on."
        return server.requests

    endless = [*script, *[said("Bye. ###STOP###")] * 20]
    for request in serve(endless, talk, text_tools=text_tools, keep_reasoning=keep):
        open_calls = []
        for message in request.messages:
            if message["role"] == "tool":
                assert message["tool_call_id"] == open_calls.pop(0)
                continue
            assert not open_calls
            open_calls = [c["id"] for c in message.get("tool_calls", ())]
            for call in message.get("tool_calls", ()):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
        assert not open_calls
        roles = [m["role"] for m in request.messages]
        if text_tools is TextTools.ON:
            assert all(a != b for a, b in pairwise(roles))
