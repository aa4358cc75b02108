"""Bursts: failures that come together, as those of an outage do (a two-state model beside the independent one).

A tool is either *off* (well) or *on* (in a burst). Off, every answer is clean; on, an answer is corrupted with
probability `Burst.intensity`, in the proportions of the tool's distribution. The state changes from call to call
as a Markov chain does that leaves *on* after `Burst.length` calls on average, and starts where the chain is in the
long run. Both are chosen so that each call, seen alone, has just the distribution that the profile says (its θ):
bursts change only how failures lie together. Time is counted in calls of the tool, so a retry finds the burst
still there, and leaving the tool alone does not end it.

This is Gilbert's channel (E. N. Gilbert, "Capacity of a burst-noise channel", 1960) with the error types of θ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.randomness import Series, unit

_TOLERANCE: Final = 1e-9
_KEYS: Final = ("length", "intensity")


@dataclass(frozen=True, slots=True)
class Burst:
    """How the failures of a tool lie together.

    Raises:
        SpecError: a length below 1 or without end, or an intensity that is no probability above 0.
    """

    length: float
    """Calls of a burst, on average."""
    intensity: float = 1.0
    """Probability that a call in a burst is corrupted."""

    def __post_init__(self) -> None:
        for name in _KEYS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise SpecError(f"burst: expected a number, got {name}={value!r}")
        if self.length < 1:
            raise SpecError(f"burst: expected a length of at least 1 call, got length={self.length!r}")
        if not 0 < self.intensity <= 1:
            raise SpecError(f"burst: expected a probability above 0, got intensity={self.intensity!r}")

    def share(self, noisy: float) -> float:
        """Return the share of calls that lie in a burst, given the probability of a corrupted call."""
        return noisy / self.intensity

    def check(self, noisy: float, where: str) -> None:
        """Refuse a burst that cannot give so many failures.

        Raises:
            SpecError: the calls in bursts would be more than all calls, or bursts would have to be longer.
        """
        share = self.share(noisy)
        if share > 1 + _TOLERANCE:
            raise SpecError(
                f"{where}: expected an intensity of at least {noisy:g}, the probability of a failure, "
                f"got intensity={self.intensity!r}"
            )
        if share < 1 - _TOLERANCE and share / (1 - share) > self.length * (1 + _TOLERANCE):
            raise SpecError(
                f"{where}: expected bursts of at least {share / (1 - share):.6g} calls, which {share:.0%} of "
                f"calls in bursts need, got length={self.length!r}"
            )

    def chances(self, noisy: float) -> tuple[float, float, float]:
        """Return the probabilities of being in a burst at first, of entering one and of staying in one."""
        share = min(1.0, self.share(noisy))
        if share in (0.0, 1.0):
            return share, share, share
        leave = 1.0 / self.length
        return share, min(1.0, leave * share / (1.0 - share)), 1.0 - leave

    def to_dict(self) -> dict[str, float]:
        """Return it as JSON values."""
        return {"length": self.length, "intensity": self.intensity}


@dataclass(frozen=True, slots=True)
class Bursts:
    """Which tools' failures come in bursts; those of the others are independent."""

    default: Burst | None = None
    """Of every tool that has none of its own; None for independent failures."""
    tools: tuple[tuple[str, Burst], ...] = ()
    """Of single tools, by name."""

    def of(self, tool: str) -> Burst | None:
        """Return a tool's; None where its failures are independent."""
        return next((burst for name, burst in self.tools if name == tool), self.default)

    def to_dict(self) -> dict[str, Any]:
        """Return them as JSON values: the table ``burst`` of a profile."""
        whole: dict[str, Any] = {} if self.default is None else dict(self.default.to_dict())
        if self.tools:
            whole["tools"] = {name: burst.to_dict() for name, burst in self.tools}
        return whole

    @classmethod
    def from_dict(cls, data: Any) -> Bursts:
        """Read the table ``burst`` of a profile: ``length`` and ``intensity``, and the same in ``tools.NAME``.

        Raises:
            SpecError: an unknown key, or a value that cannot be.
        """
        if not isinstance(data, Mapping):
            raise SpecError(f"expected a table of length and intensity, got burst={data!r}")
        own = {key: value for key, value in data.items() if key != "tools"}
        tools = data.get("tools", {})
        if not isinstance(tools, Mapping):
            raise SpecError(f"expected a table for each tool, got burst.tools={tools!r}")
        read = {name: _read(tools[name], f"burst.tools.{name}") for name in sorted(tools)}
        return cls(_read(own, "burst") if own else None, tuple(read.items()))


def _read(data: Any, where: str) -> Burst:
    if not isinstance(data, Mapping):
        raise SpecError(f"expected a table of length and intensity, got {where}={data!r}")
    for key in data:
        if key not in _KEYS:
            raise SpecError(str(UnknownNameError(f"key in {where}", str(key), (*_KEYS, "tools"))))
    if "length" not in data:
        raise SpecError(
            f"{where}: expected the calls of a burst on average, got no length; such as length = 4"
        )
    return Burst(**data)


class Weather:
    """Says of one tool, call by call, whether it is in a burst.

    Args:
        burst: how failures lie together.
        noisy: the probability that a call is corrupted.
        series: the draws; that of the nth call decides the nth state, so that equal seeds, tasks and tools have
            the same bursts whatever is called.
    """

    __slots__ = ("_calls", "_enter", "_first", "_in_burst", "_series", "_stay")

    def __init__(self, burst: Burst, noisy: float, series: Series) -> None:
        self._first, self._enter, self._stay = burst.chances(noisy)
        self._series = series
        self._calls = 0
        self._in_burst = False

    def next(self) -> bool:
        """Return whether the next call lies in a burst."""
        chance = self._first if self._calls == 0 else self._stay if self._in_burst else self._enter
        self._in_burst = unit(self._series.block(self._calls)[:8]) < chance
        self._calls += 1
        return self._in_burst
