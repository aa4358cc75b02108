"""The block of Bayesian Tool Memory that an agent reads: the paper's Figure 1, word for word.

Golden files hold every domain's block; `advice` reads what is written here.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bench2robust.core.domain import Domain
from bench2robust.core.noise import NoiseType

from .content import Alternative, Content, Variant, content
from .memory import Memory

VERSION: Final = 1
"""Of the texts that agents read: the block's and the notes'."""
OPENING: Final = "<tool_reliability>"
CLOSING: Final = "</tool_reliability>"
BELIEFS: Final = "Tool recovery beliefs (Beta posterior, from historical data):"
RECOVERY: Final = "  P(episode recovery | error): "
ALTERNATIVE: Final = "  Alternative: "
USE: Final = """\
How to use: Compare P(recovery) vs P(switch) for your error.
  High P(recovery) -> retry this tool.
  Low P(recovery) + high P(switch) -> switch to alternative.
  After switching, verify returned data has needed fields.
  If both low -> ask the user or transfer."""
PATHS: Final = "Alternative tool paths (when primary tool fails):"
KEEP: Final = "Critical constraints:"
_ROWS: Final = (
    (NoiseType.TIMEOUT, NoiseType.RATE_LIMIT),
    (NoiseType.SERVER_ERROR, NoiseType.AUTH_ERROR, NoiseType.SCHEMA_DRIFT),
    (NoiseType.MALFORMED, NoiseType.PARTIAL, NoiseType.STALE),
    (NoiseType.FACTUAL,),
)
"""The figure's order of the noise types, and its lines."""
_WIDTH: Final = 64
"""Of the figure's constraints."""
_CHARACTERS: Final = 4


def block(
    memory: Memory, domain: Domain, tools: Iterable[str], variant: Variant = Variant.FULL, seed: int = 0
) -> str:
    """Return the block, without a newline at its end; empty for `Variant.NONE` and where nothing can fail.

    Args:
        memory: the beliefs.
        domain: classes, granularity, constraints.
        tools: the names of the tools on offer; no other is ever named.
        variant: how much of the memory is told.
        seed: where `Variant.SHUFFLED` puts the probabilities.
    """
    return write(content(memory, domain, tools, variant, seed))


def write(told: Content) -> str:
    """Return the block that says something."""
    return "\n".join((OPENING, *_lines(told), CLOSING)) if told else ""


def tokens(text: str) -> int:
    """Return about how many tokens a text is: a token for every four characters, rounded up.

    The rule is the same for every model, so figures can be compared; a model's own count is in its usage.
    """
    return -(-len(text) // _CHARACTERS)


def _lines(told: Content) -> Iterator[str]:
    if told.recovery:
        yield BELIEFS
        for tool, row in told.recovery.items():
            yield f"{tool}:"
            yield _recovery(row)
            yield from map(alternative, told.alternatives.get(tool, ()))
        yield USE
    if told.paths:
        yield PATHS
        for path in told.paths:
            yield f"- {path.source} -> {path.name}" + (f" ({path.note})" if path.note else "")
    if told.constraints:
        yield KEEP
        for number, text in enumerate(told.constraints, start=1):
            yield textwrap.fill(
                f"{number}. {text}",
                _WIDTH,
                subsequent_indent="   ",
                break_long_words=False,
                break_on_hyphens=False,
            )


def _recovery(row: Mapping[NoiseType, float]) -> str:
    lines = (", ".join(f"{noise}={row[noise]:.2f}" for noise in noises) for noises in _ROWS)
    return RECOVERY + ",\n    ".join(lines)


def alternative(way: Alternative) -> str:
    """Return the line of a way around a tool."""
    note = f", {way.note}" if way.note else ""
    return f"{ALTERNATIVE}{way.name} (P={way.probability:.2f}{note})"
