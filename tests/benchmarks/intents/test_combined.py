"""The split of combined-retail, and the guard of what is held out."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.benchmarks.intents import combined
from bench2robust.core.episode import Action, Task
from bench2robust.core.errors import BenchmarkError, UnknownNameError, UsageError
from bench2robust.core.tools import ToolCall, ToolKind, ToolSpec
from bench2robust.evaluation import contents, splits
from bench2robust.evaluation.splits import refuse_held_out, split_of, training_tasks

SHARED = (
    ("36", "37"),
    ("40", "general-139", "ambiguous-139"),
    ("41", "42"),
    ("71", "72"),
    ("83", "84"),
    ("96", "97"),
    ("general-40", "changing-74"),
    ("general-92", "changing-122"),
    ("general-123", "changing-152"),
    ("general-221", "changing-88"),
    ("general-268", "changing-211"),
    ("general-422", "changing-69"),
)
"""Tasks with the same gold writes, besides rewrites and what they rewrite (see `test_full_set`)."""
_GOLD = {name: group[0] for group in SHARED for name in group}


def writes(name):
    """Stands for the gold writes of a task: equal for those that share theirs, a read before it."""
    return (Action(ToolCall("read", {"of": name})), Action(ToolCall("write", {"of": _GOLD.get(name, name)})))


def task(intent, n, **extras):
    name = f"{intent}-{n}"
    data = {"source": "3i", "intent": intent, "bench2robust": extras}
    return Task(name, "", gold=writes(extras.get("of", name)), data=data)


TASKS = (
    *(
        Task(str(n), "", gold=writes(str(n)), data={"source": "tau2", "intent": "general"})
        for n in range(114)
    ),
    *(task("general", n) for n in range(473)),
    *(task("ambiguous", n, of=f"general-{n}") for n in range(473)),
    *(task("changing", n) for n in range(279)),
)
"""The ids, sources and intents of combined-retail, without its words; `write` stands for all writes."""


def test_the_shipped_split_is_the_one_that_is_drawn():
    shipped = combined.shipped()
    drawn = combined.draw_split(TASKS, {"write"})
    assert {part: shipped[part] for part in drawn} == drawn
    assert shipped["hash"] == combined.digest(drawn) == "3af1fe5e23cc0bb0c5c0201045df9d3e"
    assert (len(drawn["train"]), len(drawn["held_out"])) == (937, 402)


def test_it_is_stratified_by_source_and_intent():
    train = set(combined.shipped()["train"])
    counts = Counter((t.data["source"], t.data["intent"]) for t in TASKS if t.id in train)
    assert counts == {
        ("tau2", "general"): 80, ("3i", "general"): 331, ("3i", "ambiguous"): 331, ("3i", "changing"): 195,
    }  # fmt: skip


def test_a_task_and_its_rewrite_stand_on_the_same_side():
    train = set(combined.shipped()["train"])
    assert all((f"general-{n}" in train) == (f"ambiguous-{n}" in train) for n in range(473))


@pytest.mark.parametrize("group", SHARED, ids=lambda group: group[0])
def test_tasks_with_the_same_gold_writes_stand_on_the_same_side(group):
    train = set(combined.shipped()["train"])
    assert len({name in train for name in group}) == 1


@given(
    golds=st.lists(st.integers(0, 9), min_size=1, max_size=30),
    train=st.integers(0, 30),
    seed=st.integers(0, 99),
)
def test_only_a_group_without_room_is_parted(golds, train, seed):
    """One stratum, groups of any sizes: at most one of them is parted, to make the number exact."""
    tasks = [
        Task(str(n), "", gold=(Action(ToolCall("write", {"of": gold})),), data={"source": "x", "intent": "y"})
        for n, gold in enumerate(golds)
    ]
    train = min(train, len(tasks))
    split = combined.draw_split(tasks, {"write"}, train, seed)
    assert len(split["train"]) == train
    chosen = set(split["train"])
    sides = {gold: {str(n) in chosen for n, g in enumerate(golds) if g == gold} for gold in golds}
    assert sum(len(side) > 1 for side in sides.values()) <= 1


@given(general=st.integers(1, 30), changing=st.integers(1, 30), seed=st.integers(0, 1000), data=st.data())
def test_any_split_is_exact_stratified_and_keeps_rewrites_together(general, changing, seed, data):
    tasks = [task("general", n) for n in range(general)]
    tasks += [task("ambiguous", n, of=f"general-{n}") for n in range(general)]
    tasks += [task("changing", n) for n in range(changing)]
    # An odd number of places leaves one over between the two parts of a pair of equal strata.
    train = data.draw(st.integers(0, len(tasks)))
    split = combined.draw_split(tasks, {"write"}, train, seed)
    assert len(split["train"]) == train
    assert sorted(split["train"] + split["held_out"]) == sorted(t.id for t in tasks)
    chosen = set(split["train"])
    for intent, size in (("general", general), ("ambiguous", general), ("changing", changing)):
        got = sum(f"{intent}-{n}" in chosen for n in range(size))
        assert abs(got - train * size / len(tasks)) < 1
    apart = sum((f"general-{n}" in chosen) != (f"ambiguous-{n}" in chosen) for n in range(general))
    assert apart <= 1


TOOLS = (
    ToolSpec("read", "", {}, ToolKind.READ),
    ToolSpec("write", "", {}, ToolKind.WRITE),
)


class Shop:
    """A benchmark of the ids, with the shipped split."""

    def __init__(self, tasks=TASKS, split=None):
        self._tasks, self._split = tasks, split or combined.shipped()

    def tasks(self):
        return self._tasks

    def split(self):
        return self._split

    def tools(self, alternatives):
        return TOOLS


@pytest.fixture
def shop(monkeypatch):
    shop = Shop()
    monkeypatch.setattr(splits.registry, "load", lambda name: shop)
    return shop


def test_what_learns_gets_training_tasks_only(shop):
    held_out = set(combined.shipped()["held_out"])
    given = training_tasks("combined-retail")
    assert len(given) == 937
    assert held_out.isdisjoint(t.id for t in given)


def test_a_held_out_task_is_refused(shop):
    train, held_out = split_of("combined-retail").train, split_of("combined-retail").held_out
    refuse_held_out("combined-retail", train)
    with pytest.raises(
        UsageError, match=rf"^expected training tasks .* got 1 .* such as task='{held_out[5]}'"
    ):
        refuse_held_out("combined-retail", [*train[:3], held_out[5]])
    for name in held_out[::20]:
        with pytest.raises(UsageError, match="held out"):
            refuse_held_out("combined-retail", [name])


def test_a_task_that_is_not_there_is_not_a_training_task(shop):
    with pytest.raises(UnknownNameError, match="unknown task='general-4730'; did you mean"):
        refuse_held_out("combined-retail", ["1", "general-4730"])


@pytest.mark.tau2
def test_retail_alone_holds_out_the_same_tasks():
    whole = combined.shipped()
    held_out = tuple(name for name in whole["held_out"] if "-" not in name)
    assert len(held_out) == 34
    assert split_of("tau2-retail").held_out == held_out
    assert {t.id for t in training_tasks("tau2-retail")}.isdisjoint(held_out)
    with pytest.raises(UsageError, match=f"got 1 that are held out, such as task='{held_out[0]}'"):
        refuse_held_out("tau2-retail", [held_out[0]])


def test_lists_that_were_tampered_with_are_noticed(shop):
    moved = combined.shipped()
    moved["train"].append(moved["held_out"].pop())
    shop._split = moved
    with pytest.raises(BenchmarkError, match="expected the published split of benchmark='combined-retail'"):
        split_of("combined-retail")


def test_a_split_of_other_tasks_is_noticed(shop):
    shop._tasks = TASKS[:-1]
    with pytest.raises(BenchmarkError, match="got other ids"):
        split_of("combined-retail")


def test_a_benchmark_without_a_split_holds_nothing_out(monkeypatch):
    class Plain:
        def tasks(self):
            return TASKS[:3]

        def tools(self, alternatives):
            return TOOLS

    monkeypatch.setattr(splits.registry, "load", lambda name: Plain())
    assert split_of("plain").held_out == ()
    assert training_tasks("plain") == TASKS[:3]
    refuse_held_out("plain", ["0"])


def test_a_smaller_benchmark_holds_out_the_same_tasks():
    ours = TASKS[114:]
    part = combined.shipped_for(ours)
    whole = combined.shipped()
    assert part["held_out"] == [name for name in whole["held_out"] if "-" in name]
    assert combined.shipped_for(TASKS) == whole


HELD_OUT = Task(
    "a",
    "Cancel it, and swap the  lamp.",
    gold=(
        Action(ToolCall("read", {"of": "x"})),
        Action(ToolCall("write", {"of": ["x", "y"], "for": "z"})),
        Action(ToolCall("write", {"of": "w"})),
    ),
)


@pytest.fixture
def only(monkeypatch, tmp_path):
    """Ships one held-out task."""
    contents.write([HELD_OUT], TOOLS, tmp_path / contents.FILE)
    monkeypatch.setattr(contents, "files", lambda package: tmp_path)
    contents._shipped.cache_clear()
    yield
    contents._shipped.cache_clear()


def other(**changes):
    return replace(HELD_OUT, **{"id": "b", **changes})


@pytest.mark.parametrize(
    ("task", "held_out"),
    [
        (other(), True),
        (other(instructions="cancel it, and swap\nthe lamp.", gold=()), True),
        (other(instructions="Other words."), True),
        (other(instructions="", gold=HELD_OUT.gold[1:]), True),
        (other(instructions="", gold=HELD_OUT.gold[::-1]), True),
        (
            other(
                instructions="",
                gold=(
                    Action(ToolCall("write", {"for": "z", "of": ["y", "x"]})),
                    Action(ToolCall("write", {"of": "w"})),
                ),
            ),
            True,
        ),
        (other(instructions="Other words.", gold=HELD_OUT.gold[:2]), False),
        (other(instructions="Other words.", gold=HELD_OUT.gold[:1]), False),
        (other(instructions="", gold=()), False),
    ],
)
def test_a_held_out_task_is_known_by_its_words_or_its_gold_writes(only, monkeypatch, task, held_out):
    class Renamed:
        def tasks(self):
            return (task, Task("c", "Something else."))

        def tools(self, alternatives):
            return TOOLS

    monkeypatch.setattr(splits.registry, "load", lambda name: Renamed())
    assert split_of("renamed") == splits.Split(("c",) if held_out else ("b", "c"), ("b",) if held_out else ())
    assert (task in training_tasks("renamed")) is not held_out
    if held_out:
        with pytest.raises(UsageError, match="got 1 that are held out, such as task='b'"):
            refuse_held_out("renamed", ["b", "c"])


def test_a_benchmark_that_calls_a_held_out_task_a_training_task_is_not_believed(only, shop):
    """A split of its own, hash and all, does not change what a task consists of."""
    shop._tasks = (replace(HELD_OUT, id="b"), TASKS[0], TASKS[1])
    lists = {"train": ["b", "0"], "held_out": ["1"]}
    shop._split = {**lists, "hash": combined.digest(lists)}
    assert split_of("shop") == splits.Split(("0",), ("b", "1"))


@pytest.mark.tau2
def test_a_file_of_tau2s_own_tasks_under_other_names_holds_out_the_same(tmp_path):
    from bench2robust.benchmarks.tau2.provider import retail_data

    held_out = {name for name in combined.shipped()["held_out"] if "-" not in name}
    raws = [{**raw, "id": f"mine{raw['id']}"} for raw in retail_data().tasks[::6]]
    kept = []
    for raw in raws:
        file = tmp_path / f"{raw['id']}.json"
        file.write_text(json.dumps([raw]), encoding="utf-8")
        try:
            split = split_of(f"retail-3i:{file}")
        except UsageError:  # gold of τ²'s that the loader refuses, such as a product that is not there
            continue
        kept.append(raw["id"])
        assert bool(split.held_out) == (raw["id"].removeprefix("mine") in held_out), raw["id"]
    assert len(kept) > 12
