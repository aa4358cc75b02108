"""Record once, replay anywhere: same answers at any order and concurrency, and no endpoint needed."""

from __future__ import annotations

import asyncio
import json

import pytest

from bench2robust.agents.chat import Cassette, ChatAgent, ChatSpec, Endpoint, Prices, TapeMode
from bench2robust.agents.chat.cassette import digest
from bench2robust.agents.chat.endpoint import ContextExceeded
from bench2robust.agents.chat.history import Heard
from bench2robust.core.episode import Task
from bench2robust.core.errors import EndpointFatalError, EpisodeLostError, SpecError, UnknownNameError
from bench2robust.core.ports import Briefing
from bench2robust.core.tools import ToolSpec

from .serving import Server, Ticks, error, said

NOWHERE = "http://127.0.0.1:9/v1"


async def ask(endpoint, name, text="hi", times=1):
    line = endpoint.line(name, 0)
    return [(await line.ask("sys", [Heard(text)], ())).text for _ in range(times)]


def with_tape(path, mode, talk, script=None, **spec):
    async def main():
        async with Server(script or []) as server:
            tape = Cassette(path, mode)
            endpoint = Endpoint(
                ChatSpec("m", server.url if script else NOWHERE, **spec), cassette=tape, clock=Ticks()
            )
            try:
                return await talk(endpoint), len(server.requests), endpoint
            finally:
                await endpoint.close()
                tape.close()

    return asyncio.run(main())


@pytest.fixture
def tape(tmp_path):
    """A tape on which a and b asked the same, a twice."""
    path = tmp_path / "deep" / "tape.jsonl"

    async def talk(endpoint):
        return [*await ask(endpoint, "a", times=2), *await ask(endpoint, "b")]

    words, requests, _ = with_tape(path, "record", talk, [said("1"), said("2"), said("3")])
    assert (words, requests) == (["1", "2", "3"], 3)
    return path


def test_a_replay_needs_no_endpoint_and_gives_each_what_it_got(tape):
    async def talk(endpoint):
        return [*await ask(endpoint, "b"), *await ask(endpoint, "a", times=2)]

    words, _, endpoint = with_tape(tape, "replay", talk, prices=Prices(1.0, 1.0))
    assert words == ["3", "1", "2"]
    assert endpoint.usage.requests == 3
    assert endpoint.usage.cost > 0


def test_at_any_concurrency(tape):
    async def talk(endpoint):
        return await asyncio.gather(ask(endpoint, "a", times=2), ask(endpoint, "b"), ask(endpoint, "a"))

    assert with_tape(tape, "replay", talk)[0] == [["1", "2"], ["3"], ["1"]]


@pytest.mark.parametrize(
    ("name", "text", "times"),
    [("a", "other", 1), ("c", "hi", 1), ("a", "hi", 3)],
    ids=["text", "episode", "again"],
)
def test_what_is_not_on_the_tape_is_one_line(tape, name, text, times):
    with pytest.raises(EndpointFatalError, match=r"tape.jsonl' has no answer to request=") as caught:
        with_tape(tape, "replay", lambda endpoint: ask(endpoint, name, text, times))
    assert "\n" not in str(caught.value)
    assert f"user: {text}" in str(caught.value)
    assert ("made the 3th time" in str(caught.value)) is (times == 3)


def test_auto_asks_for_what_is_missing_only(tape):
    async def talk(endpoint):
        return [*await ask(endpoint, "a", times=3), *await ask(endpoint, "b")]

    assert with_tape(tape, "auto", talk, [said("new")])[:2] == (["1", "2", "new", "3"], 1)
    assert with_tape(tape, "replay", talk)[0] == ["1", "2", "new", "3"]


def test_other_settings_are_other_requests(tape):
    with pytest.raises(EndpointFatalError):
        with_tape(tape, "replay", lambda endpoint: ask(endpoint, "a"), temperature=0.5)


def test_a_line_can_be_read_by_people(tape):
    line = json.loads(tape.read_text().splitlines()[1])
    assert list(line) == ["episode", "request", "nth", "asks", "answer"]
    assert (line["episode"], line["nth"], line["asks"]) == ("a", 1, "user: hi")
    assert line["answer"]["choices"][0]["message"]["content"] == "2"


def test_a_line_that_was_not_finished_is_asked_for_again(tape):
    tape.write_bytes(tape.read_bytes()[:-20])
    assert with_tape(tape, "auto", lambda e: ask(e, "b"), [said("3 again")])[:2] == (["3 again"], 1)
    assert with_tape(tape, "replay", lambda e: ask(e, "b"))[0] == ["3 again"]
    assert len(tape.read_text().splitlines()) == 3


def test_failures_of_the_conversation_are_replayed_others_are_not_kept(tmp_path):
    path = tmp_path / "tape"

    async def talk(endpoint):
        with pytest.raises(ContextExceeded, match="maximum context"):
            await ask(endpoint, "long")
        with pytest.raises(EpisodeLostError, match="kept from answering"):
            await ask(endpoint, "bad")
        return await ask(endpoint, "fine")

    script = [error(400, "maximum context length"), error(400, "content_filter"), error(500, ""), said("x")]
    for mode, answers in (("record", script), ("replay", None)):
        assert with_tape(path, mode, talk, answers)[0] == ["x"]
    assert len(path.read_text().splitlines()) == 3


def test_a_server_without_a_parser_is_remembered(tmp_path):
    path = tmp_path / "tape"
    tools = [ToolSpec("f", "d", {"type": "object"})]
    brief = Briefing(Task("t", ""), tools, "", "Go.", episode="e")

    async def talk(endpoint):
        return await ChatAgent(endpoint).start(brief).act(None)

    script = [error(500, "tools param requires --jinja flag"), said('<tool_call>{"name": "f"}</tool_call>')]
    recorded = with_tape(path, "record", talk, script)[0]
    assert recorded.name == "f"
    assert with_tape(path, "replay", talk)[0] == recorded
    assert json.loads(path.read_text().splitlines()[0]) == {"model": "m", "text_tools": True}


def test_what_was_cancelled_is_not_counted(tape):
    async def talk(endpoint):
        line = endpoint.line("a", 0)
        task = asyncio.create_task(line.ask("sys", [Heard("hi")], ()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await line.ask("sys", [Heard("hi")], ())).text

    assert with_tape(tape, "replay", talk)[0] == "1"


@pytest.mark.parametrize(
    ("mode", "text", "message"),
    [
        ("replay", None, "expected a tape to replay, got cassette='.*', which is not there"),
        ("record", "{}\n", "expected a new file to record to, .* use mode 'auto'"),
        ("auto", "{}\n", "line 1: '{}'"),
        ("replay", "<html>\n", "line 1: '<html>'"),
        ("replay", "7\n", "line 1: '7'"),
    ],
)
def test_what_a_tape_cannot_be(tmp_path, mode, text, message):
    path = tmp_path / "tape"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SpecError, match=message):
        Cassette(path, mode)


def test_modes_and_places(tmp_path):
    with pytest.raises(UnknownNameError, match="unknown cassette mode='reply'; did you mean 'replay'"):
        Cassette(tmp_path / "x", "reply")
    with pytest.raises(SpecError, match="cannot be read"):
        Cassette(tmp_path, "auto")
    (tmp_path / "empty").touch()
    with pytest.raises(SpecError, match="cannot be written"):
        Cassette(tmp_path / "empty" / "tape", "auto")
    Cassette(tmp_path / "empty", TapeMode.RECORD).close()


def test_requests_are_told_apart_by_all_they_hold():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1}) != digest({"a": 2}) != digest({"a": 1.5})
