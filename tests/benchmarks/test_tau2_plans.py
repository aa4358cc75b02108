"""Intent plans of τ² retail: they reproduce gold, hold no ids, keep branches, and can be misled."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from functools import cache

import pytest

from bench2robust.benchmarks.tau2 import retail
from bench2robust.benchmarks.tau2.plan.branches import Costs, InStock, TotalFits
from bench2robust.benchmarks.tau2.plan.compiler import canonical
from bench2robust.benchmarks.tau2.plan.goals import Change, TellGoal, WriteGoal
from bench2robust.benchmarks.tau2.plan.stock import OneOf, Prefer, PriceBound, Step
from bench2robust.benchmarks.tau2.plan.truth import Truth, who
from bench2robust.benchmarks.tau2.plan.words import Words, normal, scale
from bench2robust.benchmarks.tau2.plan.world import (
    Known,
    World,
    items,
    order_doubts,
    product_doubts,
    user_doubts,
)
from bench2robust.benchmarks.tau2.provider import retail_data
from bench2robust.core.episode import Task
from bench2robust.core.noise import NoiseType
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolKind

from .playing import Played, play

pytestmark = pytest.mark.tau2

if importlib.util.find_spec("tau2") is None:
    pytest.skip("needs the tau2 wheel: run `b2r setup tau2`", allow_module_level=True)

WRITES = {t.name for t in retail().tools(True) if t.kind is ToolKind.WRITE}
TASKS = {task.id: task for task in retail().tasks()}


def plan(task_id: str) -> Plan:
    return retail().plan(TASKS[task_id])


def wishes(task_id: str, kind: type) -> list[object]:
    return [g.wish for g in plan(task_id).goals if isinstance(g, WriteGoal) and isinstance(g.wish, kind)]


def conditions(task_id: str) -> list[object]:
    return [c for w in wishes(task_id, Change) for s in w.swaps for c in s.new.conditions]


def effective_gold(task: Task) -> list[str]:
    env = retail().open(task)
    return sorted(
        canonical(a.call) for a in task.gold if not env.call(a.call).error and a.call.name in WRITES
    )


def writes(played: Played) -> list[str]:
    return sorted(canonical(r.call) for r in played.records if r.call.name in WRITES)


@cache
def clean(task_id: str) -> Played:
    return play(TASKS[task_id], "naive")


@pytest.mark.parametrize("task_id", TASKS)
def test_on_pristine_data_a_plan_writes_what_gold_writes_and_tells_what_gold_tells(task_id: str) -> None:
    played = clean(task_id)
    assert writes(played) == effective_gold(TASKS[task_id])
    assert played.score.passed


@pytest.mark.parametrize(
    ("blocked", "lost"),
    [
        ({"get_order_details"}, set()),
        ({"get_orders_for_user", "check_order_item_availability"}, set()),
        ({"get_product_details", "check_order_item_availability", "get_item_by_product_options"}, set()),
        # The T-shirt whose price this user asks for is in none of her orders.
        ({"get_product_details", "search_product_by_name", "get_item_by_product_options"}, {"39"}),
        ({"get_order_details", "get_product_details", "search_product_by_name"}, {"39"}),
    ],
)
def test_a_plan_finds_the_same_by_other_routes(blocked: set[str], lost: set[str]) -> None:
    """Identity is left alone here: most users know one way to say who they are."""
    runs = {
        t: play(TASKS[t], "omniscient", alternatives=True, blocked=frozenset(blocked)).score for t in TASKS
    }
    assert {t for t, score in runs.items() if not score.passed} == lost


@pytest.mark.parametrize("task_id", TASKS)
def test_a_plan_holds_no_id_and_no_amount_that_the_user_did_not_say(task_id: str) -> None:
    """Nowhere: not in goals, notes or lists. A handover's summary is gold's, and is not an argument."""
    whole = plan(task_id)
    text = repr([g for g in whole.goals if isinstance(g, WriteGoal | TellGoal)])
    text += repr(whole.ungrounded) + repr(whole.notes)
    said = TASKS[task_id].instructions
    db = retail_data().db
    for order_id in re.findall(r"W\d{7}", text):
        assert order_id.lstrip("W") in said
    for number in re.findall(r"(?<!\d)\d{10}(?!\d)", text):
        assert number in said
    assert not re.findall(r"(?:credit_card|gift_card|paypal)_\d+", text)
    assert not [u for u in re.findall(r"[a-z]+_[a-z]+_\d{4}", text) if u in db["users"]]
    for amount in re.findall(r"\d+\.\d+", text):
        assert f"{float(amount):g}" in said.replace(",", "")


def test_the_only_statuses_in_a_plan_are_the_ones_a_tool_demands_or_the_user_names() -> None:
    """What a tool demands (pending, delivered) narrows the search; the delivered status still decides."""
    for task_id, task in TASKS.items():
        for status in re.findall(r"HasStatus\(status='([^']+)'", repr(plan(task_id).goals)):
            assert status in ("pending", "delivered") or status in task.instructions


def test_a_plan_says_how_the_user_can_be_identified_only_by_what_the_user_says() -> None:
    for task in TASKS.values():
        words = Words(task.instructions)
        for goal in retail().plan(task).goals:
            known = getattr(goal, "known", Known())
            assert not known.email or known.email.lower() in task.instructions.lower()
            assert not known.zip or words.has(known.zip)


def test_told_values_all_have_an_expression_and_arguments_without_a_cue_are_listed() -> None:
    lost = {t: n for t in TASKS for n in plan(t).notes if "no expression" in n}
    assert lost == {}
    unsaid_reasons = ("30", "31", "32", "38", "54", "55", "59", "66", "69")
    assert {t: plan(t).ungrounded for t in TASKS if plan(t).ungrounded} == {
        "0": ("exchange_delivered_order_items.new_item_ids",),
        "1": ("exchange_delivered_order_items.new_item_ids",),
        "24": ("tell.0",),
        "64": ("modify_pending_order_items.new_item_ids",),
        "67": ("tell.0",),
        "68": ("tell.0",),
        "100": ("modify_pending_order_items.payment_method_id",),
        **dict.fromkeys(unsaid_reasons, ("cancel_pending_order.reason",)),
    }


def test_gold_calls_that_genuinely_error_are_left_out_and_named() -> None:
    noted = {t: sum("genuinely errors" in n for n in plan(t).notes) for t in TASKS}
    assert sum(noted.values()) == 23
    assert noted["64"] == 1


def test_branches_are_kept() -> None:
    guards = {
        t: [type(g) for goal in plan(t).goals if isinstance(goal, WriteGoal) for g in goal.guards]
        for t in TASKS
    }
    assert {t: g for t, g in guards.items() if g} == {
        "30": [InStock], "36": [TotalFits], "37": [TotalFits], "38": [TotalFits], "54": [InStock],
        "63": [Costs], "76": [InStock], "88": [InStock], "89": [Costs], "90": [Costs], "91": [InStock],
    }  # fmt: skip


def test_lists_of_wishes_keep_their_order() -> None:
    assert Prefer("power source", ("battery", "USB", "AC adapter")) in conditions("6")
    assert Prefer("power source", ("AC adapter", "battery", "USB")) in conditions("7")
    assert Step("brightness", up=False) in conditions("7")
    assert OneOf("pressure", ("8 bar", "9 bar", "7 bar")) in conditions("58")
    assert Prefer("processor", ("i5", "i7")) in conditions("35")
    assert PriceBound() in conditions("60")


MISLED: list[tuple[NoiseType, str, Callable[[Played, Played], bool]]] = [
    # An emptied tablet order hides the dearer tablet: the other one is returned.
    (NoiseType.PARTIAL, "83", lambda clean, got: bool(set(writes(got)) - set(writes(clean)))),
    # An emptied payment history of a cancelled order: every write is right, the told refund is not.
    (NoiseType.PARTIAL, "16", lambda clean, got: writes(got) == writes(clean) and got.said != clean.said),
    # A delivered order looks pending: "cancel all pending orders" sweeps it in.
    (NoiseType.STALE, "113", lambda clean, got: len(writes(got)) > len(writes(clean))),
    # A delivered order looks pending: modify instead of exchange.
    (NoiseType.STALE, "0", lambda clean, got: "modify_pending_order_items" in str(writes(got))),
    # A price moves: another variant is the cheapest.
    (NoiseType.FACTUAL, "44", lambda clean, got: bool(set(writes(got)) - set(writes(clean)))),
    # A price moves: the total no longer fits the budget, so the order is cancelled.
    (NoiseType.FACTUAL, "36", lambda clean, got: "cancel_pending_order" in str(writes(got))),
    # A price moves: the writes are right, the told amount is not.
    (NoiseType.FACTUAL, "60", lambda clean, got: writes(got) == writes(clean) and got.said != clean.said),
]


@pytest.mark.parametrize(("noise", "task_id", "changed"), MISLED)
def test_a_silent_corruption_misleads_a_plan(
    noise: NoiseType, task_id: str, changed: Callable[[Played, Played], bool]
) -> None:
    """Some of 20 seeds has it; the clean episode and the seeds in which nothing landed do not."""
    clean_run = clean(task_id)
    runs = [play(TASKS[task_id], "naive", noise=noise, seed=seed) for seed in range(20)]
    misled = [run for run in runs if changed(clean_run, run)]
    assert misled
    assert all(any(r.noise is noise and r.corrupted for r in run.records) for run in misled)
    assert not changed(clean_run, clean_run)
    if (noise, task_id) != (NoiseType.STALE, "113"):  # there the tool itself refuses the extra write
        assert any(not run.score.passed for run in misled)


def test_doubts_are_never_raised_by_pristine_data() -> None:
    db = retail_data().db
    assert [o for o in db["orders"] if order_doubts(db["orders"][o])] == []
    assert [p for p in db["products"] if product_doubts(db["products"][p])] == []
    buyers = {o["user_id"] for o in db["orders"].values()}
    assert [u for u in buyers if user_doubts(db["users"][u])] == []


def test_doubts_see_a_changed_price_and_a_status_that_contradicts_the_shipment() -> None:
    order = next(o for o in retail_data().db["orders"].values() if o["status"] == "delivered")
    dearer = {**order, "items": [{**i, "price": round(i["price"] * 1.2, 2)} for i in order["items"]]}
    assert order_doubts(dearer) == "prices do not add up to the payment"
    assert order_doubts({**order, "status": "pending"}) == "status and fulfilments disagree"
    assert order_doubts({**order, "items": []}) is not None


def test_the_compiler_finds_the_user_of_every_task_with_something_to_do() -> None:
    db = retail_data().db
    for task in TASKS.values():
        user = who(db, Words(task.instructions), [(a.call.name, a.call.arguments) for a in task.gold])
        if effective_gold(task) or task.tell:
            assert user is not None
            assert World(Known(), Truth(db, user)).orders()


def test_words_find_what_is_said_and_not_more() -> None:
    words = Words("Exchange the T-Shirt for an S size, v-neck one, waterproof, 500ml; not the two-piece set.")
    assert words.option("size", "S") >= 0
    assert words.option("style", "v-neck") >= 0
    assert words.option("capacity", "500ml") >= 0
    assert words.option("piece count", "2-piece") >= 0
    assert words.option("waterproof", "yes") >= 0
    assert words.option("waterproof", "no") < 0
    assert words.option("capacity", "1000ml") < 0
    assert words.product("T-Shirt")
    assert not words.product("Tablet")


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("S", "M"),
        ("medium", "large"),
        ("low", "medium"),
        ("256GB SSD", "1TB SSD"),
        ("i5", "i7"),
        ("3x", "10x"),
    ],
)
def test_scales_order_option_values(low: str, high: str) -> None:
    below, above = scale(low), scale(high)
    assert below is not None
    assert above is not None
    assert below[0] == above[0]
    assert below[1] < above[1]


def test_values_without_an_order_have_no_scale() -> None:
    assert scale("black") is None
    assert normal("Wi-Fi") == ["wifi"]
    assert items({}) == []
