import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.domain import FieldRules
from bench2robust.core.noise import SILENT, NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.injection.corruption import corrupt

from .shop import DOMAIN, ORDER, ORDER_TEXT

PARTIAL, STALE, FACTUAL = NoiseType.PARTIAL, NoiseType.STALE, NoiseType.FACTUAL
seeds = st.integers()
names = st.sampled_from(["a", "b", "status", "price", "text"])
states = st.sampled_from(["pending", "processed", "delivered", "unknown"])
money = st.decimals(-5000, 5000, places=2).map(float)
others = st.booleans() | st.none() | st.sampled_from(["", "0123", "48.20", "x"])
leaves = states | money | st.integers() | others


def containers(inner):
    return st.lists(inner, min_size=1, max_size=4) | st.dictionaries(names, inner, min_size=1, max_size=4)


documents = containers(st.recursive(leaves, containers, max_leaves=12))


def paths(value, above=()):
    """Return every path of a JSON value, with ``*`` for the elements of lists."""
    keys = (
        value.items()
        if isinstance(value, dict)
        else [("*", v) for v in value]
        if isinstance(value, list)
        else ()
    )
    return {above}.union(*(paths(v, (*above, k)) for k, v in keys))


@st.composite
def cases(draw):
    """Return a document and rules that match in it, with a few that may not."""
    value = draw(documents)

    def patterns():
        chosen = draw(st.lists(st.sampled_from(sorted(paths(value))), min_size=1, max_size=6))
        wild = [tuple("*" if draw(st.booleans()) else k for k in path) for path in chosen]
        return tuple({".".join(path) or "$": None for path in (*chosen, *wild)})

    return value, FieldRules(patterns(), patterns(), patterns())


def run(noise, value, rule, seed=0):
    return corrupt(noise, json.dumps(value), rule, DOMAIN.earlier, Draws("corruption", seed))


def at(value, path):
    """Return what lies at a recorded path."""
    for key in [] if path == "$" else path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def put(value, path, new):
    if path == "$":
        return new
    *above, key = path.split(".")
    parent = at(value, ".".join(above) or "$")
    parent[int(key) if isinstance(parent, list) else key] = new
    return value


@given(cases(), seeds, st.sampled_from(SILENT))
def test_the_record_says_exactly_what_changed(case, seed, noise):
    text, rule = json.dumps(case[0]), case[1]
    found = corrupt(noise, text, rule, DOMAIN.earlier, Draws(seed))
    if found is None:
        return
    new, changed = found
    assert new != text
    assert changed
    assert len({c.path for c in changed}) == len(changed)
    expected = json.loads(text)
    for c in changed:
        assert c.true == at(json.loads(text), c.path)
        assert c.true != c.delivered
        assert type(c.true) is type(c.delivered)
        expected = put(expected, c.path, c.delivered)
    # Equal texts: key order, keys, types and separators are those of json.dumps.
    assert new == json.dumps(expected)
    assert found == corrupt(noise, text, rule, DOMAIN.earlier, Draws(seed))


@given(cases(), seeds)
def test_partial_empties_and_never_touches_a_state(case, seed):
    value, rule = case
    found = corrupt(PARTIAL, json.dumps(value), rule, DOMAIN.earlier, Draws(seed))
    places = [c.path for c in found[1]] if found else []
    for c in found[1] if found else ():
        assert c.delivered in ([], {}, "")
        assert not any(c.path.startswith(f"{other}.") for other in places)
    assert (
        corrupt(PARTIAL, json.dumps(value), FieldRules(rule.critical, rule.critical), {}, Draws(seed)) is None
    )


@given(cases(), seeds)
def test_stale_shows_an_earlier_state(case, seed):
    value, rule = case
    found = corrupt(STALE, json.dumps(value), rule, DOMAIN.earlier, Draws(seed))
    for c in found[1] if found else ():
        assert c.delivered in DOMAIN.earlier[c.true]


@given(cases(), seeds)
def test_factual_moves_numbers_by_10_to_25_percent(case, seed):
    value, rule = case
    found = corrupt(FACTUAL, json.dumps(value), rule, DOMAIN.earlier, Draws(seed))
    for c in found[1] if found else ():
        assert_perturbed(c.true, c.delivered)


def assert_perturbed(true, delivered):
    assert type(true) in (int, float)
    assert type(delivered) is type(true)
    assert Fraction(1, 10) <= abs(Fraction(repr(delivered)) / Fraction(repr(true)) - 1) <= 0.25
    assert decimals(true) == decimals(delivered)


def decimals(number):
    text = repr(number).partition("e")[0].partition(".")[2]
    return len(text)


@given(st.integers(-(10**12), 10**12) | st.decimals(-(10**6), 10**6, places=2).map(float), seeds)
def test_a_number_is_a_site_exactly_when_a_value_fits(number, seed):
    found = run(FACTUAL, {"n": number}, FieldRules(numeric=("n",)), seed)
    if found is not None:
        assert_perturbed(number, found[1][0].delivered)
        return
    # Exhaustive: no number with as many decimals lies 10-25 % away.
    unit = 10 ** decimals(number)
    n = abs(round(number * unit))
    assert n < 20
    fitting = [m for m in range(2 * n + 2) if n and 10 * n <= 100 * abs(m - n) <= 25 * n]
    assert [m for m in fitting if unit == 1 or m % 10] == []


