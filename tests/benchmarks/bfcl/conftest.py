"""Fixtures for BFCL: the four categories with all 200 tasks, and BFCL's own code."""

from __future__ import annotations

import importlib.util

import pytest

from bench2robust.benchmarks import bfcl
from bench2robust.benchmarks.bfcl import Category

from .upstream import Upstream

BFCL = all(importlib.util.find_spec(name) is not None for name in ("bfcl_eval", "mpmath"))


def pytest_collection_modifyitems(items):
    """Skip what needs the wheel where it is not installed."""
    for item in items:
        if item.get_closest_marker("bfcl") and not BFCL:
            item.add_marker(pytest.mark.skip(reason="needs the bfcl-eval wheel: run `b2r setup bfcl`"))


_MADE = {
    Category.BASE: bfcl.base_all(),
    Category.MISS_FUNC: bfcl.miss_func_all(),
    Category.MISS_PARAM: bfcl.miss_param_all(),
    Category.LONG_CONTEXT: bfcl.long_context_all(),
}


@pytest.fixture(params=list(Category), ids=str)
def category(request):
    return _MADE[request.param]


@pytest.fixture(scope="session")
def base():
    return _MADE[Category.BASE]


@pytest.fixture(scope="session")
def long_context():
    return _MADE[Category.LONG_CONTEXT]


@pytest.fixture(scope="session")
def miss_func():
    return _MADE[Category.MISS_FUNC]


@pytest.fixture(scope="session")
def upstream():
    return Upstream()
