r"""How a strategy's pass rate depends on what the tools do: a logistic regression with shared slopes.

For strategy s under conditions c, with severity x = (1 − P(clean)) / 0.40 (the paper's profile is x = 1)::

    logit P(pass) = α_s + (w + d_s) · φ(c)
    φ(c) = (x, bend(x), alternatives, alternatives and failures, (K_max − 2)·x, (B − 5)/2·x)

bend(x) is x·(1 − x) up to the paper's severity and goes on straight beyond it. Only features that vary in the
evidence take part, the bend only where there are three levels of x. The slopes w are shared, the deviations d_s
are drawn towards zero (normal priors, `_INTERCEPT`, `_SLOPES`, `_DEVIATIONS`; the bend is shared altogether), so
a strategy that was measured under one condition only borrows the others' slope.

Uncertainty: the influence of each task on the fit (a sandwich estimate clustered by task), which keeps the seeds
of a task together and pairs the strategies on their common tasks; where tasks are not known, the curvature of the
posterior. A rate's interval is never narrower than the latter gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .evidence import Conditions, Evidence, tasks_of

Array = NDArray[np.float64]

_SEVERE: Final = 0.40
"""Injected share of the paper's profile."""
_INTERCEPT: Final = 3.0
"""Standard deviations of the priors, in units of the logit; the others are feature by feature."""
_SLOPES: Final = np.array([2.5, 2.5, 1.5, 1.5, 0.5, 0.5])
_DEVIATIONS: Final = np.array([1.5, 1e-3, 0.7, 0.7, 0.2, 0.2])
_Z: Final = 1.959964
_UNLIMITED_K, _UNLIMITED_B = 5, 15
"""What stands for no limit: hardly any episode gets further."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An expected value and its 95 % interval."""

    mean: float
    low: float
    high: float


def features(conditions: Conditions) -> Array:
    """Return φ(c), in the order of the module's formula."""
    x = (1 - conditions.clean_probability) / _SEVERE
    k = _UNLIMITED_K if conditions.max_consecutive is None else conditions.max_consecutive
    b = _UNLIMITED_B if conditions.budget is None else conditions.budget
    alternatives = float(conditions.alternatives)
    bend = x * (1 - x) if x <= 1 else 1 - x
    return np.array([x, bend, alternatives, alternatives * (x > 0), (k - 2) * x, (b - 5) / 2 * x])


