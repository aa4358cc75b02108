"""The conversation as a model is shown it: turns, and the two ways to write them as messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.core.tools import ToolSpec

from .reply import Reply, clean
from .tags import CALL_TAG, describe_tools, split_reasoning, write_call, write_responses


@dataclass(frozen=True, slots=True)
class Heard:
    """What the other side said to the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the model is told that it said itself, such as a greeting."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What a tool answered to one of the model's calls."""

    id: str
    text: str


Turn = Heard | Spoken | Reply | Answered
Wire = list[dict[str, Any]]
"""Messages as they are sent."""


def as_native(system: str, turns: Sequence[Turn], *, keep_reasoning: bool) -> Wire:
    """Write the conversation for a server that knows tool calls."""
    messages: Wire = [{"role": "system", "content": clean(system)}]
    for turn in turns:
        match turn:
            case Heard():
                messages.append({"role": "user", "content": clean(turn.text)})
            case Spoken():
                messages.append({"role": "assistant", "content": turn.text})
            case Answered():
                messages.append({"role": "tool", "tool_call_id": turn.id, "content": clean(turn.text)})
            case Reply():
                messages.append(_native_reply(turn, keep_reasoning=keep_reasoning))
    return messages


def as_text(system: str, turns: Sequence[Turn], tools: Sequence[ToolSpec], *, keep_reasoning: bool) -> Wire:
    """Write the conversation for a server that knows nothing but texts; sides take turns strictly."""
    whole = f"{system}\n\n{describe_tools(tools)}" if tools else system
    messages: Wire = [{"role": "system", "content": clean(whole)}]
    for role, text in _joined(turns, keep_reasoning=keep_reasoning):
        messages.append({"role": role, "content": clean(text)})
    return messages


def _native_reply(reply: Reply, *, keep_reasoning: bool) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant"}
    words = reply.content if keep_reasoning and CALL_TAG not in reply.content else reply.text
    if reply.calls:
        # Some servers read what is sent back: arguments that are no JSON object would break them.
        message["content"] = words or None
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name or "unknown",
                    "arguments": "{}"
                    if call.problem
                    else clean(json.dumps(call.arguments, ensure_ascii=False)),
                },
            }
            for call in reply.calls
        ]
    else:
        message["content"] = words
    if keep_reasoning and reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    return message


def _joined(turns: Sequence[Turn], *, keep_reasoning: bool) -> Iterator[tuple[str, str]]:
    """Give (role, text), neighbours of the same role as one."""
    role, texts = "", [""]
    for turn_role, text in _texts(turns, keep_reasoning=keep_reasoning):
        if turn_role == role:
            texts.append(text)
            continue
        if role:
            yield role, "\n".join(texts)
        role, texts = turn_role, [text]
    if role:
        yield role, "\n".join(texts)


def _texts(turns: Sequence[Turn], *, keep_reasoning: bool) -> Iterator[tuple[str, str]]:
    for turn in turns:
        match turn:
            case Heard():
                yield "user", turn.text
            case Spoken():
                yield "assistant", turn.text
            case Answered():
                yield "user", write_responses((turn.text,))
            case Reply():
                yield "assistant", turn.content if keep_reasoning else _without_reasoning(turn)


def _without_reasoning(reply: Reply) -> str:
    """Return what the model wrote but for its reasoning; calls that came in fields are written as tags."""
    text = split_reasoning(reply.content)[1]
    if CALL_TAG in text:
        return text
    calls = (write_call(call.name, call.arguments or {}) for call in reply.calls)
    return "\n".join(filter(None, (text, *calls)))
