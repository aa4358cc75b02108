"""BFCL multi-turn (Berkeley Function-Calling Leaderboard), on its own API classes and under our scoring."""

from __future__ import annotations

from .benchmark import EXCLUDED, BfclBenchmark
from .provider import Category

__all__ = [
    "EXCLUDED",
    "BfclBenchmark",
    "base",
    "base_all",
    "long_context",
    "long_context_all",
    "miss_func",
    "miss_func_all",
    "miss_param",
    "miss_param_all",
]


def base() -> BfclBenchmark:
    """Return the category base, without the five tasks that cannot honestly be passed."""
    return BfclBenchmark("bfcl-multi-turn", Category.BASE)


def miss_func() -> BfclBenchmark:
    """Return the category miss_func: a function comes a turn after it is needed; without the five tasks."""
    return BfclBenchmark("bfcl-multi-turn-miss-func", Category.MISS_FUNC)


def miss_param() -> BfclBenchmark:
    """Return the category miss_param: a detail comes a turn after it is needed; without the five tasks."""
    return BfclBenchmark("bfcl-multi-turn-miss-param", Category.MISS_PARAM)


def long_context() -> BfclBenchmark:
    """Return the category long_context: state and answers are padded; without the five tasks."""
    return BfclBenchmark("bfcl-multi-turn-long-context", Category.LONG_CONTEXT)


def base_all() -> BfclBenchmark:
    """Return all 200 tasks of base."""
    return BfclBenchmark("bfcl-multi-turn-all", Category.BASE, unabridged=True)


def miss_func_all() -> BfclBenchmark:
    """Return all 200 tasks of miss_func."""
    return BfclBenchmark("bfcl-multi-turn-miss-func-all", Category.MISS_FUNC, unabridged=True)


def miss_param_all() -> BfclBenchmark:
    """Return all 200 tasks of miss_param."""
    return BfclBenchmark("bfcl-multi-turn-miss-param-all", Category.MISS_PARAM, unabridged=True)


def long_context_all() -> BfclBenchmark:
    """Return all 200 tasks of long_context."""
    return BfclBenchmark("bfcl-multi-turn-long-context-all", Category.LONG_CONTEXT, unabridged=True)
