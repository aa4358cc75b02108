"""Every registered benchmark passes the conformance check, whoever wrote it."""

from __future__ import annotations

import pytest

from bench2robust.core.errors import NotInstalledError
from bench2robust.evaluation import load, names
from bench2robust.testing import check_benchmark, sample

BROKEN = {"toy-broken", "toy-rude"}
"""Plugins of the tests that cannot be loaded, on purpose."""
MOST = 250
"""Of a larger benchmark, as many tasks, evenly spread; the rest is for `b2r tasks check`."""

every_benchmark = pytest.mark.parametrize("name", [name for name in names() if name not in BROKEN])


def checked(name, n):
    try:
        benchmark = load(name)
    except NotInstalledError as missing:
        pytest.skip(str(missing))
    return check_benchmark(name, sample(benchmark, n))


@every_benchmark
def test_a_few_tasks(name):
    report = checked(name, 4)
    assert report.passed, str(report)


@pytest.mark.slow
@every_benchmark
def test_all_tasks(name):
    report = checked(name, MOST)
    assert report.passed, str(report)
