"""What agent and user are answered is what τ² answers, call by call, and both worlds stay the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.tools import ToolCall, ToolKind

pytestmark = pytest.mark.tau2

GOLDEN = Path(__file__).parents[2] / "golden"

IDS = {
    "customer_id": ["C1001", "C1002", "C1003", "C9"],
    "line_id": ["L1001", "L1002", "L1003", "L1009", "L9"],
    "bill_id": ["B1001", "B1002", "B1005", "B1234321"],
    "phone_number": ["555-123-2002", "555-123-1002", "555-0"],
    "full_name": ["John Smith", "john smith", "Nobody"],
    "dob": ["1985-06-15", "1990-11-22"],
    "id": ["C1001", "L1002", "D1001", "B1001", "P1002", "X1", "B1234321"],
    "gb_amount": [2.0, 0.5, 0, -1.0],
    "reason": ["lost"],
    "summary": ["help"],
    "limit": [1, 12],
    "mode": ["4g_5g_preferred", "2g_only", "9g"],
    "app_name": ["messaging", "browser", "none"],
    "permission": ["storage", "sms", "SMS", "magic"],
    "apn_settings": [{"apn_name": "internet"}, {"apn_name": "broken"}, {"apn_name": "x"}],
}


def parameters(bench):
    """Every tool with its parameters, and whether it is the user's."""
    agent = {spec.name: tuple(spec.parameters["properties"]) for spec in bench.tools(False)}
    return [
        *((name, names, False) for name, names in agent.items()),
        *((name, names, True) for name, names in bench._toolbox.phone.items()),
    ]


@st.composite
def calls(draw, tools):
    name, names, by_user = draw(st.sampled_from(tools))
    arguments = {key: draw(st.sampled_from(IDS[key])) for key in names}
    odd = draw(st.sampled_from([{}] * 8 + [{"requestor": "user"}, {"self": 1}, {"more": 2}]))
    wrong_side = draw(st.sampled_from([False] * 8 + [True]))
    return ToolCall(name, arguments | odd), by_user != wrong_side


def same(bench, upstream, task, sequence):
    ours, theirs = bench.open(task, alternatives=False), upstream.open(task)
    renamed = {}
    for call, by_user in sequence:
        mine = ours.act(call) if by_user else ours.call(call)
        expected = upstream.respond(theirs, call, by_user)
        for old, new in zip(theirs.tools.db.bills, ours._world.tools.db.bills, strict=True):
            renamed[old.bill_id] = new.bill_id
        text = expected.text
        for old, new in renamed.items():
            text = text.replace(old, new)
        assert (mine.text, mine.error) == (text, expected.error), (task.id, call)
    for kit in ("tools", "user_tools"):
        dump = getattr(theirs, kit).db.model_dump_json()
        for old, new in renamed.items():
            dump = dump.replace(old, new)
        assert getattr(ours._world, kit).db.model_dump_json() == dump


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_random_calls_are_answered_alike_and_change_the_same(bench, upstream, data):
    task = data.draw(st.sampled_from(bench.tasks()[::4]))
    same(bench, upstream, task, data.draw(st.lists(calls(parameters(bench)), max_size=12)))


def test_every_tool_on_every_argument(bench, upstream):
    """One after the other on one world that goes through all of it; each argument varied by itself."""
    sequence = []
    for name, names, by_user in parameters(bench):
        base = {key: IDS[key][0] for key in names}
        sequence.append((ToolCall(name, base), by_user))
        sequence += [(ToolCall(name, base | {k: v}), by_user) for k in names for v in IDS[k][1:]]
    same(bench, upstream, bench.tasks()[0], sequence)


def test_every_task_starts_as_in_tau2(bench, upstream):
    for task in bench.tasks()[::6]:
        same(bench, upstream, task, [])


def test_policy_and_tools_are_tau2s(bench, upstream):
    environment = upstream.construct()
    assert bench.policy(False) == environment.get_policy()
    theirs = [tool.openai_schema["function"] for tool in environment.get_tools()]
    assert [spec.openai()["function"] for spec in bench.tools(False)] == theirs
    assert {tool.name for tool in environment.get_user_tools()} == set(bench._toolbox.phone)
    assert len(bench.tools(False)) == 13
    assert len(bench._toolbox.phone) == 30


def test_kinds(bench):
    kinds = {spec.name: spec.kind for spec in bench.tools(True)}
    assert {name for name, kind in kinds.items() if kind is ToolKind.WRITE} == {
        "disable_roaming",
        "enable_roaming",
        "refuel_data",
        "resume_line",
        "send_payment_request",
        "suspend_line",
    }
    assert [n for n, kind in kinds.items() if kind is ToolKind.ESCALATION] == ["transfer_to_human_agents"]


def test_alternatives_as_an_agent_is_told_of_them(bench):
    added = [spec.openai() for spec in bench.tools(True) if spec.alternative]
    golden = json.loads((GOLDEN / "telecom_alternatives.json").read_text(encoding="utf-8"))
    assert {
        "tools": added,
        "addendum": bench.policy(True).removeprefix(bench.policy(False)).strip(),
    } == golden


def test_alternatives_exist_only_where_they_are_offered(bench):
    call = ToolCall("list_plans")
    task = bench.tasks()[0]
    assert bench.open(task, alternatives=False).call(call).text == "Error: Tool 'list_plans' not found."
    assert not bench.open(task, alternatives=True).call(call).error
    assert bench.open(task).call(ToolCall("get_line_by_phone", {"phone_number": "1"})).error


def test_the_agent_cannot_use_the_users_phone(bench):
    answer = bench.open(bench.tasks()[0]).call(ToolCall("toggle_data"))
    assert answer.text == "Error: Tool 'toggle_data' not found."
    assert answer.error


def test_equivalent_tools_give_the_same(bench):
    """What the domain file calls equivalent is so for every record of the database."""
    environment = bench.open(bench.tasks()[0])
    db = environment._world.tools.db

    def ask(name, **arguments):
        answer = environment.call(ToolCall(name, arguments))
        assert not answer.error, answer
        return json.loads(answer.text)

    for customer in db.customers:
        record = ask("get_customer_by_id", customer_id=customer.customer_id)
        assert record == ask("get_customer_by_phone", phone_number=customer.phone_number)
        assert record == ask("get_details_by_id", id=customer.customer_id)
        named = {"full_name": customer.full_name, "dob": customer.date_of_birth}
        assert [record] == ask("get_customer_by_name", **named)
        bills = ask("get_bills_for_customer", customer_id=customer.customer_id)
        single = [ask("get_details_by_id", id=bill_id) for bill_id in customer.bill_ids]
        key = lambda bill: bill["bill_id"]  # noqa: E731
        assert sorted(bills, key=key) == sorted(single, key=key)
        for line_id in customer.line_ids:
            line = ask("get_details_by_id", id=line_id)
            assert record == ask("get_customer_by_phone", phone_number=line["phone_number"])
            by_phone = ask("get_line_by_phone", phone_number=line["phone_number"])
            assert by_phone == {**line, "customer_id": customer.customer_id}
            plan = ask("get_details_by_id", id=line["plan_id"])
            assert plan in ask("list_plans")
            usage = ask("get_data_usage", customer_id=customer.customer_id, line_id=line_id)
            assert float(usage["data_used_gb"]) == line["data_used_gb"]
            assert float(usage["data_refueling_gb"]) == line["data_refueling_gb"]
            assert float(usage["data_limit_gb"]) == plan["data_limit_gb"]
