import json
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import SpecError
from bench2robust.injection import Effects, InjectionSpec, Limits, NoiseProfile

limits = st.builds(Limits, st.none() | st.integers(0, 9), st.none() | st.integers(1, 9))


def test_defaults_are_the_papers():
    assert InjectionSpec() == InjectionSpec(NoiseProfile.severe(), Limits(5, 2), Effects.OBSERVATION)


@given(limits)
def test_limits_round_trip(before):
    assert Limits.from_dict(json.loads(json.dumps(before.to_dict()))) == before


def test_no_limits():
    assert Limits.unlimited() == Limits(None, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"budget": -1}, "expected an integer of at least 0, got budget=-1"),
        ({"max_consecutive": 0}, "expected an integer of at least 1, got max_consecutive=0"),
        ({"budget": 2.0}, "expected an integer of at least 0, got budget=2.0"),
        ({"budget": True}, "expected an integer of at least 0, got budget=True"),
        ({"max_consecutive": "2"}, "expected an integer of at least 1, got max_consecutive='2'"),
        ({"bugdet": 2}, "unknown key in limits='bugdet'; known: budget, max_consecutive"),
    ],
)
def test_limits_that_cannot_be(values, message):
    with pytest.raises(SpecError, match=message):
        Limits.from_dict(values)


@given(limits, st.sampled_from(Effects), st.sampled_from(["severe", "mild", "none"]))
def test_specs_round_trip_and_equal_ones_have_equal_fingerprints(limit, effects, name):
    before = InjectionSpec(NoiseProfile.named(name), limit, effects)
    after = InjectionSpec.from_dict(json.loads(json.dumps(before.to_dict())))
    assert after == before
    assert (hash(after), after.fingerprint) == (hash(before), before.fingerprint)
    assert pickle.loads(pickle.dumps(before)) == before


def test_different_specs_have_different_fingerprints():
    specs = [
        InjectionSpec(),
        InjectionSpec(NoiseProfile.named("mild")),
        InjectionSpec(limits=Limits(5, 1)),
        InjectionSpec(effects=Effects.REQUEST),
        InjectionSpec(NoiseProfile(tools={"a": {"clean": 1.0}})),
    ]
    assert len({spec.fingerprint for spec in specs}) == len(specs)


def test_a_fingerprint_is_the_same_in_another_process():
    code = "from bench2robust.injection import InjectionSpec; print(InjectionSpec().fingerprint)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == InjectionSpec().fingerprint


def test_missing_keys_keep_their_defaults():
    assert InjectionSpec.from_dict({}) == InjectionSpec()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"effects": "requests"}, "unknown effects='requests'; did you mean 'request'"),
        ({"limit": {}}, "unknown key in injection='limit'; known: profile, limits, effects"),
        ({"limits": {"budget": -2}}, "got budget=-2"),
    ],
)
def test_specs_that_cannot_be(values, message):
    with pytest.raises(SpecError, match=message):
        InjectionSpec.from_dict(values)
