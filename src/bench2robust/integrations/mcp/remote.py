"""A server that speaks streamable HTTP, as an end for a client that does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from . import answers, web
from .answers import FAILED, Message
from .relay import Received, parsed, written

if TYPE_CHECKING:
    import httpx2

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_NAMES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Method to the parameter that the newer protocol repeats in a header."""


class Remote:
    """The server at a URL.

    Whatever goes wrong on the way to it is the error of the request that it happened to: the client can
    go on. A stream that breaks off is not resumed.

    Args:
        url: its endpoint.
        client: sends the requests.
        headers: added to each of them.
    """

    def __init__(self, url: str, client: httpx2.AsyncClient, headers: Mapping[str, str]) -> None:
        self._url, self._client, self._extra = url, client, dict(headers)
        self._came: asyncio.Queue[Received | None] = asyncio.Queue()
        self._known: dict[str, str] = {}
        """Headers that say which session this is."""
        self._posts: dict[Any, asyncio.Task[None]] = {}
        self._hearing: asyncio.Task[None] | None = None
        self._finished = False

    async def receive(self) -> AsyncIterator[Received]:
        """Give what the server sends."""
        while (came := await self._came.get()) is not None:
            yield came

    async def send(self, message: Message | None, raw: bytes | None) -> None:
        """Send the server a message; the answer comes when it comes."""
        told = message if message is not None else {}
        if "id" in told and "method" in told:
            task = asyncio.create_task(self._post(told, written(message, raw)))
            self._posts[told["id"]] = task
            task.add_done_callback(lambda _: self._posts.pop(told["id"], None))
            return
        if told.get("method") == "notifications/cancelled" and "mcp-session-id" not in self._known:
            # Without sessions, hanging up is what cancels a request.
            task_of = self._posts.get(told.get("params", {}).get("requestId"))
            if task_of is not None:
                task_of.cancel()
                return
        await self._post(told, written(message, raw))
        if told.get("method") == "notifications/initialized" and self._hearing is None:
            self._hearing = asyncio.create_task(self._hear())

    async def finish(self) -> str:
        """End the session."""
        if not self._finished:
            self._finished = True
            tasks = [task for task in (*self._posts.values(), self._hearing) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if "mcp-session-id" in self._known:
                with suppress(Exception):
                    await asyncio.wait_for(self._client.delete(self._url, headers=self._headers({})), 1.0)
            self._came.put_nowait(None)
        return "was left"

    def _headers(self, message: Message) -> dict[str, str]:
        headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "accept-encoding": "identity",
            **self._known,
            **self._extra,
        }
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        if isinstance(meta, dict) and isinstance(meta.get(_VERSION), str):
            from mcp.shared.inbound import encode_header_value

            headers |= {"mcp-protocol-version": meta[_VERSION], "mcp-method": str(message.get("method"))}
            name = params.get(_NAMES.get(str(message.get("method")), ""))
            if isinstance(name, str):
                headers["mcp-name"] = encode_header_value(name)
        return headers

    async def _post(self, message: Message, body: bytes) -> None:
        import httpx2

        wanted = message.get("id") if "method" in message else None
        try:
            async with self._client.stream(
                "POST", self._url, content=body, headers=self._headers(message)
            ) as response:
                answered = await self._read(response, message)
            why = f"the MCP server answered with HTTP {response.status_code} and no message"
        except httpx2.HTTPError as error:
            answered, why = False, f"the MCP server cannot be reached ({type(error).__name__})"
        if wanted is not None and not answered:
            self._put(answers.error(wanted, FAILED, why))

    async def _read(self, response: httpx2.Response, message: Message) -> bool:
        """Take in a response; return whether it held the answer."""
        wanted = message.get("id")
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            answered = False
            async for event in web.events(response.aiter_raw()):
                data = event.data.encode()
                if message.get("method") == "initialize" and data:
                    self._begin(response, parsed(data).message or {})
                answered = self._take(data, wanted) or answered
            return answered
        content = await response.aread()
        came = parsed(content).message
        if came is not None and isinstance(came.get("error"), dict) and came.get("id") is None:
            content = json.dumps({**came, "id": wanted}).encode()
        if message.get("method") == "initialize" and came is not None and response.is_success:
            self._begin(response, came)
        return bool(content) and self._take(content, wanted)

    def _take(self, data: bytes, wanted: Any) -> bool:
        """Take in one message; return whether it is the answer."""
        if not data:
            return False
        came = parsed(data)
        message = came.message
        if message is None:
            return False
        self._came.put_nowait(came)
        return "method" not in message and message.get("id") == wanted

    def _begin(self, response: httpx2.Response, initialized: Message) -> None:
        if name := response.headers.get("mcp-session-id"):
            self._known["mcp-session-id"] = name
        result = initialized.get("result")
        version = result.get("protocolVersion") if isinstance(result, dict) else None
        if isinstance(version, str):
            self._known["mcp-protocol-version"] = version

    def _put(self, message: Message) -> None:
        self._came.put_nowait(parsed(json.dumps(message).encode()))

    async def _hear(self) -> None:
        """Listen to what the server says by itself."""
        import httpx2

        with suppress(httpx2.HTTPError):
            async with self._client.stream("GET", self._url, headers=self._headers({})) as response:
                if response.headers.get("content-type", "").startswith("text/event-stream"):
                    async for event in web.events(response.aiter_raw()):
                        self._take(event.data.encode(), None)
