"""Memory files: exact round trips, honest sources, and one line for everything that does not fit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.errors import MemoryFileError, SpecError, UnknownNameError
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.memory import Belief, Beliefs, Counts, Memory, Source

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
amounts = st.one_of(st.integers(0, 10**9).map(float), st.floats(0, 1e9))
believed = st.builds(Belief, amounts, amounts)
beliefs = st.builds(
    Beliefs,
    st.dictionaries(st.tuples(names, st.sampled_from(NOISE_TYPES)), believed, max_size=6),
    st.dictionaries(st.tuples(names, names), believed, max_size=4),
    st.one_of(st.just(0.0), st.floats(0.1, 50)),
)
run_sources = st.builds(
    Source,
    names,
    names.filter(bool),
    names,
    st.lists(names, max_size=2).map(tuple),
    st.lists(names, max_size=2).map(tuple),
    st.lists(st.integers(0, 9), max_size=3).map(tuple),
    st.integers(0, 1000),
    names,
)
sources = st.one_of(run_sources, st.builds(Source, names, episodes=st.integers(0, 99)))
memories = st.builds(
    Memory,
    names.filter(bool),
    beliefs,
    st.lists(sources, max_size=3).map(tuple),
    st.one_of(st.none(), st.floats(0.1, 1e6)),
)
TIMEOUT = {("get_order", NoiseType.TIMEOUT): Belief(3, 1)}


@given(memories)
def test_a_memory_comes_back_exactly(memory):
    again = Memory.from_dict(json.loads(json.dumps(memory.to_dict())))
    assert again == memory
    assert again.fingerprint == memory.fingerprint
    assert json.dumps(again.to_dict()) == json.dumps(memory.to_dict())


def test_a_file_comes_back_exactly_and_is_the_same_whatever_the_order(tmp_path):
    a, b = (Belief(1 / 3, 2e-9), Belief(5, 0))
    one = Memory("shop", Beliefs({("x", NoiseType.STALE): a, ("x", NoiseType.TIMEOUT): b}))
    two = Memory("shop", Beliefs({("x", NoiseType.TIMEOUT): b, ("x", NoiseType.STALE): a}))
    one.save(tmp_path / "one.json")
    two.save(str(tmp_path / "two.json"))
    assert Memory.load(tmp_path / "one.json") == one
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert '"timeout": [\n        5,\n        0\n' in (tmp_path / "one.json").read_text(), (
        "whole numbers are whole"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.json", "two.json"], "nothing half is left"


@given(memories)
def test_the_fingerprint_is_of_what_is_said_not_of_where_it_is_from(memory):
    assert Memory(memory.domain, memory.beliefs, (), memory.half_life).fingerprint == memory.fingerprint
    more = memory.updated(Counts(frozenset(TIMEOUT), passed=True))
    assert more.fingerprint != memory.fingerprint


def test_updating_ages_what_was_known_and_counts_a_wave_as_one_time():
    """With a half-life of 2, two episodes halve 3 + 1 to 1.5 + 0.5; then both count whole."""
    memory = Memory("shop", Beliefs(TIMEOUT), half_life=2.0)
    wave = (Counts(frozenset(TIMEOUT), passed=True), Counts(frozenset(TIMEOUT)))
    assert memory.updated(*wave).beliefs.of("get_order", "timeout") == Belief(2.5, 1.5)
    assert memory.updated(*wave) == memory.updated(*reversed(wave))
    assert memory.updated(*wave, source="live").sources == (Source("live", episodes=2),)
    assert memory.updated(*wave, source="live").updated(*wave, source="live").episodes == 4


def test_merging_adds_counts_and_keeps_every_source():
    a = Memory(
        "shop", Beliefs(TIMEOUT), (Source("b", "bench", agents=("x",), modes=("inject",), episodes=4),)
    )
    b = Memory(
        "shop", Beliefs(TIMEOUT), (Source("a", "bench", agents=("x",), modes=("inject",), episodes=5),)
    )
    assert a.merged(b) == b.merged(a)
    assert a.merged(b).beliefs.of("get_order", "timeout") == Belief(6, 2)
    assert [s.run for s in a.merged(b).sources] == ["a", "b"]
    assert a.merged(b).episodes == 9


def test_the_same_episodes_are_never_counted_twice():
    def of(agent, mode):
        return Memory("shop", sources=(Source("r", "bench", agents=(agent,), modes=(mode,), episodes=1),))

    assert of("x", "inject").merged(of("y", "inject")).episodes == 2
    assert of("x", "inject").merged(of("x", "inject_alt")).episodes == 2
    with pytest.raises(SpecError, match="expected each episode once, got run='r' in both memories"):
        of("x", "inject").merged(of("x", "inject"))
    live = Memory("shop", sources=(Source("store", episodes=3),))
    with pytest.raises(SpecError, match="expected each episode once, got run='store'"):
        live.merged(live)


def test_only_memories_that_go_together_are_merged():
    with pytest.raises(SpecError, match="expected memories of one domain, got domain='a' and domain='b'"):
        Memory("a").merged(Memory("b"))
    with pytest.raises(SpecError, match="expected memories of one half_life, got half_life=None"):
        Memory("a").merged(Memory("a", half_life=9))
    with pytest.raises(SpecError, match="expected beliefs pooled alike"):
        Memory("a").merged(Memory("a", Beliefs(pooling=2)))


def test_a_memory_knows_where_it_belongs():
    memory = Memory("shop", Beliefs(TIMEOUT, {("get_order", "find"): Belief(1)}))
    memory.check("shop", ("get_order", "find", "cancel"))
    memory.check("shop")
    with pytest.raises(SpecError, match="expected a memory of domain='library', got domain='shop'"):
        memory.check("library")
    with pytest.raises(UnknownNameError, match="unknown tool in the memory='find'; did you mean 'finds'"):
        memory.check("shop", ("get_order", "finds"))


GOOD = Memory("shop", Beliefs(TIMEOUT, {("get_order", "find"): Belief(1)})).to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "expected schema version 1, got schema=2; estimate the memory anew"),
        ({"domain": ""}, "expected the name of a domain, got domain=''"),
        ({"domain": 3}, "expected the name of a domain, got domain=3"),
        ({"erors": {}}, "unknown key='erors'; did you mean 'errors'?"),
        ({"errors": []}, r"expected a table, got errors=\[\]"),
        ({"errors": {"a": 3}}, "expected a table, got errors.a=3"),
        ({"errors": {"a": {"tiemout": [1, 1]}}}, "unknown error type='tiemout'; did you mean 'timeout'"),
        ({"errors": {"a": {"clean": [1, 1]}}}, "unknown error type='clean'"),
        ({"errors": {"a": {"timeout": [1]}}}, r"expected \[successes, failures\], got a.timeout=\[1\]"),
        (
            {"errors": {"a": {"timeout": [-1, 2]}}},
            "a.timeout: expected a number of episodes of at least 0, got suc",
        ),
        (
            {"errors": {"a": {"timeout": [1, float("nan")]}}},
            "a.timeout: expected a number .*, got failures=nan",
        ),
        (
            {"errors": {"a": {"timeout": [1, float("inf")]}}},
            "a.timeout: expected a number .*, got failures=inf",
        ),
        ({"errors": {"a": {"timeout": ["1", 2]}}}, "a.timeout: expected a number .*, got successes='1'"),
        ({"switches": {"a": {"b": {}}}}, r"expected \[successes, failures\], got a.b=\{\}"),
        ({"pooling": -1}, "expected a pooling strength of at least 0 episodes, got pooling=-1"),
        ({"half_life": 0}, "expected a half-life in episodes, above 0"),
        ({"sources": {}}, r"expected a list, got sources=\{\}"),
        ({"sources": [{"run": "x"}]}, "expected a source with run and episodes"),
        ({"sources": ["x"]}, "expected a source with run and episodes"),
    ],
)
def test_what_does_not_fit_is_one_line_that_names_the_file(tmp_path, change, message):
    file = tmp_path / "memory.json"
    file.write_text(json.dumps(GOOD | change))
    with pytest.raises(MemoryFileError, match=f"memory.json: .*{message}") as caught:
        Memory.load(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected JSON"),
        (b'{"schema": 1,', "expected JSON"),
        (b"\xff\xfe\x00", "expected JSON"),
        (b"[" * 100_000, "expected JSON"),
        (b"[]", "expected a memory"),
        (b'{"format": 1}', "expected a memory"),
        (b"SQLite format 3\0 but not really", "expected a store of beliefs"),
    ],
)
def test_what_is_no_memory_at_all(tmp_path, content, message):
    file = tmp_path / "memory.json"
    file.write_bytes(content)
    with pytest.raises(MemoryFileError, match=f"memory.json: {message}") as caught:
        Memory.load(file)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(MemoryFileError, match=r"expected a file that can be read \(No such file"):
        Memory.load(tmp_path / "none.json")
    with pytest.raises(MemoryFileError, match=r"expected a file that can be read \(Is a directory"):
        Memory.load(tmp_path)
    with pytest.raises(MemoryFileError, match=r"expected a file that can be written \(No such file"):
        Memory("shop").save(tmp_path / "none" / "memory.json")
