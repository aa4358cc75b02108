"""Clients that speak streamable HTTP, each with a server process of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from bench2robust.core.errors import B2RError

from . import answers, web
from .answers import FAILED, Message
from .relay import Received, Relay, parsed, written
from .session import Session
from .stdio import Process
from .web import EVENTS, JSON, Receive, Scope, Send

if TYPE_CHECKING:
    from .proxy import Sessions

_UNKNOWN: Final = -32601
"""Code of a method that is not there."""
_KEPT: Final = 1000
"""Messages of a server that wait for a client who does not listen."""


class _Client:
    """One client, as an end: requests come in, and every message goes to the stream that it belongs to."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.came: asyncio.Queue[Received | None] = asyncio.Queue()
        self.streams: dict[Any, asyncio.Queue[bytes | None]] = {}
        """Request id to the stream of its response."""
        self.unasked: asyncio.Queue[bytes | None] = asyncio.Queue(_KEPT)

    async def receive(self) -> AsyncIterator[Received]:
        """Give what the client sends."""
        while (came := await self.came.get()) is not None:
            yield came

    async def send(self, message: Message | None, raw: bytes | None) -> None:
        """Send the client a message."""
        data = b"event: message\ndata: " + written(message, raw) + b"\n\n"
        told = message if message is not None else {}
        if "method" not in told:
            stream = self.streams.pop(told.get("id"), None)
            if stream is not None:
                stream.put_nowait(data)
                stream.put_nowait(None)
            return
        stream = self.streams.get(self._session.related(told), self.unasked)
        if stream.full():
            stream.get_nowait()
        stream.put_nowait(data)

    async def finish(self) -> str:
        """End what the client still listens to."""
        for stream in (*self.streams.values(), self.unasked):
            with suppress(asyncio.QueueFull):
                stream.put_nowait(None)
        return "left"


class Gateway:
    """An ASGI application that starts a server for each client that begins a session."""

    path = "/mcp"

    def __init__(self, command: Sequence[str], sessions: Sessions) -> None:
        self._command, self._new = command, sessions.new
        self._clients: dict[str, _Client] = {}
        self._relays: dict[str, asyncio.Task[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        name = web.header(scope, web.SESSION)
        client = self._clients.get(name)
        if scope["path"] != self.path or (name and client is None):
            await web.respond(send, 404, b"no such session" if name else b"no such path")
        elif scope["method"] == "POST":
            await self._post(client, receive, send)
        elif client is None:
            await web.respond(send, 400, b"expected the id of a session")
        elif scope["method"] == "GET":
            await _listen(client.unasked, receive, send)
        elif scope["method"] == "DELETE":
            client.came.put_nowait(None)
            await web.respond(send, 200)
        else:
            await web.respond(send, 405)

    async def close(self) -> None:
        """End every server."""
        for relay in self._relays.values():
            relay.cancel()
        await asyncio.gather(*self._relays.values(), return_exceptions=True)

    async def _post(self, client: _Client | None, receive: Receive, send: Send) -> None:
        body = await web.body_of(receive)
        if body is None:
            return
        # A line is one message to the server, so its text must not hold any.
        came = parsed(body)
        came = came._replace(raw=body if b"\n" not in body else json.dumps(came.message).encode())
        message = came.message
        if message is None:
            await web.respond(send, 400, b"expected one JSON-RPC message")
            return
        asks = "id" in message and "method" in message
        headers = [EVENTS]
        if client is None:
            if message.get("method") != "initialize":
                # What a client of the newer protocol, which has no sessions, takes as "speak the older one".
                error = answers.error(
                    message.get("id"), _UNKNOWN, "expected initialize, which begins a session"
                )
                await web.respond(send, 400, json.dumps(error).encode(), JSON)
                return
            name = uuid4().hex
            try:
                client = await self._begin(name)
            except B2RError as problem:
                error = answers.error(message.get("id"), FAILED, str(problem))
                await web.respond(send, 200, json.dumps(error).encode(), JSON)
                return
            headers.append((web.SESSION, name.encode()))
        if not asks:
            client.came.put_nowait(came)
            await web.respond(send, 202)
            return
        stream: asyncio.Queue[bytes | None] = asyncio.Queue()
        client.streams[message["id"]] = stream
        client.came.put_nowait(came)
        await _listen(stream, receive, send, *headers)

    async def _begin(self, name: str) -> _Client:
        """Start a server."""
        server = await Process.start(self._command)
        session = self._new()
        client = self._clients[name] = _Client(session)
        self._relays[name] = asyncio.create_task(self._run(name, Relay(client, server, session), session))
        return client

    async def _run(self, name: str, relay: Relay, session: Session) -> None:
        try:
            with suppress(B2RError):  # its client was told, and other clients have other servers
                await relay.run()
        finally:
            session.close()
            self._clients.pop(name, None)
            self._relays.pop(name, None)


async def _listen(
    stream: asyncio.Queue[bytes | None], receive: Receive, send: Send, *headers: tuple[bytes, bytes]
) -> None:
    """Send what comes out of a stream until it ends or the client leaves."""
    await send({"type": "http.response.start", "status": 200, "headers": [*(headers or (EVENTS,))]})
    # The headers go out now: what comes next may take long.
    await send({"type": "http.response.body", "body": b": \n\n", "more_body": True})
    leaving = asyncio.create_task(web.leaves(receive))
    try:
        while True:
            coming = asyncio.create_task(stream.get())
            await asyncio.wait((coming, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return
            if (data := coming.result()) is None:
                break
            await send({"type": "http.response.body", "body": data, "more_body": True})
    finally:
        leaving.cancel()
    await send({"type": "http.response.body", "body": b""})
