"""Over real HTTP: what is retried, what ends the run, what ends the episode, and what is sent."""

from __future__ import annotations

import asyncio
import socket
import sys
from types import ModuleType, SimpleNamespace

import pytest

from bench2robust.agents.chat import ChatSpec, Endpoint, Prices, Retry
from bench2robust.agents.chat.endpoint import ContextExceeded
from bench2robust.agents.chat.history import Heard
from bench2robust.core.errors import EndpointFatalError, EpisodeLostError, NotInstalledError
from bench2robust.core.tools import ToolSpec

from .serving import Answer, Server, Ticks, calls, error, said, serve

HI = [Heard("hi")]
TOOL = ToolSpec("f", "d", {"type": "object", "properties": {}})


def ask(script, *, times=1, tools=(), **settings):
    """Ask `times` times on one line; returns the last reply, the server and the endpoint."""

    async def talk(endpoint, server):
        line = endpoint.line("e/agent", 0, "t", "agent")
        for _ in range(times):
            reply = await line.ask("sys", HI, tools)
        return reply, server, endpoint

    return serve(script, talk, **settings)


FAILING = {
    "429": error(429, "slow down"),
    "500": error(500, "oops"),
    "503 as text": Answer("busy", 503),
    "half a body": Answer(said("x").body, cut=40),
    "no body": Answer(said("x").body, cut=0),
    "not JSON": Answer("<html>", headers={"content-type": "text/html"}),
    "no choices": Answer({"choices": []}),
    "an error as 200": Answer({"error": {"message": "oops", "code": 500}}),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("failing", FAILING.values(), ids=FAILING)
def test_what_may_pass_is_tried_again(failing, stream):
    clock = Ticks()
    reply, server, endpoint = ask([failing, failing, said("at last")], clock=clock, stream=stream)
    assert reply.text == "at last"
    assert len(server.requests) == 3
    assert endpoint.retries == len(clock.slept) == 2
    assert endpoint.usage.requests == 1  # what failed cost nothing
    assert endpoint.usage.seconds == pytest.approx(sum(clock.slept))


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_hangs_is_given_up_and_asked_again(stream):
    reply, server, _ = ask([Answer(hang=True), said("at last")], timeout=0.05, stream=stream)
    assert (reply.text, len(server.requests)) == ("at last", 2)


@pytest.mark.parametrize("cut", [30, 200, 500])
def test_a_stream_that_breaks_off_is_asked_for_again(cut):
    long = Answer(said("some words to break").body, cut=cut)
    assert ask([long, said("whole")], stream=True)[0].text == "whole"


def test_a_stream_that_just_ends_is_asked_for_again():
    body = 'data: {"choices": [{"delta": {"content": "half"}, "finish_reason": null}]}\n\n'
    short = Answer(body, headers={"content-type": "text/event-stream"})
    assert ask([short, said("whole")], stream=True)[0].text == "whole"


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_stream_says_what_the_whole_says(size):
    def answers(request):
        whole = calls(("f", {"a": "é" * 9}), ("g", {}), text="on it", tokens=(5, 6))
        return Answer(whole.body, chunks=size)

    replies = [ask(answers, stream=stream)[0] for stream in (False, True)]
    assert replies[0] == replies[1]
    reasoned = [ask([said("a", reasoning="because")], stream=stream)[0] for stream in (False, True)]
    assert reasoned[0] == reasoned[1]


def test_the_server_is_left_alone_as_long_as_it_asks():
    clock = Ticks()
    ask([error(429, "", retry_after="7"), error(503, "", retry_after_ms="9000"), said("x")], clock=clock)
    assert 7.0 <= clock.slept[0] <= 7.5
    assert 9.0 <= clock.slept[1] <= 10.0


def test_retries_are_bounded_by_count():
    with pytest.raises(
        EpisodeLostError, match=r"model='m' did not answer after 3 attempts \(500: oops error\)"
    ):
        ask([said("x"), *[error(500, "oops")] * 9], times=2, retry=Retry(attempts=3))


def test_retries_are_bounded_by_time():
    clock = Ticks()
    with pytest.raises(EpisodeLostError, match="after 2 attempts"):
        ask([said("x"), error(429, "", retry_after="50"), error(429, "", retry_after="60")],
            times=2, clock=clock, retry=Retry(patience=100.0))  # fmt: skip
    assert sum(clock.slept) <= 100


def test_pauses_are_drawn_by_name():
    def pauses(name):
        clock = Ticks()

        async def talk(endpoint, server):
            await endpoint.line(name, 0).ask("sys", HI, ())

        serve([error(500, "")] * 4 + [said("x")], talk, clock=clock)
        return clock.slept

    assert pauses("a") == pauses("a") != pauses("b")


FATAL = {
    "no key": (error(401, "Incorrect API key"), r"wants an API key \(401: Incorrect API key error\); put one into \$B2R_KEY"),
    "no money": (error(429, "You exceeded your quota", "insufficient_quota"), "has nothing left"),
    "no tools": (error(400, "m does not support tools"), "model='m' does not take tools .* set text-tools='on'"),
    "bad request": (error(400, "temperature is deprecated"), "refuses what is sent to model='m'"),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "message"), FATAL.values(), ids=FATAL)
