"""Tools, calls, responses, and the record that is kept of every call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from .noise import NoiseType


class ToolKind(StrEnum):
    """What calling a tool may do."""

    READ = "read"
    WRITE = "write"
    ESCALATION = "escalation"
    UTILITY = "utility"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as an agent is told of it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments (an OpenAI function's ``parameters``)."""
    kind: ToolKind = ToolKind.READ
    alternative: bool = False
    """Whether the tool exists only in the modes with alternatives (paper, Table 8)."""

    def openai(self) -> dict[str, Any]:
        """Return the tool as an OpenAI function tool."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


_PLAIN = frozenset((str, int, float, bool, type(None)))
"""Types of arguments that nobody can change."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the agent proposed it."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def copy(self) -> ToolCall:
        """Return the call as it is now, whatever happens later to the arguments it was made with."""
        arguments = dict(self.arguments)
        for value in arguments.values():
            if type(value) not in _PLAIN:
                arguments = deepcopy(arguments)
                break
        return ToolCall(self.name, arguments)

    def signature(self) -> str:
        """Return name and arguments as one string; equal strings mean identical calls."""
        return f"{self.name}({json.dumps(self.arguments, sort_keys=True, default=str)})"


@dataclass(frozen=True, slots=True)
class ToolResponse:
    """A response as text; `error` says whether it is an error."""

    text: str
    error: bool = False
    note: str = ""
    """A live recovery note that comes with it (`bench2robust.memory.notes`); empty where there is none."""

    @property
    def shown(self) -> str:
        """The text as an agent reads it, with the note."""
        return f"{self.text}\n\n{self.note}" if self.note else self.text


@dataclass(frozen=True, slots=True)
class CorruptedField:
    """One value that a silent corruption changed."""

    path: str
    """Where, as dotted keys and indices from the root, such as ``items.0.price``; ``$`` is the root."""
    true: Any
    delivered: Any


@dataclass(slots=True)
class CallRecord:
    """Everything about one call: what was proposed, executed and delivered are three facts.

    Graders get what was executed, the agent gets what was delivered, and `noise`, `blocked` and
    `genuine_error` say why they differ or agree.
    """

    index: int
    """Place of the call in the episode, from 0."""
    call: ToolCall
    """The call as *proposed*."""
    ordinal: int
    """Place of the call among the calls of the same tool in the episode, from 0."""
    true: ToolResponse | None
    """The real tool's response; None when it was not *executed*."""
    delivered: ToolResponse
    """What the agent saw."""
    drawn: NoiseType | None
    """The noise type of the keyed draw; None where nothing is drawn (exempt or blocked tool)."""
    noise: NoiseType = NoiseType.CLEAN
    """The noise type that was *delivered*."""
    blocked: bool = False
    withheld: str | None = None
    """Why a drawn noise type was not delivered: ``budget``, ``consecutive`` or ``not_landed``."""
    corrupted: tuple[CorruptedField, ...] = ()
    note: str = ""
    """The live recovery note that the agent read with `delivered`, which is without it; empty for none."""

    @property
    def shown(self) -> str:
        """The text as the agent read it, with the note."""
        return replace(self.delivered, note=self.note).shown

    @property
    def executed(self) -> bool:
        """Whether the real tool ran."""
        return self.true is not None

    @property
    def landed(self) -> bool:
        """Whether the drawn noise type reached the agent; a fault that did not land is not a fault."""
        return self.noise is not NoiseType.CLEAN

    @property
    def injected(self) -> bool:
        """Whether the delivered response is ours rather than the tool's."""
        return self.blocked or self.landed

    @property
    def genuine_error(self) -> bool:
        """Whether the real tool itself answered with an error."""
        return self.true is not None and self.true.error

    @property
    def answer_lost(self) -> bool:
        """Whether the tool ran and did its work, but the agent saw an error instead of the answer."""
        return self.true is not None and not self.true.error and self.noise.observable
