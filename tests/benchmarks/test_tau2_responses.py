"""Every response is the text that τ² gives, and the database is left as τ² leaves it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench2robust.benchmarks.tau2.environment import DomainEnvironment
from bench2robust.benchmarks.tau2.provider import retail_data
from bench2robust.benchmarks.tau2.store import Base
from bench2robust.core.tools import ToolCall

pytestmark = pytest.mark.tau2

GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.just(1.5),
    st.text(max_size=4),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=2), st.text(max_size=2), max_size=1),
)
EXPRESSIONS = ["2 + 2", "1/3", "1/0", "(1", "", "2 * 3.14159", "abc", "0012", "1 (2)", "5.", "- 1"]
ADDRESS = ("address1", "address2", "city", "state", "country", "zip")
ARGUMENTS = {
    "calculate": ("expression",),
    "cancel_pending_order": ("order_id", "reason"),
    "exchange_delivered_order_items": ("order_id", "item_ids", "new_item_ids", "payment_method_id"),
    "find_user_id_by_email": ("email",),
    "find_user_id_by_name_zip": ("first_name", "last_name", "zip"),
    "get_order_details": ("order_id",),
    "get_product_details": ("product_id",),
    "get_user_details": ("user_id",),
    "list_all_product_types": (),
    "modify_pending_order_address": ("order_id", *ADDRESS),
    "modify_pending_order_items": ("order_id", "item_ids", "new_item_ids", "payment_method_id"),
    "modify_pending_order_payment": ("order_id", "payment_method_id"),
    "modify_user_address": ("user_id", *ADDRESS),
    "return_delivered_order_items": ("order_id", "item_ids", "payment_method_id"),
    "transfer_to_human_agents": ("summary",),
}
USERS = ("yusuf_rossi_9620", "mei_kovacs_8020", "noah_brown_6181", "sofia_li_9219")


@st.composite
def calls(draw):
    """A call about one of a few users: mostly sensible arguments, now and then anything."""
    db = retail_data().db
    user = db["users"][draw(st.sampled_from(USERS))]
    order = db["orders"][draw(st.sampled_from(user["orders"]))]
    items = draw(st.lists(st.sampled_from(order["items"]), max_size=3))
    new = [draw(st.sampled_from(sorted(db["products"][i["product_id"]]["variants"]))) for i in items]
    sensible = {
        "order_id": order["order_id"],
        "user_id": user["user_id"],
        "product_id": order["items"][0]["product_id"],
        "item_ids": [i["item_id"] for i in items],
        "new_item_ids": new,
        "payment_method_id": draw(st.sampled_from(sorted(user["payment_methods"]))),
        "reason": draw(st.sampled_from(["no longer needed", "ordered by mistake", "changed my mind"])),
        "email": draw(st.sampled_from([user["email"], user["email"].upper()])),
        "first_name": user["name"]["first_name"],
        "last_name": user["name"]["last_name"].upper(),
        "zip": draw(st.sampled_from([user["address"]["zip"], "00000"])),
        "expression": draw(st.sampled_from(EXPRESSIONS)),
        "summary": "help",
        **{part: draw(st.sampled_from(["1 Main St", "", "CA"])) for part in ADDRESS[:-1]},
    }
    name = draw(st.sampled_from([*ARGUMENTS, "no_such_tool", "db"]))
    arguments = {key: sensible[key] for key in ARGUMENTS.get(name, ())}
    if draw(st.integers(0, 5)) == 0:
        spoilt = draw(st.sampled_from([*arguments, "extra", "self", "requestor", "tool_name"]))
        if spoilt in arguments and draw(st.booleans()):
            del arguments[spoilt]
        else:
            arguments[spoilt] = draw(GARBAGE)
    return ToolCall(name, arguments)


def test_every_gold_call_of_every_task_gets_the_same_text(bench, upstream):
    errors = 0
    for task in bench.tasks():
        ours, theirs = bench.open(task), upstream.open()
        for action in task.gold:
            answer = ours.call(action.call)
            assert (answer.text, answer.error) == upstream.respond(theirs, action.call)
            errors += answer.error
    assert errors == 23


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(calls(), min_size=1, max_size=12))
def test_any_calls_get_the_same_text_and_leave_the_same_database(bench, upstream, sequence):
    ours, theirs = bench.open(bench.tasks()[0]), upstream.open()
    for call in sequence:
        answer = ours.call(call)
        assert (answer.text, answer.error) == upstream.respond(theirs, call), call
    assert ours.changes() == upstream.changes(theirs)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(calls(), max_size=6), st.lists(calls(), max_size=6))
def test_two_episodes_do_not_see_each_other(bench, first, second):
    """Interleaved, each episode answers and ends as it does alone."""
    task = bench.tasks()[0]

    def alone(sequence):
        environment = bench.open(task)
        return [environment.call(call) for call in sequence], environment.changes()

    a, b = bench.open(task), bench.open(task)
    answers_a, answers_b = [], []
    for i in range(max(len(first), len(second))):
        answers_a += [a.call(call) for call in first[i : i + 1]]
        answers_b += [b.call(call) for call in second[i : i + 1]]
    assert (answers_a, a.changes()) == alone(first)
    assert (answers_b, b.changes()) == alone(second)


READS = [
    ToolCall("get_user_by_order", {"order_id": "#W2378156"}),
    ToolCall("get_order_details", {"order_id": "#W2378156"}),
    *(ToolCall("get_orders_for_user", {"user_id": user}) for user in USERS),
    *(ToolCall("get_user_details", {"user_id": user}) for user in USERS),
    ToolCall("find_user_id_by_name_zip", {"first_name": "yusuf", "last_name": "rossi", "zip": "19122"}),
    ToolCall("find_user_id_by_name_zip", {"first_name": "yusuf", "last_name": "rossi", "zip": "00000"}),
    ToolCall("check_order_item_availability", {"order_id": "#W2378156"}),
    ToolCall("search_product_by_name", {"name": "t-shirt"}),
    ToolCall("get_item_details", {"item_id": "4983901480"}),
]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(calls() | st.sampled_from(READS), max_size=10))
def test_a_remembered_answer_is_the_answer_of_a_world_without_memory(bench, sequence):
    """The process remembers answers to reads; an episode's own writes must show all the same."""
    task, shared = bench.tasks()[0], bench._shared
    ours = bench.open(task)
    plain = DomainEnvironment(shared, dict)
    for call in [*sequence, *READS]:
        forgetful = Base(shared.base.raw, shared.code.records)
        shared.base._answers, kept = forgetful._answers, shared.base._answers
        try:
            expected = plain.call(call)
        finally:
            shared.base._answers = kept
        assert ours.call(call) == expected, call


