"""The endpoint: who may ask what of which model, what goes wrong, and what is answered."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.ports import Benchmark, Utterance
from bench2robust.core.tools import ToolCall

from .faults import Fault, Faults, FaultSpec
from .http import Reply, Request, listen
from .replay import ForeignConversation, Replay, ServedUser
from .wire import Answer, Asked, InvalidRequest, read_request

USER = "user"
"""Name of the model that plays the user."""
_LEAST_SHOWN = 0.1
_MOST_SHOWN = 0.9
"""Shares of an answer between which it is cut off."""


class ToolUse(StrEnum):
    """What a served model does with tools, as servers and models differ."""

    NATIVE = "native"
    """Tools come with the request, calls go back in the message."""
    TAGS = "tags"
    """Tools may come with the request, calls go back in Hermes' tags in the text: nobody parses them."""
    NO_PARSER = "no-parser"
    """Requests with tools are refused, as by vLLM without a parser; tools in the prompt's text are not."""
    NONE = "none"
    """Requests with tools are refused: the model has none."""


_REFUSALS = {
    ToolUse.NO_PARSER: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    ToolUse.NONE: "this model does not support tools",
}


@dataclass(frozen=True, slots=True)
class EndpointSpec:
    """What an endpoint serves, and how.

    Raises:
        SpecError: no policy, or a context of no tokens.
        UnknownNameError: a use of tools that nobody knows.
    """

    policies: tuple[str, ...] = ("strategic",)
    """Reference policies; a policy's name is its model's. A further model, ``user``, plays scripted users."""
    api_key: str | None = None
    """What requests have to carry; None lets everybody in."""
    tools: ToolUse = ToolUse.NATIVE
    context: int | None = None
    """Most tokens of a prompt; None for any number."""
    faults: FaultSpec = field(default_factory=FaultSpec)

    def __post_init__(self) -> None:
        if not self.policies:
            raise SpecError("expected at least one policy, got policies=()")
        if self.tools not in list(ToolUse):
            raise UnknownNameError("tools", str(self.tools), list(ToolUse))
        if self.context is not None and self.context < 1:
            raise SpecError(f"expected at least 1 token, got context={self.context!r}")


class Endpoint:
    """An OpenAI-compatible endpoint whose models are reference policies.

    Args:
        benchmark: whose tasks the policies can play.
        spec: what is served, and how.

    Raises:
        UnknownNameError: a policy that nobody knows.
        SpecError: a policy that cannot be served.
    """

    def __init__(self, benchmark: Benchmark, spec: EndpointSpec) -> None:
        self._spec = spec
        self._policies = {name: Replay(benchmark, name) for name in spec.policies}
        self._user = ServedUser(benchmark)
        self._models = (*self._policies, USER)
        self._faults = Faults(spec.faults)

    @property
    def alike(self) -> int:
        """How many tasks begin with the same words as another, so that they may be taken for each other."""
        return max(policy.alike for policy in self._policies.values())

    async def serve(self, host: str = "127.0.0.1", port: int = 0) -> asyncio.Server:
        """Start to listen; port 0 takes a free one.

        Raises:
            SpecError: the address cannot be had.
        """
        try:
            return await listen(self.answer, host, port)
        except (OSError, OverflowError) as error:
            problem = getattr(error, "strerror", None) or error
            raise SpecError(
                f"expected an address that is free, got {host}:{port} ({problem}); choose another --port"
            ) from None

    async def answer(self, request: Request) -> Reply:
        """Answer one request."""
        allowed = f"Bearer {self._spec.api_key}"
        if self._spec.api_key is not None and not hmac.compare_digest(
            request.headers.get("authorization", "").encode(), allowed.encode()
        ):
            return _refusal(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
        route = (request.method, request.path.rstrip("/"))
        if route == ("GET", "/v1/models"):
            models = [_model(name) for name in self._models]
            return Reply(body={"object": "list", "data": models})
        if route[0] == "GET" and route[1].startswith("/v1/models/"):
            name = route[1].removeprefix("/v1/models/")
            return Reply(body=_model(name)) if name in self._models else _unknown(name)
        if route == ("POST", "/v1/chat/completions"):
            return await self._complete(request.body)
        return _refusal(404, f"Unknown request URL: {route[0]} {request.path}.", "invalid_request_error")

    async def _complete(self, body: bytes) -> Reply:
        try:
            asked = read_request(body)
            reply = self._think(asked)
        except (InvalidRequest, ForeignConversation) as error:
            return _refusal(400, str(error), "invalid_request_error")
        return reply if reply.status != 200 else await self._disturbed(body, reply)

    def _think(self, asked: Asked) -> Reply:
        """Return the undisturbed answer."""
        if asked.model not in self._models:
            return _unknown(asked.model)
        refused = _REFUSALS.get(self._spec.tools) if asked.tools and not asked.in_prompt else None
        if refused:
            return _refusal(400, refused, "BadRequestError")
        most = self._spec.context
        if most is not None and asked.prompt_tokens > most:
            return _refusal(
                400,
                f"This model's maximum context length is {most} tokens. However, your messages resulted in "
                f"{asked.prompt_tokens} tokens. Please reduce the length of the messages.",
                "invalid_request_error",
                "context_length_exceeded",
            )
        tagged = asked.in_prompt or self._spec.tools is ToolUse.TAGS
        if asked.model == USER:
            action: ToolCall | Utterance = self._user.next(asked.prompt, asked.turns)
        else:
            action = self._policies[asked.model].next(asked.turns, asked.tools, asked.prompt)
        answer = Answer.of(asked, action, tagged=tagged)
        return Reply(events=answer.stream()) if asked.stream else Reply(body=answer.whole())

    async def _disturbed(self, body: bytes, reply: Reply) -> Reply:
        """Let happen to an answer what is drawn for its request."""
        spec = self._spec.faults
        fault, draws = self._faults.draw(body)
        match fault:
            case Fault.THROTTLED:
                headers = {"retry-after": f"{spec.retry_after:g}"}
                return _refusal(429, "Rate limit reached.", "requests", "rate_limit_exceeded", headers)
            case Fault.BROKEN:
                return _refusal(500, "The server had an error while processing your request.", "server_error")
            case Fault.CUT:
                cut = draws.between(_LEAST_SHOWN, _MOST_SHOWN)
                return Reply(reply.status, reply.body, reply.events, reply.headers, cut=cut)
            case Fault.HANG:
                await asyncio.sleep(spec.hang)
                return Reply(silent=True)
            case Fault.SLOW:
                await asyncio.sleep(spec.slow)
        return reply


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "bench2robust"}


def _unknown(name: str) -> Reply:
    message = f"The model `{name}` does not exist."
    return _refusal(404, message, "invalid_request_error", "model_not_found")


def _refusal(
    status: int, message: str, kind: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    error = {"message": message, "type": kind, "param": None, "code": code}
    return Reply(status, {"error": error}, headers=headers or {})
