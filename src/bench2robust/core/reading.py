"""How a delivered response is read without seeing the truth.

An error response is either the tool's own (an order that does not exist) or looks like a failure on
the way to it (a timeout). Only its text can tell; the patterns here are those of common servers and
clients, not of this package's injector.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import Any

from .noise import NoiseType
from .tools import ToolResponse

TRANSIENT = frozenset({NoiseType.TIMEOUT, NoiseType.RATE_LIMIT, NoiseType.SERVER_ERROR, NoiseType.MALFORMED})
"""Failures that usually pass, so the same call is worth another try; the other two observable types
(auth_error, schema_drift) usually stay."""

_STATUS = re.compile(
    r"\b(?:https?(?:/\d(?:\.\d)?)?|status|code|error)\b(?:[ _]?code)?[\"']?[ =:]{0,2}([45]\d\d)\b"
)
_BY_STATUS = {
    "401": NoiseType.AUTH_ERROR,
    "403": NoiseType.AUTH_ERROR,
    "408": NoiseType.TIMEOUT,
    "429": NoiseType.RATE_LIMIT,
    "504": NoiseType.TIMEOUT,
}
_BY_WORDS = (
    # First: the field it names may be called "timeout" or "token".
    (
        NoiseType.SCHEMA_DRIFT,
        r"\bschema\b|\b(?:unknown|unexpected|unrecogni[sz]ed|unsupported) (?:field|propert|key|attribute|column)"
        r"|\b(?:required|mandatory) (?:field|propert|key|attribute)|\bmissing (?:required )?(?:field|propert|key|attribute)"
        r"|\b(?:field|property|endpoint|version)\b.{0,40}\b(?:renamed|deprecated|removed|no longer)\b",
    ),
    (
        NoiseType.TIMEOUT,
        r"\btim(?:ed?|ing)[ -]?out\b|\bdeadline exceeded|\b(?:no|did not|without) (?:response|respond|answer)\w* "
        r"(?:within|after|in) \d",
    ),
    (
        NoiseType.RATE_LIMIT,
        r"\btoo many requests\b|\brate[ _-]?limit|\bthrottl|\b(?:request|api) quota\b|\bquota exceeded",
    ),
    (
        NoiseType.SERVER_ERROR,
        r"\b(?:internal )?server error\b|\bbad gateway\b|\b(?:service|server)(?: is)?(?: temporarily)? unavailable\b",
    ),
    (
        NoiseType.AUTH_ERROR,
        r"\bunauthori[sz]ed\b|\bforbidden\b|\b(?:access|permission)(?: is| was)? denied\b|\bnot authori[sz]ed\b"
        r"|\bauth(?:entication|orization)? (?:failed|failure|error|required)\b|\binsufficient (?:permission|scope)"
        r"|\b(?:invalid|expired|missing|revoked|rejected) (?:\w+ )?(?:token|credential|api[ _-]?key)"
        r"|\b(?:token|credential|api[ _-]?key)s?(?: \w+)? (?:expired|invalid|revoked|rejected)\b",
    ),
    (
        NoiseType.MALFORMED,
        r"\bmalformed\b|\bgarbled\b|\bjson\w* ?(?:parse|pars|decod|syntax)|\b(?:invalid|not valid|broken) json\b"
        r"|\b(?:pars|decod)\w* (?:error|failure|failed)\b|\bfailed to (?:parse|decode)\b|\b(?:not|n't) (?:be )?(?:parse|decode)"
        r"|\bunexpected (?:token|character|end of|eof)|\bunterminated\b|\bexpecting (?:value|property)\b"
        r"|\b(?:truncated|corrupt(?:ed)?) (?:response|payload|body|output|data)\b",
    ),
)
_WORDS = tuple((noise, re.compile(pattern)) for noise, pattern in _BY_WORDS)
_JSON_BEGINS = re.compile(r'\s*(?:\{\s*["}]|\[\s*[\[{"\]\d-])')
_NOT_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")


@dataclass(frozen=True, slots=True)
class Reading:
    """What an agent makes of one response."""

    value: Any
    """The parsed value; None for any kind of error."""
    noise: NoiseType | None = None
    """The kind of failure that an error response looks like; None when it looks like none."""
    text: str = ""
    """The text of an error response."""

    @property
    def genuine(self) -> bool:
        """Whether the tool itself said no."""
        return bool(self.text) and self.noise is None


def parse(text: str) -> Any:
    """Return the value that a text holds: JSON, or a list or dictionary as Python prints it; else the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if (text[:1], text[-1:]) not in (("[", "]"), ("{", "}")):
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text


def _garbled(text: str) -> bool:
    """Whether a text that is not JSON looks like a damaged answer rather than like words."""
    if _JSON_BEGINS.match(text) or _NOT_TEXT.search(text):
        return True
    return 2 * sum(c.isalnum() or c.isspace() for c in text) < len(text)


def classify(text: str) -> NoiseType | None:
    """Return the kind of failure that an error response looks like, None for a tool's own error.

    The six kinds are the observable rows of the paper's Table 9.
    """
    if parse(text) is text and (text.lstrip()[:1] in ("{", "[") or _garbled(text)):
        return NoiseType.MALFORMED
    low = text.lower()
    if status := _STATUS.search(low):
        code = status.group(1)
        if code[0] == "5" or code in _BY_STATUS:
            return _BY_STATUS.get(code, NoiseType.SERVER_ERROR)
    return next((noise for noise, pattern in _WORDS if pattern.search(low)), None)


def read(response: ToolResponse) -> Reading:
    """Read a response: its value, or which failure it looks like.

    An answer that is not marked as an error but is plainly damaged counts as malformed.
    """
    if response.error:
        return Reading(None, classify(response.text), response.text or "(empty)")
    value = parse(response.text)
    if value is response.text and _garbled(value):
        return Reading(None, NoiseType.MALFORMED, response.text)
    return Reading(value)