class Model:
    """The regression, fitted.

    Args:
        evidence: what to fit it on.
    """

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.strategies = evidence.strategies
        measured = np.array([features(one.conditions) for one in evidence.trials])
        varies = np.ptp(measured, axis=0) > 0
        varies[1] &= len(np.unique(measured[:, 0].round(9))) >= 3
        self.used = tuple(np.flatnonzero(varies))
        """The places of the features that take part."""
        self._tasks = {task: at for at, task in enumerate(tasks_of(evidence.trials))}
        self._rows = self._stack()
        self._theta = self._fitted()

    def rate(self, strategy: str, conditions: Conditions) -> Interval:
        """Return the expected pass rate of a strategy."""
        row = self._row(strategy, conditions)
        mean = _logistic(float(row @ self._theta))
        curvature = float(row @ self._covariance @ row) * self.evidence.design_effect
        variance = max(curvature, float(self._influence(row) @ self._influence(row)))
        at, spread = float(row @ self._theta), _Z * float(np.sqrt(variance))
        return Interval(mean, _logistic(at - spread), _logistic(at + spread))

    def difference(self, better: str, other: str, conditions: Conditions) -> Interval:
        """Return by how much the expected pass rate of one strategy is above that of another."""
        gradients = []
        rates = []
        for name in (better, other):
            row = self._row(name, conditions)
            rate = _logistic(float(row @ self._theta))
            rates.append(rate)
            gradients.append(rate * (1 - rate) * row)
        gradient = gradients[0] - gradients[1]
        if self._tasks:
            influence = self._influence(gradient)
            variance = float(influence @ influence)
        else:
            variance = float(gradient @ self._covariance @ gradient)
        mean, spread = rates[0] - rates[1], _Z * float(np.sqrt(variance))
        return Interval(mean, max(-1.0, mean - spread), min(1.0, mean + spread))

    def cost(self, strategy: str, conditions: Conditions) -> float | None:
        """Return the expected cost of an episode: least squares on the strategy's own trials; None if unknown."""
        known = [one for one in self.evidence.of(strategy) if one.cost is not None]
        if not known:
            return None
        design = np.array([self._basis(one.conditions) for one in known])
        costs = np.array([one.cost for one in known])
        weights = np.linalg.lstsq(design, costs, rcond=None)[0]
        return max(0.0, float(self._basis(conditions) @ weights))

    @cached_property
    def misfit(self) -> float:
        """By how much the model is off at most, over everything that was measured, in shares."""
        return max(
            abs(one.rate - self.rate(one.strategy, one.conditions).mean) for one in self.evidence.trials
        )

    @property
    def tasks(self) -> int:
        """How many tasks the evidence names; 0 where it holds sums only."""
        return len(self._tasks)

    def _basis(self, conditions: Conditions) -> Array:
        return np.concatenate([[1.0], features(conditions)[list(self.used)]])

    def _row(self, strategy: str, conditions: Conditions) -> Array:
        """Return the row of the design: own intercept, shared slopes, own deviations."""
        count, at = len(self.strategies), self.strategies.index(strategy)
        phi = features(conditions)[list(self.used)]
        own = np.zeros((count, 1 + len(phi)))
        own[at] = np.concatenate([[1.0], phi])
        return np.concatenate([own[:, 0], phi, own[:, 1:].ravel()])

    def _stack(self) -> tuple[Array, Array, Array, NDArray[np.int64]]:
        """Return design, passed, played and task (−1: not known) of every row."""
        designs, tasks = [], []
        passed: list[float] = []
        played: list[float] = []
        for one in self.evidence.trials:
            row = self._row(one.strategy, one.conditions)
            designs.append(np.tile(row, (len(one.passed), 1)))
            passed += one.passed
            played += one.played
            tasks += [self._tasks[task] for task in one.tasks] or [-1] * len(one.passed)
        return np.vstack(designs), np.array(passed), np.array(played), np.array(tasks)

    @cached_property
    def _precision(self) -> Array:
        """The priors' precisions."""
        count, places = len(self.strategies), list(self.used)
        own = np.tile(_DEVIATIONS[places], count)
        spreads: Array = np.concatenate([np.full(count, _INTERCEPT), _SLOPES[places], own])
        return np.asarray(1 / spreads**2, dtype=np.float64)

    def _fitted(self) -> Array:
        """Return the most probable parameters, by Newton's method (the posterior is log-concave)."""
        design, passed, played, _ = self._rows
        theta: Array = np.zeros(design.shape[1])
        for _ in range(200):
            rates = _logistic(design @ theta)
            gradient = design.T @ (passed - played * rates) - self._precision * theta
            step = np.linalg.solve(self._hessian(theta), gradient)
            size = float(np.abs(step).max())
            theta += step * min(1.0, 2.0 / max(size, 1e-12))
            if size < 1e-9:
                break
        return theta

    def _hessian(self, theta: Array) -> Array:
        design, _, played, _ = self._rows
        rates = _logistic(design @ theta)
        weights = (played * rates * (1 - rates))[:, None]
        hessian: Array = design.T @ (weights * design) + np.diag(self._precision)
        return hessian

    @cached_property
    def _covariance(self) -> Array:
        return np.asarray(np.linalg.inv(self._hessian(self._theta)), dtype=np.float64)

    @cached_property
    def _scores(self) -> Array:
        """Each task's pull on the parameters (rows are tasks)."""
        design, passed, played, tasks = self._rows
        pulls = design * (passed - played * _logistic(design @ self._theta))[:, None]
        scores = np.zeros((len(self._tasks), design.shape[1]))
        known = tasks >= 0
        np.add.at(scores, tasks[known], pulls[known])
        return scores

    def _influence(self, gradient: Array) -> Array:
        """Return each task's influence on a function of the parameters with this gradient."""
        count = len(self._tasks)
        if count < 2:
            return np.zeros(1)
        pull: Array = self._scores @ (self._covariance @ gradient)
        return pull * float(np.sqrt(count / (count - 1)))


def _logistic(value: Any) -> Any:
    chance = 1 / (1 + np.exp(-np.clip(value, -35, 35)))
    return float(chance) if np.ndim(chance) == 0 else chance
