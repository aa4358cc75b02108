"""Sweeps over severity (paper, Table 14): clean probabilities and injection limits, one run each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench2robust.core.errors import SpecError
from bench2robust.core.noise import NoiseType
from bench2robust.injection import Limits

from .series import Series
from .spec import RunSpec

PAPER_CLEAN: Final = (0.60, 0.80, 0.90, 0.95)
PAPER_LIMITS: Final = (Limits(3, 1), Limits(5, 2), Limits(7, 3))
_TOO_MANY: Final = 200


@dataclass(frozen=True, slots=True)
class Grid:
    """Which severities.

    Raises:
        SpecError: a probability outside [0, 1], a value given twice, or too many points.
    """

    clean: tuple[float, ...] = ()
    """Clean probabilities; empty to leave the run's own."""
    limits: tuple[Limits, ...] = ()
    """Injection limits; empty to leave the run's own."""
    cross: bool = False
    """Every combination, where the paper varies one at a time."""

    def __post_init__(self) -> None:
        for name, values in (("clean-prob", self.clean), ("limits", self.limits)):
            if len(set(values)) < len(values):
                raise SpecError(f"expected each value once, got {name} with one twice")
        for p in self.clean:
            if isinstance(p, bool) or not 0 <= p <= 1:
                raise SpecError(f"expected a probability between 0 and 1, got clean-prob={p!r}")
        if len(self.clean) * len(self.limits) > _TOO_MANY:
            raise SpecError(f"expected at most {_TOO_MANY} points, got {len(self.clean) * len(self.limits)}")

    def points(self, clean: float, limits: Limits) -> tuple[tuple[float, Limits], ...]:
        """Return the points, each once, given the values of the axis that is not varied.

        The probabilities are varied under the usual limits, and the limits under the usual probability.
        """
        ps, bounds = self.clean or (clean,), self.limits or (limits,)
        if self.cross:
            return tuple(dict.fromkeys((p, bound) for p in ps for bound in bounds))
        along = [(p, limits) for p in self.clean] + [(clean, bound) for bound in self.limits]
        return tuple(dict.fromkeys(along or [(clean, limits)]))


def read_probabilities(text: str) -> tuple[float, ...]:
    """Return the numbers of ``.6,.8``.

    Raises:
        SpecError: something else.
    """
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SpecError(f"expected probabilities such as .6,.8, got clean-prob={text!r}") from None
    return values


def read_limits(text: str) -> tuple[Limits, ...]:
    """Return the limits of ``3:1,5:2`` (budget and consecutive limit; ``none`` for no limit).

    Raises:
        SpecError: something else.
    """
    found = []
    for part in text.split(","):
        numbers = part.strip().split(":")
        if len(numbers) != 2 or not all(n.isdecimal() or n == "none" for n in numbers):
            raise SpecError(f"expected BUDGET:CONSECUTIVE pairs such as 3:1,5:2, got limits={text!r}")
        found.append(Limits(*(None if n == "none" else int(n) for n in numbers)))
    return tuple(found)


def sweep(settings: Mapping[str, Any], grid: Grid) -> Series:
    """Return the runs of a sweep.

    Args:
        settings: those of every run (`spec.SETTINGS`), but for the severity of the point.
        grid: the severities.

    Raises:
        UsageError: as `RunSpec.from_settings`.
    """
    base = RunSpec.from_settings(settings)
    clean = float(base.injection.profile.default[NoiseType.CLEAN])
    points = grid.points(clean, base.injection.limits)
    return Series("sweep", {name_of(p, limits): _at(settings, p, limits) for p, limits in points})


def _at(settings: Mapping[str, Any], p: float, limits: Limits) -> RunSpec:
    severity = {"clean-probability": p, "budget": limits.budget, "max-consecutive": limits.max_consecutive}
    return RunSpec.from_settings({**settings, **severity})


def name_of(p: float, limits: Limits) -> str:
    """Return the name of a point's run folder.

    >>> name_of(0.6, Limits(5, 2))
    'p0.60-b5-k2'
    """
    bounds = ["none" if value is None else str(value) for value in (limits.budget, limits.max_consecutive)]
    return f"p{p:.2f}-b{bounds[0]}-k{bounds[1]}" if round(p, 2) == p else f"p{p:g}-b{bounds[0]}-k{bounds[1]}"
