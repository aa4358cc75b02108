"""Plain proportions, and pass^k."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt

import numpy as np

from bench2robust.core.errors import SpecError

from .sample import Sample

_Z = 1.959963984540054
"""Of a 95 % interval."""


def wilson(successes: float, trials: float, z: float = _Z) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion, 95 % unless `z` says otherwise; all of [0, 1] without trials.

    For independent trials; where tasks are tried with several seeds, `mean` is the right one.
    """
    if trials <= 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low, high = (centre - half) / scale, (centre + half) / scale
    return (0.0 if successes == 0 else max(0.0, low)), (1.0 if successes == trials else min(1.0, high))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p-values corrected for being many, by Holm's step-down method, in the same order."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = least
    return tuple(corrected)


def chances_of_all(sample: Sample, k: int) -> Sample:
    """Return each task's chance that k of its episodes, drawn without replacement, all passed (pass^k).

    `mean` of what this returns is pass^k with its interval. Tasks with fewer than k episodes are left out.

    Raises:
        SpecError: k is below 1, or no task has k episodes.
    """
    if k < 1:
        raise SpecError(f"expected at least 1, got k={k!r}")
    tasks, place = np.unique(sample.task, return_inverse=True)
    passed = np.bincount(place, weights=sample.value).round().astype(int).tolist()
    episodes = np.bincount(place).tolist()
    found = [
        (task, comb(c, k) / comb(n, k))
        for task, c, n in zip(tasks.tolist(), passed, episodes, strict=True)
        if n >= k
    ]
    if not found:
        raise SpecError(
            f"expected a task with at least k={k} episodes, got at most {max(episodes, default=0)}"
        )
    ids, chances = zip(*found, strict=True)
    return Sample(np.array(ids), np.zeros(len(ids), dtype=int), np.array(chances))
