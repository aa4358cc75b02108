"""The part of JSON Schema that tools use."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.schema import faults, misfits


def of(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (of(a={"type": "string"}), None),
        ({"type": "object", "properties": {}}, None),
        (of(a={"anyOf": [{"type": "string"}, {"type": "null"}]}), None),
        ({**of(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "string"}}}, None),
        (of(a={"$ref": "#/$defs/B"}), "parameters.a: nothing under $ref='#/$defs/B'"),
        ([], "expected the schema of an object, got []"),
        ({"type": "object"}, "expected properties, got None"),
        (of(a={"type": "float"}), "parameters.a: unknown type='float'"),
        (of(a={"type": "array", "items": {"type": "tuple"}}), "parameters.a.items: unknown type='tuple'"),
        (of(a={"enum": []}), "parameters.a: expected a list of values, got enum=[]"),
        (of(a="string"), "parameters.a: expected a schema, got 'string'"),
        ({**of(), "required": ["b"]}, "parameters: required='b' is no property"),
        (
            of(a={"default": {1, 2}}),
            "expected JSON, got an error: Object of type set is not JSON serializable",
        ),
    ],
)
def test_faults(schema, fault):
    assert list(faults(schema)) == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("schema", "value", "misfit"),
    [
        ({"type": "integer"}, 2, None),
        ({"type": "integer"}, 2.0, None),
        ({"type": "integer"}, 2.5, "expected integer, got 2.5"),
        ({"type": "integer"}, True, "expected integer, got True"),
        ({"type": "boolean"}, 1, "expected boolean, got 1"),
        ({"type": ["string", "null"]}, None, None),
        ({"type": ["string", "null"]}, 3, "expected string or null, got 3"),
        ({"enum": ["a", "b"]}, "c", "expected one of ['a', 'b'], got 'c'"),
        ({"const": 1}, 2, "expected 1, got 2"),
        ({"type": "integer", "minimum": 1}, 0, "expected at least 1, got 0"),
        ({"type": "integer", "maximum": 1}, 2, "expected at most 1, got 2"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1.5, "fits none of anyOf, got 1.5"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1, None),
        ({"allOf": [{"minimum": 2}, {"maximum": 3}]}, 4, "expected at most 3, got 4"),
        ({"type": "array", "items": {"type": "string"}}, ["a", "b"], None),
        ({}, {"anything": [1]}, None),
        (False, 1, "nothing fits, got 1"),
    ],
)
def test_misfits_of_one_argument(schema, value, misfit):
    expected = [f"arguments.a: {misfit}"] if misfit else []
    assert list(misfits({"a": value}, of(a=schema))) == expected


def test_misfits_of_items_and_objects_say_where():
    schema = of(a={"type": "array", "items": of(b={"type": "string"})})
    assert list(misfits({"a": [{"b": "x"}, {"b": 1}, {}]}, schema)) == [
        "arguments.a.1.b: expected string, got 1",
        "arguments.a.2: 'b' is missing",
    ]
    assert list(misfits({}, of(a={}))) == ["arguments: 'a' is missing"]
    assert list(misfits({"a": 1, "c": 1}, of(a={}))) == ["arguments: unknown 'c'"]
    assert list(misfits({"c": 1}, {"type": "object", "properties": {}, "additionalProperties": True})) == []
    typed = {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}
    assert list(misfits({"c": 1}, typed)) == ["arguments.c: expected string, got 1"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@settings(deadline=None)  # a busy machine is no fault
@given(JSON)
def test_every_value_has_a_type_that_it_fits(value):
    types = ("object", "array", "string", "integer", "number", "boolean", "null")
    fitting = [name for name in types if not list(misfits({"a": value}, of(a={"type": name})))]
    assert 1 <= len(fitting) <= 2
    assert len(fitting) == 1 or fitting == ["integer", "number"]