def test_what_no_episode_survives_stops_at_once_with_one_line(answer, message):
    with pytest.raises(EndpointFatalError, match=message) as caught:
        ask([answer], key_env="B2R_KEY")
    assert "\n" not in str(caught.value)


def test_a_wrong_key_is_named_by_its_variable_only(monkeypatch):
    monkeypatch.setenv("B2R_KEY", "sk-secret")
    with pytest.raises(EndpointFatalError, match=r"refuses the API key in \$B2R_KEY") as caught:
        ask([error(401, "no")], key_env="B2R_KEY")
    assert "secret" not in str(caught.value)


def test_an_unknown_model_is_told_which_there_are():
    with pytest.raises(
        EndpointFatalError, match=r"unknown model='m' at base-url='http.*; it serves qwen, llama"
    ):
        ask([error(404, "The model does not exist")], models=("qwen", "llama"))


def test_an_address_without_a_chat_endpoint():
    with pytest.raises(
        EndpointFatalError, match=r"expected chat completions at base-url=.*does it end in /v1\?"
    ):
        ask([Answer("Not Found", 404)], models=())


def test_an_address_where_nobody_answers_is_given_up_soon():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, not listening: refuses
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"

        async def main():
            endpoint = Endpoint(ChatSpec("m", url), clock=Ticks())
            try:
                await endpoint.line("e", 0).ask("sys", HI, ())
            finally:
                await endpoint.close()

        with pytest.raises(
            EndpointFatalError, match=r"got no answer after 3 attempts \(.+\); start the server"
        ):
            asyncio.run(main())


def test_once_fatal_always_fatal():
    async def talk(endpoint, server):
        for _ in range(3):
            with pytest.raises(EndpointFatalError):
                await endpoint.line("e", 0).ask("sys", HI, ())
        return len(server.requests)

    assert serve([error(401, "no")], talk) == 1


def test_what_worked_before_loses_an_episode_not_the_run():
    for answer in (
        error(400, "roles must alternate"),
        error(404, "gone"),
        error(400, "m does not support tools"),
    ):
        with pytest.raises(EpisodeLostError):
            ask([said("x"), answer], times=2)
    with pytest.raises(EndpointFatalError):
        ask([said("x"), error(401, "revoked")], times=2)


def test_filtered_content_loses_the_episode():
    for answer in (error(400, "content management policy"), said("", finish="content_filter")):
        with pytest.raises(EpisodeLostError, match="was kept from answering"):
            ask([answer])


def test_a_conversation_too_long_is_neither():
    with pytest.raises(ContextExceeded, match="maximum context length"):
        ask([error(400, "This model's maximum context length is 10 tokens")])


def test_what_is_sent(monkeypatch):
    monkeypatch.setenv("B2R_KEY", "sk-1")
    spec = {"temperature": None, "max_tokens": 9, "extra_body": {"top_k": 3}, "key_env": "B2R_KEY"}
    _, server, _ = ask([said("x")], tools=[TOOL], **spec)
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer sk-1"
    body = dict(request.body)
    assert isinstance(body.pop("seed"), int)
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": "hi"}],
        "tools": [TOOL.openai()],
        "max_tokens": 9,
        "top_k": 3,
    }


def test_seeds_depend_on_what_they_are_for():
    async def talk(endpoint, server):
        for path in (
            (0, "t", "agent"),
            (1, "t", "agent"),
            (0, "u", "agent"),
            (0, "t", "user"),
            (0, "t", "agent"),
        ):
            await endpoint.line("any name", *path).ask("sys", HI, ())
        return [request.body.get("seed") for request in server.requests]

    seeds = serve([said("x")] * 5, talk)
    assert seeds[0] == seeds[4]
    assert len(set(seeds)) == 4
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert serve([said("x")] * 5, talk, seed=1)[0] != seeds[0]
    assert serve([said("x")] * 5, talk, seed=None) == [None] * 5


def test_tokens_and_cost_are_added_up():
    _, _, endpoint = ask([said("x", tokens=(1000, 20))] * 2, times=2, prices=Prices(2.0, 10.0))
    usage = endpoint.usage
    assert (usage.requests, usage.prompt_tokens, usage.completion_tokens) == (2, 2000, 40)
    assert usage.cost == pytest.approx(2 * (1000 * 2 + 20 * 10) / 1e6)


