"""Every registered benchmark passes the conformance check, whoever wrote it."""

from __future__ import annotations

import pytest

from bench2robust.core.errors import NotInstalledError
from bench2robust.evaluation import load, names
from bench2robust.testing import CHECKS, check_benchmark, sample

BROKEN = {"toy-broken", "toy-rude"}
"""Plugins of the tests that cannot be loaded, on purpose."""
MOST = 60
"""Of a larger benchmark, as many tasks, evenly spread; the rest is for `b2r tasks check`."""

every_benchmark = pytest.mark.parametrize("name", [name for name in names() if name not in BROKEN])


def checked(name, n, checks=None):
    try:
        benchmark = load(name)
    except NotInstalledError as missing:
        pytest.skip(str(missing))
    if name.endswith("-all"):  # the same as the benchmark without, and the tasks that nobody can pass
        return check_benchmark(name, list(benchmark.exceptions)[:n], checks)
    return check_benchmark(name, sample(benchmark, n), checks)


@every_benchmark
def test_a_few_tasks(name):
    # Another process would make the tasks of a generator once more, which takes seconds.
    report = checked(name, 3, [check for check in CHECKS if check != "process"])
    assert report.passed, str(report)


@pytest.mark.slow
@every_benchmark
def test_all_tasks(name):
    report = checked(name, MOST)
    assert report.passed, str(report)
