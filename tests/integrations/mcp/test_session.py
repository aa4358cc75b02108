"""One session, without any transport."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.domain import Domain, EquivalenceClass, Side
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.injection import InjectionSpec, Limits, NoiseProfile
from bench2robust.integrations.mcp import Form, Log, Move, ProxySpec, Session
from bench2robust.integrations.spec import FaultSpec


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def faults(*noise: NoiseType, **options: Any) -> FaultSpec:
    """Return faults that always happen, each of some types equally likely; none without any."""
    each = {one: 1 / len(noise) for one in noise} or {NoiseType.CLEAN: 1.0}
    return FaultSpec(InjectionSpec(NoiseProfile(each), Limits.unlimited()), **options)


def session(spec: FaultSpec | None = None, clock: Any = None, **options: Any) -> Session:
    return Session(ProxySpec(spec or faults(), **options), Log(), clock=clock or Clock())


def call(id_: Any, name: str = "get", **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def reply(id_: Any, text: str = "fine", **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": text}], **more}}


ids = st.integers() | st.text(max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
methods = st.sampled_from(("tools/call", "tools/list", "ping", "initialize", "notifications/progress", "x"))
anything = st.fixed_dictionaries(
    {}, optional={"id": ids | values, "method": methods, "params": values, "result": values, "error": values}
)


@given(st.lists(st.tuples(st.booleans(), anything)))
def test_without_faults_every_message_passes_as_the_object_that_came(messages: Any) -> None:
    """Whatever a client and a server say, sense or nonsense, goes through and is not touched."""
    one = session()
    for asked, message in messages:
        before = json.dumps(message)
        move = one.ask(message) if asked else one.answer(message)
        assert (move.to_server if asked else move.to_client) is message
        assert json.dumps(message) == before


@settings(max_examples=50)
@given(st.lists(st.sampled_from("acs"), min_size=1, max_size=40), st.sampled_from(list(Form)))
def test_with_faults_every_call_is_answered_once_or_cancelled(steps: list[str], form: Form) -> None:
    one = session(faults(*NOISE_TYPES, NoiseType.CLEAN), form=form)
    answered: list[int] = []
    open_: list[int] = []
    cancelled: set[int] = set()
    for n, step in enumerate(steps):
        if step == "c" and open_:
            id_ = open_.pop()
            cancelled.add(id_)
            params = {"requestId": id_}
            one.ask({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        elif step == "s" and open_:
            id_ = open_.pop(0)
            move = one.answer(reply(id_))
            assert move.to_client is not None
            answered.append(move.to_client["id"])
        else:
            move = one.ask(call(n))
            if move.to_server is None:
                answered.append(move.to_client["id"])  # type: ignore[index]
            else:
                open_.append(n)
    assert len(answered) == len(set(answered))
    assert not cancelled & set(answered)
    assert [error["id"] for error in one.lose("it is gone")] == open_
    assert one.lose("it is gone") == []


@pytest.mark.parametrize("noise", [n for n in NoiseType if n.observable])
def test_an_injected_failure_has_the_form_that_is_asked_for(noise: NoiseType) -> None:
    one = session(faults(noise))
    assert one.ask(call(1)).to_server == call(1)
    result = one.answer(reply(1, _meta={"trace": "kept"})).to_client["result"]  # type: ignore[index]
    assert result["isError"] is True
    assert result["_meta"] == {"trace": "kept"}
    assert "fine" not in result["content"][0]["text"] or noise is NoiseType.MALFORMED

    one = session(faults(noise), form=Form.ERROR)
    one.ask(call("a"))
    told = one.answer(reply("a")).to_client
    assert told is not None
    assert told["id"] == "a"
    assert told["error"]["code"] == (-32001 if noise is NoiseType.TIMEOUT else -32000)


def test_mixed_forms_are_both_used_and_are_the_same_each_time() -> None:
    def forms() -> list[bool]:
        one = session(faults(NoiseType.SERVER_ERROR), form=Form.MIXED)
        moves = []
        for n in range(40):
            one.ask(call(n))
            moves.append("error" in (one.answer(reply(n)).to_client or {}))
        return moves

    assert forms() == forms()
    assert 5 < sum(forms()) < 35  # by luck less than once in 10^5, and the seed is fixed


def test_a_hang_holds_the_answer_until_its_time_and_forgets_it_when_cancelled() -> None:
    one = session(faults(NoiseType.TIMEOUT), hang=30.0)
    for n in (1, 2):
        one.ask(call(n))
        assert one.answer(reply(n)).after == 30.0
    one.ask({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert one.release(("", 1)) is None
    assert one.release(("", 2)) is not None
    assert one.release(("", 2)) is None
    one = session(faults(NoiseType.TIMEOUT), hang=math.inf)
    one.ask(call(3))
    assert one.answer(reply(3)) == Move(after=math.inf)
    assert [error["id"] for error in one.lose("it died")] == [3]


def test_a_server_that_takes_too_long_is_an_error_unless_it_reports_progress() -> None:
    clock = Clock()
    one = session(clock=clock, timeout=10.0)
    slow = call(1)
    slow["params"]["_meta"] = {"progressToken": "t"}
    for message in (slow, call(2), {"jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen"}):
        one.ask(message)
    clock.now = 8.0
    one.answer({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "t"}})
    clock.now = 11.0
    (late,) = one.overdue()
    assert late.to_client["id"] == 2  # type: ignore[index]
    assert late.to_client["error"]["code"] == -32001  # type: ignore[index]
    assert late.to_server["params"]["requestId"] == 2  # type: ignore[index]
    assert one.answer(reply(2)) == Move(), "an answer after the error would be a second one"
    assert one.answer(reply(1)).to_client == reply(1)


def test_tasks_and_questions_back_are_no_answers_of_tools() -> None:
    one = session(faults(NoiseType.SERVER_ERROR))
    for n, result in enumerate(({"task": {"taskId": "7"}}, {"content": [], "resultType": "input_required"})):
        one.ask(call(n))
        message = {"jsonrpc": "2.0", "id": n, "result": result}
        assert one.answer(message).to_client is message


def test_scenario_s2_blocks_one_side_and_never_executes_it() -> None:
    """Over 40 tasks each of two sides is blocked at least once (by luck not once in 10^11)."""
    sides = (Side("one", ("get",)), Side("other", ("list", "find")))
    domain = Domain("shop", (EquivalenceClass("order", sides),))
    read = FaultSpec.read("none", 0, {"domain": domain, "scenario": "s2"})
    seen = set()
    for n in range(40):
        one = Session(ProxySpec(read, task=str(n)), Log())
        blocked = set()
        for name in ("get", "list", "find"):
            move = one.ask(call(name, name))
            if move.to_server is None:
                blocked.add(name)
                assert move.to_client["result"]["isError"] is True  # type: ignore[index]
                again = one.ask(call(name + "2", name)).to_client
                assert again["result"] == move.to_client["result"]  # type: ignore[index]
        seen.add(frozenset(blocked))
    assert seen == {frozenset({"get"}), frozenset({"list", "find"})}


def test_exempt_tools_are_never_touched() -> None:
    spec = ProxySpec(faults(NoiseType.SERVER_ERROR, blocked=frozenset({"reset"}))).exempting(
        frozenset({"reset"})
    )
    one = Session(spec, Log())
    assert one.ask(call(1, "reset")).to_server is not None
    assert one.answer(reply(1)).to_client == reply(1)


def test_a_name_that_is_not_on_the_list_gets_the_servers_own_error() -> None:
    one = session(faults(NoiseType.SERVER_ERROR))
    one.ask({"jsonrpc": "2.0", "id": 0, "method": "tools/list"})
    one.answer({"jsonrpc": "2.0", "id": 0, "result": {"tools": [{"name": "get", "inputSchema": {}}]}})
    one.ask(call(1, "got"))
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "unknown tool"}}
    assert one.answer(error).to_client is error
