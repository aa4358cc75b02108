"""The generator: any number of tasks, the same ones every time, of every kind."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from hashlib import blake2b

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark, helpdesk, task, tasks
from bench2robust.benchmarks.helpdesk.wishes import (
    CloseLowest,
    CostsUnder,
    MoreLeft,
    Order,
    Person,
    PriorityUnder,
    SetPriority,
    SetState,
    StateIs,
    TellHighest,
    TellPrice,
    TellTicket,
)
from bench2robust.core.errors import SpecError
from bench2robust.core.tools import ToolKind
from bench2robust.evaluation import certify

DIGEST = (
    "from bench2robust.benchmarks.helpdesk import tasks; from hashlib import blake2b;"
    "print(blake2b(repr(tasks(50, 7)).encode()).hexdigest())"
)


def test_the_same_seed_gives_the_same_bytes_in_every_process():
    here = blake2b(repr(tasks(50, 7)).encode()).hexdigest()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == here


@settings(deadline=None, max_examples=30)  # a busy machine is no fault
@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 3))
def test_fewer_tasks_are_the_first_of_more(n, m, seed):
    few, many = sorted((n, m))
    assert tasks(many, seed)[:few] == tasks(few, seed)
    assert len(tasks(few, seed)) == few


def test_other_seeds_give_other_tasks_with_other_ids():
    first, second = tasks(200, 0), tasks(200, 1)
    assert not {t.id for t in first} & {t.id for t in second}
    assert [t.id for t in first[:3]] == ["0", "1", "2"]
    assert [t.id for t in second[:3]] == ["1.0", "1.1", "1.2"]
    same = sum(a.instructions == b.instructions for a, b in zip(first, second, strict=True))
    assert same == 0
    assert len({(t.instructions, repr(t.data["world"])) for t in (*first, *second)}) == 400


def test_a_negative_count_is_refused():
    with pytest.raises(SpecError, match="n=-1"):
        tasks(-1)


def test_every_kind_of_wish_is_made_and_both_ways_of_every_condition_are_gold():
    seen: Counter[str] = Counter()
    for made in tasks(1000, 2):
        for wish in made.data["wishes"]:
            seen[type(wish.action).__name__] += 1
            seen[type(wish.condition).__name__] += 1
    kinds = (SetPriority, SetState, CloseLowest, Order, TellTicket, TellHighest, TellPrice, Person)
    conditions = (StateIs, PriorityUnder, CostsUnder, MoreLeft)
    assert all(seen[kind.__name__] >= 20 for kind in (*kinds, *conditions)), seen


def test_the_default_set_is_a_good_mix():
    benchmark = helpdesk()
    kinds = {tool.name: tool.kind for tool in benchmark.tools(alternatives=True)}
    made = benchmark.tasks()
    assert len(made) == 200
    writing = sum(any(kinds[a.call.name] is ToolKind.WRITE for a in t.gold) for t in made)
    telling, conditional = (
        sum(bool(t.tell) for t in made),
        sum(any(w.condition for w in t.data["wishes"]) for t in made),
    )
    assert 150 <= writing <= 190
    assert 60 <= telling <= 120
    assert 80 <= conditional <= 150
    assert 15 <= sum(t.script is not None for t in made) <= 50
    ways = Counter(t.instructions.split(".")[0].count(" is ") for t in made)
    assert ways[1] >= 60
    assert ways[2] >= 60
    assert any(a.call.name == "transfer_to_human" for t in made for a in t.gold)
    assert any(a.call.name == "add" for t in made for a in t.gold)
    assert 4 <= sum(len(t.gold) for t in made) / len(made) <= 5


def test_every_class_and_every_scenario_is_well_represented():
    found = certify("helpdesk").values()
    by_class = Counter(name for e in found for name, sides in e.sides.items() if len(sides) >= 2)
    assert all(by_class[name] >= 60 for name in ("identity", "ticket", "stock")), by_class
    assert sum(not e.s2 for e in found) >= 5
    assert 150 <= sum(bool(e.s3) for e in found) < 200


def test_another_size_and_seed_is_another_version():
    assert HelpdeskBenchmark(20, 3).version != helpdesk().version
    assert HelpdeskBenchmark(20, 3).tasks() == tasks(20, 3)
    assert task(4, 3) == tasks(20, 3)[4]
