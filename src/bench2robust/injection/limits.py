"""How much stochastic injection an episode may see (paper, Table 13: B = 5, K_max = 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench2robust.core.errors import SpecError

_HINTS = {
    "budget": "0 injects nothing, 5 is the paper's",
    "max_consecutive": "1 allows no two in a row, 2 is the paper's",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """The two limits on noise; blocking is outside both.

    Raises:
        SpecError: a budget below 0, a consecutive limit below 1, or something that is no integer.
    """

    budget: int | None = 5
    """Most noise injections in one episode (B); None for no limit."""
    max_consecutive: int | None = 2
    """Most noise injections in a row on one tool (K_max); None for no limit."""

    def __post_init__(self) -> None:
        for name, value, least in (("budget", self.budget, 0), ("max_consecutive", self.max_consecutive, 1)):
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise SpecError(
                    f"expected an integer of at least {least}, got {name}={value!r}; {_HINTS[name]}"
                )

    @classmethod
    def unlimited(cls) -> Limits:
        """Return no limits at all."""
        return cls(budget=None, max_consecutive=None)

    def to_dict(self) -> dict[str, int | None]:
        """Return the limits as JSON values."""
        return {"budget": self.budget, "max_consecutive": self.max_consecutive}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Limits:
        """Read what `to_dict` wrote; a missing key keeps its default.

        Raises:
            SpecError: an unknown key, or a value that cannot be.
        """
        unknown = sorted(set(data) - {"budget", "max_consecutive"})
        if unknown:
            raise SpecError(f"unknown key in limits={unknown[0]!r}; known: budget, max_consecutive")
        return cls(**data)
