"""A real HTTP server on this machine that speaks chat completions, with scripted answers and failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench2robust.agents.chat import ChatSpec, Clock, Endpoint

TIMEOUT = 30.0


@dataclass(frozen=True)
class Request:
    """What came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self):
        return self.body["messages"]


@dataclass(frozen=True)
class Answer:
    """What goes out."""

    body: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: int | None = None
    """Bytes of the body after which the connection is dropped."""
    hang: bool = False
    """Say nothing at all, for ever."""
    chunks: int = 3
    """Characters of content in one piece of a stream."""


def said(text, *, reasoning=None, finish="stop", tokens=(100, 10)):
    message = {"role": "assistant", "content": text}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    return _completion(message, finish, tokens)


def calls(*pairs, text=None, finish="tool_calls", tokens=(100, 10)):
    """Calls as (name, arguments): arguments are JSON, or a text sent as it is."""
    listed = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for n, (name, given) in enumerate(pairs)
    ]
    return _completion({"role": "assistant", "content": text, "tool_calls": listed}, finish, tokens)


def _completion(message, finish, tokens):
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return Answer(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
    )


def error(status, message, code=None, **headers):
    body = {"error": {"message": message, "type": "error", "code": code}}
    return Answer(body, status, {name.replace("_", "-"): value for name, value in headers.items()})


class Server:
    """Answers each request with the next of a script, or with what a function makes of it."""

    def __init__(self, script: Sequence[Answer] | Callable[[Request], Answer], models=("m",)):
        self._script = script
        self._models = models
        self._tasks: set[asyncio.Task] = set()
        self.requests: list[Request] = []

    @property
    def connections(self):
        """How many are open."""
        return len(self._tasks)

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        path = first.split()[1]
        if path.endswith("/models"):
            listed = {"data": [{"id": name} for name in self._models]}
            return await self._send(
                writer, Answer(listed if self._models else "", 200 if self._models else 404)
            )
        request = Request(path, headers, json.loads(body))
        self.requests.append(request)
        answer = self._script(request) if callable(self._script) else self._script[len(self.requests) - 1]
        if answer.hang:
            await asyncio.sleep(3600)
        await asyncio.sleep(answer.delay)
        if request.body.get("stream") and answer.status == 200 and isinstance(answer.body, dict):
            return await self._send(
                writer, replace(answer, body=streamed(answer), headers={"content-type": "text/event-stream"})
            )
        return await self._send(writer, answer)

    async def _send(self, writer, answer):
        body = answer.body
        kind = "application/json" if isinstance(body, dict) else "text/plain"
        data = json.dumps(body).encode() if isinstance(body, dict) else body.encode()
        headers = {"content-type": kind, "content-length": str(len(data)), **answer.headers}
        head = f"HTTP/1.1 {answer.status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items())
        writer.write(head.encode() + b"\r\n" + data[: answer.cut])
        await writer.drain()
        return answer.cut is None


def streamed(answer):
    """A chat completion as server-sent events: content bit by bit, calls bit by bit, usage at the end."""
    (choice,), usage = answer.body["choices"], answer.body["usage"]
    message, size = choice["message"], answer.chunks
    deltas = [{"role": "assistant"}]
    for key in ("reasoning_content", "content"):
        text = message.get(key) or ""
        deltas += [{key: text[at : at + size]} for at in range(0, len(text), size)]
    for index, call in enumerate(message.get("tool_calls", ())):
        function = call["function"]
        begin = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        deltas.append({"tool_calls": [begin]})
        text = function["arguments"]
        for at in range(0, len(text), size):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": text[at : at + size]}}]})
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    chunks.append({"choices": [], "usage": usage})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


class Ticks(Clock):
    """Time that passes by sleeping only; nobody waits."""

    def __init__(self):
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self):
        return self.time

    def wall(self):
        return self.time

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


def serve(script, talk, *, models=("m",), cassette=None, gate=None, clock=None, **settings):
    """Run ``talk(endpoint, server)`` against a server; returns what it returns."""

    async def main():
        async with Server(script, models) as server:
            spec = ChatSpec(**{"model": "m", "base_url": server.url, **settings})
            endpoint = Endpoint(spec, cassette=cassette, gate=gate, clock=clock or Ticks())
            try:
                async with asyncio.timeout(TIMEOUT):
                    return await talk(endpoint, server)
            finally:
                await endpoint.close()

    return asyncio.run(main())
