import doctest
import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.injection import TEXTS_VERSION, NoiseProfile, profile

CLEAN, TIMEOUT = NoiseType.CLEAN, NoiseType.TIMEOUT


def distributions():
    weights = st.lists(st.integers(0, 20), min_size=10, max_size=10).filter(any)
    return weights.map(lambda w: dict(zip(NoiseType, (x / sum(w) for x in w), strict=True)))


profiles = st.builds(NoiseProfile, distributions(), st.dictionaries(st.sampled_from("abc"), distributions()))


def test_examples_in_docstrings():
    assert doctest.testmod(profile).failed == 0


def test_the_default_is_the_papers_table_13():
    expected = {
        "timeout": 0.06,
        "rate_limit": 0.05,
        "server_error": 0.05,
        "malformed_response": 0.04,
        "auth_error": 0.03,
        "schema_drift": 0.03,
        "partial": 0.05,
        "stale": 0.04,
        "factual_error": 0.05,
        "clean": 0.60,
    }
    assert NoiseProfile().for_tool("any") == expected
    assert NoiseProfile.severe() == NoiseProfile()


@pytest.mark.parametrize(
    ("name", "clean"), [("severe", 0.60), ("moderate", 0.80), ("mild", 0.95), ("none", 1.0)]
)
def test_named_profiles_are_the_papers_rescaled(name, clean):
    d = NoiseProfile.named(name).for_tool("any")
    assert d[CLEAN] == clean
    for noise in NOISE_TYPES:
        assert d[noise] == pytest.approx(NoiseProfile.severe().default[noise] * (1 - clean) / 0.4)


def test_names_mean_what_they_say():
    assert NoiseProfile.named("severe") == NoiseProfile.severe()
    assert NoiseProfile.named("none") == NoiseProfile.empty()
    with pytest.raises(UnknownNameError, match=r"unknown profile='sever'; did you mean 'severe'"):
        NoiseProfile.named("sever")


@given(profiles, st.floats(0, 1))
def test_rescaling_keeps_the_proportions(before, p):
    if all(d[CLEAN] == 1.0 for d in (before.default, *before.tools.values())):
        return
    after = before.with_clean_probability(p)
    for name in (*before.tools, "another"):
        old, new = before.for_tool(name), after.for_tool(name)
        if old[CLEAN] == 1.0:
            assert new == old
            continue
        assert new[CLEAN] == p
        for noise in NOISE_TYPES:
            assert new[noise] * (1 - old[CLEAN]) == pytest.approx(old[noise] * (1 - p), abs=1e-9)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, "0.5", True])
def test_a_clean_probability_that_cannot_be(p):
    with pytest.raises(SpecError, match="expected a clean probability between 0 and 1, got p="):
        NoiseProfile.severe().with_clean_probability(p)


def test_an_empty_profile_has_nothing_to_rescale():
    with pytest.raises(SpecError, match="expected a profile with noise"):
        NoiseProfile.empty().with_clean_probability(0.5)
    assert NoiseProfile.empty().with_clean_probability(1.0) == NoiseProfile.empty()


@given(profiles)
def test_round_trips(before):
    wire = before.to_dict()
    assert wire["version"] == TEXTS_VERSION
    after = NoiseProfile.from_dict(json.loads(json.dumps(wire)))
    assert after == before
    assert hash(after) == hash(before)
    assert pickle.loads(pickle.dumps(before)) == before
    assert NoiseProfile(before.default, dict(reversed(before.tools.items()))) == before


@given(profiles, st.floats(0, 1, exclude_max=True))
def test_a_number_stands_for_a_type_that_can_be_drawn(p, u):
    for name in (*p.tools, "another"):
        noise = p.table(name).at(u)
        assert p.for_tool(name)[noise] > 0
        assert (noise is CLEAN) == (u < p.for_tool(name)[CLEAN])


def test_rounding_leaves_no_number_without_a_type():
    short = NoiseProfile({CLEAN: 0.6, TIMEOUT: 0.4 - 9e-10})
    assert short.table("t").at(1 - 2**-53) is TIMEOUT


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 1), st.floats(0, 1))
def test_what_a_milder_profile_injects_a_harsher_one_injects_too(u, p, q):
    mild, harsh = (NoiseProfile.severe().with_clean_probability(x).table("t") for x in (max(p, q), min(p, q)))
    assert mild.at(u) is CLEAN or harsh.at(u) is not CLEAN


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        ({CLEAN: 0.9}, "profile default: expected probabilities, clean included, that sum to 1, got sum=0.9"),
        (
            {CLEAN: 1.1, TIMEOUT: -0.1},
            "profile default: expected a probability of at least 0, got timeout=-0.1",
        ),
        ({CLEAN: math.nan}, "profile default: expected a probability of at least 0, got clean=nan"),
        ({CLEAN: math.inf}, "profile default: expected a probability of at least 0, got clean=inf"),
        ({CLEAN: "1"}, "profile default: expected a probability of at least 0, got clean='1'"),
        (
            {CLEAN: 0.5, "time_out": 0.5},
            "profile default: unknown noise type='time_out'; did you mean 'timeout'?",
        ),
        ({}, "profile default: expected probabilities, clean included, that sum to 1, got sum=0.0"),
    ],
)
def test_distributions_that_cannot_be(distribution, message):
    with pytest.raises(SpecError) as caught:
        NoiseProfile(distribution)
    assert str(caught.value) == message
    with pytest.raises(SpecError, match="profile tool 'get_order': "):
        NoiseProfile(tools={"get_order": distribution})


def test_sums_within_rounding_are_fine_and_others_are_not():
    NoiseProfile({CLEAN: 0.6, TIMEOUT: 0.4 + 9e-10})
    with pytest.raises(SpecError):
        NoiseProfile({CLEAN: 0.6, TIMEOUT: 0.4 + 2e-9})


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (
            {"default": {"clean": 1.0}, "tool": {}},
            "unknown key in profile='tool'; known: version, default, tools",
        ),
        (
            {"default": {"clean": 1.0}, "version": 99},
            "expected a profile for texts version 1, got version=99",
        ),
        ({"tools": {}}, "expected a table of probabilities, got default=None"),
        ({"default": [1]}, "expected a table of probabilities, got default=\\[1\\]"),
        (
            {"default": {"clean": 1.0}, "tools": {"a": 1}},
            "expected a table of probabilities for each tool, got",
        ),
    ],
)
def test_wire_forms_that_cannot_be(wire, message):
    with pytest.raises(SpecError, match=message):
        NoiseProfile.from_dict(wire)


def test_a_profile_for_a_tool_that_does_not_exist():
    p = NoiseProfile(tools={"get_ordr": {CLEAN: 1.0}})
    with pytest.raises(UnknownNameError, match=r"unknown tool='get_ordr'; did you mean 'get_order'"):
        p.check_tools(["get_order", "get_user"])
    p.check_tools(iter(["get_ordr"]))
