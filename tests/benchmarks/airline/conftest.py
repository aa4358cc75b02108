"""Fixtures for τ²-bench airline: the benchmark, τ² on the whole database, and τ² on one user's part of it."""

from __future__ import annotations

import importlib.util
from functools import cache

import pytest
from tests.benchmarks.conftest import digest
from tests.benchmarks.upstream import Upstream

TAU2 = importlib.util.find_spec("tau2") is not None


@pytest.fixture(scope="session")
def bench():
    from bench2robust.benchmarks.tau2.airline import airline

    return airline()


@pytest.fixture(scope="session")
def db():
    from bench2robust.benchmarks.tau2.provider import airline_data

    return airline_data().db


@pytest.fixture(scope="session")
def upstream(db):
    return Upstream("airline", "FlightDB", db)


@pytest.fixture(scope="session")
def upstream_of(db):
    """τ² on the records of some users and on every flight: twenty times faster, as what is left out is never touched."""

    @cache
    def part(*users):
        kept = {user: db["users"][user] for user in users}
        trips = {key: db["reservations"][key] for user in kept.values() for key in user["reservations"]}
        return Upstream("airline", "FlightDB", {**db, "users": kept, "reservations": trips})

    return part


@pytest.fixture(scope="session", autouse=True)
def airline_base_stays_intact():
    """Whatever the tests here do, the shared base is the same before and after."""
    if not TAU2:
        yield
        return
    from bench2robust.benchmarks.tau2.airline import airline

    base = airline()._shared.base
    for table, records in base.raw.items():
        for key in records:
            base.record(table, key)
    before = digest(base)
    yield
    assert digest(base) == before
