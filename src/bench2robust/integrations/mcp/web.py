"""What the HTTP sides of a proxy share: events, errors, who may ask, and listening."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from bench2robust.core.errors import SpecError

from .answers import Message

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SESSION: Final = b"mcp-session-id"
VERSION: Final = b"mcp-protocol-version"
JSON: Final = (b"content-type", b"application/json")
EVENTS: Final = (b"content-type", b"text/event-stream")
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_LARGEST: Final = 1 << 26
"""Bytes of a request's body."""
_BLANK: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class Event(NamedTuple):
    """One server-sent event."""

    raw: bytes
    """As it came, with its end."""
    data: str
    """Empty for a comment, or an event that only marks a place."""
    marked: bool
    """Whether it has an id, from which a client can resume."""

    def saying(self, message: Message) -> bytes:
        """Return the same event with another message."""
        kept = [line for line in self.raw.splitlines() if line and not line.startswith(b"data")]
        return b"\n".join((*kept, b"data: " + json.dumps(message).encode())) + b"\n\n"


def event(message: Message) -> bytes:
    """Return a message as an event."""
    return b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"


async def events(chunks: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Give the events of a stream; one that does not end is given as it is."""
    rest = b""
    async for chunk in chunks:
        rest += chunk
        while found := _BLANK.search(rest):
            yield _event(rest[: found.end()])
            rest = rest[found.end() :]
    if rest:
        yield _event(rest)


def _event(raw: bytes) -> Event:
    fields = [line.partition(":") for line in raw.decode(errors="replace").splitlines()]
    data = "\n".join(value.removeprefix(" ") for name, _, value in fields if name == "data")
    return Event(raw, data, any(name == "id" and value for name, _, value in fields))


async def body_of(receive: Receive) -> bytes | None:
    """Return the body of a request; None where the client left or it is too long."""
    parts: list[bytes] = []
    size = 0
    while True:
        got = await receive()
        if got["type"] == "http.disconnect":
            return None
        parts.append(got.get("body", b""))
        size += len(parts[-1])
        if size > _LARGEST:
            return None
        if not got.get("more_body"):
            return b"".join(parts)


async def respond(send: Send, status: int, body: bytes = b"", *headers: tuple[bytes, bytes]) -> None:
    """Send a whole response."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


def header(scope: Scope, name: bytes) -> str:
    """Return a header of a request, empty where there is none."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def local_only(app: App) -> App:
    """Refuse what a web page makes a browser ask of this machine (DNS rebinding)."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        host, origin = header(scope, b"host"), header(scope, b"origin")
        names = [urlsplit(f"//{host}").hostname, *([urlsplit(origin).hostname] if origin else [])]
        if all(name in _LOCAL for name in names):
            await app(scope, receive, send)
        else:
            await respond(send, 403, b"expected a local Host and Origin")

    return guarded


async def leaves(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def listen(app: App, address: tuple[str, int], path: str, say: Callable[[str], None]) -> None:
    """Serve an application until cancelled.

    Args:
        app: the application.
        address: host and port; port 0 takes a free one.
        path: of the MCP endpoint, for the URL.
        say: is told the URL once it can be used.

    Raises:
        SpecError: the address is taken, or is none of this machine's.
    """
    import uvicorn

    host, port = address
    try:
        taken = socket.create_server(
            address, family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128
        )
    except OSError as error:
        why = error.strerror or error
        raise SpecError(f"expected a free address, got listen='{host}:{port}' ({why})") from None
    with taken:
        if host in _LOCAL:
            app = local_only(app)
        config = uvicorn.Config(
            app, log_level="warning", lifespan="off", access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        server.config.load()
        server.lifespan = config.lifespan_class(config)
        shown = f"[{host}]" if ":" in host else host
        await server.startup(sockets=[taken])
        say(f"http://{shown}:{taken.getsockname()[1]}{path}")
        try:
            await server.main_loop()
        finally:
            await asyncio.shield(server.shutdown(sockets=[taken]))


def without(headers: Iterable[tuple[bytes, bytes]], *names: bytes) -> list[tuple[bytes, bytes]]:
    """Return headers but for those of one connection, and some more."""
    hop = (b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", *names)
    return [(name, value) for name, value in headers if name.lower() not in hop]
