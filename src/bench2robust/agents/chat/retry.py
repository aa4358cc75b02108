"""When a request that failed is made again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from bench2robust.core.errors import SpecError
from bench2robust.core.randomness import Draws


class Clock:
    """Time, as far as waiting needs it; tests put another one here."""

    def now(self) -> float:
        """Return seconds since some moment; never goes back."""
        return time.monotonic()

    def wall(self) -> float:
        """Return the date, in seconds since 1970."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential backoff with full jitter, bounded by count and by time.

    The n-th wait is drawn evenly from 0 to ``first · 2^(n-1)`` seconds, at most `most`; a server that names
    a time (Retry-After) is left alone that long first. See Brooker, "Exponential Backoff And Jitter", 2015.

    Raises:
        SpecError: no attempt at all, or a negative time.
    """

    attempts: int = 8
    """Times that a request is made, the first included."""
    patience: float = 900.0
    """Seconds after which no further attempt is begun."""
    first: float = 0.5
    most: float = 30.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise SpecError(f"expected at least 1, got attempts={self.attempts!r}")
        for name in ("patience", "first", "most"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise SpecError(f"expected seconds, at least 0, got {name}={getattr(self, name)!r}")

    def wait(self, failed: int, elapsed: float, asked: float | None, draws: Draws) -> float | None:
        """Return how many seconds to wait, None to give up.

        Args:
            failed: attempts that have failed, at least 1.
            elapsed: seconds since the first one began.
            asked: seconds that the server asked for; None where it named none.
            draws: a stream of this request alone.
        """
        if failed >= self.attempts:
            return None
        ceiling = min(self.most, self.first * 2.0 ** min(failed - 1, 64))
        seconds = (asked or 0.0) + draws.between(0.0, ceiling)
        return seconds if elapsed + seconds <= self.patience else None


def retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Return the seconds that a server asks for, as seconds or as a date; None where it names no time.

    Args:
        headers: the response's, with names in lower case or case-insensitive.
        wall: the date, in seconds since 1970.

    >>> retry_after({"retry-after": "2.5"}, 0.0), retry_after({"retry-after": "soon"}, 0.0)
    (2.5, None)
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50.0)
    10.0
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        try:
            seconds = float(text) * scale
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - wall
            except (ValueError, OverflowError, OSError):
                continue
        if 0 <= seconds < float("inf"):
            return seconds
        if seconds < 0:
            return 0.0
    return None
