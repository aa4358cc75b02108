"""Results as responses, and the copies of a value that a corruption changes together."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.domain import Domain
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import ToolCall, ToolSpec
from bench2robust.injection import InjectionSpec, Limits, NoiseProfile
from bench2robust.integrations.mcp.answers import corrupted, read_reply
from bench2robust.integrations.mcp.faults import McpInjector, Schemas


def result(*texts: str, structured: Any = None) -> dict[str, Any]:
    made: dict[str, Any] = {"content": [{"type": "text", "text": text} for text in texts]}
    return {"result": made if structured is None else {**made, "structuredContent": structured}}


def follow(message: dict[str, Any], change: Any) -> dict[str, Any] | None:
    """Corrupt a result by hand."""
    true = read_reply(message)
    assert true is not None
    return corrupted(true, json.dumps(change(json.loads(true.text))))


def test_a_copy_in_text_follows_and_keeps_its_spacing() -> None:
    value = {"price": 10, "name": "é"}
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, separators=(",", ":"))):
        new = follow(result(text, structured=value), lambda v: {**v, "price": 12})
        assert new is not None
        assert new["structuredContent"] == {"price": 12, "name": "é"}
        assert new["content"][0]["text"] == text.replace("10", "12")


def test_a_wrapped_list_with_a_block_for_each_element_follows() -> None:
    value = {"result": [{"n": 1}, {"n": 2}]}
    new = follow(result('{"n": 1}', '{"n": 2}', structured=value), lambda v: {"result": [{"n": 1}, {"n": 9}]})
    assert new is not None
    assert [block["text"] for block in new["content"]] == ['{"n": 1}', '{"n": 9}']


def test_prose_follows_where_it_names_the_value_once_and_else_nothing_lands() -> None:
    value = {"degrees": 33, "sky": "clear"}

    def change(v: Any) -> Any:
        return {**v, "degrees": 41}

    new = follow(result("It is 33 °C.", structured=value), change)
    assert new is not None
    assert new["content"][0]["text"] == "It is 41 °C."
    assert follow(result("It is 33 °C, feels like 33.", structured=value), change) is None
    assert follow(result("Done.", structured=value), change)["content"][0]["text"] == "Done."  # type: ignore[index]
    assert follow(result("Sky: clear", structured={"all": ["clear"]}), lambda v: {"all": []}) is None


def test_other_blocks_stay_as_they_are() -> None:
    message = result('{"n": 1}')
    message["result"]["content"].insert(0, {"type": "image", "data": "AA==", "mimeType": "image/png"})
    new = follow(message, lambda v: {"n": 2})
    assert new is not None
    assert new["content"] == [message["result"]["content"][0], {"type": "text", "text": '{"n": 2}'}]


SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 0, "maximum": 100},
        "state": {"enum": ["open", "closed"]},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
        "note": {"type": "string"},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "price": {"type": "number", "exclusiveMaximum": 1000},
                    "code": {"pattern": "^[A-Z]+$"},
                },
                "required": ["price"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["n", "state", "tags"],
    "additionalProperties": False,
}
rows = st.fixed_dictionaries(
    {"price": st.floats(0, 999, allow_nan=False)}, optional={"code": st.sampled_from(("A", "XYZ"))}
)
fitting = st.fixed_dictionaries(
    {
        "n": st.integers(0, 100),
        "state": st.sampled_from(("open", "closed")),
        "tags": st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=3),
    },
    optional={"note": st.text("xyz", max_size=4), "rows": st.lists(rows, max_size=3)},
)


@settings(max_examples=60, deadline=None)
@given(fitting, st.sampled_from([n for n in NoiseType if n.silent]), st.integers(0, 1000), st.booleans())
def test_what_is_corrupted_fits_the_output_schema_and_both_copies_agree(
    value: dict[str, Any], noise: NoiseType, seed: int, indented: bool
) -> None:
    schemas = Schemas()
    schemas.put("get", SCHEMA)
    injector = McpInjector(
        InjectionSpec(NoiseProfile({noise: 1.0}), Limits.unlimited()),
        seed,
        "task",
        domain=Domain("x", earlier={"closed": ("open",)}),
        tools=[ToolSpec("get", "", {})],
        schemas=schemas,
    )
    true = read_reply(result(json.dumps(value, indent=2 if indented else None), structured=value))
    assert true is not None
    delivered = injector.call(ToolCall("get"), lambda _: true)
    if injector.last().landed:
        new = corrupted(true, delivered.text)
        assert new is not None
        jsonschema.validate(new["structuredContent"], SCHEMA)
        assert new["structuredContent"] != value
        assert json.loads(new["content"][0]["text"]) == new["structuredContent"]


@pytest.mark.parametrize("noise", [NoiseType.PARTIAL, NoiseType.FACTUAL])
def test_corruptions_do_land_on_values_that_leave_room(noise: NoiseType) -> None:
    """A schema guard that refused everything would pass the property above."""
    schemas = Schemas()
    schemas.put("get", SCHEMA)
    spec = InjectionSpec(NoiseProfile({noise: 1.0}), Limits.unlimited())
    tools = [ToolSpec("get", "", {})]
    injector = McpInjector(spec, 0, "task", domain=Domain("x"), tools=tools, schemas=schemas)
    value = {"n": 50, "state": "open", "tags": ["a"], "note": "xyz", "rows": [{"price": 10.5}]}
    true = read_reply(result(structured=value))
    assert true is not None
    for _ in range(20):
        injector.call(ToolCall("get"), lambda _: true)
    assert all(record.landed for record in injector.records)


def test_nothing_lands_on_structured_content_before_the_tools_are_listed() -> None:
    spec = InjectionSpec(NoiseProfile({NoiseType.FACTUAL: 1.0}))
    tools = [ToolSpec("get", "", {})]
    injector = McpInjector(spec, 0, "task", domain=Domain("x"), tools=tools, schemas=Schemas())
    true = read_reply(result(structured={"n": 50}))
    assert true is not None
    assert injector.call(ToolCall("get"), lambda _: true) is true
