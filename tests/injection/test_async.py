import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import ToolCall
from bench2robust.injection import Effects, InjectionSpec, Injector, Limits, NoiseProfile

from .shop import DOMAIN, TOOLS, execute

TIMEOUTS = NoiseProfile({NoiseType.TIMEOUT: 1.0})
NAMES = [tool.name for tool in TOOLS]


def injector(profile=None, limits=None, effects=Effects.OBSERVATION, blocked=frozenset()):
    spec = InjectionSpec(profile or NoiseProfile.severe(), limits or Limits(), effects)
    return Injector(spec, 3, "async", domain=DOMAIN, tools=TOOLS, blocked=blocked)


async def aexecute(call):
    await asyncio.sleep(0)
    return execute(call)


@given(
    st.lists(st.sampled_from(NAMES), max_size=30), st.sampled_from(Effects), st.sets(st.sampled_from(NAMES))
)
def test_async_equals_sync(names, effects, blocked):
    one, two = (injector(effects=effects, blocked=frozenset(blocked)) for _ in range(2))

    async def play():
        return [await two.acall(ToolCall(name), aexecute) for name in names]

    assert [one.call(ToolCall(name), execute) for name in names] == asyncio.run(play())
    assert one.records == two.records


@pytest.mark.parametrize("effects", Effects)
@pytest.mark.parametrize("noise", [NoiseType.TIMEOUT, NoiseType.RATE_LIMIT])
def test_overlapping_calls_never_exceed_the_limits(effects, noise):
    i = injector(NoiseProfile({noise: 1.0}), Limits(5, 2), effects)

    async def play():
        calls = [ToolCall(name) for name in ["get_order", "find_user", "calculate"] * 10]
        await asyncio.gather(*(i.acall(call, aexecute) for call in calls))

    asyncio.run(play())
    assert len(i.records) == 30
    assert [r.index for r in i.records] == list(range(30))
    assert sum(r.landed for r in i.records) == 5
    for name in ("get_order", "find_user", "calculate"):
        own = [r for r in i.records if r.call.name == name]
        assert sorted(r.ordinal for r in own) == list(range(10))
        assert not any(
            a.landed and b.landed and c.landed for a, b, c in zip(own, own[1:], own[2:], strict=False)
        )


def test_a_withheld_rejection_stays_withheld_whatever_happens_while_it_executes():
    """The consecutive count is reset by another call in the meantime; rejecting now would be too late."""
    i = injector(NoiseProfile({NoiseType.RATE_LIMIT: 1.0}), Limits(None, 1), Effects.REQUEST)
    gate = asyncio.Event()

    async def waits(call):
        await gate.wait()
        return execute(call)

    async def play():
        await i.acall(ToolCall("get_order"), aexecute)
        slow = asyncio.create_task(i.acall(ToolCall("get_order"), waits))
        await asyncio.sleep(0)
        await i.acall(ToolCall("get_order"), aexecute)
        gate.set()
        await slow

    asyncio.run(play())
    assert [(r.ordinal, r.withheld, r.executed) for r in i.records] == [
        (0, None, False),
        (2, "consecutive", True),
        (1, "consecutive", True),
    ]


def test_a_cancelled_call_uses_its_ordinal_and_nothing_else():
    i = injector(TIMEOUTS, Limits(1, 1))
    executed = []

    async def hangs(call):
        executed.append(call)
        await asyncio.Event().wait()

    async def play():
        task = asyncio.create_task(i.acall(ToolCall("get_order"), hangs))
        await asyncio.sleep(0)
        assert len(executed) == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert i.records == []
        return await i.acall(ToolCall("get_order"), aexecute)

    response = asyncio.run(play())
    (r,) = i.records
    assert r.delivered is response
    # The budget of 1 and the consecutive limit of 1 are untouched by the call that never arrived.
    assert (r.index, r.ordinal, r.noise) == (0, 1, NoiseType.TIMEOUT)


def test_cancelling_one_of_two_overlapping_calls_leaves_the_other_whole():
    i, gate = injector(TIMEOUTS, Limits(1, 2)), asyncio.Event()

    async def waits(call):
        await gate.wait()
        return execute(call)

    async def play():
        first, second = (asyncio.create_task(i.acall(ToolCall("get_order"), waits)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        gate.set()
        return await asyncio.gather(first, second, return_exceptions=True)

    cancelled, response = asyncio.run(play())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert [(r.ordinal, r.noise, r.delivered) for r in i.records] == [(1, NoiseType.TIMEOUT, response)]


def test_a_blocked_call_never_awaits_the_tool():
    async def never(call):
        raise AssertionError("executed")

    i = injector(blocked=frozenset({"get_order"}))
    assert asyncio.run(i.acall(ToolCall("get_order"), never)).error
    assert i.last().blocked