def test_an_alternative_tool_does_not_exist_where_there_are_none(bench):
    call = ToolCall("get_user_by_order", {"order_id": "#W2378156"})
    task = bench.tasks()[0]
    for _ in range(2):  # the second time the answers are remembered
        assert bench.open(task).call(call).text == "yusuf_rossi_9620"
        refused = bench.open(task, alternatives=False).call(call)
        assert (refused.text, refused.error) == ("Error: Tool 'get_user_by_order' not found.", True)
    item = ToolCall("get_item_details", {"item_id": "4983901480"})
    assert not bench.open(task, alternatives=False).call(item).error


def test_a_moved_user_is_found_at_the_new_zip_only(bench):
    """A search over all users depends on each of them, also when its answer is remembered."""
    moved = ToolCall(
        "modify_user_address",
        {"user_id": USERS[0], **dict.fromkeys(ADDRESS[:-1], ""), "zip": "00000"},
    )
    old, new = (call for call in READS if call.name == "find_user_id_by_name_zip")
    environment = bench.open(bench.tasks()[0])
    assert (environment.call(old).text, environment.call(new).error) == (USERS[0], True)
    assert not environment.call(moved).error
    assert (environment.call(old).error, environment.call(new).text) == (True, USERS[0])
    assert bench.open(bench.tasks()[0]).call(old).text == USERS[0]


def test_equal_values_of_different_types_are_different_questions(bench):
    environment = bench.open(bench.tasks()[0])
    for value, kind in ((1, "int"), (True, "bool"), (1.0, "float"), (1, "int")):
        answer = environment.call(ToolCall("find_user_id_by_email", {"email": value}))
        assert answer.text == f"Error: '{kind}' object has no attribute 'lower'"


def test_memory_is_bounded(bench, monkeypatch):
    from bench2robust.benchmarks.tau2 import store

    shared = bench._shared
    base = Base(shared.base.raw, shared.code.records)
    monkeypatch.setattr(store, "_MOST_ANSWERS", 3)
    world = store.World(base)
    for n in range(10):
        base.remember((n,), bench.open(bench.tasks()[0]).call(READS[0]), world)
    assert len(base._answers) == 3