@pytest.mark.parametrize(
    "number", [0, 0.0, 1, 2, 3, -3, 0.01, 0.02, math.inf, -math.inf, math.nan, True, None]
)
def test_what_is_no_number_that_can_move(number):
    assert run(FACTUAL, {"n": number}, FieldRules(numeric=("n",))) is None


def test_whole_amounts_stay_whole_and_small_ones_move_by_tenths():
    for seed in range(50):
        assert run(FACTUAL, [92.0], FieldRules(numeric=("*",)), seed)[1][0].delivered.is_integer()
        small = run(FACTUAL, [3.0], FieldRules(numeric=("*",)), seed)[1][0].delivered
        assert small in (2.3, 2.4, 2.5, 2.6, 2.7, 3.3, 3.4, 3.5, 3.6, 3.7)


def test_exponents_are_kept():
    for seed in range(20):
        assert_perturbed(1.5e-07, run(FACTUAL, [1.5e-07], FieldRules(numeric=("*",)), seed)[1][0].delivered)


def test_digit_strings_are_not_numbers():
    value = {"id": "6086499569", "zip": "80279", "price": "48.20"}
    assert run(FACTUAL, value, FieldRules(numeric=("id", "zip", "price", "*"))) is None


@pytest.mark.parametrize("text", ["139.84", "100.50", "7.0", "-12", "1250"])
def test_the_text_of_a_number_keeps_its_format(text):
    for seed in range(200):
        new, (field,) = corrupt(FACTUAL, text, FieldRules(numeric=("$",)), {}, Draws(seed))
        assert (field.path, field.true, field.delivered) == ("$", json.loads(text), json.loads(new))
        assert len(new.partition(".")[2]) == len(text.partition(".")[2])
        assert Fraction(1, 10) <= abs(Fraction(new) / Fraction(text) - 1) <= 0.25


@pytest.mark.parametrize(
    "text", ["sara_doe_496", "", "007", "1,234.5", "$12", "12 items", "NaN", "Error: no", "0"]
)
@pytest.mark.parametrize("noise", SILENT)
def test_other_texts_cannot_be_corrupted(noise, text):
    assert (
        corrupt(noise, text, FieldRules(("$", "*"), ("$", "*"), ("$", "*")), DOMAIN.earlier, Draws(0)) is None
    )


@pytest.mark.parametrize("noise", SILENT)
@pytest.mark.parametrize("text", ["{}", "[]", '{"a": 1', "[1, 2", "{a}"])
def test_nothing_to_corrupt(noise, text):
    assert corrupt(noise, text, ORDER, DOMAIN.earlier, Draws(0)) is None


def test_the_text_of_a_number_moves_only_where_the_rules_say_so():
    assert corrupt(FACTUAL, "139.84", ORDER, {}, Draws(0)) is None
    assert corrupt(PARTIAL, "139.84", FieldRules(numeric=("$",)), {}, Draws(0)) is None


def test_the_random_cases_reach_every_type():
    """Guards the properties above: one case in ten or more must be corrupted."""
    counts = dict.fromkeys(SILENT, 0)

    @settings(max_examples=100, database=None, derandomize=True)
    @given(cases())
    def count(case):
        for noise in SILENT:
            counts[noise] += run(noise, *case) is not None

    count()
    assert counts[PARTIAL] > 10
    assert counts[STALE] > 10
    assert counts[FACTUAL] > 10


def test_every_site_is_corrupted_sometimes_and_spared_sometimes():
    seen = {}
    for seed in range(300):
        for noise in SILENT:
            changed = corrupt(noise, ORDER_TEXT, ORDER, DOMAIN.earlier, Draws(seed))[1]
            for c in changed:
                seen.setdefault((noise, c.path), 0)
                seen[noise, c.path] += 1
    assert set(seen) == {
        (PARTIAL, "items"),
        (PARTIAL, "items.0.options"),
        (PARTIAL, "items.1.options"),
        (PARTIAL, "note"),
        (STALE, "status"),
        (FACTUAL, "items.0.price"),
        (FACTUAL, "items.1.price"),
        (FACTUAL, "total"),
    }
    assert all(count < 300 for key, count in seen.items() if key != (STALE, "status"))


def test_each_earlier_state_is_equally_likely():
    """Two-sided, 2000 draws of p = 1/2: outside 1000 ± 4 σ (89) once in 16,000 choices of the fixed seeds."""
    picked = [
        corrupt(STALE, ORDER_TEXT, ORDER, DOMAIN.earlier, Draws(s))[1][0].delivered for s in range(2000)
    ]
    assert abs(picked.count("pending") - 1000) <= 89
    assert set(picked) == {"pending", "processed"}


def test_up_and_down_are_equally_likely():
    """As above."""
    ups = sum(
        run(FACTUAL, [47.84], FieldRules(numeric=("*",)), s)[1][0].delivered > 47.84 for s in range(2000)
    )
    assert abs(ups - 1000) <= 89


def test_a_response_that_is_nothing_but_a_state_goes_stale():
    rules = FieldRules(state=("$",))
    text, changed = corrupt(STALE, "delivered", rules, DOMAIN.earlier, Draws(0))
    assert text in DOMAIN.earlier["delivered"]
    assert [(c.path, c.true, c.delivered) for c in changed] == [("$", "delivered", text)]
    assert corrupt(STALE, "delivered", FieldRules(state=("status",)), DOMAIN.earlier, Draws(0)) is None
    for unchanged in ("unknown", "pending", "12.5", ""):
        assert corrupt(STALE, unchanged, rules, DOMAIN.earlier, Draws(0)) is None
