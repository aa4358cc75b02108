"""The search that every selector is found with: a mandatory base, then the fewest extra conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Generic, TypeVar

C = TypeVar("C")

MOST_EXTRAS = 3


@dataclass(frozen=True, slots=True)
class Extra(Generic[C]):
    """A condition that may be added; `grounded` says whether the user's words hold a cue for it."""

    condition: C
    grounded: bool = True
    cost: int = 1


@dataclass(frozen=True, slots=True)
class Fit(Generic[C]):
    """What was found."""

    conditions: tuple[C, ...]
    grounded: bool


def fewest(
    base: Sequence[C], extras: Iterable[Extra[C]], fits: Callable[[tuple[C, ...]], Any]
) -> Fit[C] | None:
    """Return the base with the fewest (then cheapest, grounded first) extras for which `fits` is true."""
    pool = sorted(extras, key=lambda e: (not e.grounded, e.cost))
    for wanted in (True, False):
        usable = [e for e in pool if e.grounded or not wanted]
        for size in range(MOST_EXTRAS + 1):
            found = sorted(combinations(usable, size), key=lambda c: sum(e.cost for e in c))
            for chosen in found:
                if not wanted and all(e.grounded for e in chosen):
                    continue
                conditions = (*base, *(e.condition for e in chosen))
                if fits(conditions):
                    return Fit(conditions, all(e.grounded for e in chosen))
    return None
