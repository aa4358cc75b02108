"""How many tasks and seeds it takes to see a difference.

A paired difference is modelled as δ + τ(task) + ε(task, seed). Its mean over T tasks with S seeds each has the
variance (σ_τ² + σ_ε² / S) / T: more seeds wear down ε only, more tasks both. An unpaired difference has
twice that of one system's values. Both are estimated from runs by a one-way analysis of variance, or taken
from a stated prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from bench2robust.core.errors import SpecError

from .pairs import match
from .sample import Sample

LEVEL = 0.05
POWER = 0.80


@dataclass(frozen=True, slots=True)
class Spread:
    """The variances of the values of one system, or of the differences of two."""

    task: float
    """Between tasks."""
    seed: float
    """Between the seeds of a task."""

    def variance(self, tasks: int, seeds: int) -> float:
        """Return the variance of the mean over tasks and seeds."""
        return (self.task + self.seed / seeds) / tasks

    def tasks_for(self, difference: float, seeds: int, power: float = POWER, level: float = LEVEL) -> int:
        """Return how many tasks let a test see a difference.

        Args:
            difference: how large, above 0; rates are shares, so five points are 0.05.
            seeds: how many each task is run with.
            power: how often it is to be seen.
            level: how often one may be seen that is not there.

        Raises:
            SpecError: a number outside what it may be.
        """
        _check(difference, seeds, power, level)
        return max(2, ceil((self.task + self.seed / seeds) * (_z(level, power) / difference) ** 2))

    def smallest(self, tasks: int, seeds: int, power: float = POWER, level: float = LEVEL) -> float:
        """Return the smallest difference that this many tasks and seeds let a test see."""
        _check(1.0, seeds, power, level)
        return _z(level, power) * sqrt(self.variance(tasks, seeds))


def _check(difference: float, seeds: int, power: float, level: float) -> None:
    if not 0 < difference <= 1:
        raise SpecError(f"expected a share above 0 and up to 1, such as 0.05, got difference={difference!r}")
    if seeds < 1:
        raise SpecError(f"expected at least 1, got seeds={seeds!r}")
    for name, value in (("power", power), ("level", level)):
        if not 0 < value < 1:
            raise SpecError(f"expected a number between 0 and 1, got {name}={value!r}")


def _z(level: float, power: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(1 - level / 2) + ndtri(power))


def spread(sample: Sample) -> Spread:
    """Estimate the variances of a sample's values.

    With a single seed the two cannot be told apart: all of it counts as between tasks.

    Raises:
        SpecError: fewer than two tasks.
    """
    sums, counts = sample.by_task()
    tasks = len(sums)
    if tasks < 2:
        raise SpecError(f"expected at least 2 tasks to estimate from, got tasks={tasks}")
    means = sums / counts
    if counts.max() < 2:
        return Spread(float(means.var(ddof=1)), 0.0)
    _, place = np.unique(sample.task, return_inverse=True)
    within = float(((sample.value - means[place]) ** 2).sum() / max(1.0, (counts - 1).sum()))
    usual = float((counts.sum() - (counts**2).sum() / counts.sum()) / (tasks - 1))
    grand = float(sums.sum() / counts.sum())
    between = float((counts * (means - grand) ** 2).sum() / (tasks - 1))
    return Spread(max(0.0, (between - within) / usual), within)


def spread_of_difference(a: Sample, b: Sample) -> Spread:
    """Estimate the variances of the paired differences of two samples.

    Raises:
        SpecError: fewer than two tasks in common.
    """
    return spread(match(a, b)[0])


@dataclass(frozen=True, slots=True)
class Prior:
    """What is assumed of two systems where there are no runs; the defaults are middling.

    Raises:
        SpecError: a share outside [0, 1].
    """

    pass_rate: float = 0.4
    """About the paper's, under injection."""
    between: float = 0.5
    """The share of a system's variance that is between tasks."""
    alike: float = 0.5
    """The correlation of the two systems' results on the same task and seed."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 <= getattr(self, name) <= 1:
                raise SpecError(f"expected a share from 0 to 1, got {name}={getattr(self, name)!r}")

    def single(self) -> Spread:
        """Return the variances of one system's results."""
        variance = self.pass_rate * (1 - self.pass_rate)
        return Spread(variance * self.between, variance * (1 - self.between))

    def paired(self) -> Spread:
        """Return the variances of the differences."""
        one = self.single()
        return Spread(2 * (1 - self.alike) * one.task, 2 * (1 - self.alike) * one.seed)


def doubled(single: Spread) -> Spread:
    """Return the variances of the difference of two systems that are not paired, from those of one."""
    return Spread(2 * single.task, 2 * single.seed)
