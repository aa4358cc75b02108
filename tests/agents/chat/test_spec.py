"""Specs of chat models: what cannot be is said at once, in one line."""

from __future__ import annotations

import pytest

from bench2robust.agents.chat import ChatSpec, Prices, TextTools
from bench2robust.core.errors import SpecError, UnknownNameError


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": ""}, "expected the name of a model, got model=''"),
        ({"model": "litellm:"}, "got model='litellm:'"),
        ({"base_url": "localhost:8000"}, "such as http://localhost:8000/v1, got base-url='localhost:8000'"),
        ({"base_url": "http://"}, "got base-url='http://'"),
        ({"base_url": ""}, "got base-url=''"),
        ({"temperature": -1.0}, "got temperature=-1.0"),
        ({"temperature": float("nan")}, "got temperature=nan"),
        ({"max_tokens": 0}, "got max-tokens=0"),
        ({"timeout": 0.0}, "got timeout=0.0"),
        ({"extra_body": {"tools": []}}, "got extra-body key 'tools'"),
        ({"extra_body": {"x": object()}}, "expected JSON, got extra-body="),
    ],
)
def test_what_cannot_be(given, message):
    with pytest.raises(SpecError, match=message):
        ChatSpec(**{"model": "m", **given})


def test_unknown_text_tools():
    with pytest.raises(UnknownNameError, match="unknown text-tools='hermes'"):
        ChatSpec("m", text_tools="hermes")
    assert ChatSpec("m", text_tools=TextTools.ON).text_tools == "on"


def test_prices():
    assert Prices(2.0, 8.0).cost(500_000, 250_000) == 3.0
    with pytest.raises(SpecError, match="completion tokens, at least 0, got -1"):
        Prices(0.0, -1)


def test_what_decides_results_and_what_does_not():
    a = ChatSpec("m", "http://a/v1", timeout=1.0, stream=True, key_env="A")
    assert a.to_dict() == ChatSpec("m", "http://b/v1").to_dict()
    assert a.to_dict() != ChatSpec("m", temperature=0.5).to_dict()


def test_litellm_models():
    assert ChatSpec("litellm:bedrock/x").litellm == "bedrock/x"
    assert ChatSpec("m").litellm is None
