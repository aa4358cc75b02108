"""What an endpoint answers, read: the words, the reasoning, the calls, the tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .tags import TagCall, split_calls, split_reasoning


class Unreadable(Exception):
    """What came back is no chat completion, or only a part of one."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One call as the model wrote it."""

    id: str
    """What its answer refers to."""
    name: str
    arguments: Mapping[str, Any] | None
    """None where they cannot be read."""
    raw: str
    """The arguments' text."""
    problem: str = ""
    """Why the call cannot be made; empty where it can."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a model."""

    text: str
    """Its words, without reasoning and without calls."""
    calls: tuple[Proposal, ...]
    content: str
    """Its content as it came, reasoning tags and call tags included."""
    reasoning: str
    """Reasoning that came in a field of its own."""
    finish: str
    """Why the model stopped: ``stop``, ``tool_calls``, ``length``, ``content_filter``, …"""
    prompt_tokens: int
    completion_tokens: int


def read_reply(completion: Any, *, tags: bool) -> Reply:
    """Read a chat completion.

    Args:
        completion: the JSON of the response.
        tags: whether calls are also read from tags in the text.

    Raises:
        Unreadable: it is no chat completion.
    """
    if not isinstance(completion, Mapping):
        raise Unreadable(f"expected a chat completion, got {shorten(str(completion)) or 'nothing'}")
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise Unreadable(f"expected a chat completion with a choice, got {shorten(json.dumps(completion))}")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise Unreadable(f"expected a message in the choice, got {shorten(json.dumps(choices[0]))}")
    content = clean(_text(message.get("content")) or _text(message.get("refusal")))
    text = split_reasoning(content)[1]
    given = message.get("tool_calls") or []
    if not isinstance(given, list):
        raise Unreadable(f"expected a list of calls, got {shorten(json.dumps(given))}")
    calls = [_native(call, n) for n, call in enumerate(given)]
    if tags and not calls:
        text, tagged = split_calls(text)
        calls = [_tagged(call, n) for n, call in enumerate(tagged)]
    usage = completion.get("usage")
    return Reply(
        text=text,
        calls=tuple(calls),
        content=content,
        reasoning=clean(_text(message.get("reasoning_content")) or _text(message.get("reasoning"))),
        finish=str(choices[0].get("finish_reason") or ""),
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
    )


def shorten(text: str, most: int = 160) -> str:
    """Return a text as one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def clean(text: str) -> str:
    """Return a text that can be sent: halves of surrogate pairs, which UTF-8 lacks, are replaced."""
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


def _text(content: Any) -> str:
    """Return the words of a content: a text, or parts of which some are texts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            p["text"] for p in content if isinstance(p, Mapping) and isinstance(p.get("text"), str)
        )
    return ""


def _count(usage: Any, key: str) -> int:
    value = usage.get(key) if isinstance(usage, Mapping) else 0
    return value if isinstance(value, int) and value >= 0 else 0


def _native(call: Any, place: int) -> Proposal:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise Unreadable(f"expected a function call, got {shorten(json.dumps(call))}")
    name, given = function.get("name"), function.get("arguments")
    number = call.get("id")
    return _proposal(
        str(number) if number else f"call_{place}", name if isinstance(name, str) else "", given, ""
    )


def _tagged(call: TagCall, place: int) -> Proposal:
    if call.problem:
        return Proposal(f"call_{place}", call.name, None, call.raw, call.problem)
    return _proposal(f"call_{place}", call.name, call.arguments, call.raw)


def _proposal(number: str, name: str, given: Any, raw: str) -> Proposal:
    name = clean(name)
    if given is None or (isinstance(given, str) and not given.strip()):
        given = {}  # a tool without arguments
    text = raw or (given if isinstance(given, str) else json.dumps(given))
    problem = "" if name else "it has no name"
    if isinstance(given, str):
        try:
            given = json.loads(given, parse_constant=_refuse)
        except RecursionError:
            problem = "nested too deeply"
        except ValueError as error:
            problem = str(error)
    if not problem and not isinstance(given, Mapping):
        problem = f"expected a JSON object of arguments, got {shorten(text, 60)}"
    if problem:
        return Proposal(number, name, None, clean(text), problem)
    return Proposal(number, name, given, clean(text))


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")
