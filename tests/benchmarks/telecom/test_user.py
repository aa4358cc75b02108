"""The user with the phone: does what is written as a call, and nothing else."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.benchmarks.tau2.telecom.user import (
    NOTHING_TO_ADD,
    PhoneUser,
    read_arguments,
    written_calls,
)
from bench2robust.core.episode import Answer, Script
from bench2robust.core.tools import ToolCall, ToolResponse

TOOLS = {"toggle_data": (), "check_app_status": ("app_name",), "grant": ("app_name", "permission")}
SCRIPT = Script("My phone is broken.", (Answer(("refuel",), "2 GB, please."),))

TEXT = st.text(max_size=8) | st.sampled_from(["(", ")", "\\", '"', "toggle_data()", "it's"])


def user():
    made = []

    def act(call):
        made.append(call)
        return ToolResponse(f"done {len(made)}")

    return PhoneUser(SCRIPT, TOOLS, act), made


def test_the_opening():
    assert user()[0].reply(None) == "My phone is broken."


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("Please run toggle_data().", [("toggle_data", {})]),
        ("First check_app_status(app_name='messaging'), then toggle_data()!", [
            ("check_app_status", {"app_name": "messaging"}), ("toggle_data", {})]),
        ('`grant("messaging", permission="sms")`', [("grant", {"app_name": "messaging", "permission": "sms"})]),
        ("toggle_data() toggle_data()", [("toggle_data", {}), ("toggle_data", {})]),
        ("reboot() and retoggle_data() are not yours", []),
        ("toggle_data( is not closed", []),
        ("check_app_status(app_name=open('x'))", []),
        ("check_app_status('a', 'b')", []),
    ],
)  # fmt: skip
def test_calls_that_are_done(said, calls):
    person, made = user()
    person.reply(said)
    assert [(call.name, call.arguments) for call in made] == calls


def test_the_reply_is_what_each_showed():
    assert user()[0].reply("toggle_data() and check_app_status('x')") == (
        "toggle_data: done 1\ncheck_app_status: done 2"
    )


def test_what_is_not_understood_is_said_and_not_done():
    person, made = user()
    assert person.reply("check_app_status(app_name: messaging)") == (
        "check_app_status: I do not understand (app_name: messaging)."
    )
    assert not made


def test_a_tool_that_is_only_mentioned_is_not_used():
    person, made = user()
    assert person.reply("You could toggle_data some day.") == (
        "Please write what I should do as a call, for example toggle_data()."
    )
    assert not made


def test_an_answer_is_given_once():
    person, _ = user()
    assert person.reply("How much do you want to Refuel?") == "2 GB, please."
    assert person.reply("How much do you want to refuel?") == NOTHING_TO_ADD


@given(st.dictionaries(st.sampled_from(["app_name", "permission"]), TEXT, min_size=1))
def test_a_signature_is_read_back(arguments):
    call = ToolCall("grant", arguments)
    ((name, text),) = written_calls(f"Please do {call.signature()}.", TOOLS)
    assert (name, read_arguments(text, TOOLS["grant"])) == ("grant", arguments)


@given(st.text(max_size=40))
def test_no_words_break_the_user(text):
    person, made = user()
    for said in (text, f"toggle_data({text})", f"grant({text}, {json.dumps(text)})"):
        assert isinstance(person.reply(said), str)
    assert all(call.name in TOOLS for call in made)
