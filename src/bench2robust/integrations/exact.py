"""Exact binomial intervals (Clopper and Pearson 1934)."""

from __future__ import annotations

from bench2robust.core.errors import SpecError


def lower(hits: float, n: float, level: float = 0.95) -> float:
    """Return the one-sided lower bound of a probability.

    Args:
        hits: how often it happened; need not be whole, as where dependent trials count for fewer.
        n: of how many.
        level: how sure it is, such as .95; two bounds of .975 make an interval of .95.
    """
    from scipy.special import betaincinv  # a third of a second to import

    return 0.0 if hits <= 0 else float(betaincinv(hits, n - hits + 1, 1.0 - checked(level)))


def upper(hits: float, n: float, level: float = 0.95) -> float:
    """Return the one-sided upper bound of a probability; as for `lower`."""
    return 1.0 - lower(n - hits, n, level)


def interval(hits: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return the two-sided interval of a probability, (0, 1) where nothing was tried."""
    one_side = 1.0 - (1.0 - checked(level)) / 2.0
    return (lower(hits, n, one_side), upper(hits, n, one_side)) if n > 0 else (0.0, 1.0)


def checked(level: float) -> float:
    """Return a level.

    Raises:
        SpecError: it is no probability between 0 and 1.
    """
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise SpecError(f"expected a probability between 0 and 1, got level={level!r}; such as 0.95")
    return level
