"""Copies, states and texts that are kept as bytes are the same as those made the long way."""

from __future__ import annotations

import json
import marshal
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.benchmarks.bfcl.world import Copy, Values, _Generator, _text, public

_SIMPLE = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False), st.text(max_size=3)
)
_LONG = st.lists(_SIMPLE, min_size=30, max_size=36)
_DATA = st.one_of(
    _SIMPLE, _LONG, st.dictionaries(st.text(max_size=2), st.lists(_SIMPLE, max_size=2), max_size=3)
)


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.text(max_size=3), _DATA, max_size=3))
def test_the_text_of_a_remembered_answer_is_jsons(result):
    for _ in range(2):
        assert _text(result) == json.dumps(result)


@settings(deadline=None, max_examples=40)
@given(_LONG)
def test_the_text_of_a_remembered_list_is_pythons(result):
    for _ in range(2):
        assert _text(result) == str(result)


@pytest.mark.parametrize("other", [1, True, 1.5, "1.0", -1.0])
def test_an_answer_that_has_changed_in_place_has_its_own_text(other):
    """Equal numbers of different types are different texts, too."""
    for kind in (lambda values: {"padding": values}, list):
        values = [1.0] * 1800
        before = _text(kind(values))
        values[900] = other
        after = _text(kind(values))
        assert after != before
        assert after == (json.dumps(kind(values)) if kind is not list else str(values))


def test_an_answer_that_holds_itself_is_printed_as_python_does():
    result = {"a": 1}
    result["self"] = result
    assert _text(result) == str(result)


@settings(deadline=None, max_examples=40)
@given(_DATA, _DATA)
def test_states_are_equal_exactly_when_their_values_are(first, second):
    kept = [Values(marshal.dumps(value, 2)) for value in (first, second)]
    assert (kept[0] == kept[1]) is (first == second)
    assert (kept[0] == second) is (first == second)
    assert kept[0] == Values(marshal.dumps(first, 2))


class Held:
    """Stands for an API class."""

    def __init__(self):
        shared = ["x"]
        self.first, self.second, self._private = shared, {"in": shared}, {1}
        self._random = random.Random(3)


def test_a_copy_shares_inside_itself_what_the_instance_does_and_nothing_with_it():
    held = Held()
    copy = Copy.of(held)
    one, two = copy.instance(), copy.instance()
    one.first.append("y")
    assert one.second == {"in": ["x", "y"]}
    assert two.first == held.first == ["x"]
    assert public(two) == public(held) != public(one)
    expected = [random.Random(3).random()]
    assert [one._random.random()] == [two._random.random()] == expected
    assert isinstance(one._random, _Generator)
