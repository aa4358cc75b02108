"""One MCP session as a proxy sees it: which messages pass, which are answered, which are changed.

No input or output happens here, so every transport shares it. A message that passes is passed as the very
object that came, so that a transport can send the bytes that came.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Generator
from time import monotonic
from typing import Any, Final, NamedTuple

from bench2robust.core.errors import UnknownNameError
from bench2robust.core.noise import NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import CallRecord, ToolCall, ToolKind, ToolResponse, ToolSpec

from . import answers
from .answers import FAILED, TIMED_OUT, Message, Result
from .faults import McpInjector, Schemas
from .log import Log, shown
from .recall import Recall
from .spec import Form, ProxySpec

OUTCOME: Final = "notifications/bench2robust/outcome"
"""A notification for the proxy alone: ``{"passed": true}`` says whether the session reached what it was for."""
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
"""Under this key of ``_meta`` requests of the newer protocol say their version."""
_ENDLESS: Final = "subscriptions/listen"
"""A request that is answered when the client has heard enough."""

Key = tuple[str, Any]
"""A request: by which way it came, where ids are not the session's alone, and its id."""


class Move(NamedTuple):
    """What to send because of a message."""

    to_server: Message | None = None
    to_client: Message | None = None
    after: float = 0.0
    """Seconds before `to_client` is sent, by `Session.release`; infinity for never."""


class _Executed:
    """Waits for the server's answer without an event loop: whoever drives the injector sends it in."""

    def __await__(self) -> Generator[None, Result, Result]:
        return (yield)


async def _executed(_call: ToolCall) -> ToolResponse:
    return await _Executed()


class _Open:
    """A request that the client waits for."""

    __slots__ = ("began", "call", "held", "method", "modern", "progress", "since")

    def __init__(self, message: Message, now: float) -> None:
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        meta = meta if isinstance(meta, dict) else {}
        self.method: str = message["method"]
        self.began = self.since = now
        self.progress = meta.get("progressToken")
        self.modern = _VERSION in meta
        self.call: Coroutine[Any, Any, ToolResponse] | None = None
        self.held: Message | None = None
        """The answer that waits for its time."""


