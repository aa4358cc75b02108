import pytest

from bench2robust.core.noise import NOISE_TYPES, OBSERVABLE, SILENT, NoiseType
from bench2robust.core.tools import CallRecord, ToolCall, ToolResponse, ToolSpec

OK, ERROR, LOST = (
    ToolResponse("ok"),
    ToolResponse("Error: no", error=True),
    ToolResponse("HTTP 500", error=True),
)
CALL = ToolCall("t")


def record(**changed):
    facts = {"true": OK, "delivered": OK, "drawn": NoiseType.CLEAN} | changed
    return CallRecord(index=0, call=CALL, ordinal=0, **facts)


def test_nine_noise_types_are_observable_or_silent_and_clean_is_neither():
    assert len(set(NOISE_TYPES)) == 9
    assert set(OBSERVABLE) == {noise for noise in NoiseType if noise.observable}
    assert set(SILENT) == {noise for noise in NoiseType if noise.silent}
    assert not NoiseType.CLEAN.observable
    assert not NoiseType.CLEAN.silent


@pytest.mark.parametrize(
    ("facts", "executed", "landed", "injected", "genuine_error", "answer_lost"),
    [
        ({}, True, False, False, False, False),
        ({"true": ERROR, "delivered": ERROR}, True, False, False, True, False),
        ({"delivered": LOST, "noise": NoiseType.SERVER_ERROR}, True, True, True, False, True),
        ({"true": ERROR, "delivered": LOST, "noise": NoiseType.SERVER_ERROR}, True, True, True, True, False),
        ({"true": None, "delivered": LOST, "noise": NoiseType.RATE_LIMIT}, False, True, True, False, False),
        ({"true": None, "delivered": LOST, "drawn": None, "blocked": True}, False, False, True, False, False),
        ({"noise": NoiseType.PARTIAL}, True, True, True, False, False),
    ],
)
def test_what_a_record_says(facts, executed, landed, injected, genuine_error, answer_lost):
    r = record(**facts)
    assert (r.executed, r.landed, r.injected, r.genuine_error, r.answer_lost) == (
        executed,
        landed,
        injected,
        genuine_error,
        answer_lost,
    )


def test_a_signature_ignores_the_order_of_arguments_only():
    assert ToolCall("t", {"a": 1, "b": [2]}).signature() == ToolCall("t", {"b": [2], "a": 1}).signature()
    assert ToolCall("t", {"a": 1}).signature() != ToolCall("t", {"a": "1"}).signature()
    assert ToolCall("t", {"a": 1}).signature() != ToolCall("u", {"a": 1}).signature()


def test_a_tool_as_openai_function():
    spec = ToolSpec("t", "Does it.", {"type": "object", "properties": {}})
    assert spec.openai() == {
        "type": "function",
        "function": {
            "name": "t",
            "description": "Does it.",
            "parameters": {"type": "object", "properties": {}},
        },
    }
