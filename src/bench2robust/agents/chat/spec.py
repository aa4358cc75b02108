"""What a chat model is asked, and how."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from bench2robust.core.errors import SpecError, UnknownNameError

from .retry import Retry

OPENAI = "https://api.openai.com/v1"
LITELLM = "litellm:"
"""Prefix of a model that is reached through litellm, as in ``litellm:bedrock/…``."""
_OURS = ("model", "messages", "tools", "stream", "seed", "temperature")
"""Keys of a request that the extra body may not set."""


def _is_address(url: str) -> bool:
    """Whether a text is an http address with a host and, if any, a possible port."""
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname) and (address.port or 1) > 0
    except ValueError:
        return False


class TextTools(StrEnum):
    """Whether tools and calls travel as text, for servers that do not parse calls out of what a model writes."""

    OFF = "off"
    """Tools are the request's ``tools``, calls the reply's ``tool_calls``."""
    ON = "on"
    """Tools are described in the system prompt; calls are ``<tool_call>{…}</tool_call>`` in the reply's text."""
    AUTO = "auto"
    """As `OFF`; tags are read too, and a server that says that it has no tool parser is used as `ON`."""


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    prompt: float
    completion: float

    def __post_init__(self) -> None:
        for name, value in (("prompt", self.prompt), ("completion", self.completion)):
            if not 0 <= value < float("inf"):
                raise SpecError(f"expected dollars for a million {name} tokens, at least 0, got {value!r}")

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return what a request costs, in US dollars."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1_000_000


@dataclass(frozen=True, slots=True)
class ChatSpec:
    """One model behind one OpenAI-compatible endpoint.

    Raises:
        SpecError: something outside what it may be.
    """

    model: str
    """The name the endpoint knows it by; ``litellm:NAME`` goes through litellm (when that is installed)."""
    base_url: str = OPENAI
    """Where ``/chat/completions`` is, ``/v1`` included; litellm finds its own way unless this is set."""
    key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the API key; servers of one's own often need none."""
    temperature: float | None = 0.0
    """None leaves it to the server."""
    seed: int | None = 0
    """Every episode sends a seed that is drawn from this one, the run's seed and the episode; None sends none."""
    max_tokens: int | None = None
    """Tokens of one reply, reasoning included; None leaves it to the server."""
    text_tools: TextTools = TextTools.AUTO
    keep_reasoning: bool = False
    """Whether the model is shown its own earlier reasoning; most are trained not to be."""
    stream: bool = False
    """Ask for the reply in pieces; some gateways cut long silent requests off."""
    prices: Prices | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of every request, such as ``{"top_k": 20}``."""
    timeout: float = 600.0
    """Seconds that one attempt may take."""
    retry: Retry = field(default_factory=Retry)

    def __post_init__(self) -> None:
        if not self.model or self.model == LITELLM:
            raise SpecError(f"expected the name of a model, got model={self.model!r}")
        if not _is_address(self.base_url):
            raise SpecError(
                f"expected an address such as http://localhost:8000/v1, got base-url={self.base_url!r}"
            )
        if self.text_tools not in list(TextTools):
            raise UnknownNameError("text-tools", str(self.text_tools), list(TextTools))
        if self.temperature is not None and not 0 <= self.temperature < float("inf"):
            raise SpecError(f"expected a temperature of at least 0, got temperature={self.temperature!r}")
        if self.max_tokens is not None and self.max_tokens < 1:
            raise SpecError(f"expected at least 1, got max-tokens={self.max_tokens!r}")
        if not 0 < self.timeout < float("inf"):
            raise SpecError(f"expected seconds, more than 0, got timeout={self.timeout!r}")
        taken = next((key for key in _OURS if key in self.extra_body), None)
        if taken is not None:
            raise SpecError(f"expected keys that have no setting of their own, got extra-body key {taken!r}")
        try:
            json.dumps(dict(self.extra_body), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SpecError(f"expected JSON, got extra-body={self.extra_body!r} ({error})") from None

    @property
    def litellm(self) -> str | None:
        """The model's name for litellm, None where the endpoint is asked directly."""
        return self.model.removeprefix(LITELLM) if self.model.startswith(LITELLM) else None

    def to_dict(self) -> dict[str, Any]:
        """Return what decides results, as JSON values; where the endpoint is and how it is waited for does not."""
        return {
            "model": self.model,
            "temperature": self.temperature,
            "seed": self.seed,
            "max_tokens": self.max_tokens,
            "text_tools": str(self.text_tools),
            "keep_reasoning": self.keep_reasoning,
            "prices": None if self.prices is None else [self.prices.prompt, self.prices.completion],
            "extra_body": dict(self.extra_body),
        }
