"""Budgets: what cannot be, and when they say stop."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.episode import Usage
from bench2robust.core.errors import SpecError
from bench2robust.evaluation.budget import Budget, Meter


@pytest.mark.parametrize(
    "limits", [{"cost": 0}, {"tokens": -1}, {"hours": float("nan")}, {"cost": float("inf")}]
)
def test_limits_that_cannot_be(limits):
    with pytest.raises(SpecError, match="expected more than 0, got max-"):
        Budget(**limits)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 400), st.integers(1, 8))
def test_with_even_prices_a_budget_is_never_passed(prices, limit, at_once):
    """After the first wave, of unknown price, nothing is begun that could pass the limit at the mean price."""
    price = prices[0]
    meter = Meter(Budget(tokens=limit))
    begun = 0
    while not meter.exhausted(0) and begun < 100:
        wave = 0
        while wave < at_once and not meter.exhausted(wave):
            wave += 1
        for _ in range(wave):
            meter.add(Usage(1, price, 0))
        begun += wave
    spent = meter.spent.prompt_tokens
    assert spent <= max(limit, at_once * price)


def test_which_limit_is_named():
    usage = Usage(1, 600, 100, 0.5)
    meter = Meter(Budget(cost=0.9))
    assert meter.exhausted(0) == ""
    meter.add(usage)
    assert meter.exhausted(0) == "max-cost=0.9 leaves no room for another episode"
    meter = Meter(Budget(tokens=2000))
    meter.add(usage)
    assert meter.exhausted(0) == ""
    assert meter.exhausted(1).startswith("max-tokens=2000 ")
    now = iter([0.0, 3599.0, 3600.0])
    meter = Meter(Budget(hours=1), lambda: next(now))
    assert meter.exhausted(0) == ""
    assert meter.exhausted(0) == "max-hours=1 are over"


def test_episodes_without_a_model_cost_nothing():
    meter = Meter(Budget(cost=1))
    meter.add(None)
    assert meter.exhausted(100) == ""
