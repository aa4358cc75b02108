"""HTTP on both sides: every request goes on as it came, and so does every answer but those of tools."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from . import web
from .answers import Message
from .session import Key, Move, Session
from .web import JSON, Receive, Scope, Send

if TYPE_CHECKING:
    import httpx2

    from .proxy import Sessions

_BEGIN: Final = ("initialize", "tools/call", "tools/list")
"""What begins a session, or belongs to the one of clients without an id."""
_MOST: Final = 1000
"""Sessions that are known at once; the oldest of more is forgotten."""


class Reverse:
    """An ASGI application in front of a server that speaks streamable HTTP.

    Every path goes on to the same origin (sign-in lives beside the endpoint); only what goes to the
    endpoint's own path is looked at. A client without a session id is in the one session of those without.
    """

    def __init__(
        self, url: str, sessions: Sessions, client: httpx2.AsyncClient, headers: Mapping[str, str]
    ) -> None:
        parts = urlsplit(url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.path = parts.path or "/"
        self._query = parts.query
        self._new, self._client = sessions.new, client
        self._headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self._sessions: dict[str, Session] = {}
        self._count = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        body = await web.body_of(receive)
        if body is None:
            return
        exchange = _Exchange(self, scope, send)
        serving = asyncio.create_task(exchange.run(body))
        leaving = asyncio.create_task(web.leaves(receive))
        try:
            await asyncio.wait((serving, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not serving.done():
                serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving

    def close(self) -> None:
        """End every session."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()

    def session(self, name: str) -> Session:
        """Return the session of an id, a new one where it is not known."""
        if name not in self._sessions:
            self.keep(name, self._new())
        return self._sessions[name]

    def opened(self) -> Session:
        """Return a session for a client that begins one."""
        return self._new()

    def keep(self, name: str, session: Session) -> None:
        """Know a session by the id that the server gave it."""
        old = self._sessions.pop(name, None)
        if old is None and len(self._sessions) >= _MOST:
            old = self._sessions.pop(next(iter(self._sessions)))
        if old is not None and old is not session:
            old.close()
        self._sessions[name] = session

    def forget(self, name: str) -> None:
        """End a session."""
        session = self._sessions.pop(name, None)
        if session is not None:
            session.close()

    def request(self, scope: Scope, body: bytes) -> httpx2.Request:
        """Return the request to the server."""
        headers = web.without(
            scope["headers"],
            b"host",
            b"content-length",
            b"accept-encoding",
            *(name for name, _ in self._headers),
        )
        # What is compressed could not be looked at.
        headers += [(b"accept-encoding", b"identity"), *self._headers]
        query = scope["query_string"].decode("latin-1") or (self._query if scope["path"] == self.path else "")
        url = self.origin + scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        return self._client.build_request(scope["method"], url, headers=headers, content=body or None)

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; the body of the response is still to come."""
        return await self._client.send(request, stream=True)

    def way(self, name: str) -> str:
        """Return what tells this exchange's request ids from others': nothing where a session does."""
        return "" if name else str(next(self._count))


class _Exchange:
    """One request and its response."""

    def __init__(self, reverse: Reverse, scope: Scope, send: Send) -> None:
        self._reverse, self._scope, self._send = reverse, scope, send
        self._name = web.header(scope, web.SESSION)
        self._session: Session | None = None
        self._via = ""
        self._key: Key | None = None
        """Of the request that the body holds, while it is open."""

    async def run(self, body: bytes) -> None:
        """Answer the request."""
        message = _message(body) if self._looked_at("POST") else None
        if message is not None and not self._name and message.get("method") not in _BEGIN:
            message = None  # a client that looks around, before there is any session
        try:
            await self._run(body, message)
        finally:
            if self._session is not None and self._key is not None and self._via:
                self._session.cancel(self._key)

    def _looked_at(self, *methods: str) -> bool:
        return self._scope["path"] == self._reverse.path and self._scope["method"] in methods

    async def _run(self, body: bytes, message: Message | None) -> None:
        if message is not None:
            begins = message.get("method") == "initialize" and not self._name
            self._session = self._reverse.opened() if begins else self._reverse.session(self._name)
            self._via = self._reverse.way(self._name)
            move = self._session.ask(message, self._via)
            if "id" in message and "method" in message:
                self._key = (self._via, message["id"])
            if move.to_server is None:
                await self._answer(move)
                return
        elif self._looked_at("GET") and self._name:
            self._session = self._reverse.session(self._name)
        await self._forward(body)

    async def _answer(self, move: Move) -> None:
        """Answer without the server."""
        if move.to_client is None and not move.after:
            await web.respond(self._send, 202)
            return
        reply = await self._in_time(move)
        if reply is None:  # cancelled meanwhile
            await web.respond(self._send, 202)
        else:
            await web.respond(self._send, 200, json.dumps(reply).encode(), JSON)

    async def _in_time(self, move: Move) -> Message | None:
        """Return what is answered, when its time has come."""
        if not move.after:
            return move.to_client
        if math.isinf(move.after):
            await asyncio.get_running_loop().create_future()  # until the client leaves
        await asyncio.sleep(move.after)
        return self._session.release(self._key) if self._session and self._key else None

    async def _forward(self, body: bytes) -> None:
        import httpx2

        started = False
        try:
            response = await self._within(self._reverse.send(self._reverse.request(self._scope, body)))
            try:
                self._know(response)
                kind = response.headers.get("content-type", "")
                headers = web.without(response.headers.raw)
                if self._session is None or response.status_code == 202:
                    await self._start(response.status_code, headers)
                    started = True
                    async for chunk in response.aiter_raw():
                        await self._more(chunk)
                elif kind.startswith("text/event-stream"):
                    await self._start(response.status_code, web.without(headers, b"content-length"))
                    started = True
                    await self._stream(response.aiter_raw())
                else:
                    content = await self._within(response.aread())
                    changed = await self._changed(content)
                    await web.respond(
                        self._send, response.status_code, changed, *web.without(headers, b"content-length")
                    )
                    return
            finally:
                await response.aclose()
        except TimeoutError:
            await self._give_up(started=started)
        except httpx2.HTTPError as error:
            await self._lost(f"the MCP server cannot be reached ({type(error).__name__})", started=started)
        if started:
            await self._send({"type": "http.response.body", "body": b""})

    def _know(self, response: httpx2.Response) -> None:
        """Learn from a response which session this is, or that it has ended."""
        name = response.headers.get("mcp-session-id", "")
        if self._session is not None and not self._name and response.is_success:
            self._reverse.keep(name, self._session)
        gone = self._looked_at("DELETE") and response.is_success
        if self._name and (gone or response.status_code == 404):
            self._reverse.forget(self._name)

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _more(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _changed(self, content: bytes) -> bytes:
        """Return the body of a response that is one message."""
        message = _message(content)
        if message is None or self._session is None:
            return content
        move = self._session.answer(message, self._via)
        if move.to_client is message:
            return content
        reply = await self._in_time(move)
        return b"" if reply is None else json.dumps(reply).encode()

    async def _stream(self, chunks: AsyncIterator[bytes]) -> None:
        """Pass events on."""
        assert self._session is not None
        marked = False
        coming = web.events(chunks)
        while True:
            try:
                event = await self._within(anext(coming))
            except StopAsyncIteration:
                break
            marked = marked or event.marked
            message = _message(event.data.encode()) if event.data else None
            if message is None:
                await self._more(event.raw)
                continue
            move = self._session.answer(message, self._via)
            if move.to_client is message and not move.after:
                await self._more(event.raw)
            elif (reply := await self._in_time(move)) is not None:
                await self._more(event.saying(reply))
        if not marked:
            await self._lost("the MCP server's answer broke off", started=True)

    async def _within(self, awaited: Any) -> Any:
        """Await something of the server's, no longer than the request has left.

        Raises:
            TimeoutError: the server takes too long.
        """
        left = self._session.left(self._key) if self._session is not None and self._key else None
        return await asyncio.wait_for(awaited, left)

    async def _give_up(self, *, started: bool) -> None:
        assert self._session is not None
        assert self._key is not None
        move = self._session.give_up(self._key)
        await self._say(move.to_client, started=started)

    async def _lost(self, why: str, *, started: bool) -> None:
        """Tell the client that the server will not answer, if it waits for something."""
        waits = self._session is not None and self._key is not None
        reply = self._session.fail(self._key, why) if waits else None  # type: ignore[union-attr,arg-type]
        if reply is not None:
            await self._say(reply, started=started)
        elif not started:
            await web.respond(self._send, 502, why.encode())

    async def _say(self, reply: Message | None, *, started: bool) -> None:
        assert reply is not None
        if started:
            await self._more(web.event(reply))
        else:
            await web.respond(self._send, 200, json.dumps(reply).encode(), JSON)


def _message(body: bytes) -> Message | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
