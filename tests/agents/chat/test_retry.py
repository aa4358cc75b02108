"""Backoff: bounded by count and by time, never before the server wants, and the same for the same key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents.chat import Retry
from bench2robust.agents.chat.retry import retry_after
from bench2robust.core.errors import SpecError
from bench2robust.core.randomness import Draws

SECONDS = st.floats(0, 10_000)
POLICY = st.builds(Retry, st.integers(1, 40), SECONDS, st.floats(0, 60), st.floats(0, 600))
ASKED = st.lists(st.none() | SECONDS, min_size=50, max_size=50)


@given(POLICY, ASKED, st.integers())
def test_however_often_it_fails_it_ends_in_bounds(retry, asked, key):
    elapsed, failed = 0.0, 0
    draws = Draws("test", key)
    while True:
        failed += 1
        pause = retry.wait(failed, elapsed, asked[failed], draws)
        if pause is None:
            break
        ceiling = min(retry.most, retry.first * 2 ** (failed - 1))
        assert (asked[failed] or 0) <= pause <= (asked[failed] or 0) + ceiling
        elapsed += pause
    assert failed <= retry.attempts
    assert elapsed <= retry.patience


@given(POLICY, st.integers(1, 40), SECONDS, st.none() | SECONDS, st.integers())
def test_the_same_key_waits_the_same(retry, failed, elapsed, asked, key):
    waits = {retry.wait(failed, elapsed, asked, Draws("test", key)) for _ in range(2)}
    assert len(waits) == 1


def test_full_jitter_fills_the_range_evenly():
    """The mean of 2,000 uniform waits; 5 standard errors: a false alarm in 1.7 million."""
    retry, n = Retry(attempts=9, first=1.0, most=8.0), 2000
    for failed, ceiling in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (7, 8.0)):
        waits = [retry.wait(failed, 0.0, None, Draws("jitter", failed, k)) for k in range(n)]
        assert abs(sum(waits) / n - ceiling / 2) < 5 * ceiling / 12**0.5 / n**0.5
        assert max(waits) <= ceiling


def test_long_chains_do_not_overflow():
    assert Retry(attempts=10**9).wait(10**6, 0.0, None, Draws("x")) <= 30.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:20:00 GMT"}, 200.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:07 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_retry_after(headers, seconds):
    assert retry_after(headers, 1000.0) == seconds


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"attempts": 0}, "at least 1, got attempts=0"),
        ({"patience": -1.0}, "at least 0, got patience=-1.0"),
        ({"first": float("nan")}, "got first=nan"),
        ({"most": float("inf")}, "got most=inf"),
    ],
)
def test_what_a_policy_cannot_be(given_, message):
    with pytest.raises(SpecError, match=message):
        Retry(**given_)
