"""Beliefs as numbers, and the laws that counting, merging, decaying and pooling keep."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, isclose, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import SpecError
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.memory import Belief, Beliefs, Counts

TOOLS = ("get_order", "get_user", "cancel_order")
errors = st.frozensets(st.tuples(st.sampled_from(TOOLS), st.sampled_from(NOISE_TYPES)), max_size=5)
switches = st.frozensets(st.tuples(st.sampled_from(TOOLS), st.sampled_from(TOOLS)), max_size=3)
episodes = st.lists(st.builds(Counts, errors, switches, st.booleans()), max_size=8)
half_lives = st.floats(0.5, 1e6)


def learned(found, pooling=0.0):
    return Beliefs(pooling=pooling).updated(*found)


def test_nothing_seen_is_the_uniform_prior():
    assert Belief().mean == 0.5
    assert Belief().interval(0.90) == pytest.approx((0.05, 0.95), abs=1e-12)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_mean_is_laplaces(successes, failures):
    assert Belief(successes, failures).mean == float(Fraction(1 + successes, 2 + successes + failures))


def test_intervals_are_those_of_the_closed_form():
    """Of Beta(n + 1, 1) the quantile q is q^(1/(n+1)); of Beta(1, n + 1) it is mirrored."""
    low, high = Belief(3, 0).interval(0.90)
    assert isclose(low, 0.05**0.25, rel_tol=1e-12)
    assert isclose(high, 0.95**0.25, rel_tol=1e-12)
    assert Belief(0, 3).interval(0.90) == pytest.approx((1 - high, 1 - low), rel=1e-12)


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.01, 0.98))
def test_a_wider_level_holds_the_narrower_interval(successes, failures, level):
    low, high = Belief(successes, failures).interval(level)
    wider_low, wider_high = Belief(successes, failures).interval(level + 0.01)
    assert 0.0 <= wider_low <= low < high <= wider_high <= 1.0


@pytest.mark.parametrize("value", [nan, inf, -1, -0.5, "3", None, True])
def test_a_count_is_a_number_of_episodes(value):
    with pytest.raises(SpecError, match="expected a number of episodes of at least 0, got failures="):
        Belief(0, value)


@pytest.mark.parametrize("level", [0.0, 1.0, nan, 90])
def test_a_level_is_a_share(level):
    with pytest.raises(SpecError, match="expected a level between 0 and 1"):
        Belief().interval(level)


@given(episodes)
def test_each_episode_counts_every_pair_once(found):
    beliefs = learned(found)
    for pair, belief in beliefs.errors.items():
        assert belief.successes == sum(pair in e.errors for e in found if e.passed)
        assert belief.failures == sum(pair in e.errors for e in found if not e.passed)
    assert set(beliefs.errors) == {pair for e in found for pair in e.errors}
    assert set(beliefs.switches) == {pair for e in found for pair in e.switches}


@given(episodes, episodes, st.sampled_from([0.0, 2.0, 7.5]))
def test_order_does_not_matter(some, more, pooling):
    together = learned([*some, *more], pooling)
    assert together == learned([*more, *some], pooling)
    assert together == learned(some, pooling).updated(*more)
    assert together == learned(some, pooling).merged(learned(more, pooling))
    assert hash(together) == hash(learned([*more, *some], pooling))


@given(episodes, episodes, episodes)
def test_merging_is_commutative_and_associative_and_nothing_is_its_unit(a, b, c):
    a, b, c = learned(a), learned(b), learned(c)
    assert a.merged(b) == b.merged(a)
    assert a.merged(b).merged(c) == a.merged(b.merged(c))
    assert a.merged(Beliefs()) == a


def test_beliefs_pooled_differently_are_not_merged():
    with pytest.raises(SpecError, match=r"expected beliefs pooled alike, got pooling=0.0 and pooling=2.0"):
        Beliefs().merged(Beliefs(pooling=2.0))


@given(episodes, half_lives, st.floats(0, 1e4), st.floats(0, 1e4))
def test_decay_never_adds_and_takes_more_the_longer_it_lasts(found, half_life, time, more):
    beliefs = learned(found)
    sooner, later = beliefs.decayed(half_life, time), beliefs.decayed(half_life, time + more)
    for pair, belief in beliefs.errors.items():
        assert belief.successes >= sooner.errors[pair].successes >= later.errors[pair].successes >= 0
        assert belief.failures >= sooner.errors[pair].failures >= later.errors[pair].failures >= 0
    assert beliefs.decayed(half_life, 0) == beliefs


@given(episodes, half_lives)
def test_after_a_half_life_half_is_left(found, half_life):
    beliefs = learned(found)
    left = beliefs.decayed(half_life, half_life)
    for pair, belief in beliefs.switches.items():
        assert left.switches[pair].episodes == belief.episodes / 2


@given(episodes, half_lives)
def test_decay_moves_a_mean_towards_the_prior_and_never_past_it(found, half_life):
    for pair, belief in learned(found).decayed(half_life).errors.items():
        before = learned(found).errors[pair].mean
        assert abs(belief.mean - 0.5) <= abs(before - 0.5)
        assert (belief.mean - 0.5) * (before - 0.5) >= 0


@pytest.mark.parametrize("half_life", [0, -1, nan, inf, "long", True])
def test_a_half_life_is_above_nothing(half_life):
    with pytest.raises(SpecError, match="expected a half-life in episodes, above 0"):
        Beliefs().decayed(half_life)


def test_pooling_by_hand():
    """The prior of get_order's timeout is the mean of all other tools' 3 + 1 timeouts, (3 + 1) / (4 + 2) = 2/3,
    worth six episodes: Beta(4, 2). With its own 0 + 2 episodes that is Beta(4, 4)."""
    timeout, stale = NoiseType.TIMEOUT, NoiseType.STALE
    beliefs = Beliefs(
        {
            ("get_order", timeout): Belief(0, 2),
            ("get_user", timeout): Belief(2, 1),
            ("cancel_order", timeout): Belief(1, 0),
            ("get_user", stale): Belief(0, 9),
        }
    ).pooled(6)
    assert beliefs.of("get_order", timeout).prior == pytest.approx((4, 2), abs=1e-15)
    assert beliefs.of("get_order", timeout).mean == pytest.approx(0.5, abs=1e-15)
    assert beliefs.of("never_called", timeout).mean == pytest.approx(4 / 8, abs=1e-15)
    assert beliefs.of("get_user", stale).prior == (3, 3), "nobody else met it"
    assert beliefs.of("get_order", stale).mean == pytest.approx(1 / 11, abs=1e-15)
    assert beliefs.of("get_order", NoiseType.PARTIAL).mean == 0.5


def test_pooling_switches_by_hand():
    beliefs = Beliefs(switches={("a", "b"): Belief(3, 1), ("b", "a"): Belief(0, 1)}).pooled(2)
    assert beliefs.switch("a", "b").prior == pytest.approx((2 / 3, 4 / 3), abs=1e-15)
    assert beliefs.switch("b", "c").prior == pytest.approx((8 / 7, 6 / 7), abs=1e-15), "all five episodes"


@given(episodes, st.floats(0.1, 100))
def test_pooling_is_a_view_of_counts_that_stay(found, strength):
    beliefs = learned(found)
    assert beliefs.pooled(strength).pooled(0.0) == beliefs
    for pair, belief in beliefs.pooled(strength).errors.items():
        assert (belief.successes, belief.failures) == (
            beliefs.errors[pair].successes,
            beliefs.errors[pair].failures,
        )
        assert isclose(sum(belief.prior), strength, rel_tol=1e-12)


@given(episodes)
def test_the_stronger_the_pooling_the_nearer_to_the_others(found):
    beliefs = learned(found)
    for tool, noise in beliefs.errors:
        views = [beliefs.pooled(k).of(tool, noise) for k in (0.5, 2, 8, 32)]
        common = views[0].prior[0] / sum(views[0].prior)
        distances = [abs(view.mean - common) for view in views]
        assert all(a >= b - 1e-12 for a, b in pairwise(distances))


def test_what_was_never_met_is_the_prior_and_names_may_be_texts():
    beliefs = learned([Counts(frozenset({("get_order", NoiseType.STALE)}), passed=True)])
    assert beliefs.of("get_order", "stale") == Belief(1, 0)
    assert beliefs.of("get_order", "timeout") == beliefs.switch("a", "b") == Belief()
    assert beliefs
    assert not Beliefs()
    assert repr(beliefs) == "<Beliefs: 1 of tools and errors, 0 of switches>"
