"""Same seed, same draws: whatever the process, the order of tasks, and what other tools do."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.tools import ToolCall
from bench2robust.injection import Effects, InjectionSpec, Injector, Limits, NoiseProfile

from .shop import DOMAIN, TOOLS, execute

TASKS = [f"task {n}" for n in range(40)]
CALLS = ["get_order", "find_user", "get_order", "calculate", "cancel_order", "get_items", "get_order"] * 2
BLOCKED = frozenset({"get_items"})


def episode(task, names=CALLS, limits=None, effects=Effects.OBSERVATION):
    spec = InjectionSpec(NoiseProfile.severe(), limits or Limits(), effects)
    injector = Injector(spec, 42, task, domain=DOMAIN, tools=TOOLS, blocked=BLOCKED)
    for name in names:
        injector.call(ToolCall(name), execute)
    return injector.drain()


def digest():
    """Return a hash of every record of every task (a subprocess prints it too)."""
    return hashlib.sha256(repr([episode(task) for task in TASKS]).encode()).hexdigest()


@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_another_process_draws_the_same(hash_seed):
    code = "from injection.test_determinism import digest; print(digest())"
    env = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[1])}
    out = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == digest()


@given(st.permutations(TASKS))
def test_the_order_of_tasks_does_not_matter(order):
    whole = {task: episode(task) for task in order[:5]}
    assert whole == {task: episode(task) for task in reversed(order[:5])}


def test_interleaved_episodes_do_not_disturb_each_other():
    alone = {task: episode(task) for task in TASKS}
    spec = InjectionSpec()
    together = {t: Injector(spec, 42, t, domain=DOMAIN, tools=TOOLS, blocked=BLOCKED) for t in TASKS}
    for name in CALLS:
        for injector in together.values():
            injector.call(ToolCall(name), execute)
    assert {task: injector.drain() for task, injector in together.items()} == alone


def test_different_keys_draw_differently():
    assert len({repr([r.drawn for r in episode(task)]) for task in TASKS}) > 30


sequences = st.lists(st.sampled_from(["get_order", "find_user", "calculate", "get_items"]), max_size=40)


def facts(r):
    return r.call.name, r.ordinal, r.drawn, r.noise, r.withheld, r.delivered, r.corrupted


@given(sequences, sequences, st.sampled_from(TASKS), st.sampled_from(Effects))
def test_calls_of_another_tool_do_not_change_what_is_drawn(names, more, task, effects):
    """`find_user` is called more often, or less, in between."""
    mixed = [name for pair in zip(names, more, strict=False) for name in (pair[0], "find_user")]
    kept = [name for name in names if name != "find_user"]
    for limits, compare in (
        (Limits(), lambda r: (r.call.name, r.ordinal, r.drawn)),
        (Limits(None, 2), facts),
    ):
        one = [compare(r) for r in episode(task, mixed, limits, effects) if r.call.name != "find_user"]
        two = [compare(r) for r in episode(task, kept, limits, effects)]
        # Without a budget, which tools share, even what is delivered is the same.
        assert one == two[: len(one)]


@given(sequences, st.sampled_from(TASKS))
def test_deliveries_are_equal_until_a_budget_differs(names, task):
    kept = [name for name in names if name != "find_user"]
    one = [r for r in episode(task, names) if r.call.name != "find_user"]
    for a, b in zip(one, episode(task, kept), strict=True):
        if "budget" in (a.withheld, b.withheld):
            break
        assert facts(a) == facts(b)
