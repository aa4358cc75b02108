"""The columns of the paper's tables: ours and the paper's values stand under the same ones."""

from __future__ import annotations

from typing import Final

from bench2robust.core.noise import OBSERVABLE, SILENT

from .table import Column, Unit

CLEAN, INJECT, INJECT_ALT = "Clean", "Inj w/o Alt", "Inj w/ Alt"
_BTM: Final = (Column("Train BTM", Unit.MARK), Column("Infer BTM", Unit.MARK))

MAIN: Final = (
    Column("Model"),
    *_BTM,
    Column(CLEAN, Unit.PERCENT),
    Column(INJECT, Unit.PERCENT),
    Column(INJECT_ALT, Unit.PERCENT),
)
"""Tables 1 and 6."""

METHODS: Final = (
    Column("Training Method"),
    Column(CLEAN, Unit.PERCENT),
    Column(INJECT, Unit.PERCENT),
    Column(INJECT_ALT, Unit.PERCENT),
)
"""Table 16."""

_SUCCESS, _PREMATURE = "Task Success (%)", "Premature Escalation (%) ↓"
STRATEGY: Final = (
    Column("Model"),
    Column("S1 Retry", Unit.PERCENT, _SUCCESS, counts=True),
    Column("S2 Switch", Unit.PERCENT, _SUCCESS, counts=True),
    Column("S1", Unit.PERCENT, _PREMATURE),
    Column("S2", Unit.PERCENT, _PREMATURE),
    Column("Total Esc.", Unit.PERCENT, _PREMATURE),
)
"""Table 2."""
_S3: Final = "S3 (%)"
ABSTENTION: Final = (
    Column("Correct abstention", Unit.PERCENT, _S3, counts=True),
    Column("Missed abstention", Unit.PERCENT, _S3),
)
"""What the paper lacks: shown where a run has S3."""

_FIXED, _ONLINE = "Fixed", "Online Update"
BTM: Final = (
    Column("Variant"),
    Column("Static", Unit.MARK),
    Column("Dynamic", Unit.MARK),
    Column("Pass", Unit.PERCENT, _FIXED),
    Column("Tokens", Unit.TOKENS, _FIXED),
    Column("Pass", Unit.PERCENT, _ONLINE),
    Column("Tokens", Unit.TOKENS, _ONLINE),
)
"""Table 3."""

PASS_RATE, DELTA = "Pass Rate (%)", "Δ"
ERRORS: Final = (
    Column("Error Type"),
    Column("Base", Unit.PERCENT, PASS_RATE),
    Column("+BTM", Unit.PERCENT, PASS_RATE),
    Column("+RL", Unit.PERCENT, PASS_RATE),
    Column("BTM", Unit.POINTS, DELTA),
    Column("RL", Unit.POINTS, DELTA),
)
"""Table 4; ours has one column a system."""
ERROR_GROUPS: Final = (("Observable errors", OBSERVABLE), ("Silent errors", SILENT))

GAP_BLOCKS: Final = ("Clean pass rate (%)", "Inject pass rate (%)", "Δ (pp)")
"""Table 5; its columns are slices of benchmarks."""


def unit_of(section: str) -> Unit | None:
    """Return the unit of a section's rows where it is not that of its columns."""
    return Unit.POINTS if section == GAP_BLOCKS[-1] else None


def slice_column(suite: str, name: str, tasks: int) -> Column:
    """Return a column of Table 5, such as ``Retail-3I: general (473)``."""
    return Column(f"{name} ({tasks:,})", Unit.PERCENT, suite)


TRANSFER: Final = (Column("Model"), Column("Train → Eval"), *_BTM, Column(INJECT, Unit.PERCENT))
"""Table 7."""

SETTING: Final = Column("Setting")
SEVERITY: Final = (
    SETTING,
    Column("Base", Unit.PERCENT),
    Column("RL+BTM", Unit.PERCENT),
    Column(DELTA, Unit.POINTS),
)
"""Table 14; ours has one column a system."""
VARY_CLEAN, VARY_LIMITS = "Vary P(clean); {limits}", "Vary injection limits; {clean}"


def clean_probability(p: float) -> str:
    """Return how a clean probability is written.

    >>> clean_probability(0.6), clean_probability(0.975)
    ('P(clean)=0.60', 'P(clean)=0.975')
    """
    return f"P(clean)={p:.2f}" if round(p, 2) == p else f"P(clean)={p:g}"


def limits(budget: int | None, consecutive: int | None) -> str:
    """Return how the injection limits are written.

    >>> limits(5, 2), limits(None, 1)
    ('B=5, K_max=2', 'B=∞, K_max=1')
    """
    return f"B={_limit(budget)}, K_max={_limit(consecutive)}"


def _limit(value: int | None) -> str:
    return "∞" if value is None else str(value)


def _of_mode(mode: str) -> tuple[Column, ...]:
    return (
        Column("PASS", Unit.PERCENT, mode),
        Column("Tokens", Unit.TOKENS, mode),
        Column("Steps", Unit.NUMBER, mode),
    )


EFFICIENCY: Final = (
    Column("Model"),
    *_of_mode("Clean"),
    *_of_mode("Inject w/o Alt"),
    *_of_mode("Inject w/ Alt"),
)
"""Table 15."""

COVERAGE: Final = (
    Column("Benchmark"),
    *(
        Column(str(noise), Unit.MARK, "Observable Errors" if noise in OBSERVABLE else "Silent Errors")
        for noise in (*OBSERVABLE, *SILENT)
    ),
)
"""Table 10."""
