"""Intervals by a bootstrap over tasks.

Episodes of one task are alike, whatever the seed, so tasks are what is drawn again, each with all its
seeds. A mean is a ratio: the drawn tasks' values over the drawn tasks' episodes, for in some rows (S2, an
error type met) tasks have different numbers of episodes. The percentiles are widened to what a t interval
would have (Hesterberg 2015, "expanded percentile interval"), or few tasks would give too short intervals.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Final

import numpy as np

from .generator import generator
from .proportions import wilson
from .sample import Difference, Estimate, Floats, Sample, small

RESAMPLES: Final = 4000
LEVEL: Final = 0.95


@lru_cache(maxsize=16)
def _counts(tasks: int, stream: str) -> Floats:
    """Return how often each task is drawn, in each resample."""
    drawn = generator("bootstrap", stream, tasks).integers(0, tasks, size=(RESAMPLES, tasks))
    flat = (drawn + np.arange(RESAMPLES)[:, None] * tasks).ravel()
    return np.bincount(flat, minlength=RESAMPLES * tasks).reshape(RESAMPLES, tasks).astype(np.float64)


def resampled(sums: Floats, counts: Floats, stream: str = "a") -> Floats:
    """Return the mean of each resample, from each task's sum and number of values."""
    weights = _counts(len(sums), stream)
    return np.asarray((weights @ sums) / (weights @ counts), dtype=np.float64)


def interval(means: Floats, tasks: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval that holds a share `level` of resampled means, widened for few tasks."""
    from scipy.special import ndtr, stdtrit

    if tasks < 2:
        return float(means.min()), float(means.max())
    tail = float(ndtr(sqrt(tasks / (tasks - 1)) * stdtrit(tasks - 1, (1 - level) / 2)))
    low, high = np.quantile(means, (tail, 1 - tail))
    return float(low), float(high)


def mean(sample: Sample) -> Estimate:
    """Return the mean of a sample, its spread over seeds and its 95 % interval over tasks.

    Where all values are 0, or all are 1, resampling shows nothing: the interval is Wilson's for that many
    tasks. An empty sample has no mean: everything is NaN, and a warning says so.
    """
    if not len(sample):
        nan = float("nan")
        return Estimate(nan, None, nan, nan, 0, 0, 0, ("no episodes",))
    sums, counts = sample.by_task()
    tasks, seeds = len(sums), sample.per_seed()
    average = float(sums.sum() / counts.sum())
    if average in (0.0, 1.0) and bool(((sample.value == 0) | (sample.value == sample.weight)).all()):
        low, high = wilson(round(average * tasks), tasks)
    elif tasks == 1:
        low, high = average, average
    else:
        low, high = interval(resampled(sums, counts), tasks)
    std = float(np.std(list(seeds.values()), ddof=1)) if len(seeds) > 1 else None
    return Estimate(average, std, low, high, len(sample), tasks, len(seeds), tuple(small(tasks)))


def unpaired(a: Sample, b: Sample) -> Difference:
    """Return how much higher the mean of `b` is than that of `a`, whose tasks or seeds are not the same.

    The two are resampled apart from each other, so the interval is longer than that of `paired`; the p-value is
    that of the normal approximation with the same spread.
    """
    from scipy.special import ndtr

    nan = float("nan")
    if not (len(a) and len(b)):
        return Difference(nan, nan, nan, nan, 0, 0, 0, 0, 0, 0, paired=False, warnings=("no episodes",))
    sides = [s.by_task() for s in (a, b)]
    (mean_a, mean_b), tasks = (float(s.sum() / n.sum()) for s, n in sides), min(len(s) for s, _ in sides)
    spread = resampled(*sides[1], stream="b") - resampled(*sides[0], stream="a")
    low, high = interval(spread, tasks)
    gap, deviation = mean_b - mean_a, float(spread.std())
    p = 2 * float(ndtr(-abs(gap) / deviation)) if deviation else float(gap == 0)
    seeds = min(len(a.seeds), len(b.seeds))
    n = min(len(a), len(b))
    return Difference(gap, low, high, p, 0, 0, 0, n, tasks, seeds, paired=False, warnings=tuple(small(tasks)))
