"""Bursts: each call alone is as the profile says, failures lie together, limits still hold."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import chdtrc
from scipy.stats import binom

from bench2robust import faults, inject
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.tools import ToolCall
from bench2robust.injection import Burst, Bursts, InjectionSpec, Injector, Limits, NoiseProfile

from .shop import DOMAIN, TOOLS, execute

CLEAN, TIMEOUT = NoiseType.CLEAN, NoiseType.TIMEOUT
SEVERE = NoiseProfile.severe().default
THREE = NoiseProfile(SEVERE, bursts=Bursts(Burst(3.0, 0.8)))


def drawn(profile, task, calls, limits=None):
    injector = Injector(
        InjectionSpec(profile, limits or Limits.unlimited()), 5, task, domain=DOMAIN, tools=TOOLS
    )
    for _ in range(calls):
        injector.call(ToolCall("get_order"), execute)
    return injector.drain()


def possible(noisy, length, intensity):
    share = noisy / intensity
    return share < 1 and share / (1 - share) <= length


bursts = st.builds(Burst, st.floats(1, 50), st.floats(0.5, 1))


@given(bursts, st.floats(0, 0.49))
def test_the_long_run_share_of_calls_in_bursts_stays_what_it_is(burst, noisy):
    if not possible(noisy, burst.length, burst.intensity):
        return
    first, enter, stay = burst.chances(noisy)
    assert 0 <= enter <= 1
    assert first * stay + (1 - first) * enter == pytest.approx(first)
    assert first * burst.intensity == pytest.approx(noisy)


@given(st.integers(0, 9), st.text(max_size=5), st.integers(1, 20))
def test_a_burst_is_keyed_by_the_call_and_not_by_who_asked_before(seed, task, other):
    spec = InjectionSpec(THREE, Limits.unlimited())

    def of(between):
        injector = Injector(spec, seed, task, domain=DOMAIN, tools=TOOLS)
        for _ in range(12):
            injector.call(ToolCall("get_order"), execute)
            for _ in range(between):
                injector.call(ToolCall("find_user"), execute)
        return [r.drawn for r in injector.drain() if r.call.name == "get_order"]

    assert of(0) == of(other)


def test_each_call_alone_has_the_distribution_of_the_profile():
    """The first, second and eighth call of 5,000 tasks: 3 chi-square tests at 1/30,000; false alarms 1 in 10^4."""
    counts = [Counter(), Counter(), Counter()]
    for n in range(5000):
        records = drawn(THREE, f"task {n}", 8)
        for count, place in zip(counts, (0, 1, 7), strict=True):
            count[records[place].drawn] += 1
    for count in counts:
        expected = {noise: 5000 * p for noise, p in SEVERE.items()}
        statistic = sum((count[noise] - e) ** 2 / e for noise, e in expected.items())
        assert chdtrc(len(expected) - 1, statistic) > 1 / 30_000


def test_failures_lie_together():
    """After a failed call the next fails with stay × intensity = .533, not .4: an exact test at 10^-4 each side."""
    after = failed = 0
    for n in range(2000):
        records = drawn(THREE, f"task {n}", 8)
        for one, then in pairwise(records):
            if one.drawn is not CLEAN:
                after += 1
                failed += then.drawn is not CLEAN
    p = (1 - 1 / 3) * 0.8
    assert binom.cdf(failed, after, p) > 1e-4
    assert binom.sf(failed - 1, after, p) > 1e-4
    assert binom.sf(failed - 1, after, 0.4) < 1e-9


def test_limits_hold_and_the_budget_too():
    everything = NoiseProfile({TIMEOUT: 1.0}, bursts=Bursts(Burst(9)))
    records = drawn(everything, "t", 12, Limits(5, 2))
    assert [r.landed for r in records] == [True, True, False, True, True, False, True, *[False] * 5]
    assert {r.withheld for r in records} == {None, "consecutive", "budget"}


def test_a_tool_without_failures_has_no_bursts_and_one_with_nothing_else_is_always_in_one():
    assert all(r.drawn is CLEAN for r in drawn(NoiseProfile({CLEAN: 1.0}, bursts=Bursts(Burst(3))), "t", 9))
    assert all(
        r.drawn is TIMEOUT for r in drawn(NoiseProfile({TIMEOUT: 1.0}, bursts=Bursts(Burst(3))), "t", 9)
    )


def test_one_tools_bursts_leave_the_others_alone():
    own = NoiseProfile(SEVERE, bursts=Bursts(None, (("get_order", Burst(5)),)))
    plain = NoiseProfile(SEVERE)

    def of(profile, name):
        injector = Injector(InjectionSpec(profile, Limits.unlimited()), 1, "t", domain=DOMAIN, tools=TOOLS)
        for _ in range(40):
            injector.call(ToolCall(name), execute)
        return [r.drawn for r in injector.drain()]

    assert of(own, "find_user") == of(plain, "find_user")
    assert of(own, "get_order") != of(plain, "get_order")


def test_scopes_have_them_too_and_equal_seeds_equal_ones():
    tool = inject(lambda n: {"n": n, "name": "x"}, name="tool")

    def play():
        with faults({"default": {"timeout": 0.3, "clean": 0.7}, "burst": {"length": 6}}, seed=3) as scope:
            for n in range(60):
                tool(n)
        return [r.drawn for r in scope.records]

    first = play()
    assert play() == first
    runs = "".join("x" if d is TIMEOUT else "." for d in first).split(".")
    assert max(map(len, runs)) >= 4


@given(st.sampled_from([None, Burst(4.0, 0.9)]), st.dictionaries(st.sampled_from("abc"), bursts))
def test_a_profile_survives_being_written(default, tools):
    try:
        before = NoiseProfile(SEVERE, bursts=Bursts(default, tuple(sorted(tools.items()))))
    except SpecError:
        return
    after = NoiseProfile.from_dict(json.loads(json.dumps(before.to_dict())))
    assert after == before
    assert hash(after) == hash(before)
    assert ("burst" in before.to_dict()) == (default is not None or bool(tools))


@pytest.mark.parametrize(
    ("burst", "said"),
    [
        ({"length": 0.5}, "burst: expected a length of at least 1 call, got length=0.5"),
        ({"length": "4"}, "burst: expected a number, got length='4'"),
        ({"length": float("nan")}, "burst: expected a number, got length=nan"),
        ({"length": 3, "intensity": 0}, "burst: expected a probability above 0, got intensity=0"),
        (
            {"length": 3, "intensity": 0.3},
            "expected an intensity of at least 0.4, the probability of a failure",
        ),
        ({"lenght": 3}, "unknown key in burst='lenght'; did you mean 'length'?"),
        (
            {"intensity": 0.9},
            "burst: expected the calls of a burst on average, got no length; such as length = 4",
        ),
        ({"tools": {"a": 3}}, "expected a table of length and intensity, got burst.tools.a=3"),
        (4, "expected a table of length and intensity, got burst=4"),
    ],
)
def test_bursts_that_cannot_be(burst, said):
    with pytest.raises(SpecError, match=said.replace("?", r"\?")):
        NoiseProfile.from_dict({"default": SEVERE, "burst": burst})


def test_bursts_too_short_for_so_many_failures():
    theta = {TIMEOUT: 0.9, CLEAN: 0.1}
    with pytest.raises(
        SpecError, match="expected bursts of at least 9 calls, which 90% of calls in bursts need"
    ):
        NoiseProfile(theta, bursts=Bursts(Burst(4)))
    assert NoiseProfile(theta, bursts=Bursts(Burst(9))).burst("t") == Burst(9)


def test_rescaling_keeps_bursts_and_a_name_of_no_tool_is_told():
    milder = THREE.with_clean_probability(0.9)
    assert milder.burst("any") == Burst(3.0, 0.8)
    named = NoiseProfile(SEVERE, bursts=Bursts(None, (("get_ordr", Burst(3)),)))
    with pytest.raises(UnknownNameError, match="did you mean 'get_order'"):
        named.check_tools(["get_order"])


def test_types_in_a_burst_keep_their_proportions():
    table = THREE.inside_burst("any")
    assert table.clean == pytest.approx(0.2)
    grid = Counter(table.at((i + 0.5) / 10_000) for i in range(10_000))
    for noise in NOISE_TYPES:
        assert grid[noise] / 10_000 == pytest.approx(SEVERE[noise] * 2, abs=2e-4)
    with pytest.raises(KeyError):
        NoiseProfile.severe().inside_burst("any")
