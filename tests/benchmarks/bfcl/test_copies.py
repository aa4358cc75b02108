"""Copies, states and texts that are kept as bytes are the same as those made the long way."""

from __future__ import annotations

import json
import marshal
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.benchmarks.bfcl.provider import padding
from bench2robust.benchmarks.bfcl.texts import answer, padded_answer
from bench2robust.benchmarks.bfcl.world import Copy, Values, _Generator, public

_SIMPLE = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False), st.text(max_size=3)
)
_LONG = st.lists(_SIMPLE, min_size=30, max_size=36)
_DATA = st.one_of(
    _SIMPLE, _LONG, st.dictionaries(st.text(max_size=2), st.lists(_SIMPLE, max_size=2), max_size=3)
)


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.text(max_size=3), _DATA, max_size=3))
def test_the_text_of_an_answer_is_jsons(result):
    assert answer(result).text == json.dumps(result)
    for _ in range(2):
        assert padded_answer(result) == answer(result)


@settings(deadline=None, max_examples=40)
@given(_LONG)
def test_the_text_of_a_list_is_pythons(result):
    assert answer(result).text == str(result)
    for _ in range(2):
        assert padded_answer(result) == answer(result)


@pytest.mark.bfcl
@pytest.mark.parametrize("before", [[], ["AAPL"], ["Zeta", "XTC", "AMZN"], [1.5]])
def test_the_text_of_padding_is_that_of_any_other_list(before):
    for value in padding():
        same = value if isinstance(value, str) else [*before, *value]
        for result in ({"a": 1, "b": value, "c": same}, {3: same}, same):
            for _ in range(2):
                assert padded_answer(result) == answer(result)


@pytest.mark.bfcl
def test_a_list_that_only_looks_padded_has_its_own_text():
    for value in (value for value in padding() if isinstance(value, list)):
        for other in (value[:-1], value[1:], value[-1:] * len(value), ["x", *value[1:]], [*value, *value]):
            assert padded_answer(other) == answer(other)
            assert padded_answer({"a": other}) == answer({"a": other})


@pytest.mark.parametrize("other", [1, True, 1.5, "1.0", -1.0])
def test_an_answer_that_has_changed_in_place_has_its_own_text(other):
    """Equal numbers of different types are different texts, too."""
    for kind in (lambda values: {"padding": values}, list):
        values = [1.0] * 1800
        before = padded_answer(kind(values)).text
        values[900] = other
        after = padded_answer(kind(values)).text
        assert after != before
        assert after == (json.dumps(kind(values)) if kind is not list else str(values))


@pytest.mark.parametrize("large", [{}, {"large": list(range(20))}])
def test_an_answer_that_holds_itself_or_more_than_data_is_printed_as_python_does(large):
    for member in (Held(), {1, 2}, ...):
        for result in ({**large, "a": member}, {"a": [member] * 20}, [member] * 20):
            assert padded_answer(result).text == answer(result).text == str(result)
    result = {"a": 1, **large}
    result["self"] = result
    assert padded_answer(result).text == answer(result).text == str(result)


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
