"""A model's endpoint for a whole run, and one conversation's line to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from bench2robust.core.episode import Usage
from bench2robust.core.errors import EndpointFatalError, EpisodeLostError
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolSpec

from .cassette import Cassette, Key, digest
from .failures import Failure, Kind, classify
from .history import Turn, Wire, as_native, as_text
from .reply import Reply, read_reply
from .retry import Clock
from .spec import ChatSpec, TextTools
from .transport import COST, Transport, transport_for

_NOBODY = 3
"""Attempts after which an address where nobody has ever answered is given up."""
_SEEDS = 2**31
_DESCRIBED = 256
"""Sets of tools whose descriptions are kept."""
_CONTEXT, _FILTER = "context", "filter"
"""Failures that belong to the conversation, as they are called on a tape."""


_ALWAYS_FATAL = (Kind.NO_KEY, Kind.NO_MONEY, Kind.NO_PARSER)
"""Failures that end the run whatever has worked before; others do where nothing has."""


class ContextExceeded(Exception):
    """The conversation is too long for the model."""


class _Filtered(EpisodeLostError):
    """The conversation is one that the endpoint does not go on with."""


class _NoParser(Exception):
    """The server has no parser for tool calls."""


class Gate(Protocol):
    """Lets requests through, so that a runner can limit how many are on their way."""

    async def enter(self) -> None:
        """Wait until one more request may be made."""
        ...

    def leave(self, *, throttled: bool) -> None:
        """One request has ended, whatever came of it; `throttled` where the server had too much to do."""
        ...


class Open:
    """A gate that is always open."""

    async def enter(self) -> None:
        """Let the request through."""

    def leave(self, *, throttled: bool) -> None:
        """Count nothing."""


class Endpoint:
    """One model behind one address, shared by every episode of a run in one event loop.

    Args:
        spec: the model, the address, and how to ask.
        cassette: records or replays; None for neither.
        gate: lets requests through; attempts and retries pass it one by one.
        clock: time; tests put their own here.

    Raises:
        NotInstalledError: the client that the spec needs is not installed.
    """

    def __init__(
        self,
        spec: ChatSpec,
        *,
        cassette: Cassette | None = None,
        gate: Gate | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.spec, self.cassette = spec, cassette
        self.usage = Usage()
        """What all conversations together have cost; replayed answers cost what they cost when recorded."""
        self.retries = 0
        """Attempts that failed and were made again."""
        known = cassette is not None and cassette.text_tools(spec.model)
        self.text_tools = known or spec.text_tools is TextTools.ON
        """Whether tools and calls travel as text; with `TextTools.AUTO` the server's first answer decides."""
        self._gate, self._clock = gate or Open(), clock or Clock()
        self._transport: Transport | None = None
        self._described: dict[tuple[int, ...], tuple[tuple[ToolSpec, ...], list[dict[str, Any]]]] = {}
        self._worked = False
        self._dead: str | None = None
        if cassette is None or not cassette.replays_only:
            self._connect()

    def line(self, name: str, *path: str | int) -> Line:
        """Return a line for one conversation.

        Args:
            name: names the conversation on tapes and in pauses: episode and role.
            path: keys the seed that is sent: the run's seed, the task, the role.
        """
        return Line(self, name, path)

    async def close(self) -> None:
        """Close the connections; the endpoint opens new ones when it is used again."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    def request(self, wire: Wire, tools: Sequence[ToolSpec], seed: int | None) -> dict[str, Any]:
        """Return the body of a request."""
        spec = self.spec
        body: dict[str, Any] = {"model": spec.model, "messages": wire}
        if tools and not self.text_tools:
            body["tools"] = self._describe(tools)
        for key, value in (
            ("temperature", spec.temperature),
            ("seed", seed),
            ("max_tokens", spec.max_tokens),
        ):
            if value is not None:
                body[key] = value
        return {**body, **spec.extra_body}

    def _describe(self, tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
        """Return tools as a request has them; thousands of requests share one description."""
        key = tuple(map(id, tools))
        if key not in self._described:
            if len(self._described) >= _DESCRIBED:
                self._described.clear()
            self._described[key] = (tuple(tools), [tool.openai() for tool in tools])
        return self._described[key][1]

    def lacks_parser(self) -> None:
        """Go over to tools as text for the rest of the run."""
        self.text_tools = True
        if self.cassette is not None:
            self.cassette.keep_text_tools(self.spec.model)

    async def send(self, body: Mapping[str, Any], name: str, waited: Callable[[float], None]) -> Any:
        """Make a request until it is answered, and return the answer.

        Args:
            body: the request.
            name: names the conversation, for its draws.
            waited: is told of the seconds that attempts and pauses took.

        Raises:
            ContextExceeded: the conversation is too long.
            EpisodeLostError: the request is not answered.
            EndpointFatalError: no request will be.
        """
        clock, retry = self._clock, self.spec.retry
        start, failed, draws = clock.now(), 0, None
        while True:
            if self._dead is not None:
                raise EndpointFatalError(self._dead)
            answer = await self._attempt(body, waited)
            if not isinstance(answer, Failure):
                self._worked = True
                return answer
            failed += 1
            if answer.kind is Kind.NO_PARSER and "tools" in body and self.spec.text_tools is TextTools.AUTO:
                raise _NoParser  # also where another conversation has found that out meanwhile
            if answer.kind is not Kind.RETRY:
                await self._give_up(answer, failed)
            draws = draws or Draws("backoff", name, digest(body))
            nobody = not self._worked and not answer.reached and failed >= _NOBODY
            pause = None if nobody else retry.wait(failed, clock.now() - start, answer.asked, draws)
            if pause is None:
                await self._give_up(answer, failed)
            self.retries += 1
            await clock.sleep(pause)
            waited(pause)

    async def _attempt(self, body: Mapping[str, Any], waited: Callable[[float], None]) -> Any:
        """Make a request once; returns the answer or the failure."""
        transport = self._connect()
        await self._gate.enter()
        failure: Failure | None = None
        begun = self._clock.now()
        try:
            async with asyncio.timeout(self.spec.timeout):
                answer = await transport.send(body)
            read_reply(answer, tags=False)
        except Exception as error:
            failure = classify(error, self._clock.wall())
            if failure.kind is Kind.RETRY and _is_bug(error):
                raise
        finally:
            waited(self._clock.now() - begun)
            self._gate.leave(throttled=failure is not None and failure.throttled)
        return answer if failure is None else failure

    async def _give_up(self, failure: Failure, failed: int) -> NoReturn:
        """Raise what a failure means that will not pass."""
        text, kind, spec = failure.text, failure.kind, self.spec
        if kind is Kind.CONTEXT:
            raise ContextExceeded(text)
        if kind is Kind.LOST:
            raise _Filtered(f"model={spec.model!r} was kept from answering ({text})")
        if kind in _ALWAYS_FATAL or not self._worked:
            self._dead = await self._fatal(kind, text, failed)
            raise EndpointFatalError(self._dead)
        if kind is Kind.RETRY:
            raise EpisodeLostError(f"model={spec.model!r} did not answer after {_attempts(failed)} ({text})")
        raise EpisodeLostError(f"model={spec.model!r} refuses a request ({text})")

    async def _fatal(self, kind: Kind, text: str, failed: int) -> str:
        """Return the one line that says why no episode can work, and what to do."""
        spec = self.spec
        where = f"base-url={spec.base_url!r}" if spec.litellm is None else "litellm"
        match kind:
            case Kind.NO_KEY if spec.litellm is not None:
                return f"{where} is refused the model={spec.model!r} ({text}); set the keys that it reads"
            case Kind.NO_KEY if os.environ.get(spec.key_env):
                return f"{where} refuses the API key in ${spec.key_env} ({text}); correct the key"
            case Kind.NO_KEY:
                return f"{where} wants an API key ({text}); put one into ${spec.key_env}"
            case Kind.NO_MONEY:
                return f"the account at {where} has nothing left ({text}); top it up"
            case Kind.NO_TOOLS | Kind.NO_PARSER:
                return (
                    f"model={spec.model!r} does not take tools ({text}); use another model or server, "
                    "or set text-tools='on'"
                )
            case Kind.NO_MODEL:
                models = await self._connect().models()
                if models:
                    return f"unknown model={spec.model!r} at {where} ({text}); it serves {', '.join(models[:12])}"
                return (
                    f"expected chat completions at {where}, got {text} for model={spec.model!r}; "
                    "correct the address (does it end in /v1?) or the model"
                )
            case Kind.RETRY:
                return (
                    f"expected an OpenAI-compatible endpoint at {where}, got no answer after "
                    f"{_attempts(failed)} ({text}); start the server or correct the address"
                )
            case _:
                return f"{where} refuses what is sent to model={spec.model!r} ({text})"

    def _connect(self) -> Transport:
        if self._transport is None:
            self._transport = transport_for(self.spec)
        return self._transport


class Line:
    """One conversation with an endpoint. A request that is cancelled leaves no trace."""

    def __init__(self, endpoint: Endpoint, name: str, path: Sequence[str | int]) -> None:
        self.usage = Usage()
        """What the conversation has cost."""
        self._endpoint, self._name = endpoint, name
        base = endpoint.spec.seed
        self._seed = None if base is None else Draws("sampling", base, *path).index(_SEEDS)
        self._made: dict[str, int] = {}

    async def ask(self, system: str, turns: Sequence[Turn], tools: Sequence[ToolSpec]) -> Reply:
        """Return the model's reply to a conversation.

        Raises:
            ContextExceeded: the conversation is too long.
            EpisodeLostError: the endpoint does not answer, or will not.
            EndpointFatalError: the endpoint cannot be used; or the request is not on the tape that is replayed.
        """
        endpoint = self._endpoint
        while True:
            keep = endpoint.spec.keep_reasoning
            if endpoint.text_tools:
                wire = as_text(system, turns, tools, keep_reasoning=keep)
            else:
                wire = as_native(system, turns, keep_reasoning=keep)
            try:
                answer = await self._answer(endpoint.request(wire, tools, self._seed))
            except _NoParser:
                endpoint.lacks_parser()
                continue
            tags = bool(tools) and (endpoint.text_tools or endpoint.spec.text_tools is not TextTools.OFF)
            reply = read_reply(answer, tags=tags)
            self._count(reply, answer)
            if reply.finish == "content_filter":
                raise EpisodeLostError(
                    f"model={endpoint.spec.model!r} was kept from answering (content filter)"
                )
            return reply

    async def _answer(self, body: dict[str, Any]) -> Any:
        """Return the answer to a request, from the tape or from the endpoint."""
        endpoint, tape = self._endpoint, self._endpoint.cassette
        if tape is None:
            return await endpoint.send(body, self._name, self._wait)
        request = digest(body)
        nth = self._made.get(request, 0)
        key: Key = (self._name, request, nth)
        kept = tape.find(key)
        if kept is None and tape.replays_only:
            raise EndpointFatalError(tape.missing(key, body))
        if kept is None:
            kept = await self._record(tape, key, body)
        self._made[request] = nth + 1
        failure = kept.get("failure")
        if failure is None:
            return kept["answer"]
        raise (ContextExceeded if failure["kind"] == _CONTEXT else _Filtered)(failure["text"])

    async def _record(self, tape: Cassette, key: Key, body: dict[str, Any]) -> Mapping[str, Any]:
        try:
            outcome = {"answer": await self._endpoint.send(body, self._name, self._wait)}
        except (ContextExceeded, _Filtered) as error:
            kind = _CONTEXT if isinstance(error, ContextExceeded) else _FILTER
            outcome = {"failure": {"kind": kind, "text": str(error)}}
        tape.keep(key, body, outcome)
        return outcome

    def _wait(self, seconds: float) -> None:
        self.usage.seconds += seconds
        self._endpoint.usage.seconds += seconds

    def _count(self, reply: Reply, answer: Mapping[str, Any]) -> None:
        prices = self._endpoint.spec.prices
        known = answer.get(COST)
        cost = float(known) if isinstance(known, int | float) else 0.0
        if prices is not None:
            cost = prices.cost(reply.prompt_tokens, reply.completion_tokens)
        for usage in (self.usage, self._endpoint.usage):
            usage.requests += 1
            usage.prompt_tokens += reply.prompt_tokens
            usage.completion_tokens += reply.completion_tokens
            usage.cost += cost


def _attempts(count: int) -> str:
    return f"{count} attempt{'' if count == 1 else 's'}"


def _is_bug(error: Exception) -> bool:
    """Whether an error is neither a client's nor the connection's."""
    return isinstance(error, TypeError | AttributeError | KeyError | AssertionError | NameError)
