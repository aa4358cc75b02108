import doctest
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtrc

from bench2robust.core import randomness
from bench2robust.core.randomness import Draws, Series, encode, unit

paths = st.lists(st.text(max_size=8) | st.integers(), max_size=5)


def test_examples_in_docstrings():
    failed, tried = doctest.testmod(randomness)
    assert (failed, tried > 5) == (0, True)


@given(paths, paths)
def test_different_paths_never_share_bytes(a, b):
    assert (encode(a) == encode(b)) == (list(map(_typed, a)) == list(map(_typed, b)))


def _typed(part):
    return type(part), part


@given(paths, st.integers(0, 10**6))
def test_series_is_the_same_stream_as_draws(path, n):
    series, same = Series(*path), Draws(*path, n)
    block = series.block(n)
    assert unit(block[:8]) == same.uniform()
    rest = series.after_first(n, block)
    assert [rest.uniform() for _ in range(20)] == [same.uniform() for _ in range(20)]


@given(paths)
def test_numbers_are_in_the_unit_interval_and_repeat(path):
    one, two = Draws(*path), Draws(*path)
    numbers = [one.uniform() for _ in range(30)]
    assert numbers == [two.uniform() for _ in range(30)]
    assert all(0.0 <= number < 1.0 for number in numbers)
    assert len(set(numbers)) == 30


def test_the_numbers_never_change():
    """A recorded run is replayed years later: these numbers are part of the format."""
    draws = Draws(7, "task 3", "noise", "get_order_details", 2)
    assert [round(draws.uniform(), 12) for _ in range(10)] == [
        0.772311662248,
        0.472416661586,
        0.32170374058,
        0.243943199778,
        0.825909570669,
        0.050227591974,
        0.88288754925,
        0.453112402822,
        0.660560090611,
        0.677973961028,
    ]


@given(st.floats(-100, 100), st.floats(0.1, 100), st.integers(1, 50), st.integers())
def test_between_and_index_stay_inside(low, width, n, seed):
    draws = Draws(seed)
    assert low <= draws.between(low, low + width) <= low + width
    assert 0 <= draws.index(n) < n


@given(st.lists(st.integers(), min_size=1, max_size=20), st.integers())
def test_some_is_a_non_empty_subset_in_order(items, seed):
    picked = Draws(seed).some(list(enumerate(items)))
    assert picked
    assert [p for p in enumerate(items) if p in picked] == picked


@given(st.lists(st.floats(0, 10), min_size=1).filter(any), st.integers())
def test_weighted_never_draws_a_zero_weight(weights, seed):
    assert weights[Draws(seed).weighted(weights)] > 0


def test_uniform_numbers_are_uniform():
    """Chi-square over 64 bins of 10^5 first numbers; false alarms: 1 in 10^4 choices of the fixed seed."""
    counts = [0] * 64
    for n in range(100_000):
        counts[int(Draws("uniformity", n).uniform() * 64)] += 1
    expected = 100_000 / 64
    statistic = math.fsum((count - expected) ** 2 / expected for count in counts)
    assert chdtrc(63, statistic) > 1e-4


@pytest.mark.parametrize("weights", [(1, 2, 0, 5), (0.06, 0.94)])
def test_weighted_follows_the_weights(weights):
    """Chi-square over 2·10^4 draws; false alarms: 1 in 10^4."""
    counts = [0] * len(weights)
    for n in range(20_000):
        counts[Draws("weights", n).weighted(weights)] += 1
    used = [i for i, weight in enumerate(weights) if weight]
    expected = [20_000 * weights[i] / sum(weights) for i in used]
    statistic = math.fsum((counts[i] - e) ** 2 / e for i, e in zip(used, expected, strict=True))
    assert chdtrc(len(used) - 1, statistic) > 1e-4
