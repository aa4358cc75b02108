"""Tool memory around plain functions: what is counted, what is told, whose episode it is."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from bench2robust import ToolMemory, faults, inject
from bench2robust.core.errors import UsageError
from bench2robust.memory import Memory

DOMAIN = {"name": "shop", "classes": {"order": ["get_order", "list_orders"]}}
ALWAYS = {"budget": None, "max_consecutive": None}


def get_order(order_id):
    return f"order {order_id}"


def list_orders():
    return ["#1"]


@pytest.fixture
def memory(tmp_path):
    return ToolMemory.open(tmp_path / "memory.db", DOMAIN)


def belief(memory, tool="get_order", noise="timeout"):
    found = memory.keeper.beliefs.of(tool, noise)
    return found.successes, found.failures


def test_failures_and_switches_are_counted_once_an_episode(memory):
    order, orders = memory.watch(inject(get_order)), memory.watch(list_orders)
    with memory.episode() as episode, faults({"timeout": 1.0}, **ALWAYS):
        first, second = order("#1"), order("#1")
        assert orders() == ["#1"]
        episode.passed = True
    assert "get_order: 1 failure in a row, last timeout" in first
    assert "get_order: 2 failures in a row, last timeout" in second
    assert "Alternative: list_orders" in first
    assert belief(memory) == (1, 0)
    switch = memory.keeper.beliefs.switch("get_order", "list_orders")
    assert (switch.successes, switch.failures) == (1, 0)
    assert Memory.load(memory.keeper.path).episodes == 1


def test_an_episode_of_unknown_outcome_teaches_nothing(memory):
    with memory.episode(), faults({"timeout": 1.0}):
        memory.watch(inject(get_order))("#1")
    assert belief(memory) == (0, 0)


def test_an_episode_counts_once_and_own_errors_do_not(memory):
    def fails():
        raise LookupError("no such order")

    episode = memory.episode()
    with episode:
        with pytest.raises(LookupError):
            memory.watch(fails)()
        episode.passed = False
    episode.finish()
    assert memory.keeper.memory().episodes == 1
    assert memory.keeper.beliefs.errors == {}


def test_overlapping_episodes_do_not_mix(memory):
    @memory.watch
    @inject
    async def get_order(order_id):
        await asyncio.sleep(0)
        return "ok"

    async def play(noise):
        with memory.episode() as episode, faults({noise: 1.0}, **ALWAYS):
            await asyncio.gather(*(get_order(str(i)) for i in range(5)))
            episode.passed = noise == "timeout"

    async def main():
        await asyncio.gather(*(play(noise) for noise in ("timeout", "rate_limit") * 5))

    asyncio.run(main())
    assert belief(memory) == (5, 0)
    assert belief(memory, noise="rate_limit") == (0, 5)


def test_threads_keep_their_episodes_apart(memory):
    tool = memory.watch(inject(get_order))

    def play(passed):
        with memory.episode() as episode, faults({"timeout": 1.0}):
            tool("#1")
            episode.passed = passed

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(play, [True, False] * 8))
    assert belief(memory) == (8, 8)


def test_a_cancelled_call_is_not_counted(memory):
    @memory.watch
    async def get_order():
        await asyncio.sleep(30)

    async def main():
        with memory.episode() as episode:
            task = asyncio.create_task(get_order())
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            episode.passed = False

    asyncio.run(main())
    assert memory.keeper.memory().episodes == 0


def test_two_memories_at_once(memory, tmp_path):
    other = ToolMemory.open(tmp_path / "other.db", DOMAIN)
    tool = other.watch(memory.watch(inject(get_order)))
    with memory.episode() as a, other.episode() as b, faults({"timeout": 1.0}):
        tool("#1")
        a.passed = b.passed = True
    assert belief(memory) == belief(other) == (1, 0)


def test_what_is_told(tmp_path):
    for told, block, note in (("block", True, False), ("note", False, True), ("both", True, True)):
        memory = ToolMemory.open(tmp_path / "memory.db", DOMAIN, told=told)
        assert memory.prompt("Be kind.").startswith("Be kind.")
        assert ("<tool_reliability>" in memory.prompt()) == block
        with memory.episode(), faults({"timeout": 1.0}):
            assert ("<recovery_note>" in memory.watch(inject(get_order))("#1")) == note


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"told": "all"}, "unknown told='all'"),
        ({"path": "memory.txt"}, "memory.txt"),
        ({"domain": "shopp"}, "unknown domain"),
        ({"domain": 3}, "domain=3"),
    ],
)
def test_bad_input_is_told_in_one_line(tmp_path, given, message):
    path = tmp_path / given.pop("path", "memory.db")
    with pytest.raises(UsageError) as caught:
        ToolMemory.open(path, given.pop("domain", DOMAIN), **given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
