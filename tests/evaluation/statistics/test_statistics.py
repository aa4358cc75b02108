"""Statistics against worked examples, and what holds for all samples."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.errors import SpecError
from bench2robust.evaluation.statistics import (
    Prior,
    Sample,
    Spread,
    chances_of_all,
    doubled,
    holm,
    match,
    mean,
    paired,
    spread,
    unpaired,
    wilson,
)
from bench2robust.evaluation.statistics.generator import generator

TABLES = st.integers(2, 40).flatmap(
    lambda tasks: st.integers(1, 4).flatmap(
        lambda seeds: st.lists(
            st.lists(st.integers(0, 1), min_size=seeds, max_size=seeds), min_size=tasks, max_size=tasks
        )
    )
)


def test_mean_and_spread_over_seeds():
    found = mean(Sample.of([[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 0]]))
    assert found.mean == pytest.approx(5 / 12)
    assert found.std == pytest.approx(np.std([3 / 4, 2 / 4, 0], ddof=1))
    assert (found.n, found.tasks, found.seeds) == (12, 4, 3)
    assert found.warnings == ("only 4 tasks: the interval is rough",)
    assert mean(Sample.of([[1], [0]])).std is None


def test_a_ratio_of_counts_is_a_sum_over_a_sum():
    """Three of four failures recovered from, in two tasks; the third task had no failure."""
    sample = Sample([0, 0, 1, 2], [0, 1, 0, 0], [1, 0, 2, 0], [1, 1, 2, 0])
    found = mean(sample)
    assert found.mean == pytest.approx(3 / 4)
    assert (found.n, found.tasks, found.seeds) == (3, 2, 2)
    assert sample.per_seed() == {0: 1.0, 1: 0.0}


def test_an_interval_is_about_the_one_of_a_t_test():
    values = generator("test", "t").normal(3, 2, size=200)
    found = mean(Sample.of(values[:, None]))
    low, high = scipy.stats.t.interval(0.95, 199, values.mean(), scipy.stats.sem(values))
    assert found.low == pytest.approx(low, abs=0.03)
    assert found.high == pytest.approx(high, abs=0.03)


def test_seeds_of_one_task_are_not_counted_as_more_tasks():
    """Ten times the same seed says no more than once."""
    values = generator("test", "alike").integers(0, 2, size=(60, 1))
    once, often = mean(Sample.of(values)), mean(Sample.of(np.repeat(values, 10, axis=1)))
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


@pytest.mark.parametrize(("value", "low", "high"), [(0, 0.0, 0.0370), (1, 0.9630, 1.0)])
def test_where_all_are_alike_the_interval_is_wilsons(value, low, high):
    found = mean(Sample.of(np.full((100, 5), value)))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_an_empty_sample_has_no_mean_and_says_so():
    nothing = Sample([], [], [])
    found = mean(nothing)
    assert math.isnan(found.mean)
    assert found.warnings == ("no episodes",)
    assert paired(nothing, nothing).warnings == ("no episodes in common",)
    assert unpaired(nothing, nothing).warnings == ("no episodes",)


def test_paired_difference_by_hand():
    a, b = Sample.of([[0, 0], [1, 0], [1, 1]]), Sample.of([[1, 1], [1, 1], [0, 1]])
    found = paired(a, b)
    assert found.mean == pytest.approx((2 + 1 - 1) / 6)
    assert (found.won, found.lost, found.tied, found.n, found.tasks, found.seeds) == (2, 1, 0, 6, 3, 2)
    # Of the eight ways to sign 2, 1 and -1, those with a sum of at least 2 or at most -2: six.
    assert found.p == pytest.approx(6 / 8)


def test_a_permutation_test_with_many_tasks_agrees_with_the_t_test():
    random = generator("test", "flip")
    gaps = random.normal(0.2, 1, size=150)
    found = paired(Sample.of(np.zeros((150, 1))), Sample.of(gaps[:, None]))
    assert found.p == pytest.approx(scipy.stats.ttest_1samp(gaps, 0).pvalue, abs=0.01)


def test_only_what_both_have_is_paired_and_the_rest_is_said():
    a = Sample([1, 1, 2], [0, 1, 0], [1, 0, 1])
    b = Sample([1, 2, 3], [0, 0, 0], [0, 1, 1])
    gaps, warnings = match(a, b)
    assert gaps.value.tolist() == [-1, 0]
    assert warnings == (
        "seeds differ: 1 on one side only",
        "2 episodes have no partner with the same task and seed, and are left out",
    )


def test_two_values_of_one_task_and_seed_cannot_be_paired():
    twice = Sample([1, 1], [0, 0], [1, 0])
    with pytest.raises(SpecError, match="one value of each task and seed, got several in sample='b'"):
        paired(Sample.of([[1]]), twice)
    with pytest.raises(SpecError, match="got ratios of counts"):
        paired(Sample([1], [0], [1], [2]), Sample([1], [0], [1], [2]))
    with pytest.raises(SpecError, match="of one length"):
        Sample([1], [0, 1], [1])


@given(TABLES)
@settings(deadline=None)
def test_swapping_two_systems_swaps_the_difference(table):
    a = Sample.of(table)
    b = Sample.of(np.asarray(table)[::-1])
    one, other = paired(a, b), paired(b, a)
    assert one.mean == pytest.approx(-other.mean)
    assert one.p == pytest.approx(other.p)
    assert (one.won, one.lost) == (other.lost, other.won)
    assert one.low <= one.mean <= one.high
    assert 0 < one.p <= 1


@given(TABLES)
@settings(deadline=None)
def test_a_system_is_not_different_from_itself(table):
    sample = Sample.of(table)
    found = paired(sample, sample)
    assert (found.mean, found.p, found.won, found.lost) == (0, 1, 0, 0)
    assert found.low < 0 < found.high


@given(TABLES, st.randoms())
@settings(deadline=None)
def test_the_order_of_episodes_does_not_matter(table, random):
    sample = Sample.of(table)
    order = list(range(len(sample)))
    random.shuffle(order)
    shuffled = Sample(sample.task[order], sample.seed[order], sample.value[order])
    assert mean(shuffled) == mean(sample)
    assert 0 <= mean(sample).low <= mean(sample).mean <= mean(sample).high <= 1


@pytest.mark.parametrize(("successes", "trials"), [(0, 10), (1, 10), (5, 10), (10, 10), (37, 402)])
def test_wilson_is_scipys(successes, trials):
    theirs = scipy.stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson(successes, trials) == pytest.approx((theirs.low, theirs.high))


def test_wilson_without_trials_knows_nothing():
    assert wilson(0, 0) == (0.0, 1.0)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([0.9, 0.8]) == (1.0, 1.0)
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, corrected, strict=True))
    ranked = [corrected[i] for i in sorted(range(len(p_values)), key=p_values.__getitem__)]
    assert ranked == sorted(ranked)


def test_pass_to_the_k_by_hand():
    sample = Sample.of([[1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 0]])
    assert chances_of_all(sample, 1).value.tolist() == pytest.approx([3 / 4, 1, 1 / 4])
    assert chances_of_all(sample, 2).value.tolist() == pytest.approx([3 / 6, 1, 0])
    assert mean(chances_of_all(sample, 4)).mean == pytest.approx(1 / 3)
    for k, problem in ((0, "at least 1"), (5, "at least k=5 episodes, got at most 4")):
        with pytest.raises(SpecError, match=problem):
            chances_of_all(sample, k)


def test_variances_are_found_again():
    """Between tasks 4, between seeds 1; 5,000 tasks give both within a tenth (about five standard errors)."""
    random = generator("test", "anova")
    values = random.normal(0, 2, size=(5000, 1)) + random.normal(0, 1, size=(5000, 3))
    found = spread(Sample.of(values))
    assert found.task == pytest.approx(4, rel=0.1)
    assert found.seed == pytest.approx(1, rel=0.1)


def test_power_by_hand():
    """Of a standard normal, 1.96 + 0.84: 7.849 times the variance over the square of the difference."""
    assert Spread(0.25, 0.0).tasks_for(0.05, 1) == math.ceil(0.25 * 7.8489 / 0.05**2)
    assert Spread(0.0, 0.25).tasks_for(0.05, 5) == math.ceil(0.05 * 7.8489 / 0.05**2)
    assert Spread(0.2, 0.1).smallest(Spread(0.2, 0.1).tasks_for(0.05, 4), 4) == pytest.approx(0.05, rel=0.01)
    assert doubled(Prior(0.5, 1.0, 0.0).single()) == Prior(0.5, 1.0, 0.0).paired()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((0.0, 1), "difference=0.0"),
        ((1.5, 1), "difference=1.5"),
        ((0.1, 0), "seeds=0"),
        ((0.1, 1, 1.0), "power=1.0"),
        ((0.1, 1, 0.8, 0.0), "level=0.0"),
    ],
)
def test_what_power_cannot_be_asked(arguments, problem):
    with pytest.raises(SpecError, match=problem):
        Spread(0.1, 0.1).tasks_for(*arguments)
    with pytest.raises(SpecError, match="tasks=1"):
        spread(Sample.of([[1, 0]]))
    with pytest.raises(SpecError, match="alike=2"):
        Prior(alike=2)


def test_random_steps_are_the_same_in_another_process():
    program = (
        "import numpy as np\n"
        "from bench2robust.evaluation.statistics import *\n"
        "a, b = (Sample.of(np.arange(160).reshape(40, 4) % n > 2) for n in (5, 7))\n"
        "print(mean(a), paired(a, b))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    a, b = (Sample.of(np.arange(160).reshape(40, 4) % n > 2) for n in (5, 7))
    assert done.stdout.strip() == f"{mean(a)} {paired(a, b)}"


def test_values_that_are_no_shares_and_all_tie_have_no_interval_of_shares():
    tokens = Sample.of([[6150.0, 6150.0], [800.0, 900.0]])
    assert (paired(tokens, tokens).low, paired(tokens, tokens).high) == (0.0, 0.0)
    shares = Sample.of([[1.0, 1.0], [0.0, 1.0]])
    assert paired(shares, shares).high > 0.5
