"""Results of ``tools/call`` as the responses an injector knows, and back.

A result may say the same twice: as ``structuredContent``, and in text blocks for clients that do not read
it. A corruption changes both alike, or it does not land.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bench2robust.core.tools import ToolResponse

Message = dict[str, Any]
"""A JSON-RPC message."""

TIMED_OUT: Final = -32001
"""Code of a request that was not answered in time; the SDKs' own."""
FAILED: Final = -32000
"""Code of every other failure."""
_WRAPPED: Final = "result"
"""Under which SDKs put a value that is no object."""


@dataclass(frozen=True, slots=True)
class Result(ToolResponse):
    """A response with the result it was read from."""

    result: Mapping[str, Any] = field(default_factory=dict)
    """Empty for a JSON-RPC error."""


def read_reply(message: Message) -> Result | None:
    """Return what a tool answered; None for a reply that is no tool's answer (a task, a question back)."""
    error = message.get("error")
    if isinstance(error, Mapping):
        return Result(str(error.get("message", "")), error=True)
    result = message.get("result")
    if not isinstance(result, Mapping) or result.get("resultType", "complete") != "complete":
        return None
    if not isinstance(result.get("content"), list):
        return None
    failed = result.get("isError") is True
    structured = result.get("structuredContent")
    if isinstance(structured, Mapping) and not failed:
        return Result(json.dumps(structured), result=result)
    texts = [block["text"] for block in _text_blocks(result["content"])]
    if len(texts) > 1 and not failed and all(_is_container(text) for text in texts):
        # An SDK's way to send a list: a block for each element.
        return Result("[" + ", ".join(texts) + "]", result=result)
    return Result("\n".join(texts), error=failed, result=result)


def corrupted(true: Result, text: str) -> dict[str, Any] | None:
    """Return a result whose text is another, with every copy of it; None where a copy cannot follow.

    Args:
        true: what the tool answered.
        text: `true.text` with some values changed.
    """
    result, content = true.result, true.result["content"]
    structured = result.get("structuredContent")
    if isinstance(structured, Mapping):
        before, after = json.loads(true.text), json.loads(text)
        blocks = _follow(content, before, after)
        return None if blocks is None else {**result, "content": blocks, "structuredContent": after}
    blocks = list(_text_blocks(content))
    if len(blocks) == 1:
        return {**result, "content": _replaced(content, blocks, [_styled(blocks[0]["text"], text)])}
    after = json.loads(text)
    if not isinstance(after, list) or len(after) != len(blocks):
        return None
    new = [_styled(block["text"], json.dumps(item)) for block, item in zip(blocks, after, strict=True)]
    return {**result, "content": _replaced(content, blocks, new)}


def failure(message_id: Any, text: str, true: Mapping[str, Any], *, modern: bool) -> Message:
    """Return a result that says that the tool failed.

    Args:
        message_id: of the request.
        text: what an agent reads.
        true: the result that is replaced, whose metadata stay; empty where the tool was not called.
        modern: whether the request was of the protocol in which a result says of which type it is.
    """
    kept = {key: value for key, value in true.items() if key in ("_meta", "resultType")}
    result = {**kept, "content": [{"type": "text", "text": text}], "isError": True}
    if modern:
        result.setdefault("resultType", "complete")
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def error(message_id: Any, code: int, text: str) -> Message:
    """Return a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": message_id, "error": {"code": code, "message": text}}


def noted(message: Message, note: str) -> Message:
    """Return a reply with a note behind what it says."""
    if "error" in message:
        text = f"{message['error'].get('message', '')}\n\n{note}"
        return {**message, "error": {**message["error"], "message": text}}
    result = message["result"]
    content = [*result["content"], {"type": "text", "text": note}]
    return {**message, "result": {**result, "content": content}}


def _text_blocks(content: list[Any]) -> Iterator[dict[str, Any]]:
    for block in content:
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            yield block


def _is_container(text: str) -> bool:
    return text[:1] in ("{", "[") and _parsed(text) is not None


def _parsed(text: str) -> Any:
    """Return the JSON value of a text, None where there is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _replaced(content: list[Any], blocks: list[dict[str, Any]], texts: list[str]) -> list[Any]:
    """Return the content with other texts in some of its blocks."""
    new = {id(block): text for block, text in zip(blocks, texts, strict=True)}
    return [{**block, "text": new[id(block)]} if id(block) in new else block for block in content]


def _styled(old: str, new: str) -> str:
    """Return a new JSON text spaced as the old one was."""
    if old[:1] not in ("{", "["):
        return new
    value = json.loads(new)
    if "\n" in old:
        indent = re.search(r"\n( +|\t+)", old)
        return json.dumps(value, indent=indent.group(1) if indent else 2, ensure_ascii=old.isascii())
    tight = not re.search(r'[":\]}\w] ?: |, ', old) if len(old) < 1000 else '": ' not in old[:1000]
    return json.dumps(value, separators=(",", ":") if tight else None, ensure_ascii=old.isascii())


def _follow(content: list[Any], before: Any, after: Any) -> list[Any] | None:
    """Return content that says what the changed structured value says, None where it cannot."""
    blocks = list(_text_blocks(content))
    copies = [(before, after)]
    if isinstance(before, dict) and set(before) == {_WRAPPED}:
        copies.append((before[_WRAPPED], after[_WRAPPED]))
    for old, new in copies:
        lists = isinstance(old, list) and isinstance(new, list) and len(blocks) == len(old) == len(new) > 1
        if lists and all(map(_says, blocks, old)):
            # One block for each element.
            each = [_said(block["text"], item) for block, item in zip(blocks, new, strict=True)]
            return _replaced(content, blocks, each)
    texts = []
    for block in blocks:
        for old, new in copies:
            if _says(block, old):
                texts.append(_said(block["text"], new))
                break
        else:
            prose = _reworded(block["text"], list(_changes(before, after)))
            if prose is None:
                return None
            texts.append(prose)
    return _replaced(content, blocks, texts)


def _says(block: Mapping[str, Any], value: Any) -> bool:
    """Whether a text block is a copy of a value."""
    text = block["text"]
    return bool(text == value) if isinstance(value, str) else text != "" and _same(_parsed(text), value)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _said(old: str, value: Any) -> str:
    return value if isinstance(value, str) else _styled(old, json.dumps(value))


def _changes(before: Any, after: Any) -> Iterator[tuple[Any, Any]]:
    """Give every pair of values, old and new, that differ and are not both containers of the same size."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for key, value in before.items():
            yield from _changes(value, after[key])
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from _changes(one, other)
    elif not _same(before, after):
        yield before, after


def _leaves(value: Any) -> Iterator[str]:
    """Give every value in a value, as prose would write it."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _reworded(prose: str, changes: list[tuple[Any, Any]]) -> str | None:
    """Return a text in words with the changed values, None where one cannot be told from another.

    A value that the text does not hold leaves it consistent as it is.
    """
    for old, new in changes:
        for leaf in _leaves(old):
            places = list(re.finditer(rf"(?<![\w.]){re.escape(leaf)}(?![\w]|\.\d)", prose)) if leaf else []
            if not places:
                continue
            if len(places) > 1 or isinstance(new, dict | list):
                return None
            prose = prose[: places[0].start()] + str(new) + prose[places[0].end() :]
    return prose


def finite(value: Any) -> bool:
    """Whether a value can be written as JSON: no number in it is infinite."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)
