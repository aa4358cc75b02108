"""Tags in what a model writes: ``<think>`` for reasoning, ``<tool_call>`` for calls (Hermes, Qwen)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.core.tools import ToolSpec

_THINK, _THOUGHT = "<think>", "</think>"
CALL_TAG, _CALLED = "<tool_call>", "</tool_call>"
_SPACE = " \t\r\n"


def split_reasoning(text: str) -> tuple[str, str]:
    r"""Return the reasoning in a text, and the text without it.

    A text may begin in the middle of its reasoning (templates that open the tag in the prompt), and end
    before its reasoning does (a reply that was cut off).

    >>> split_reasoning("<think>Hm.</think>\n\nHello!")
    ('Hm.', 'Hello!')
    >>> split_reasoning("Hm.</think>Hello!")
    ('Hm.', 'Hello!')
    >>> split_reasoning("Hello! <think>And now")
    ('And now', 'Hello!')
    """
    if _THINK not in text and _THOUGHT not in text:
        return "", text
    thoughts: list[str] = []
    kept = ""
    while True:
        begin, end = text.find(_THINK), text.find(_THOUGHT)
        if begin < 0 and end < 0:
            kept += text
            break
        if begin >= 0 and (end < 0 or begin < end):
            kept += text[:begin]
            thought, _, text = text[begin + len(_THINK) :].partition(_THOUGHT)
            thoughts.append(thought)
        else:  # an end without a beginning
            if kept.strip():
                kept += text[:end]
            else:
                thoughts.append(text[:end])
            text = text[end + len(_THOUGHT) :]
    while _THINK in kept or _THOUGHT in kept:  # one whose halves met when what was between them went
        kept = kept.replace(_THINK, "").replace(_THOUGHT, "")
    return "\n".join(thought.strip(_SPACE) for thought in thoughts).strip(_SPACE), kept.strip(_SPACE)


@dataclass(frozen=True, slots=True)
class TagCall:
    """What stands between two tags."""

    name: str
    """Empty where none can be read."""
    arguments: Any
    raw: str
    problem: str = ""
    """Why it is not a call; empty where it is one."""


def split_calls(text: str) -> tuple[str, list[TagCall]]:
    """Return the text without its tagged calls, and the calls in order.

    What JSON holds is not searched for tags, so an argument may contain one. A call whose end tag is
    missing counts where its JSON is complete.

    >>> split_calls('One moment. <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>')
    ('One moment.', [TagCall(name='f', arguments={'a': 1}, raw='{"name": "f", "arguments": {"a": 1}}', problem='')])
    """
    if CALL_TAG not in text:
        return text, []
    calls: list[TagCall] = []
    kept, _, rest = text.partition(CALL_TAG)
    while True:
        call, rest = _read_call(rest)
        calls.append(call)
        before, tag, rest = rest.partition(CALL_TAG)
        kept += before
        if not tag:
            break
    return kept.replace(_CALLED, "").strip(_SPACE), calls


def _read_call(text: str) -> tuple[TagCall, str]:
    """Read the call that a text begins with; returns it and what follows."""
    body = text.lstrip(_SPACE)
    try:
        value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(body)
    except (ValueError, RecursionError) as error:
        raw, _, rest = text.partition(_CALLED)
        return TagCall("", None, raw.strip(_SPACE), _reason(error)), rest
    raw, rest = body[:end], body[end:].lstrip(_SPACE)
    if rest and not rest.startswith((_CALLED, CALL_TAG)):
        junk, _, rest = rest.partition(_CALLED)
        return TagCall("", None, f"{raw} {junk.strip(_SPACE)}", "something follows the JSON object"), rest
    rest = rest.removeprefix(_CALLED)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        return TagCall("", None, raw, "expected a JSON object with name and arguments"), rest
    return TagCall(value["name"], value.get("arguments", value.get("parameters", {})), raw), rest


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "nested too deeply"


def write_call(name: str, arguments: Any) -> str:
    """Return a call between its tags."""
    return f"{CALL_TAG}\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n{_CALLED}"


def write_responses(texts: Iterable[str]) -> str:
    """Return tools' answers, each between its tags, as one message of the user's side."""
    return "\n".join(f"<tool_response>\n{text}\n</tool_response>" for text in texts)


def describe_tools(tools: Sequence[ToolSpec]) -> str:
    """Return the part of a system prompt that tells of the tools and how to call them."""
    listed = "\n".join(json.dumps(tool.openai(), ensure_ascii=False) for tool in tools)
    return _TOOLS.format(tools=listed)


_TOOLS = """\
# Tools

These functions are yours to call, each described by a JSON schema:
<tools>
{tools}
</tools>

To call one, write a JSON object with its name and arguments between tags, and nothing after the last tag:
<tool_call>
{{"name": "function name", "arguments": {{"argument name": "value"}}}}
</tool_call>
Write several of these blocks one after the other for several calls. What the functions answer comes back
between <tool_response> tags."""
