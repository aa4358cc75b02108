"""Just enough of HTTP/1.1 to serve JSON and event streams, and to break off in the middle of an answer.

A framework would be in the way of the last: an endpoint that is to fail as real ones do must be able to
send half of a body, or nothing, and hang up.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

_MOST_HEADERS = 64 * 1024
_MOST_BODY = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """One request; the names of `headers` are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: a JSON body, or the events of a stream."""

    status: int = 200
    body: Any = None
    events: Sequence[bytes] | None = None
    """What is streamed instead of the body, piece by piece."""
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: float | None = None
    """The share of the answer after which the connection is broken off; None sends it whole."""
    silent: bool = False
    """Whether the connection is closed with no answer at all."""


Handler = Callable[[Request], Awaitable[Reply]]


class BadRequest(Exception):
    """What came is no HTTP request."""


async def converse(handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection until the peer, or an answer, closes it."""
    try:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await _answer_all(handler, reader, writer)
    finally:
        writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def _answer_all(handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        try:
            request = await _read(reader)
        except BadRequest as error:
            await _write(writer, Reply(400, {"error": {"message": str(error), "type": "BadRequest"}}))
            return
        if request is None:
            return
        whole = await _write(writer, await handler(request))
        if not whole or request.headers.get("connection", "").lower() == "close":
            return


async def _read(reader: asyncio.StreamReader) -> Request | None:
    """Return the next request, None when the peer has hung up."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    except asyncio.LimitOverrunError:
        raise BadRequest(f"expected headers of at most {_MOST_HEADERS} bytes, got more") from None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise BadRequest(f"expected a request line of HTTP/1.1, got {first!r}")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadRequest(f"expected a header, got {line!r}")
        headers[name.strip().lower()] = value.strip()
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > _MOST_BODY:
        raise BadRequest(f"expected a length of at most {_MOST_BODY} bytes, got content-length={length!r}")
    body = await reader.readexactly(int(length)) if int(length) else b""
    return Request(parts[0], parts[1].partition("?")[0], headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Send a reply; returns whether all of it was sent, so that the connection can go on."""
    if reply.silent:
        return False
    headers = dict(reply.headers)
    if reply.events is None:
        body = json.dumps(reply.body).encode()
        headers |= {"content-type": "application/json", "content-length": str(len(body))}
        pieces = [body]
    else:
        headers |= {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
        pieces = [b"%x\r\n%b\r\n" % (len(event), event) for event in reply.events]
        pieces.append(b"0\r\n\r\n")
    if reply.cut is not None:
        whole = b"".join(pieces)
        pieces = [whole[: int(len(whole) * reply.cut)]]
    lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    writer.write(head + pieces[0])
    for piece in pieces[1:]:
        writer.write(piece)
    await writer.drain()
    return reply.cut is None


async def listen(handler: Handler, host: str, port: int) -> asyncio.Server:
    """Listen on an address; port 0 takes a free one.

    Raises:
        OSError: the address cannot be had.
    """

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # the server is going down
            await converse(handler, reader, writer)

    return await asyncio.start_server(connected, host, port, limit=_MOST_HEADERS, backlog=4096)
