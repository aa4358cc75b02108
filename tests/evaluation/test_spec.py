"""Settings become a spec, whether they come from options or from TOML; what cannot be is refused."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.episode import Mode
from bench2robust.core.errors import SpecError, UnknownNameError, UsageError
from bench2robust.core.noise import NoiseType
from bench2robust.evaluation import RunSpec, Schedule
from bench2robust.evaluation.spec import read_seeds, read_settings, select
from bench2robust.injection import Block, Effects, InjectionSpec, Limits, Mix, NoiseProfile, ScenarioSpec

TOML = """
benchmark = "toy-library"
agents = ["naive", "strategic"]
modes = ["clean", "inject_alt"]
seeds = [3, 7]
tasks = ["0-2", "5"]
profile = "mild"
clean-probability = 0.9
budget = 3
max-consecutive = 1
effects = "request"
mix = "20/30/50"
block = "primary"
max-steps = 40
"""
OPTIONS = {
    "benchmark": "toy-library",
    "agents": "naive,strategic",
    "modes": "clean, inject_alt",
    "seeds": "3,7",
    "tasks": "0-2,5",
    "profile": "mild",
    "clean-probability": 0.9,
    "budget": 3,
    "max-consecutive": 1,
    "effects": "request",
    "mix": "20/30/50",
    "block": "primary",
    "max-steps": 40,
}
SPEC = RunSpec(
    "toy-library",
    agents=("naive", "strategic"),
    modes=(Mode.CLEAN, Mode.INJECT_ALT),
    seeds=(3, 7),
    tasks=("0-2", "5"),
    injection=InjectionSpec(
        NoiseProfile.named("mild").with_clean_probability(0.9),
        Limits(budget=3, max_consecutive=1),
        Effects.REQUEST,
    ),
    scenarios=ScenarioSpec(Mix(20, 30, 50), Block.PRIMARY),
    max_steps=40,
)


def test_toml_and_options_give_the_same_spec():
    assert RunSpec.from_settings(tomllib.loads(TOML)) == SPEC
    assert RunSpec.from_settings(OPTIONS) == SPEC


@pytest.mark.parametrize("mark", ["-", "_"])
def test_a_file_may_write_settings_with_a_hyphen_or_an_underscore(tmp_path, mark):
    (tmp_path / "run.toml").write_text(TOML.replace("x-c", f"x{mark}c").replace("x-s", f"x{mark}s"))
    assert RunSpec.from_settings(read_settings(tmp_path / "run.toml")) == SPEC


def test_what_is_left_out_is_as_documented():
    spec = RunSpec.from_settings({"benchmark": "toy-library"})
    assert spec.agents == ("naive", "retry", "switch", "strategic", "omniscient")
    assert spec.modes == (Mode.CLEAN, Mode.CLEAN_ALT, Mode.INJECT, Mode.INJECT_ALT)
    assert spec.seeds == (0, 1, 2, 3, 4)
    assert spec.injection == InjectionSpec(NoiseProfile.severe(), Limits(5, 2), Effects.OBSERVATION)
    assert spec.scenarios == ScenarioSpec(Mix(40, 60, 0), Block.RANDOM)
    assert spec.max_steps == 100
    assert len(Schedule(spec).tasks) == 7


@pytest.mark.parametrize(
    ("value", "seeds"),
    [
        (3, (0, 1, 2)),
        ("3", (0, 1, 2)),
        ("3,7", (3, 7)),
        ("7-7", (7,)),
        ("10-12,2", (10, 11, 12, 2)),
        ([4], (4,)),
        ("7,", (7,)),
    ],
)
def test_seeds(value, seeds):
    assert read_seeds(value) == seeds


@pytest.mark.parametrize(
    "value", [0, -1, True, 1.5, "x", "3-1", "1,-2", "", [], [1.5], [True], None, 10**9, "0-999999999"]
)
def test_bad_seeds(value):
    with pytest.raises(SpecError, match="seeds="):
        read_seeds(value)


NUMERIC = [str(n) for n in range(30)]


@given(st.lists(st.sampled_from(NUMERIC)), st.tuples(st.integers(0, 29), st.integers(0, 29)).map(sorted))
def test_a_selection_keeps_the_benchmarks_order_and_has_nothing_twice(ids, ends):
    chosen = select([*ids, f"{ends[0]}-{ends[1]}"], NUMERIC)
    expected = set(ids) | set(NUMERIC[ends[0] : ends[1] + 1])
    assert list(chosen) == [name for name in NUMERIC if name in expected]
    assert select(list(reversed(chosen)), NUMERIC) == chosen


def test_a_selection_of_ids_that_are_no_numbers():
    known = ["base_1", "base_2", "1-2", "9"]
    assert select(["all"], known) == tuple(known)
    assert select(["1-2"], known) == ("1-2",)
    assert select(["base_2", "9"], known) == ("base_2", "9")


@pytest.mark.parametrize("name", ["30", "3-30", "9-3", "base", "-1", "1-"])
def test_an_unknown_task(name):
    with pytest.raises(UnknownNameError, match="unknown task="):
        select([name], NUMERIC)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agents": "naiv"}, "unknown agent='naiv'; did you mean 'naive'"),
        ({"modes": "injekt"}, "unknown mode='injekt'; did you mean 'inject'"),
        ({"agent": "naive"}, "unknown setting='agent'; did you mean 'agents'"),
        ({"profile": "seveer"}, "unknown profile='seveer'; did you mean 'severe'"),
        ({"effects": "requests"}, "unknown effects='requests'; did you mean 'request'"),
        ({"block": "first"}, "unknown block='first'"),
        ({"max-consecutive": 0}, "max_consecutive=0"),
        ({"budget": -1}, "budget=-1"),
        ({"clean-probability": 1.5}, "p=1.5"),
        ({"mix": "40/60/1"}, "mix=40/60/1 with sum 101"),
        ({"mix": "40/60"}, "mix='40/60'"),
        ({"profile": {"default": {"timeout": 0.5}}}, "sum to 1, got sum=0.5"),
        ({"profile": {"default": {"timeout": -0.5, "clean": 1.5}}}, "at least 0, got timeout=-0.5"),
        ({"profile": {"default": {"timeuot": 1}}}, "did you mean 'timeout'"),
        ({"profile": 3}, "profile=3"),
        ({"profile": "nowhere.toml"}, "file='nowhere.toml' .No such file"),
        ({"agents": []}, "at least one, got agents"),
        ({"agents": "naive,naive"}, "agents='naive,naive'"),
        ({"modes": [1]}, r"modes=\[1\]"),
        ({"max-steps": 0}, "max-steps=0"),
        ({"max-steps": "9"}, "max-steps='9'"),
        ({"benchmark": 3}, "benchmark=3"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(settings, message):
    with pytest.raises(UsageError, match=message) as caught:
        RunSpec.from_settings({"benchmark": "toy-library", **settings})
    assert "\n" not in str(caught.value)


def test_without_a_benchmark():
    with pytest.raises(SpecError, match="benchmark=None"):
        RunSpec.from_settings({})


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_a_profile_file_is_looked_for_beside_the_settings_that_name_it(tmp_path, kind):
    profile = {"default": {"clean": 0.5, "timeout": 0.5}}
    text = json.dumps(profile) if kind == "json" else "[default]\nclean = 0.5\ntimeout = 0.5\n"
    (tmp_path / f"mine.{kind}").write_text(text)
    settings = tmp_path / "run.toml"
    settings.write_text(f'benchmark = "toy-library"\nprofile = "mine.{kind}"\n')
    spec = RunSpec.from_settings(read_settings(settings))
    assert spec.injection.profile.for_tool("any")[NoiseType.TIMEOUT] == 0.5


@pytest.mark.parametrize(("name", "text"), [("a.toml", "benchmark ="), ("a.json", "{"), ("a.json", "[]")])
def test_a_file_that_cannot_be_read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(SpecError, match=rf"expected .* in file='.*{name}'"):
        RunSpec.from_settings({"benchmark": "toy-library", "profile": str(tmp_path / name)})


def test_a_profile_for_a_tool_that_does_not_exist():
    profile = NoiseProfile(tools={"get_loan": {NoiseType.CLEAN: 1.0}})
    with pytest.raises(UnknownNameError, match="unknown tool='get_loan'; did you mean 'get_loans'"):
        Schedule(RunSpec("toy-library", injection=InjectionSpec(profile)))


CHANGES = {
    "agents": ("naive",),
    "modes": (Mode.CLEAN,),
    "seeds": (3,),
    "tasks": ("1",),
    "injection": InjectionSpec(NoiseProfile.named("mild")),
    "scenarios": ScenarioSpec(Mix(100, 0, 0)),
    "max_steps": 41,
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_decides_the_results_changes_the_fingerprint(name):
    changed = replace(SPEC, **{name: CHANGES[name]})
    assert Schedule(changed).fingerprint != Schedule(SPEC).fingerprint


@pytest.mark.parametrize("what", ["package", "texts", "data"])
def test_versions_change_the_fingerprint(monkeypatch, what):
    before = Schedule(SPEC).fingerprint
    if what == "data":
        monkeypatch.setattr(Schedule(SPEC).benchmark, "version", "2.0", raising=False)
    else:
        monkeypatch.setattr(
            "bench2robust.evaluation.schedule." + {"package": "__version__", "texts": "TEXTS_VERSION"}[what],
            99,
        )
    assert Schedule(SPEC).fingerprint != before


def test_ways_to_write_the_same_run_have_one_fingerprint():
    shuffled = replace(SPEC, tasks=("5", "2", "1-1", "0", "1"))
    assert Schedule(shuffled).fingerprint == Schedule(SPEC).fingerprint
    everything = replace(SPEC, tasks=("all",))
    assert Schedule(everything).fingerprint == Schedule(replace(SPEC, tasks=("0-6",))).fingerprint