class Session:
    """What a proxy does to the messages of one session.

    Args:
        spec: what to inject.
        log: where to say so.
        recall: the memory; None for none.
        number: of the session in its proxy, from 1.
        clock: seconds.
    """

    def __init__(
        self,
        spec: ProxySpec,
        log: Log,
        recall: Recall | None = None,
        number: int = 1,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._spec, self._log, self._recall, self._number, self._clock = spec, log, recall, number, clock
        self._schemas = Schemas()
        self._offered: dict[str, None] = {}
        self._listed: dict[str, None] = {}
        self._open: dict[Key, _Open] = {}
        self._late: set[Key] = set()
        """Requests whose answer is no longer wanted."""
        self._injector = McpInjector(
            spec.faults.injection,
            spec.faults.seed,
            spec.episode(number),
            domain=spec.faults.domain,
            tools=(),
            blocked=spec.blocked(number),
            schemas=self._schemas,
        )

    @property
    def waiting(self) -> bool:
        """Whether the client waits for an answer that may still come."""
        return any(opened.held is None for opened in self._open.values())

    @property
    def timeout(self) -> float:
        """Seconds that the server may take; 0 for any time."""
        return self._spec.timeout

    def ask(self, message: Message, via: str = "") -> Move:
        """Take in a message of the client's."""
        method = message.get("method")
        if not isinstance(method, str):
            return Move(to_server=message)
        if "id" not in message:
            return self._notified(message, method, via)
        key = (via, message["id"])
        if not isinstance(key[1], str | int) or key in self._open:
            self._log.event(self._number, f"passed on: a request without an id of its own ({shown(method)})")
            return Move(to_server=message)
        self._open[key] = opened = _Open(message, self._clock())
        if method == "tools/call":
            return self._call(key, opened, message)
        return Move(to_server=message)

    def answer(self, message: Message, via: str = "") -> Move:
        """Take in a message of the server's."""
        if "method" in message:
            if message["method"] == "notifications/progress":
                self._heard(message.get("params"))
            return Move(to_client=message)
        key = (via, message.get("id"))
        try:
            late = key in self._late
        except TypeError:
            return Move(to_client=message)
        if late:
            self._late.discard(key)
            self._log.event(self._number, "dropped: an answer that came too late")
            return Move()
        opened = self._open.get(key)
        if opened is None or opened.held is not None:
            return Move(to_client=message)
        if opened.method == "tools/list":
            self._see_tools(message)
        if opened.call is None:
            del self._open[key]
            return Move(to_client=message)
        return self._answered(key, opened, message)

    def release(self, key: Key) -> Message | None:
        """Return an answer whose time has come; None when nobody waits for it any more."""
        opened = self._open.get(key)
        if opened is None or opened.held is None:
            return None
        del self._open[key]
        return opened.held

    def cancel(self, key: Key) -> None:
        """Forget a request that nobody waits for any more; what the server still says to it passes."""
        opened = self._open.pop(key, None)
        if opened is not None and opened.call is not None:
            opened.call.close()

    def left(self, key: Key) -> float | None:
        """Return the seconds that the server has left for a request; None for any number."""
        opened = self._open.get(key)
        if opened is None or opened.held is not None or opened.method == _ENDLESS or not self._spec.timeout:
            return None
        return max(0.0, opened.since + self._spec.timeout - self._clock())

    def overdue(self) -> list[Move]:
        """Give up on requests that the server takes too long for: an error each, and a cancellation."""
        return [self.give_up(key) for key in list(self._open) if self.left(key) == 0.0]

    def give_up(self, key: Key) -> Move:
        """Return the error for a request that has taken too long, and what tells the server."""
        method = self._open[key].method
        self.cancel(key)
        self._late.add(key)
        self._log.event(
            self._number, f"gave up: no answer to {shown(method)} within {self._spec.timeout:g} s"
        )
        text = f"the MCP server did not answer {method} within {self._spec.timeout:g} s"
        cancelled = {"requestId": key[1], "reason": "timeout"}
        return Move(
            to_server={"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled},
            to_client=answers.error(key[1], TIMED_OUT, text),
        )

    def fail(self, key: Key, why: str) -> Message | None:
        """Return the error for a request that the server cannot answer any more; None if nobody waits."""
        if key not in self._open:
            return None
        self.cancel(key)
        return answers.error(key[1], FAILED, why)

    def lose(self, why: str) -> list[Message]:
        """Return an error for every request that the client waits for: the server is gone."""
        return [message for key in list(self._open) if (message := self.fail(key, why)) is not None]

    def broken(self, line: bytes) -> Message | None:
        """Take in something from the server that is no message; return an error if it was plainly an answer.

        It was if it reads like a damaged message and just one request is waiting. Anything else may be a
        stray print of a server that answers later.
        """
        self._log.event(self._number, f"dropped: {len(line)} bytes of the server's that are no message")
        waiting = [key for key, opened in self._open.items() if opened.held is None]
        if len(waiting) == 1 and line.lstrip()[:1] == b"{" and b'"jsonrpc"' in line:
            return self.fail(waiting[0], "the MCP server's answer is no JSON-RPC message")
        return None

    def related(self, message: Message) -> Any:
        """Return the id of the request that a message of the server's belongs to, as far as one can tell."""
        params = message.get("params")
        token = params.get("progressToken") if isinstance(params, dict) else None
        ids = [key[1] for key, o in self._open.items() if token is None or o.progress == token]
        return ids[-1] if ids else None

    def close(self) -> None:
        """End the session, and record it where that is asked for."""
        for key in list(self._open):
            self.cancel(key)
        if self._recall is not None:
            self._recall.close()

    def _notified(self, message: Message, method: str, via: str) -> Move:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == OUTCOME:
            if self._recall is not None and isinstance(params.get("passed"), bool):
                self._recall.passed = params["passed"]
            return Move()
        if method == "notifications/cancelled" and isinstance(params.get("requestId"), str | int):
            self.cancel((via, params["requestId"]))
        return Move(to_server=message)

    def _call(self, key: Key, opened: _Open, message: Message) -> Move:
        params = message.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        arguments = params.get("arguments") or {} if isinstance(params, dict) else {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return Move(to_server=message)
        if not self._listed and name not in self._offered:
            self._offer(ToolSpec(name, "", {}))
        opened.call = self._injector.acall(ToolCall(name, arguments), _executed)
        try:
            opened.call.send(None)
        except StopIteration as done:
            return self._delivered(key, opened, None, done.value)
        return Move(to_server=message)

    def _answered(self, key: Key, opened: _Open, message: Message) -> Move:
        true = answers.read_reply(message)
        if true is None or opened.call is None:
            self.cancel(key)
            return Move(to_client=message)
        try:
            opened.call.send(true)
        except StopIteration as done:
            return self._delivered(key, opened, (message, true), done.value)
        raise AssertionError("the injector executes a call once")

    def _delivered(
        self, key: Key, opened: _Open, came: tuple[Message, Result] | None, delivered: ToolResponse
    ) -> Move:
        """Say in the protocol what the injector delivered."""
        record = self._injector.last()
        self._injector.drain()
        if came is not None and delivered is came[1]:
            reply = came[0]
        elif came is not None and record.noise.silent:
            reply = {**came[0], "result": answers.corrupted(came[1], delivered.text)}
        else:
            reply = self._failure(key, opened, came[1].result if came else {}, record)
        note = ""
        if self._recall is not None:
            note = self._recall.note(record.call, delivered, tuple(self._listed))
        if note:
            reply = answers.noted(reply, note)
        self._log.call(self._number, record, self._clock() - opened.began, noted=bool(note))
        if self._spec.faults.on_record is not None:
            self._spec.faults.on_record(record)
        after = self._spec.hang if record.noise is NoiseType.TIMEOUT else 0.0
        if after:
            opened.held = reply
        else:
            del self._open[key]
        return Move(to_client=None if math.isinf(after) else reply, after=after)

    def _failure(self, key: Key, opened: _Open, true: Any, record: CallRecord) -> Message:
        """Return a failure in the form that is asked for."""
        form = self._spec.form
        if form is Form.MIXED:
            place = (self._spec.episode(self._number), "form", record.call.name, record.ordinal)
            form = Form.RESULT if Draws(self._spec.faults.seed, *place).index(2) == 0 else Form.ERROR
        text = record.delivered.text
        if form is Form.RESULT:
            return answers.failure(key[1], text, true, modern=opened.modern)
        code = TIMED_OUT if record.noise is NoiseType.TIMEOUT else FAILED
        return answers.error(key[1], code, text)

    def _heard(self, params: Any) -> None:
        token = params.get("progressToken") if isinstance(params, dict) else None
        for opened in self._open.values():
            if token is not None and opened.progress == token:
                opened.since = self._clock()

    def _see_tools(self, message: Message) -> None:
        """Learn which tools there are, and what their results look like."""
        result = message.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(name, str):
                continue
            self._listed[name] = None
            schema = tool.get("inputSchema")
            self._schemas.put(name, tool.get("outputSchema"))
            hints = tool.get("annotations")
            reads = isinstance(hints, dict) and hints.get("readOnlyHint") is True
            if name not in self._offered:
                self._offer(
                    ToolSpec(
                        name,
                        str(tool.get("description", "")),
                        schema if isinstance(schema, dict) else {},
                        ToolKind.READ if reads else ToolKind.WRITE,
                    )
                )

        if isinstance(result, dict) and not result.get("nextCursor"):
            self._look_for_unknown()

    def _look_for_unknown(self) -> None:
        """Say which tools of the spec the server does not have: a typing error would go unnoticed."""
        faults = self._spec.faults
        for tool in sorted((faults.blocked | set(faults.injection.profile.tools)) - self._listed.keys()):
            self._log.event(self._number, str(UnknownNameError("tool", shown(tool), self._listed)))

    def _offer(self, tool: ToolSpec) -> None:
        self._offered[tool.name] = None
        self._injector.offer(tool)
