"""The nine noise types (paper, Table 9) and the outcome of a draw that is none of them."""

from __future__ import annotations

from enum import StrEnum


class NoiseType(StrEnum):
    """What a draw says about one tool response; the values are the paper's names."""

    TIMEOUT = "timeout"
    RATE_LIMIT = "rate_limit"
    SERVER_ERROR = "server_error"
    MALFORMED = "malformed_response"
    AUTH_ERROR = "auth_error"
    SCHEMA_DRIFT = "schema_drift"
    PARTIAL = "partial"
    STALE = "stale"
    FACTUAL = "factual_error"
    CLEAN = "clean"

    @property
    def observable(self) -> bool:
        """Whether the agent sees an error signal."""
        return self in OBSERVABLE

    @property
    def silent(self) -> bool:
        """Whether the response looks valid but holds corrupted values."""
        return self in SILENT


OBSERVABLE = (
    NoiseType.TIMEOUT,
    NoiseType.RATE_LIMIT,
    NoiseType.SERVER_ERROR,
    NoiseType.MALFORMED,
    NoiseType.AUTH_ERROR,
    NoiseType.SCHEMA_DRIFT,
)
SILENT = (NoiseType.PARTIAL, NoiseType.STALE, NoiseType.FACTUAL)
NOISE_TYPES = OBSERVABLE + SILENT
