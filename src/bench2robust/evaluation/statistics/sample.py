"""Values of episodes, each with its task and seed, and what statistics say of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bench2robust.core.errors import SpecError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW_TASKS = 30
"""Fewer tasks than this make an interval that is only roughly right: it comes with a warning."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Some values (passed or not, steps, …), one for each of some episodes.

    Its mean is the sum of the values over the sum of the weights. Weights are 1, but for ratios of counts, such
    as recoveries (`value`) over failures (`weight`).

    Raises:
        SpecError: they are not of one length.
    """

    task: Ints
    """Which task each is of, as a number; equal numbers mean equal tasks in every sample compared."""
    seed: Ints
    value: Floats

    weight: Floats = field(default_factory=lambda: np.ones(0))

    def __post_init__(self) -> None:
        if not len(self.weight):
            object.__setattr__(self, "weight", np.ones(len(self.value)))
        kinds = {"task": np.int64, "seed": np.int64, "value": np.float64, "weight": np.float64}
        for name, kind in kinds.items():
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=kind))
        shapes = [getattr(self, name).shape for name in kinds]
        if len(set(shapes)) > 1 or len(shapes[0]) != 1:
            raise SpecError(f"expected task, seed, value and weight of one length, got shapes={shapes!r}")

    @classmethod
    def of(cls, table: ArrayLike) -> Sample:
        """Return the sample of a table of values: a row a task, a column a seed."""
        values = np.asarray(table, dtype=np.float64)
        task, seed = np.indices(values.shape)
        return cls(task.ravel(), seed.ravel(), values.ravel())

    def __len__(self) -> int:
        return int((self.weight > 0).sum())

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return len(np.unique(self.task[self.weight > 0]))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds there are, in order."""
        return tuple(np.unique(self.seed[self.weight > 0]).tolist())

    @property
    def plain(self) -> bool:
        """Whether every weight is 1."""
        return bool((self.weight == 1).all())

    def by_task(self) -> tuple[Floats, Floats]:
        """Return the sum of the values and of the weights of each task that has any weight."""
        _, place = np.unique(self.task, return_inverse=True)
        values, weights = _sums(place, self.value), _sums(place, self.weight)
        return values[weights > 0], weights[weights > 0]

    def per_seed(self) -> dict[int, float]:
        """Return the mean of each seed that has any weight."""
        seeds, place = np.unique(self.seed, return_inverse=True)
        values, weights = _sums(place, self.value), _sums(place, self.weight)
        there = weights > 0
        means = values[there] / weights[there]
        return dict(zip(seeds[there].tolist(), means.tolist(), strict=True))


def _sums(place: Ints, values: Floats) -> Floats:
    return np.bincount(place, weights=values).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean, and how sure it is."""

    mean: float
    std: float | None
    """Sample standard deviation of the means of the seeds, as the paper's ±; None with a single seed."""
    low: float
    """Lower end of the 95 % interval: over tasks like these, each with its seeds."""
    high: float
    n: int
    """Episodes."""
    tasks: int
    seeds: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher `b` is than `a`."""

    mean: float
    """`b` minus `a`."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    p: float
    """Of differences at least as large, either way, if the two were alike: by a permutation test."""
    won: int
    """Tasks in which `b` is better, over the seeds."""
    lost: int
    tied: int
    n: int
    """Pairs of episodes; of an unpaired difference, the episodes of the smaller sample."""
    tasks: int
    seeds: int
    paired: bool = True
    warnings: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


def small(tasks: int, what: str = "tasks") -> Sequence[str]:
    """Return the warning that there are few tasks, if there are."""
    if tasks >= FEW_TASKS:
        return ()
    return (f"only {tasks} {what if tasks != 1 else what.removesuffix('s')}: the interval is rough",)
