"""The chat completions protocol of OpenAI: requests read, answers written, whole or as a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from bench2robust.core.ports import Utterance
from bench2robust.core.tools import ToolCall, ToolSpec

from .replay import STOP, Answered, Heard, Turn

_BYTES_PER_TOKEN = 4
"""About what tokenisers of English and JSON come to; usage numbers are made with it."""
_PIECE = 16
"""Characters in one piece of a stream."""
_NOTHING_LEFT = "I have nothing to add. Goodbye."
"""What a policy that was done already says where it cannot end the talk."""
_TAGGED_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
_TAGGED_ANSWER = re.compile(r"<tool_response>\s?(.*?)\s?</tool_response>", re.DOTALL)
_TAGGED_TOOLS = re.compile(r"<tools>\s*(.*?)\s*</tools>", re.DOTALL)


class InvalidRequest(Exception):
    """A request that the protocol does not allow; the text says why."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A chat completion request, read."""

    model: str
    prompt: str
    """The system prompt."""
    turns: Sequence[Turn]
    """Everything from the user's first message on; what the assistant said before is a greeting."""
    tools: Sequence[ToolSpec]
    in_prompt: bool
    """Whether the tools came as text in the prompt, so calls go back as text too."""
    stream: bool
    with_usage: bool
    """Whether a stream ends with the usage numbers."""
    prompt_tokens: int
    most_tokens: int | None
    digest: str
    """Names the answer: equal requests get equal ids."""


def read_request(body: bytes) -> Asked:
    """Read the body of a request.

    Raises:
        InvalidRequest: it is not one.
    """
    try:
        data = json.loads(body)
    except ValueError as error:
        raise InvalidRequest(f"expected JSON ({error})") from None
    if not isinstance(data, dict):
        raise InvalidRequest(f"expected an object, got {type(data).__name__}")
    model, messages = data.get("model"), data.get("messages")
    if not isinstance(model, str):
        raise InvalidRequest(f"expected a model's name, got model={model!r}")
    if not isinstance(messages, list) or not messages or not all(isinstance(m, dict) for m in messages):
        raise InvalidRequest("expected 'messages' to be a list of at least one message")
    given = data.get("tools") or []
    prompt = next((_text(m) for m in messages if m.get("role") in ("system", "developer")), "")
    listed = _TAGGED_TOOLS.findall(prompt) if not given else ()
    options = data.get("stream_options") or {}
    limit = data.get("max_completion_tokens", data.get("max_tokens"))
    return Asked(
        model=model,
        prompt=prompt,
        turns=tuple(_turns(messages)),
        tools=_tools([json.loads(line) for line in listed[-1].splitlines() if line] if listed else given),
        in_prompt=bool(listed),
        stream=bool(data.get("stream")),
        with_usage=bool(options.get("include_usage")),
        prompt_tokens=len(json.dumps([messages, given])) // _BYTES_PER_TOKEN + 1,
        most_tokens=limit if isinstance(limit, int) else None,
        digest=blake2b(body, digest_size=12).hexdigest(),
    )


def _tools(given: Sequence[Any]) -> tuple[ToolSpec, ...]:
    try:
        functions = [tool.get("function", tool) for tool in given]
        return tuple(
            ToolSpec(f["name"], f.get("description", ""), f.get("parameters") or {}) for f in functions
        )
    except (KeyError, TypeError, AttributeError):
        raise InvalidRequest("expected 'tools' to be a list of functions with names") from None


def _turns(messages: Sequence[Mapping[str, Any]]) -> Iterator[Turn]:
    """Give what the messages say has happened, from the user's first one on."""
    begun = False
    for number, message in enumerate(messages):
        role = message.get("role")
        if role in ("system", "developer"):
            continue
        if role not in ("user", "assistant", "tool"):
            raise InvalidRequest(f"expected a role, got messages[{number}].role={role!r}")
        begun = begun or role == "user"
        if begun:
            yield from _read_message(role, message, number)


