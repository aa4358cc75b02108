"""Parts of a play: what a policy does between two decisions."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from bench2robust.core.errors import AgentError
from bench2robust.core.ports import Utterance
from bench2robust.core.reading import Reading, read
from bench2robust.core.tools import ToolCall, ToolResponse

T = TypeVar("T")
Steps = Generator[ToolCall | Utterance, ToolResponse | str, T]
"""Part of a `core.ports.Play` that ends with a result."""


def hear(call: ToolCall) -> Steps[ToolResponse]:
    """Make a call and return what comes back."""
    response = yield call
    if not isinstance(response, ToolResponse):
        raise AgentError(f"expected a ToolResponse after the call of {call.name}, got {response!r}")
    return response


def ask(call: ToolCall) -> Steps[Reading]:
    """Make a call and read what comes back."""
    return read((yield from hear(call)))
