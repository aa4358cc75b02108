"""One request, one answer: the `openai` client, or litellm. Retries are not its business."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from bench2robust.core.errors import NotInstalledError, SpecError

from .reply import Unreadable
from .spec import OPENAI, ChatSpec

if TYPE_CHECKING:
    from openai import AsyncOpenAI

COST = "response_cost"
"""Key under which an answer carries its price in US dollars, where the transport knows it."""


class Transport(Protocol):
    """The way to a model."""

    async def send(self, body: Mapping[str, Any]) -> Any:
        """Make one request and return the JSON of the answer; any error of the client passes through."""
        ...

    async def models(self) -> list[str]:
        """Return the models that the endpoint serves, empty where it does not say."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def transport_for(spec: ChatSpec) -> Transport:
    """Return the way to the spec's model.

    Raises:
        NotInstalledError: the client is not installed.
    """
    return OpenAITransport(spec) if spec.litellm is None else LiteLLMTransport(spec)


def _key(name: str) -> str:
    """Return the key that an environment variable holds, without the white space around it.

    Raises:
        SpecError: it holds what no header may; the message does not show it.
    """
    key = os.environ.get(name, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise SpecError(f"expected a key of printable ASCII characters in the variable {name}, got others")
    return key or "none"


class OpenAITransport:
    """Any endpoint that speaks OpenAI's chat completions.

    Requests go through the client's `post`: its typed `create` spends five times the processor time on
    checking what is checked here anyway.
    """

    def __init__(self, spec: ChatSpec) -> None:
        try:
            import openai
        except ImportError:
            raise NotInstalledError(
                "chat models need the openai client, which is not installed; pip install 'bench2robust[models]'"
            ) from None
        self._openai = openai
        self._stream = spec.stream
        self._client: AsyncOpenAI = openai.AsyncOpenAI(
            base_url=spec.base_url,
            api_key=_key(spec.key_env),
            max_retries=0,
            timeout=spec.timeout,
        )

    async def send(self, body: Mapping[str, Any]) -> Any:
        """Make one request; a streamed answer is put together again."""
        if not self._stream:
            return await self._client.post("/chat/completions", cast_to=object, body=dict(body))
        options = {"stream": True, "stream_options": {"include_usage": True}}
        stream = await self._client.post(
            "/chat/completions",
            cast_to=object,
            body={**body, **options},
            stream=True,
            stream_cls=self._openai.AsyncStream[object],
        )
        async with stream:
            try:
                return await gather(self._chunks(stream))
            except (AttributeError, TypeError, KeyError) as error:
                raise Unreadable(f"expected chunks of a chat completion in the stream ({error})") from error

    async def _chunks(self, stream: AsyncIterator[object]) -> AsyncIterator[Any]:
        try:
            async for chunk in stream:
                yield chunk
        except (self._openai.OpenAIError, GeneratorExit):
            raise
        except Exception as error:  # whatever the connection broke with, in the words of its own library
            raise Unreadable(f"the stream broke off: {error or type(error).__name__}") from error

    async def models(self) -> list[str]:
        """Return the models that the endpoint lists."""
        try:
            answer: Any = await self._client.get("/models", cast_to=object)
            return [str(model["id"]) for model in answer["data"]]
        except (self._openai.OpenAIError, KeyError, TypeError, ValueError):
            return []

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


class LiteLLMTransport:
    """Whatever litellm knows the way to; keys come from the variables that litellm reads."""

    def __init__(self, spec: ChatSpec) -> None:
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network, for seconds
        try:
            import litellm
        except ImportError:
            raise NotInstalledError(
                f"model={spec.model!r} needs litellm, which is not installed; pip install litellm"
            ) from None
        litellm.suppress_debug_info = True
        self._litellm = litellm
        self._model = spec.litellm
        self._options: dict[str, Any] = {"num_retries": 0, "max_retries": 0, "timeout": spec.timeout}
        if spec.base_url != OPENAI:
            self._options["api_base"] = spec.base_url

    async def send(self, body: Mapping[str, Any]) -> Any:
        """Make one request; parameters that the provider does not know are left out."""
        response = await self._litellm.acompletion(
            **{**body, "model": self._model}, **self._options, drop_params=True
        )
        answer = response.model_dump()
        cost = (getattr(response, "_hidden_params", None) or {}).get(COST)
        return {**answer, COST: cost} if isinstance(cost, int | float) else answer

    async def models(self) -> list[str]:
        """Return nothing: litellm's models are not an endpoint's."""
        return []

    async def close(self) -> None:
        """Litellm keeps its connections to itself."""


async def gather(chunks: AsyncIterator[Any]) -> dict[str, Any]:
    """Put the chunks of a streamed chat completion together.

    Raises:
        Unreadable: it ends before it is finished.
    """
    texts: dict[str, list[str]] = {"content": [], "reasoning_content": [], "reasoning": []}
    calls: dict[int, dict[str, Any]] = {}
    finish, usage = None, None
    async for chunk in chunks:
        if not isinstance(chunk, Mapping):
            raise Unreadable("expected chunks of a chat completion in the stream")
        usage = chunk.get("usage") or usage
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            for key, parts in texts.items():
                if isinstance(delta.get(key), str):
                    parts.append(delta[key])
            for place, piece in enumerate(delta.get("tool_calls") or ()):
                _add_piece(calls, piece, place)
            finish = choice.get("finish_reason") or finish
    if finish is None:
        raise Unreadable("the stream ended before the reply was finished")
    message: dict[str, Any] = {key: "".join(parts) or None for key, parts in texts.items()}
    if calls:
        message["tool_calls"] = [calls[place] for place in sorted(calls)]
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _add_piece(calls: dict[int, dict[str, Any]], piece: Mapping[str, Any], place: int) -> None:
    """Add a piece of a call: its id and name come once, its arguments bit by bit."""
    index = piece.get("index")
    function = {"name": "", "arguments": ""}
    call = calls.setdefault(index if isinstance(index, int) else place, {"id": "", "function": function})
    call["id"] = call["id"] or piece.get("id") or ""
    given = piece.get("function") or {}
    call["function"]["name"] += given.get("name") or ""
    call["function"]["arguments"] += given.get("arguments") or ""
