"""What servers say, and what it means. The texts are those of real servers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bench2robust.agents.chat.failures import Kind, classify
from bench2robust.agents.chat.reply import Unreadable


class Status(Exception):
    def __init__(self, status, said, headers=None, code=None):
        super().__init__(said)
        self.status_code = status
        self.body = {"message": said, "code": code} if said else None
        self.response = SimpleNamespace(headers=headers or {})


class APIConnectionError(Exception):
    pass


class APITimeoutError(APIConnectionError):
    pass


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (429, "Rate limit reached for gpt-4o in organization x on tokens per min", Kind.RETRY),
        (429, "You exceeded your current quota, please check your plan and billing details.", Kind.NO_MONEY),
        (402, "Insufficient credits", Kind.NO_MONEY),
        (500, "Internal Server Error", Kind.RETRY),
        (502, "", Kind.RETRY),
        (503, "The server is overloaded", Kind.RETRY),
        (529, "Overloaded", Kind.RETRY),
        (408, "", Kind.RETRY),
        (409, "", Kind.RETRY),
        (401, "Incorrect API key provided: sk-x.", Kind.NO_KEY),
        (403, "Country not supported", Kind.NO_KEY),
        (404, "The model `gpt-9` does not exist or you do not have access to it.", Kind.NO_MODEL),
        (405, "Method Not Allowed", Kind.NO_MODEL),
        # vLLM
        (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4900 in the "
              "messages, 100 in the completion). Please reduce the length of the messages or completion.",
         Kind.CONTEXT),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', Kind.NO_PARSER),
        # SGLang
        (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens).", Kind.CONTEXT),
        (400, "Requested token count exceeds the model's maximum context length of 4096 tokens.", Kind.CONTEXT),
        # llama.cpp
        (400, "the request exceeds the available context size. try increasing the context size", Kind.CONTEXT),
        (500, "tools param requires --jinja flag", Kind.NO_PARSER),
        # Bedrock, Anthropic gateways
        (400, "Input is too long for requested model.", Kind.CONTEXT),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", Kind.CONTEXT),
        (413, "Request Entity Too Large", Kind.CONTEXT),
        # Ollama
        (400, "registry.ollama.ai/library/gemma:2b does not support tools", Kind.NO_TOOLS),
        (400, "Unrecognized request argument supplied: tools", Kind.NO_TOOLS),
        # Azure
        (400, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
         Kind.LOST),
        (400, "Your request was rejected as a result of our safety system.", Kind.LOST),
        (400, "Unsupported parameter: 'max_tokens' is not supported with this model.", Kind.REFUSED),
        (422, "Input should be a valid dictionary", Kind.REFUSED),
        (400, "Conversation roles must alternate user/assistant/user/assistant/...", Kind.REFUSED),
    ],
)  # fmt: skip
def test_by_status_and_words(status, said, kind):
    assert classify(Status(status, said), 0.0).kind is kind


def test_a_code_counts_as_words():
    assert classify(Status(400, "Too long.", code="context_length_exceeded"), 0.0).kind is Kind.CONTEXT
    assert classify(Status(429, "No.", code="insufficient_quota"), 0.0).kind is Kind.NO_MONEY


def test_only_overload_is_throttling():
    assert [classify(Status(s, ""), 0.0).throttled for s in (429, 503, 529, 500, 401)] == [True] * 3 + [
        False
    ] * 2


def test_the_time_asked_for():
    assert classify(Status(429, "", {"retry-after": "7"}), 0.0).asked == 7.0
    assert classify(Status(429, ""), 0.0).asked is None


def test_nobody_answered():
    error = APIConnectionError("Connection error.")
    error.__cause__ = OSError("All connection attempts failed")
    failure = classify(error, 0.0)
    assert (failure.kind, failure.reached) == (Kind.RETRY, False)
    assert failure.text == "All connection attempts failed"


@pytest.mark.parametrize("error", [TimeoutError(), APITimeoutError("x")])
def test_no_answer_in_time(error):
    failure = classify(error, 0.0)
    assert (failure.kind, failure.text, failure.reached) == (Kind.RETRY, "no answer in time", True)


def test_half_an_answer_and_errors_in_a_stream():
    assert classify(Unreadable("half"), 0.0).kind is Kind.RETRY
    event = Exception("x")
    event.body = {"code": 400, "message": "maximum context length"}
    assert classify(event, 0.0).kind is Kind.CONTEXT
    event.body = {"code": "server_error", "message": "x"}
    assert classify(event, 0.0).kind is Kind.RETRY


def test_texts_are_one_line():
    failure = classify(Status(400, "a\nb" * 500), 0.0)
    assert "\n" not in failure.text
    assert len(failure.text) < 320
