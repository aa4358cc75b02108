"""Every registered benchmark passes the conformance check, whoever wrote it."""

from __future__ import annotations

import importlib.util

import pytest

from bench2robust.benchmarks import bfcl
from bench2robust.core.errors import NotInstalledError
from bench2robust.evaluation import load, names, registry
from bench2robust.testing import CHECKS, check_benchmark, sample

BROKEN = {"toy-broken", "toy-rude"}
"""Plugins of the tests that cannot be loaded, on purpose."""
MOST = 60
"""Of a larger benchmark, as many tasks, evenly spread; the rest is for `b2r tasks check`."""

every_benchmark = pytest.mark.parametrize("name", [name for name in names() if name not in BROKEN])


def installed(name):
    """Return a benchmark, or skip where what it needs is missing; most say so only when they first load."""
    try:
        benchmark = load(name)
        benchmark.tasks()
    except NotInstalledError as missing:
        pytest.skip(str(missing))
    return benchmark


def checked(name, n, checks=None):
    benchmark = installed(name)
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


@pytest.mark.parametrize("package", ["bfcl_eval", "mpmath"])
@pytest.mark.parametrize("name", [name for name in names() if name.startswith("bfcl-")])
def test_a_benchmark_whose_package_is_missing_is_skipped(name, package, monkeypatch):
    real = importlib.util.find_spec
    hidden = lambda wanted, *rest: None if wanted == package else real(wanted, *rest)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", hidden)
    monkeypatch.setattr(bfcl.provider, "entries", bfcl.provider.entries.__wrapped__)
    monkeypatch.setattr(bfcl.benchmark, "entries", bfcl.provider.entries)
    monkeypatch.setattr(registry, "_load", registry._load.__wrapped__)
    with pytest.raises(pytest.skip.Exception, match="run `b2r setup bfcl`"):
        checked(name, 3)
