"""Which models a run asks, and how: agents ``chat:MODEL``, and the user.

Settings, in a TOML file or as options of ``b2r run``::

    agents = ["strategic", "chat:Qwen/Qwen3-4B"]
    user = "scripted"              # or ticket, or chat:MODEL
    base-url = "http://localhost:8000/v1"
    api-key-env = "OPENAI_API_KEY"
    user-base-url = "…"            # where the user's model is, if elsewhere
    user-api-key-env = "…"
    temperature = 0.0
    model-seed = 0
    reply-tokens = 4096            # most of one reply, reasoning included
    text-tools = "auto"            # on, off
    keep-reasoning = false
    stream = false
    prices = "0.15/0.60"           # US dollars for a million prompt / completion tokens
    timeout = 600                  # seconds of one attempt
    attempts = 8                   # of one request
    extra-body = { top_k = 20 }

    [chat."Qwen/Qwen3-4B"]         # what differs for one model
    temperature = 0.6
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from bench2robust.agents.chat.retry import Retry
from bench2robust.agents.chat.spec import ChatSpec, Prices, TextTools
from bench2robust.core.errors import SpecError, UnknownNameError

CHAT: Final = "chat:"
"""Prefix of agents, and of a user, that are models."""
USERS: Final = ("scripted", "ticket", f"{CHAT}MODEL")


def _number(kinds: type | tuple[type, ...], expected: str) -> Callable[[str, Any], Any]:
    def read(name: str, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise SpecError(f"expected {expected}, got {name}={value!r}")
        return value

    return read


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise SpecError(f"expected true or false, got {name}={value!r}")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SpecError(f"expected a text, got {name}={value!r}")
    return value


def _text_tools(name: str, value: Any) -> TextTools:
    if value not in list(TextTools):
        raise UnknownNameError(name, str(value), list(TextTools))
    return TextTools(value)


def _prices(name: str, value: Any) -> Prices:
    expected = f"expected two prices such as 0.15/0.60, got {name}={value!r}"
    parts = value.split("/") if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or len(parts) != 2:
        raise SpecError(expected)
    try:
        return Prices(float(parts[0]), float(parts[1]))
    except (TypeError, ValueError):
        raise SpecError(expected) from None


def _body(name: str, value: Any) -> Mapping[str, Any]:
    try:
        body = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        body = None
    if not isinstance(body, Mapping):
        raise SpecError(f"expected a JSON object, got {name}={value!r}")
    return dict(body)


_OF_A_MODEL: Final[Mapping[str, tuple[str, Callable[[str, Any], Any]]]] = {
    "base-url": ("base_url", _text),
    "api-key-env": ("key_env", _text),
    "temperature": ("temperature", _number((int, float), "a number")),
    "model-seed": ("seed", _number(int, "an integer")),
    "reply-tokens": ("max_tokens", _number(int, "an integer")),
    "text-tools": ("text_tools", _text_tools),
    "keep-reasoning": ("keep_reasoning", _switch),
    "stream": ("stream", _switch),
    "prices": ("prices", _prices),
    "timeout": ("timeout", _number((int, float), "seconds")),
    "attempts": ("retry", lambda name, value: Retry(attempts=_number(int, "an integer")(name, value))),
    "extra-body": ("extra_body", _body),
}
SETTINGS: Final = ("user", *_OF_A_MODEL, "user-base-url", "user-api-key-env", "chat")


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a run, and who talks to its agents.

    Raises:
        UnknownNameError: a user that nobody knows.
        SpecError: a user ``chat:`` without a model.
    """

    chats: Mapping[str, ChatSpec] = field(default_factory=dict)
    """Agent, as ``chat:MODEL``, to how its model is asked; one that is missing is asked the usual way."""
    user: str = "scripted"
    """``scripted``, ``ticket`` or ``chat:MODEL``, for agents that are models."""
    user_chat: ChatSpec | None = None
    """How the user's model is asked; None for the usual way."""

    def __post_init__(self) -> None:
        if self.user.startswith(CHAT):
            self.of_user()
        elif self.user not in USERS:
            raise UnknownNameError("user", self.user, USERS)

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], agents: Sequence[str]) -> Models:
        """Return what settings (`SETTINGS`) say of the models that a run needs.

        Raises:
            UnknownNameError, SpecError: a value that cannot be.
        """
        user = _text("user", settings.get("user", "scripted"))
        apart = settings.get("chat", {})
        if not isinstance(apart, Mapping) or not all(isinstance(own, Mapping) for own in apart.values()):
            raise SpecError(f"expected a table for each model, got chat={apart!r}")
        general = {key: settings[key] for key in _OF_A_MODEL if key in settings}
        names = [name for name in agents if is_chat(name)]
        known = [name.removeprefix(CHAT) for name in (*names, user) if is_chat(name)]
        for model in apart:
            if model not in known:
                raise UnknownNameError("model", model, known)
        chats = {name: _chat(name, {**general, **apart.get(name.removeprefix(CHAT), {})}) for name in names}
        if not is_chat(user):
            return cls(chats, user)
        moved = {
            key.removeprefix("user-"): settings[key]
            for key in ("user-base-url", "user-api-key-env")
            if key in settings
        }
        own = {**general, **moved, **apart.get(user.removeprefix(CHAT), {})}
        return cls(chats, user, _chat(user, own))

    def of(self, agent: str) -> ChatSpec:
        """Return how an agent's model is asked.

        Raises:
            SpecError: ``chat:`` without a model.
        """
        return self.chats.get(agent) or ChatSpec(agent.removeprefix(CHAT))

    def of_user(self) -> ChatSpec:
        """Return how the user's model is asked."""
        return self.user_chat or ChatSpec(self.user.removeprefix(CHAT))

    def to_dict(self, agents: Sequence[str]) -> dict[str, Any]:
        """Return what decides results of these agents, as JSON values."""
        data: dict[str, Any] = {"user": self.user}
        if is_chat(self.user):
            data["user_chat"] = self.of_user().to_dict()
        return {**data, "chats": {name: self.of(name).to_dict() for name in agents if is_chat(name)}}


def is_chat(name: str) -> bool:
    """Whether an agent, or a user, is a model."""
    return name.startswith(CHAT)


def _chat(name: str, settings: Mapping[str, Any]) -> ChatSpec:
    spec = ChatSpec(name.removeprefix(CHAT))
    for key, value in settings.items():
        if key.replace("_", "-") not in _OF_A_MODEL:
            raise UnknownNameError("setting of a model", key, _OF_A_MODEL)
        field_, read = _OF_A_MODEL[key.replace("_", "-")]
        spec = replace(spec, **{field_: read(key, value)})
    return spec
