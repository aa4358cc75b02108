"""Every text of ours that an agent may read instead of a tool's answer (paper, Table 9).

They live here only, a golden file holds them, and a change bumps `TEXTS_VERSION`, which profiles
and manifests carry.

The texts of a type are equally likely. A text never depends on the true response (only
*malformed_response* does, which no blocked tool ever shows): a blocked call has none, and its text must
be distributed exactly like that of the same noise type.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from bench2robust.core.domain import FieldRules
from bench2robust.core.noise import NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolSpec

TEXTS_VERSION: Final = 1

_FIXED: Final = {
    NoiseType.TIMEOUT: ("Error: request timed out after 30s",),
    NoiseType.RATE_LIMIT: ("HTTP 429 Too Many Requests",),
    NoiseType.SERVER_ERROR: (
        "HTTP 500 Internal Server Error",
        "HTTP 502 Bad Gateway",
        "HTTP 503 Service Unavailable",
    ),
    NoiseType.AUTH_ERROR: ("HTTP 401 Unauthorized", "HTTP 403 Forbidden"),
}
_SCHEMA_DRIFT: Final = ("Unknown field '{}_v2'", "Required field '{}' is missing")
_PARSE_FAILURE: Final = "Error: failed to parse tool response as JSON: unexpected end of input"
_GARBAGE: Final = "\ufffd\ufffd\ufffd"
_MOST_SHOWN: Final = 120
"""A garbled answer shows at most so many characters of the true one: it is a failure, not a summary."""
_FIELD_WHEN_NONE_KNOWN: Final = ("result",)

BLOCK_TYPES: Final = (NoiseType.AUTH_ERROR, NoiseType.SCHEMA_DRIFT)
"""The types whose texts a blocked tool shows."""


def field_names(tool: ToolSpec | None, rules: FieldRules | None) -> tuple[str, ...]:
    """Return the field names that a *schema_drift* text of the tool may name.

    They are the tool's parameters and its critical and state fields, known before any call.
    """
    names: dict[str, None] = {}
    if tool is not None:
        names.update(dict.fromkeys(tool.parameters.get("properties", ())))
    if rules is not None:
        for pattern in (*rules.critical, *rules.state):
            keys = [part for part in pattern.split(".") if part not in ("*", "$")]
            names.update(dict.fromkeys(keys[-1:]))
    return tuple(names) or _FIELD_WHEN_NONE_KNOWN


@lru_cache(maxsize=1024)
def variants(noise: NoiseType, fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return every text of an observable type other than *malformed_response*, each equally likely."""
    if noise is NoiseType.SCHEMA_DRIFT:
        return tuple(template.format(name) for name in fields for template in _SCHEMA_DRIFT)
    return _FIXED[noise]


def malformed(true: str, draws: Draws) -> str:
    """Return a parse failure, a truncated or a garbled answer; never something that parses as JSON.

    Args:
        true: the true response, empty when there is none to show (a genuine error).
        draws: where the choice comes from.
    """
    how = draws.index(3)
    if how == 0 or len(true) < 2:
        return _PARSE_FAILURE
    shown = true[: 1 + draws.index(min(len(true) // 2, _MOST_SHOWN))]
    # The beginning of an object or an array is never valid JSON; that of an id or a number looks whole.
    return shown if how == 1 and true[0] in "{[" else shown + _GARBAGE


def blocked(weights: Iterable[float], fields: tuple[str, ...], draws: Draws) -> str:
    """Return the one text that a blocked tool answers with in an episode.

    Args:
        weights: the tool's probabilities of the `BLOCK_TYPES`; equal ones when all are 0.
        fields: as for `variants`.
        draws: keyed by seed, task and tool.
    """
    shares = list(weights)
    noise = BLOCK_TYPES[draws.weighted(shares if any(shares) else [1.0] * len(shares))]
    return draws.choice(variants(noise, fields))
