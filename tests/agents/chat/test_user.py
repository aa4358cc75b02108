"""A model as the user: its signals, its tools, and that its failures are never the agent's."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bench2robust.agents.chat import LLMUser
from bench2robust.agents.chat.agent import NOTHING
from bench2robust.core.episode import End, Message, Role, Task
from bench2robust.core.errors import EpisodeLostError, SpecError
from bench2robust.core.ports import Scene
from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec

from .serving import calls, error, said, serve

TASK = Task("t", "You want your lamp back.")


class World:
    """An environment in which the user has nothing to do."""


@dataclass
class Phone(World):
    """One in which the user acts."""

    done: list[ToolCall] = field(default_factory=list)

    def user(self):
        raise AssertionError

    def acts(self):
        return [Message(Role.USER, "on", call=call) for call in self.done]

    def user_tools(self):
        return [ToolSpec("toggle", "d", {"type": "object", "properties": {}})]

    def act(self, call):
        self.done.append(call)
        return ToolResponse("on")


def talk_with(script, *sayings, world=None, **spec):
    async def talk(endpoint, server):
        user = LLMUser(endpoint, Scene(TASK, world or World(), "e", 0))
        return [await user.reply(text) for text in sayings], user, server

    return serve(script, talk, **spec)


def test_the_user_hears_the_assistant_as_a_model_hears_a_user():
    words, user, server = talk_with([said("My lamp!"), said("Number 7.")], "Hi!", "Which order?")
    assert words == ["My lamp!", "Number 7."]
    assert [(m["role"], m["content"]) for m in server.requests[1].messages[1:]] == [
        ("user", "Hi!"),
        ("assistant", "My lamp!"),
        ("user", "Which order?"),
    ]
    assert "tools" not in server.requests[0].body
    assert (user.ends_talk, user.parting, user.usage.requests) == (True, None, 2)


@pytest.mark.parametrize(
    ("signal", "end"),
    [("###STOP###", End.DONE), ("###TRANSFER###", End.TRANSFERRED), ("###OUT-OF-SCOPE###", End.OUT_OF_SCOPE)],
)
def test_signals_end_the_talk(signal, end):
    words, user, _ = talk_with([said(f"Thanks! {signal}")], "Done.")
    assert words == [None]
    assert (user.parting.text, user.parting.end) == (f"Thanks! {signal}", end)


def test_a_signal_in_the_users_thoughts_is_none():
    words, user, _ = talk_with([said("<think>###STOP###?</think>Wait.")], "Done.")
    assert (words, user.parting) == (["Wait."], None)


def test_an_empty_answer_is_asked_for_again_and_then_lost():
    words, _, server = talk_with([said(""), said("Yes.")], "Well?")
    assert words == ["Yes."]
    assert server.requests[1].messages[-1]["content"] == NOTHING
    with pytest.raises(EpisodeLostError, match="found no words"):
        talk_with([said(""), said("")], "Well?")


def test_a_conversation_too_long_for_the_user_is_lost():
    with pytest.raises(EpisodeLostError, match="too long for the user's model"):
        talk_with([error(400, "maximum context length")], "Hi!")


def test_a_user_with_tools_acts_before_answering():
    world = Phone()
    script = [calls(("toggle", {}), ("toggle", {"x": 1})), said("It is on.")]
    words, _, server = talk_with(script, "Please toggle it.", world=world)
    assert words == ["It is on."]
    assert world.done == [ToolCall("toggle", {}), ToolCall("toggle", {"x": 1})]
    assert [m["content"] for m in server.requests[1].messages if m["role"] == "tool"] == ["on", "on"]
    assert server.requests[0].body["tools"][0]["function"]["name"] == "toggle"


def test_a_broken_call_of_the_users_is_repaired_or_lost():
    world = Phone()
    assert talk_with([calls(("toggle", "{")), said("Sorry.")], "Go.", world=world)[0] == ["Sorry."]
    with pytest.raises(EpisodeLostError):
        talk_with([calls(("toggle", "{"))] * 2, "Go.", world=world)
    assert world.done == []


def test_a_sound_call_of_the_users_gives_the_chance_back():
    world = Phone()
    broken, sound = calls(("toggle", "{")), calls(("toggle", {}))
    assert talk_with([broken, sound, sound, broken, said("On.")], "Go.", world=world)[0] == ["On."]
    assert len(world.done) == 2


def test_a_user_who_never_stops_acting_is_lost():
    with pytest.raises(EpisodeLostError):
        talk_with([calls(("toggle", {}))] * 40, "Go.", world=Phone())


def test_a_world_to_act_in_needs_to_say_with_what():
    class Closed(World):
        def user(self):
            raise AssertionError

        def acts(self):
            return ()

    with pytest.raises(SpecError, match="expected a user who can act in task='t'"):
        talk_with([], world=Closed())


def test_calls_of_a_user_without_tools_are_words_only():
    text = '<tool_call>{"name": "f"}</tool_call>'
    assert talk_with([said(text)], "Hi!")[0] == [text]
