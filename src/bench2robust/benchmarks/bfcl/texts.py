"""The words of an answer: what BFCL's executor makes of what a function returns.

A string is its own text, a dict is printed as JSON, anything else (and what JSON cannot hold) as Python prints it.
In long_context answers hold padding: thousands of numbers or names, which the wheel keeps once for the process and
no function changes (tested). The text of such an answer is remembered by the answer's bytes, in which the padding
is a number: printing thousands of numbers costs a hundred times that. What has changed has other bytes, so no text is out
of date.
"""

from __future__ import annotations

import json.encoder
import marshal
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from bench2robust.core.tools import ToolResponse

from .provider import padding

_LARGE: Mapping[type, int] = {str: 1000, list: 8, dict: 8}
"""Characters or members from which on printing a value costs more than looking up its bytes."""
_EXACT = 2
"""Version of marshal's format that has no references, so that equal values have equal bytes."""


def _encoder() -> Callable[[Any], str]:
    """Return ``json.dumps`` without what it sets up anew at every call, where Python lets us."""
    usual = json.JSONEncoder(check_circular=False)
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return usual.encode
    quoted = json.encoder.encode_basestring_ascii
    chunks = make(None, usual.default, quoted, None, ": ", ", ", False, False, True)  # noqa: FBT003
    return lambda value: "".join(chunks(value, 0))


_encoded = _encoder()


def answer(result: Any) -> ToolResponse:
    """Return the answer of a function that returned `result`."""
    return ToolResponse(result if type(result) is str else _text(result), _says_no(result))


def padded_answer(result: Any) -> ToolResponse:
    """Return the same answer, sooner where it is large."""
    try:
        if type(result) is dict and any(map(_is_large, result.values())):
            short = {key: _short(value) for key, value in result.items()}
            return ToolResponse(_remembered(marshal.dumps(short, _EXACT)), _says_no(result))
        if type(result) is list and _is_large(result):
            return ToolResponse(_remembered(marshal.dumps(_short(result), _EXACT)), _says_no(result))
    except ValueError:  # more than data
        pass
    return answer(result)


def _text(result: Any) -> str:
    if type(result) is dict:
        try:
            return _encoded(result)
        except (TypeError, ValueError, RecursionError):
            pass
    return str(result)


@lru_cache(maxsize=512)
def _remembered(content: bytes) -> str:
    """Return the text of a result, given its bytes with short members."""
    result = marshal.loads(content)
    if type(result) is dict:
        return _text({key: _whole(value) for key, value in result.items()})
    return _text(_whole(result))


def _is_large(value: Any) -> bool:
    kind = type(value)
    return kind in _LARGE and len(value) >= _LARGE[kind]


@cache
def _numbers() -> Mapping[int, int]:
    """Return the number of each padding by its identity and, for a list, that of its last member."""
    numbers = {id(value[-1]): n for n, value in enumerate(padding()) if type(value) is list}
    return numbers | {id(value): n for n, value in enumerate(padding())}


def _short(value: Any) -> Any:
    """Return a value with its padding, or that at its end, as a number in bytes (which no answer holds)."""
    if not _is_large(value) or type(value) is dict:
        return value
    number = _numbers().get(id(value))
    if number is not None:
        return b"%d" % number
    number = _numbers().get(id(value[-1])) if type(value) is list else None
    if number is None:
        return value
    known = padding()[number]
    before = len(value) - len(known)
    return [*value[:before], b"%d" % number] if value[before:] == known else value


def _whole(value: Any) -> Any:
    """Return what `_short` has made shorter."""
    if type(value) is bytes:
        return padding()[int(value)]
    if type(value) is list and value and type(value[-1]) is bytes:
        return [*value[:-1], *padding()[int(value[-1])]]
    return value


def _says_no(result: Any) -> bool:
    """Whether an answer is the function's own error."""
    if type(result) is dict:
        return "error" in result or (result.get("login_status") is False and "message" in result)
    if type(result) is list and result:
        first = result[0]
        return "error" in first if type(first) is dict else str(first).startswith("Error:")
    return False
