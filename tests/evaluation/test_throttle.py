"""The adaptive limit: never passed, never stuck, less under overload, back again afterwards."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.evaluation.throttle import Throttle


def drain(throttle, outcomes):
    """Let requests end one after the other."""
    for throttled in outcomes:
        asyncio.run(throttle.enter())
        throttle.leave(throttled=throttled)


@settings(max_examples=60, deadline=None)
@given(
    most=st.integers(1, 9),
    throttled=st.lists(st.booleans(), min_size=1, max_size=60),
    cancelled=st.sets(st.integers(0, 59)),
)
def test_the_limit_is_never_passed_and_everybody_gets_through(most, throttled, cancelled):
    """Whoever is not cancelled gets in, however many were refused or cancelled while they waited."""

    async def main():
        throttle, highest, through = Throttle(most), 0, set()

        async def request(number):
            nonlocal highest
            await throttle.enter()
            highest = max(highest, throttle.active)
            try:
                await asyncio.sleep(0)
            finally:
                throttle.leave(throttled=throttled[number])
            through.add(number)

        tasks = [asyncio.create_task(request(n)) for n in range(len(throttled))]
        await asyncio.sleep(0)
        for number in cancelled:
            if number < len(tasks):
                tasks[number].cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await asyncio.wait_for(task, 5)
        assert highest <= most
        assert throttle.active == 0
        assert through >= set(range(len(throttled))) - cancelled
        assert 1 <= throttle.limit <= most

    asyncio.run(main())


def test_one_wave_of_refusals_counts_once():
    async def main():
        throttle = Throttle(10)
        for _ in range(10):
            await throttle.enter()
        for _ in range(10):
            throttle.leave(throttled=True)
        return throttle.limit

    assert asyncio.run(main()) == 7.0


def test_it_goes_down_under_overload_and_comes_back():
    throttle = Throttle(64)
    drain(throttle, [True] * 40)
    assert throttle.limit == 1.0
    drain(throttle, [False] * 3000)
    assert throttle.limit == 64


def test_first_come_first_served():
    async def main():
        throttle, order = Throttle(1), []

        async def request(number):
            await throttle.enter()
            order.append(number)
            await asyncio.sleep(0)
            throttle.leave(throttled=False)

        await asyncio.gather(*(request(n) for n in range(20)))
        return order

    assert asyncio.run(main()) == list(range(20))