def _read_message(role: str, message: Mapping[str, Any], number: int) -> Iterator[Turn]:
    text = _text(message)
    if role == "tool":
        if not isinstance(message.get("tool_call_id"), str):
            raise InvalidRequest(f"expected a call's id, got no messages[{number}].tool_call_id")
        yield Answered(text)
    elif role == "user":
        answers = _TAGGED_ANSWER.findall(text)
        yield from map(Answered, answers) if answers else [Heard(text)]
    elif calls := message.get("tool_calls"):
        for call in calls:
            yield _call(call.get("function"), number)
    elif tagged := _TAGGED_CALL.findall(text):
        for call in tagged:
            yield _call(json.loads(call), number)
    else:
        yield Utterance(text)


def _call(function: Any, number: int) -> ToolCall:
    try:
        name, arguments = function["name"], function["arguments"]
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (KeyError, TypeError, ValueError):
        arguments = None
    if not isinstance(arguments, dict):
        raise InvalidRequest(f"expected calls with a name and arguments in JSON in messages[{number}]")
    return ToolCall(name, arguments)


def _text(message: Mapping[str, Any]) -> str:
    """Return the words of a message, which may come as a text or as parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model does, in the protocol's terms."""

    asked: Asked
    text: str | None
    calls: Sequence[Mapping[str, Any]]
    finish: str
    completion_tokens: int

    @classmethod
    def of(cls, asked: Asked, action: ToolCall | Utterance, *, tagged: bool) -> Answer:
        """Return the answer that does an action; cut short where the request allows few tokens.

        Args:
            asked: what is answered.
            action: what the model does.
            tagged: whether a call is written in Hermes' tags.
        """
        text, calls, finish = None, [], "stop"
        if isinstance(action, Utterance):
            ends = action.last and STOP in asked.prompt and action.text != STOP
            text = f"{action.text}\n{STOP}".strip() if ends else action.text or _NOTHING_LEFT
        elif tagged:
            call = json.dumps({"name": action.name, "arguments": dict(action.arguments)})
            text = f"<tool_call>\n{call}\n</tool_call>"
        else:
            function = {"name": action.name, "arguments": json.dumps(dict(action.arguments))}
            calls = [{"id": f"call_{asked.digest}", "type": "function", "function": function}]
            finish = "tool_calls"
        tokens = len(text if text is not None else json.dumps(calls)) // _BYTES_PER_TOKEN + 1
        if asked.most_tokens is not None and tokens > asked.most_tokens:
            tokens = asked.most_tokens
            return cls(asked, (text or "")[: tokens * _BYTES_PER_TOKEN], [], "length", tokens)
        return cls(asked, text, calls, finish, tokens)

    def whole(self) -> dict[str, Any]:
        """Return the body of an answer that is not streamed."""
        message = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = list(self.calls)  # type: ignore[assignment]
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage()}

    def stream(self) -> list[bytes]:
        """Return the events of a streamed answer."""
        chunks = [self._chunk({"role": "assistant", "content": "" if self.text is not None else None})]
        chunks += [self._chunk({"content": piece}) for piece in _pieces(self.text or "")]
        for index, call in enumerate(self.calls):
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            opened = {**call, "index": index, "function": {"name": name, "arguments": ""}}
            chunks.append(self._chunk({"tool_calls": [opened]}))
            chunks += [
                self._chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
                for piece in _pieces(arguments)
            ]
        chunks.append(self._chunk({}, self.finish))
        if self.asked.with_usage:
            chunks.append({**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage()})
        return [b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks] + [b"data: [DONE]\n\n"]

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.asked.digest}",
            "object": kind,
            "created": 0,
            "model": self.asked.model,
        }

    def _chunk(self, delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _usage(self) -> dict[str, int]:
        prompt, completion = self.asked.prompt_tokens, self.completion_tokens
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
