"""Served policies over real HTTP: the protocol, statelessness, refusals and faults."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.episode import Mode
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.evaluation import RunSpec, Schedule, load
from bench2robust.serving import Endpoint, EndpointSpec, Fault, FaultSpec, ToolUse
from bench2robust.serving.faults import Faults

openai = pytest.importorskip("openai")

STOP = "End with ###STOP###."


@asynccontextmanager
async def client_of(spec=None, key="any"):
    server = await Endpoint(load("toy-library"), spec or EndpointSpec()).serve()
    port = server.sockets[0].getsockname()[1]
    try:
        async with openai.AsyncOpenAI(
            base_url=f"http://127.0.0.1:{port}/v1", api_key=key, max_retries=0
        ) as client:
            yield client
    finally:
        server.close()


def with_client(use, spec=None, key="any"):
    async def main():
        async with client_of(spec, key) as client:
            return await use(client)

    return asyncio.run(main())


def tools(alternatives=True):
    return [tool.openai() for tool in load("toy-library").tools(alternatives)]


def opening(task=0):
    return [
        {"role": "system", "content": STOP},
        {"role": "user", "content": load("toy-library").tasks()[task].instructions},
    ]


def ask(client, **changes):
    request = {"model": "strategic", "messages": opening(), "tools": tools(), **changes}
    return client.chat.completions.create(**request)


def conversation(place, mode=Mode.INJECT_ALT):
    """Return the messages of an episode that was played in this process, and the tools that it had."""
    schedule = Schedule(RunSpec("toy-library", agents=("strategic",), modes=(mode,), seeds=(0, 1, 2)))
    messages = [{"role": "system", "content": STOP}]
    for number, message in enumerate((trajectory := schedule.play(place).trajectory).messages):
        if message.record is None:
            messages.append({"role": str(message.role), "content": message.text})
        elif message.role == "assistant":
            call = trajectory.records[message.record].call
            function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
            made = {"id": f"c{number}", "type": "function", "function": function}
            messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        else:
            messages.append({"role": "tool", "tool_call_id": f"c{number - 1}", "content": message.text})
    return messages


def plain(message):
    """Return what a message of the assistant does."""
    calls = (
        message.get("tool_calls")
        if isinstance(message, dict)
        else [c.model_dump() for c in message.tool_calls or ()]
    )
    content = message["content"] if isinstance(message, dict) else message.content
    if calls:
        return [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls]
    return content.replace("###STOP###", "").strip()


@settings(max_examples=20, deadline=None)
@given(place=st.integers(0, 20), which=st.lists(st.booleans(), min_size=40, max_size=40))
def test_any_request_of_a_conversation_can_be_answered_by_any_process(place, which):
    """Two endpoints that know nothing of each other take turns; every answer is what the policy did."""
    messages = conversation(place)

    async def main():
        async with client_of() as one, client_of() as other:
            for at, message in enumerate(messages):
                if message["role"] == "assistant":
                    answer = await ask(one if which[at % 40] else other, messages=messages[:at])
                    assert plain(answer.choices[0].message) == plain(message)

    asyncio.run(main())


def test_a_stream_says_what_a_whole_answer_says():
    async def use(client):
        for messages in (opening(), conversation(0)[:-1]):
            whole = await ask(client, messages=messages)
            stream = await ask(client, messages=messages, stream=True, stream_options={"include_usage": True})
            content, name, arguments, finish, usage = "", "", "", None, None
            async for chunk in stream:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    content += choice.delta.content or ""
                    finish = choice.finish_reason or finish
                    for call in choice.delta.tool_calls or ():
                        name += call.function.name or ""
                        arguments += call.function.arguments
            said = whole.choices[0]
            assert finish == said.finish_reason
            assert content == (said.message.content or "")
            if said.message.tool_calls:
                function = said.message.tool_calls[0].function
                assert (name, arguments) == (function.name, function.arguments)
            assert usage == whole.usage
            assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens > 0

    with_client(use)


def test_the_models_are_the_policies_and_the_user():
    async def use(client):
        return [model.id async for model in client.models.list()], (await client.models.retrieve("naive")).id

    assert with_client(use, EndpointSpec(("strategic", "naive"))) == (["strategic", "naive", "user"], "naive")


@pytest.mark.parametrize(
    ("spec", "changes", "status", "says"),
    [
        (EndpointSpec(api_key="right"), {}, 401, "Incorrect API key"),
        (EndpointSpec(), {"model": "gpt"}, 404, "`gpt` does not exist"),
        (EndpointSpec(tools=ToolUse.NO_PARSER), {}, 400, "--tool-call-parser"),
        (EndpointSpec(tools=ToolUse.NONE), {}, 400, "does not support tools"),
        (EndpointSpec(context=50), {}, 400, "maximum context length is 50 tokens"),
        (EndpointSpec(), {"messages": [{"role": "user", "content": "Hi!"}]}, 400, "expected the words of a task"),
        (EndpointSpec(), {"messages": [*opening(), {"role": "assistant", "content": "Hm?"}]}, 400, "of this policy"),
        (EndpointSpec(), {"messages": []}, 400, "at least one message"),
        (EndpointSpec(), {"messages": [{"role": "robot", "content": ""}]}, 400, "role='robot'"),
        (EndpointSpec(), {"tools": [{"type": "function"}]}, 400, "functions with names"),
    ],
)  # fmt: skip
def test_what_is_refused_and_how(spec, changes, status, says):
    async def use(client):
        with pytest.raises(openai.APIStatusError) as caught:
            await ask(client, **changes)
        return caught.value

    error = with_client(use, spec)
    assert error.status_code == status
    assert says in error.message


def test_the_right_key_opens():
    answer = with_client(ask, EndpointSpec(api_key="right"), key="right")
    assert answer.choices[0].message.tool_calls


def test_calls_as_text():
    async def use(client):
        return await ask(client)

    said = with_client(use, EndpointSpec(tools=ToolUse.TAGS)).choices[0].message
    assert said.tool_calls is None
    assert said.content.startswith("<tool_call>\n{")


def test_few_tokens_cut_an_answer_short():
    answer = with_client(lambda client: ask(client, max_tokens=1))
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage.completion_tokens == 1


def test_what_no_message_tells_cannot_be_served():
    with pytest.raises(SpecError, match="policy='omniscient'"):
        Endpoint(load("toy-library"), EndpointSpec(("omniscient",)))
    with pytest.raises(UnknownNameError, match="did you mean 'strategic'"):
        Endpoint(load("toy-library"), EndpointSpec(("strategc",)))
    with pytest.raises(SpecError, match=r"policies=\(\)"):
        EndpointSpec(())


def test_the_address_is_taken():
    async def main():
        server = await Endpoint(load("toy-library"), EndpointSpec()).serve()
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(SpecError, match=f":{port} "):
            await Endpoint(load("toy-library"), EndpointSpec()).serve(port=port)
        server.close()

    asyncio.run(main())


def disturbed(fault, **how):
    return EndpointSpec(faults=FaultSpec({fault: 1.0}, **how))


def test_each_fault_looks_like_itself():
    async def failure(client):
        with pytest.raises(openai.APIError) as caught:
            await ask(client)
        return caught.value

    throttled = with_client(failure, disturbed(Fault.THROTTLED, retry_after=2.5))
    assert throttled.status_code == 429
    assert throttled.response.headers["retry-after"] == "2.5"
    assert with_client(failure, disturbed(Fault.BROKEN)).status_code == 500
    assert isinstance(with_client(failure, disturbed(Fault.CUT)), openai.APIConnectionError)
    assert isinstance(with_client(failure, disturbed(Fault.HANG, hang=0.05)), openai.APIConnectionError)
    assert with_client(ask, disturbed(Fault.SLOW, slow=0.05)).choices[0].message.tool_calls


def test_a_stream_that_is_cut_off_never_finishes():
    async def use(client):
        stream = await ask(client, stream=True)
        with pytest.raises(Exception, match=r"(?i)peer|incomplete|connection|closed"):
            _ = [chunk async for chunk in stream]

    with_client(use, disturbed(Fault.CUT))


def test_faults_are_those_of_the_request_whatever_the_order():
    spec = FaultSpec({Fault.BROKEN: 0.3, Fault.CUT: 0.3}, seed=4)
    bodies = [b"%d" % (n % 50) for n in range(200)]

    def drawn(order):
        faults, found = Faults(spec), {}
        for body in order:
            found.setdefault(body, []).append(faults.draw(body)[0])
        return found

    assert drawn(bodies) == drawn(sorted(bodies, reverse=True))
    assert drawn(bodies) != {body: [None] * 4 for body in bodies}


def test_rates_are_kept():
    """4,000 draws at 0.1 and 0.25: each count is off by more than 5 standard deviations once in a million."""
    faults = Faults(FaultSpec({Fault.THROTTLED: 0.1, Fault.HANG: 0.25}))
    drawn = [faults.draw(b"%d" % n)[0] for n in range(4000)]
    for fault, rate in ((Fault.THROTTLED, 0.1), (Fault.HANG, 0.25)):
        assert abs(drawn.count(fault) - 4000 * rate) < 5 * (4000 * rate * (1 - rate)) ** 0.5


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("429=0.1,burn=0.2", UnknownNameError, "fault='burn'"),
        ("429", SpecError, "faults='429'"),
        ("429=lots", SpecError, "faults='429=lots'"),
    ],
)
def test_faults_that_cannot_be(text, error, says):
    with pytest.raises(error, match=says):
        FaultSpec.rates_of(text)
    with pytest.raises(SpecError, match="sum to at most 1"):
        FaultSpec({Fault.CUT: 0.7, Fault.HANG: 0.7})
    with pytest.raises(SpecError, match="hang=-1"):
        FaultSpec(hang=-1)


@pytest.mark.parametrize(
    "sent",
    [b"hello\r\n\r\n", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"GET /x HTTP/1.1\r\n\r\n"],
)  # fmt: skip
def test_what_is_no_request_is_answered_all_the_same(sent):
    async def main():
        server = await Endpoint(load("toy-library"), EndpointSpec()).serve()
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(sent)
        answer = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        server.close()
        return answer

    assert asyncio.run(main()).split(b" ")[1] in (b"400", b"404")


def test_tasks_that_begin_alike_are_counted():
    class Twins:
        name = "twins"

        def tasks(self):
            return [replace(task, instructions="Hello!") for task in load("toy-library").tasks()[:3]]

    assert Endpoint(Twins(), EndpointSpec()).alike == 3
    assert Endpoint(load("toy-library"), EndpointSpec()).alike == 0
