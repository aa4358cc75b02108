"""Messages between two ends, in both directions at once, through a session."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, NamedTuple, Protocol

from bench2robust.core.errors import SubjectError

from .answers import Message
from .session import Move, Session

GRACE: Final = 1.0
"""Seconds that a server has to end after its client left; SDKs give a proxy two."""
_LONGEST: Final = 1 << 26
"""Bytes of one message; a server that sends more without an end has lost its way."""
_LAST: Final = 10.0
"""Seconds for the answers to what a client asked before it left; SDKs stop a proxy earlier than that."""
_BREATH: Final = 0.02
_LOOK: Final = 0.25
"""Seconds between two looks for requests that take too long, at most."""


class Received(NamedTuple):
    """Something that came from one end."""

    message: Message | None
    """None for what is no single JSON-RPC message."""
    raw: bytes
    """As it came."""
    json: bool = True
    """Whether it is JSON at all (a batch is)."""


class End(Protocol):
    """A client, or a server."""

    def receive(self) -> AsyncIterator[Received]:
        """Give what it sends, until it ends."""
        ...

    async def send(self, message: Message | None, raw: bytes | None) -> None:
        """Send something to it.

        Args:
            message: what to send; None for what is no message.
            raw: how it came, where it is sent as it came.

        Raises:
            ConnectionError: it is gone.
        """
        ...

    async def finish(self) -> str:
        """Tell it that nothing more will come, see to it that it ends, and return how it did."""
        ...


def parsed(raw: bytes) -> Received:
    """Return what some bytes say."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return Received(None, raw, json=False)
    return Received(value if isinstance(value, dict) else None, raw, json=isinstance(value, dict | list))


def written(message: Message | None, raw: bytes | None) -> bytes:
    """Return the bytes to send: those that came, unless the message was changed."""
    return raw if raw is not None else json.dumps(message, separators=(",", ":")).encode()


async def lines(read: Callable[[], Awaitable[bytes]]) -> AsyncIterator[bytes]:
    """Give the lines of a stream, without their ends, empty ones left out.

    Raises:
        ConnectionError: a line that does not end.
    """
    parts: list[bytes] = []
    size = 0
    while chunk := await read():
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            parts.append(line)
            line = b"".join(parts)
            parts, size = [], 0
            if line.strip():
                yield line
        parts.append(rest)
        size += len(rest)
        if size > _LONGEST:
            raise ConnectionError("a message that does not end")
    if (line := b"".join(parts)).strip():
        yield line


class Relay:
    """Passes messages between a client and a server until one of them ends."""

    def __init__(self, client: End, server: End, session: Session) -> None:
        self._client, self._server, self._session = client, server, session
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self) -> None:
        """Pass messages on.

        Raises:
            SubjectError: the server ended before the client did; the client was told.
        """
        asking = asyncio.create_task(self._from_client())
        answering = asyncio.create_task(self._from_server())
        watching = asyncio.create_task(self._watch())
        try:
            await asyncio.wait((asking, answering), return_when=asyncio.FIRST_COMPLETED)
            left_first = answering.done()
            if not left_first:
                await self._last_answers(answering)
            ending = asyncio.create_task(self._server.finish())
            await asyncio.wait((answering,), timeout=2 * GRACE)
            how = await ending
            if left_first:
                for message in self._session.lose(f"the MCP server {how} before it answered"):
                    await self._client.send(message, None)
                raise SubjectError(f"expected the MCP server to stay until its client leaves; it {how}")
        except ConnectionError:
            pass  # the client is gone: nobody is left to be told
        finally:
            for task in (asking, answering, watching, *self._tasks):
                task.cancel()
            await asyncio.gather(asking, answering, watching, *self._tasks, return_exceptions=True)
            await asyncio.shield(self._server.finish())
            await self._client.finish()

    async def _from_client(self) -> None:
        try:
            async for came in self._client.receive():
                if came.message is None:
                    await self._server.send(None, came.raw)
                else:
                    await self._send(self._session.ask(came.message), came)
        except ConnectionError:
            # The server takes nothing more: it is up to the other direction to say that it is gone.
            await self._session_end()

    async def _from_server(self) -> None:
        try:
            async for came in self._server.receive():
                if came.message is not None:
                    await self._send(self._session.answer(came.message), came)
                elif came.json:
                    await self._client.send(None, came.raw)
                elif (error := self._session.broken(came.raw)) is not None:
                    await self._client.send(error, None)
        except ConnectionError:
            pass  # ends this direction, as if the server had

    async def _last_answers(self, answering: asyncio.Task[None]) -> None:
        """Leave the server some time for what is asked already: a client may be a file."""
        for _ in range(int(_LAST / _BREATH)):
            if answering.done() or not self._session.waiting:
                return
            await asyncio.sleep(_BREATH)

    async def _session_end(self) -> None:
        """Wait for whoever cancels this."""
        await asyncio.get_running_loop().create_future()

    async def _send(self, move: Move, came: Received | None) -> None:
        for end, message in ((self._server, move.to_server), (self._client, move.to_client)):
            if message is None:
                continue
            if end is self._client and move.after:
                self._later(message, move.after)
                continue
            same = came is not None and message is came.message
            await end.send(message, came.raw if same and came else None)

    def _later(self, message: Message, seconds: float) -> None:
        """Send an answer after some time, if it is still wanted."""

        async def send() -> None:
            await asyncio.sleep(seconds)
            held = self._session.release(("", message["id"]))
            if held is not None:
                await self._client.send(held, None)

        task = asyncio.create_task(send())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self) -> None:
        """Give up on requests that take too long."""
        patience = self._session.timeout or math.inf
        while patience < math.inf:
            await asyncio.sleep(min(patience / 4, _LOOK))
            for move in self._session.overdue():
                try:
                    await self._send(move, None)
                except ConnectionError:
                    return