class Counting:
    """A gate that counts, and lets two through at a time."""

    def __init__(self):
        self.free = asyncio.Semaphore(2)
        self.inside = self.most = 0
        self.throttled = []

    async def enter(self):
        await self.free.acquire()
        self.inside += 1
        self.most = max(self.most, self.inside)

    def leave(self, *, throttled):
        self.inside -= 1
        self.throttled.append(throttled)
        self.free.release()


def test_every_attempt_passes_the_gate_and_overload_is_told():
    gate = Counting()

    async def talk(endpoint, server):
        lines = [endpoint.line(f"e{n}", 0) for n in range(6)]
        return await asyncio.gather(*(line.ask("sys", HI, ()) for line in lines))

    script = [error(429, ""), error(500, ""), *[said("x")] * 6]
    replies = serve(lambda _: script.pop(0), talk, gate=gate)
    assert [reply.text for reply in replies] == ["x"] * 6
    assert (gate.inside, gate.most) == (0, 2)
    assert sorted(gate.throttled) == [False] * 7 + [True]


def test_a_cancelled_request_leaves_nothing_behind():
    gate = Counting()

    async def talk(endpoint, server):
        line = endpoint.line("e", 0)
        task = asyncio.create_task(line.ask("sys", HI, ()))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (gate.inside, line.usage.requests) == (0, 0)
        return await line.ask("sys", HI, ())

    assert serve([Answer(hang=True), said("x")], talk, gate=gate).text == "x"


def test_an_outer_limit_is_not_taken_for_the_servers():
    async def talk(endpoint, server):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await endpoint.line("e", 0).ask("sys", HI, ())
        return endpoint.retries

    assert serve([Answer(hang=True)], talk) == 0


def test_a_bug_is_not_taken_for_a_failure():
    class Broken(Ticks):
        def wall(self):
            return 0.0

    async def talk(endpoint, server):
        endpoint.spec = None
        await endpoint.send({"messages": []}, "e", lambda seconds: None)

    with pytest.raises(AttributeError):
        serve([], talk, clock=Broken())


def test_an_endpoint_serves_one_loop_after_the_other():
    endpoint = None

    async def main():
        nonlocal endpoint
        async with Server([said("x")]) as server:
            spec = ChatSpec("m", server.url)
            endpoint = endpoint or Endpoint(spec)
            endpoint.spec = spec
            text = (await endpoint.line("e", 0).ask("sys", HI, ())).text
            assert server.connections == 1
            await endpoint.close()
            async with asyncio.timeout(5):
                while server.connections:
                    await asyncio.sleep(0.01)
            return text

    assert [asyncio.run(main()) for _ in range(2)] == ["x", "x"]


def test_nothing_that_is_said_can_break_a_request():
    async def talk(endpoint, server):
        await endpoint.line("e", 0).ask("a\ud800", [Heard("b\udfff \x00")], ())
        return server.requests[0].messages

    system, user = serve([said("x")], talk)
    assert (system["content"], user["content"]) == ("a?", "b? \x00")


class LiteLLM(ModuleType):
    """Litellm as far as it is used: answers in objects of its own, errors with a status."""

    def __init__(self, *answers):
        super().__init__("litellm")
        self.answers, self.asked = list(answers), []

    async def acompletion(self, **asked):
        self.asked.append(asked)
        answer = self.answers.pop(0)
        if answer.status != 200:
            failed = Exception(answer.body["error"]["message"])
            failed.status_code, failed.response = answer.status, SimpleNamespace(headers=answer.headers)
            raise failed
        return SimpleNamespace(model_dump=lambda: answer.body, _hidden_params={"response_cost": 0.25})


def test_litellm(monkeypatch):
    module = LiteLLM(error(429, "slow", retry_after="3"), said("Hello"))
    monkeypatch.setitem(sys.modules, "litellm", module)
    clock = Ticks()

    async def main():
        endpoint = Endpoint(ChatSpec("litellm:bedrock/x", max_tokens=5), clock=clock)
        reply = await endpoint.line("e", 0).ask("sys", HI, [TOOL])
        await endpoint.close()
        return reply, endpoint

    reply, endpoint = asyncio.run(main())
    assert (reply.text, endpoint.usage.cost) == ("Hello", 0.25)
    assert clock.slept[0] >= 3.0
    asked = module.asked[1]
    assert (asked["model"], asked["max_tokens"], asked["num_retries"]) == ("bedrock/x", 5, 0)
    assert "api_base" not in asked
    assert asked["tools"] == [TOOL.openai()]


@pytest.mark.parametrize(
    ("module", "model", "message"),
    [
        ("litellm", "litellm:x", "pip install litellm"),
        ("openai", "x", r"pip install 'bench2robust\[models\]'"),
    ],
)
def test_a_client_that_is_missing_says_how_to_get_it(monkeypatch, module, model, message):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotInstalledError, match=message):
        Endpoint(ChatSpec(model))
