import doctest
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtrc

from bench2robust.core.episode import Assignment, Scenario
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.injection import Block, Eligibility, Mix, ScenarioSpec, assign, scenario

from .shop import DOMAIN

BOTH = {"identity": ("email", "by_order"), "order": ("one", "two")}
ELIGIBLE = Eligibility(sides=BOTH, primary={"identity": "email", "order": "one"}, s3=("identity", "order"))
mixes = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(
    lambda ab: Mix(min(ab), max(ab) - min(ab), 100 - max(ab))
)


def only(s1=0, s2=0, s3=0, block=Block.RANDOM):
    return ScenarioSpec(Mix(s1, s2, s3), block)


def test_examples_in_docstrings():
    assert doctest.testmod(scenario).failed == 0


@given(mixes)
def test_mixes_round_trip(mix):
    assert Mix.parse(str(mix)) == mix
    spec = ScenarioSpec(mix, Block.PRIMARY)
    assert ScenarioSpec.from_dict(spec.to_dict()) == spec


def test_the_default_mix():
    assert ScenarioSpec() == ScenarioSpec.from_dict({}) == ScenarioSpec(Mix.parse("40/60/0"), Block.RANDOM)


@pytest.mark.parametrize("text", ["", "40/60", "40/60/0/0", "a/b/c", "-10/110/0", "33.3/33.3/33.4", "40/60/"])
def test_mixes_that_cannot_be_read(text):
    with pytest.raises(SpecError, match="expected S1/S2/S3 in percent, such as 40/60/0, got mix="):
        Mix.parse(text)


@pytest.mark.parametrize("text", ["40/60/10", "0/0/0"])
def test_mixes_that_do_not_sum(text):
    with pytest.raises(SpecError, match=f"expected shares that sum to 100, got mix={text}"):
        Mix.parse(text)


def test_a_mix_of_other_things_than_integers():
    with pytest.raises(SpecError, match="expected three integers of at least 0"):
        Mix(0.4, 0.6, 0)
    with pytest.raises(SpecError, match="expected three integers of at least 0"):
        Mix(-1, 101, 0)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"block": "primry"}, "unknown block='primry'; did you mean 'primary'"),
        ({"mixes": "1"}, "unknown key in scenario='mixes'; known: mix, block"),
    ],
)
def test_scenario_specs_that_cannot_be(values, message):
    with pytest.raises(SpecError, match=message):
        ScenarioSpec.from_dict(values)


def test_s1_blocks_nothing():
    assert assign(0, "t", only(s1=100), ELIGIBLE, DOMAIN) == Assignment()


@given(st.integers(), st.text(max_size=5))
def test_s2_blocks_every_tool_of_one_counting_side(seed, task):
    eligible = replace(ELIGIBLE, sides={"order": ("one", "two"), "identity": ("email",)})
    a = assign(seed, task, only(s2=100), eligible, DOMAIN)
    assert (a.assigned, a.effective, a.equivalence) == (Scenario.S2, Scenario.S2, "order")
    assert a.blocked == {"one": {"get_order"}, "two": {"get_orders", "get_items"}}[a.side]


@given(st.integers(), st.text(max_size=5))
def test_primary_blocks_the_side_an_agent_would_use_first(seed, task):
    a = assign(seed, task, only(s2=100, block=Block.PRIMARY), ELIGIBLE, DOMAIN)
    assert (a.equivalence, a.side) in {("identity", "email"), ("order", "one")}
    assert a.equivalence == assign(seed, task, only(s2=100), ELIGIBLE, DOMAIN).equivalence


@given(st.integers(), st.text(max_size=5))
def test_s3_blocks_every_side_and_every_write_that_needs_the_class(seed, task):
    a = assign(seed, task, only(s3=100), ELIGIBLE, DOMAIN)
    assert (a.assigned, a.effective, a.side) == (Scenario.S3, Scenario.S3, "")
    assert (
        a.blocked
        == {
            "identity": {"find_user", "find_user_by_order", "cancel_order", "rename_user"},
            "order": {"get_order", "get_orders", "get_items", "cancel_order"},
        }[a.equivalence]
    )


@pytest.mark.parametrize("spec", [only(s2=100), only(s3=100), only(s2=100, block=Block.PRIMARY)])
def test_an_ineligible_task_runs_as_s1_and_says_so(spec):
    a = assign(0, "t", spec, Eligibility(sides={"order": ("one",)}), DOMAIN)
    assert a == Assignment(assigned=a.assigned, effective=Scenario.S1)
    assert a.assigned is (Scenario.S3 if spec.mix.s3 else Scenario.S2)


def test_exempt_tools_are_never_blocked():
    for eligible in (Eligibility(s3=("time",)), Eligibility(sides={"time": ("a", "b")})):
        for task in range(20):
            for spec in (only(s2=100), only(s3=100)):
                assert "clock" not in assign(0, str(task), spec, eligible, DOMAIN).blocked


def test_s2_needs_a_class_with_two_counting_sides():
    assert ELIGIBLE.s2
    assert not Eligibility(sides={"order": ("one",), "identity": ()}).s2
    assert not Eligibility().s2


@pytest.mark.parametrize(
    "eligible",
    [
        Eligibility(sides={"ordr": ("one", "two")}),
        Eligibility(s3=("ordr",)),
        Eligibility(primary={"ordr": "one"}),
    ],
)
def test_a_class_nobody_knows(eligible):
    with pytest.raises(UnknownNameError, match=r"unknown equivalence class='ordr'; did you mean 'order'"):
        assign(0, "t", only(s1=100), eligible, DOMAIN)


def test_a_side_nobody_knows():
    with pytest.raises(UnknownNameError, match="unknown side of class 'order'='three'"):
        assign(0, "t", only(s2=100), Eligibility(sides={"order": ("three", "three")}), DOMAIN)


def test_eligibility_does_not_change_the_scenario_drawn_nor_does_the_order_of_its_classes():
    spec = ScenarioSpec(Mix(30, 45, 25))
    turned = replace(ELIGIBLE, sides=dict(reversed(BOTH.items())), s3=("order", "identity"))
    for task in map(str, range(200)):
        a = assign(1, task, spec, ELIGIBLE, DOMAIN)
        assert assign(1, task, spec, Eligibility(), DOMAIN).assigned is a.assigned
        assert assign(1, task, spec, turned, DOMAIN) == a


def test_scenario_class_and_side_follow_their_probabilities():
    """Chi-square over 2·10^4 tasks against the exact joint distribution; false alarms: 1 in 10^4."""
    n, counts = 20_000, {}
    spec = ScenarioSpec(Mix(30, 45, 25))
    for task in range(n):
        a = assign(5, f"task {task}", spec, ELIGIBLE, DOMAIN)
        counts[a.effective, a.equivalence, a.side] = counts.get((a.effective, a.equivalence, a.side), 0) + 1
    expected = {(Scenario.S1, "", ""): 0.30}
    expected |= {(Scenario.S2, cls, side): 0.45 / 4 for cls, sides in BOTH.items() for side in sides}
    expected |= {(Scenario.S3, cls, ""): 0.25 / 2 for cls in BOTH}
    assert counts.keys() == expected.keys()
    statistic = math.fsum((counts[k] - n * p) ** 2 / (n * p) for k, p in expected.items())
    assert chdtrc(len(expected) - 1, statistic) > 1e-4
