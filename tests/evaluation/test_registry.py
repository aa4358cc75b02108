"""Benchmarks are found by name through entry points, one broken plugin or not."""

from __future__ import annotations

import pytest

from bench2robust.core.errors import BenchmarkError, UnknownNameError
from bench2robust.evaluation import load, names


def test_plugins_and_built_in_benchmarks_are_found_alike():
    assert {"tau2-retail", "toy-library", "toy-broken", "toy-rude"} <= set(names())
    assert list(names()) == sorted(names())


def test_a_benchmark_is_loaded_once():
    assert load("toy-library") is load("toy-library")
    assert load("toy-library").name == "toy-library"


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="unknown benchmark='toy-libary'; did you mean 'toy-library'"):
        load("toy-libary")


@pytest.mark.parametrize(("name", "why"), [("toy-broken", "ModuleNotFoundError"), ("toy-rude", "no books")])
def test_a_broken_plugin_breaks_only_when_it_is_asked_for(name, why):
    with pytest.raises(BenchmarkError, match=rf"plugin of benchmark='{name}' is broken \(.*{why}"):
        load(name)
    assert load("toy-library").tasks()
