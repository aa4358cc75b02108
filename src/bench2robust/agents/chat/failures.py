"""What a failed request means: for itself, for its episode, for the whole run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from .reply import Unreadable, shorten
from .retry import retry_after


class Kind(Enum):
    """What to do about it."""

    RETRY = auto()
    """It may work the next time."""
    CONTEXT = auto()
    """The conversation is too long for the model: the episode ends there."""
    LOST = auto()
    """This request will never be answered, others may be: content filters."""
    REFUSED = auto()
    """The server does not like the request: the run's fault if it has liked none before."""
    NO_PARSER = auto()
    """The server has no parser for tool calls; the model may still know tools."""
    NO_TOOLS = auto()
    """The model has no tools."""
    NO_KEY = auto()
    NO_MODEL = auto()
    """Unknown model, or no chat endpoint at the address."""
    NO_MONEY = auto()


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt."""

    kind: Kind
    text: str
    """What happened, in one line."""
    asked: float | None = None
    """Seconds that the server wants to be left alone for; None where it named none."""
    throttled: bool = False
    """Whether the server said that it has too much to do."""
    reached: bool = True
    """Whether anybody answered at all."""


_CONTEXT = re.compile(
    r"context[_ ]length|context[_ ](?:size|window)|maximum (?:context|prompt|input)|max_model_len"
    r"|(?:prompt|input|request|conversation|messages?)\b.{0,20}\btoo (?:long|large)\b|too many (?:input |prompt )?tokens"
    r"|exceed\w* (?:the |this )?(?:available |model'?s? )?(?:max\w* )?(?:context|token limit|number of tokens)",
    re.IGNORECASE,
)
_FILTER = re.compile(
    r"content[_ ](?:filter|policy|management)|safety (?:system|filter)|moderation", re.IGNORECASE
)
_NO_PARSER = re.compile(r"tool-call-parser|enable-auto-tool-choice|requires? --jinja", re.IGNORECASE)
_NO_TOOLS = re.compile(
    r"(?:does(?:n't| not)|not) support (?:tools?|functions?)\b|(?:tools?|function calling|tool use) (?:is|are) not supported"
    r"|(?:unknown|unsupported|unrecogni[sz]ed|unexpected)\W.{0,40}\btools?\b",
    re.IGNORECASE,
)
_NO_MONEY = re.compile(r"insufficient[_ ](?:quota|funds|credit|balance)|billing", re.IGNORECASE)
_BUSY = frozenset({408, 409, 425})


def classify(error: Exception, wall: float) -> Failure:
    """Return what an error of a transport means; the error is a client's, and read by its attributes.

    Args:
        error: with `status_code` where a server answered, and then `body` and `response` where there are any.
        wall: the date, in seconds since 1970.
    """
    if isinstance(error, Unreadable):
        return Failure(Kind.RETRY, str(error))
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        status = _embedded(error)
    if status is None:
        return _unanswered(error)
    said = _said(error)
    text = f"{status}: {said}" if said else str(status)
    headers = getattr(getattr(error, "response", None), "headers", None)
    asked = retry_after(headers, wall) if isinstance(headers, Mapping) else None
    kind = _by_words(status, said) or _by_status(status)
    return Failure(kind, text, asked, throttled=kind is Kind.RETRY and status in (429, 503, 529))


def _by_words(status: int, said: str) -> Kind | None:
    """Return what only the server's words can tell."""
    if _NO_PARSER.search(said):
        return Kind.NO_PARSER
    if status == 429:
        return Kind.NO_MONEY if _NO_MONEY.search(said) else None
    if status in (400, 413, 422, 500) and _CONTEXT.search(said):
        return Kind.CONTEXT
    if status in (400, 403, 422) and _FILTER.search(said):
        return Kind.LOST
    if status in (400, 404, 422, 501) and _NO_TOOLS.search(said):
        return Kind.NO_TOOLS
    return None


def _by_status(status: int) -> Kind:
    if status in (401, 403):
        return Kind.NO_KEY
    if status == 402:
        return Kind.NO_MONEY
    if status in (404, 405):
        return Kind.NO_MODEL
    if status == 413:
        return Kind.CONTEXT
    if status == 429 or status >= 500 or status in _BUSY:
        return Kind.RETRY
    return Kind.REFUSED


def _unanswered(error: Exception) -> Failure:
    """Nobody answered, or not to the end."""
    if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
        return Failure(Kind.RETRY, "no answer in time")
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    said = shorten(str(cause)) or type(cause).__name__
    return Failure(Kind.RETRY, said, reached="Connection" not in type(error).__name__)


def _embedded(error: Exception) -> int | None:
    """Return the status that an error event in the middle of a stream names."""
    body = getattr(error, "body", None)
    code = body.get("code") if isinstance(body, Mapping) else None
    try:
        number = int(code) if isinstance(code, int | str) else None
    except ValueError:
        number = None
    return number if number is not None and 400 <= number < 600 else None


def _said(error: Exception) -> str:
    """Return the server's own words: OpenAI's form, FastAPI's form, or any text."""
    body: Any = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, Mapping):
            parts = [inner.get(key) for key in ("message", "detail", "code", "type")]
            return shorten(" ".join(str(part) for part in parts if part), 300)
        return shorten(str(inner), 300)
    return shorten(str(body or getattr(error, "message", "") or error), 300)
