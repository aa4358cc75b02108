"""The lookahead against worth worked out by hand."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.agents.lookahead import Odds, Prospect, Try, choose
from bench2robust.agents.worth import Worth, efficiency, repetition

OPEN = (Odds(1.0, frozenset(), impossible=False),)
EQ2 = Worth(passing=0.0, step=0.0)


def one(fails=0.26, left=2, made=0, calls=1):
    return (Try(fails, left, made, calls),)


def prospect(options, odds=OPEN, steps=2, most=0, worth=EQ2):
    return Prospect(tuple(options), tuple(odds), steps, most, worth)


@pytest.mark.parametrize(
    ("steps", "expected"), [(0, 1.0), (12, 1.0), (13, 0.98), (22, 0.8), (47, 0.3), (1000, 0.3)]
)
def test_efficiency_is_that_of_equation_2(steps, expected):
    assert efficiency(steps) == pytest.approx(expected)


def test_repetition_is_that_of_equation_2():
    assert [repetition(n) for n in range(6)] == [1.0, 1.0, 1.0, 0.5, 0.0, 0.0]


def test_the_first_of_two_equal_options_is_tried():
    assert choose(prospect([one(), one()])) == 0


def test_a_call_made_twice_is_left_for_another_route():
    """The third identical call would halve the reward."""
    assert choose(prospect([one(made=1), one()], most=1)) == 0
    assert choose(prospect([one(made=2), one()], most=2)) == 1


def test_where_there_is_no_other_route_it_is_called_again():
    assert choose(prospect([one(made=2)], most=2)) == 0
    # Nothing is left of Eq. 2 at the fourth, but passing is worth something of its own.
    assert choose(prospect([one(made=3)], most=3, worth=Worth())) == 0


def test_the_shorter_route_is_preferred_once_steps_cost():
    long, short = (Try(0.26, 2, 0, 3),), one()
    assert choose(prospect([long, short], steps=14)) == 1
    assert choose(prospect([short, long], steps=14)) == 0


def test_a_likely_block_sends_it_to_the_other_side():
    def odds(p):
        return (
            Odds(1.0 - p, frozenset(), impossible=False),
            Odds(p, frozenset({(0, 0)}), impossible=False),
        )

    # Eq. 2 asks nothing for the first twelve steps and for a first repetition.
    assert choose(prospect([one(made=1), one()], odds(0.1), most=1)) == 0
    assert choose(prospect([one(made=1), one()], odds(0.9), most=1, steps=14)) == 1


def test_a_proven_block_is_never_tried():
    blocked = (Odds(1.0, frozenset({(0, 0)}), impossible=False),)
    assert choose(prospect([one(), one(made=3)], blocked, most=3, worth=Worth())) == 1


def test_it_abstains_when_nothing_can_work_and_only_then():
    every = frozenset({(0, 0), (1, 0)})
    assert choose(prospect([one(), one()], (Odds(1.0, every, impossible=True),))) is None
    assert choose(prospect([one(), one()], (Odds(1.0, every, impossible=False),))) is None
    half = (Odds(0.5, every, impossible=True), Odds(0.5, frozenset(), impossible=False))
    assert choose(prospect([one(), one()], half)) == 0
    sure = (Odds(0.99, every, impossible=True), Odds(0.01, frozenset(), impossible=False))
    assert choose(prospect([one(made=2), one(made=2)], sure, most=2)) is None
    assert (
        choose(prospect([one(made=2), one(made=2)], sure, most=2, worth=Worth(0.0, 0.0, abstaining=0.0))) == 0
    )


def test_a_retry_that_the_limit_makes_sure_of_is_worth_a_step():
    """After two in a row the next call is answered, if the tool is not blocked."""
    assert choose(prospect([one(fails=0.26, left=0, made=1), one(fails=0.26)], steps=14, most=1)) == 0


CALL = st.builds(Try, st.floats(0, 0.6), st.integers(0, 2), st.integers(0, 3), st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(CALL, min_size=1, max_size=2).map(tuple), min_size=1, max_size=3),
    st.lists(st.tuples(st.floats(0.01, 1), st.integers(0, 63), st.booleans()), min_size=1, max_size=4),
    st.integers(0, 40),
    st.integers(0, 3),
)
def test_it_always_answers_and_never_picks_what_cannot_answer(options, groups, steps, most):
    places = [(o, c) for o, calls in enumerate(options) for c in range(len(calls))]
    odds = []
    for weight, bits, impossible in groups:
        hit = frozenset(p for n, p in enumerate(places) if bits >> n & 1)
        shut = len({o for o, _ in hit}) == len(options)
        odds.append(Odds(weight, hit, impossible and shut))
    found = choose(prospect(options, odds, steps, most, Worth()))
    if found is not None:
        assert any((found, 0) not in group.blocked for group in odds)
    elif not any(group.impossible for group in odds):
        # Without S3 it gives up only where no option can come to its end.
        for option, calls in enumerate(options):
            reach = [all((option, c) not in g.blocked for c in range(len(calls))) for g in odds]
            assert prod(not r for r in reach)
