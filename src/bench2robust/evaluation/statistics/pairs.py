"""Two systems on the same tasks and seeds: on common random numbers they meet the same draws."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bench2robust.core.errors import SpecError

from .bootstrap import interval, resampled
from .generator import generator
from .proportions import wilson
from .sample import Difference, Floats, Sample, small

FLIPS: Final = 10_000
_EXACT: Final = 13
"""Up to this many tasks that differ, every combination of signs is gone through."""


def _are_shares(sample: Sample) -> bool:
    """Whether every value is one of a share: no other values have a largest difference."""
    return bool(((sample.value >= 0) & (sample.value <= 1)).all())


def match(a: Sample, b: Sample) -> tuple[Sample, tuple[str, ...]]:
    """Return `b` minus `a` where both have a value of a task and seed, and warnings about what has no partner.

    Raises:
        SpecError: a sample has two values of one task and seed, or weights.
    """
    if not (a.plain and b.plain):
        raise SpecError("expected plain values to pair, got ratios of counts; use `unpaired`")
    keys = [np.stack((s.task, s.seed), axis=1) for s in (a, b)]
    both, place = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    place = place.reshape(-1)
    places = np.split(place, [len(a)])
    found = []
    for name, at, sample in zip("ab", places, (a, b), strict=True):
        if len(np.unique(at)) < len(at):
            raise SpecError(f"expected one value of each task and seed, got several in sample={name!r}")
        values = np.full(len(both), np.nan)
        values[at] = sample.value
        found.append(values)
    difference = found[1] - found[0]
    there = ~np.isnan(difference)
    return Sample(both[there, 0], both[there, 1], difference[there]), _left_out(a, b, int(there.sum()))


def _left_out(a: Sample, b: Sample, matched: int) -> tuple[str, ...]:
    warnings = []
    if a.seeds != b.seeds:
        only = sorted({*a.seeds} ^ {*b.seeds})
        shown = ", ".join(map(str, only[:5])) + (", …" if len(only) > 5 else "")
        warnings.append(f"seeds differ: {shown} on one side only")
    lone = len(a) + len(b) - 2 * matched
    if lone:
        warnings.append(f"{lone} episodes have no partner with the same task and seed, and are left out")
    return tuple(warnings)


def paired(a: Sample, b: Sample) -> Difference:
    """Return how much higher `b` is than `a`, task for task and seed for seed.

    The interval is a bootstrap over tasks of the differences; the p-value flips the sign of each task's
    difference (10,000 times, or all ways where there are few). Where no task differs, the interval is how much
    a share of tasks could differ that was never seen in this many (Wilson).

    Raises:
        SpecError: a sample has two values of one task and seed.
    """
    gaps, warnings = match(a, b)
    nan = float("nan")
    if not len(gaps):
        why = (*warnings, "no episodes in common")
        return Difference(nan, nan, nan, nan, 0, 0, 0, 0, 0, 0, warnings=why)
    sums, counts = gaps.by_task()
    tasks = len(sums)
    won, lost = int((sums > 0).sum()), int((sums < 0).sum())
    average = float(sums.sum() / counts.sum())
    if won + lost == 0:
        most = wilson(0, tasks)[1] if _are_shares(a) and _are_shares(b) else 0.0
        low, high = -most, most
    elif tasks == 1:
        low = high = average
    else:
        low, high = interval(resampled(sums, counts), tasks)
    return Difference(
        average,
        low,
        high,
        sign_flip(sums),
        won,
        lost,
        tasks - won - lost,
        len(gaps),
        tasks,
        len(gaps.seeds),
        warnings=(*warnings, *small(tasks)),
    )


def sign_flip(sums: Floats) -> float:
    """Return how likely a sum at least as large would be, either way, if each task's sign were a coin's."""
    sums = sums[sums != 0]
    if not len(sums):
        return 1.0
    if len(sums) <= _EXACT:
        bits = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
        return float(np.mean(np.abs((1 - 2 * bits) @ sums) >= abs(sums.sum()) - 1e-9))
    flipped = np.abs(_signs(len(sums)) @ sums)
    return float((1 + np.sum(flipped >= abs(sums.sum()) - 1e-9)) / (1 + FLIPS))


@lru_cache(maxsize=8)
def _signs(tasks: int) -> NDArray[np.float32]:
    drawn = generator("sign-flip", tasks).integers(0, 2, size=(FLIPS, tasks), dtype=np.int8)
    return (1 - 2 * drawn).astype(np.float32)
