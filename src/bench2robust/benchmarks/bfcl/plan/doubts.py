"""What looks wrong in an answer by the domain's own redundancies, without knowing the truth."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from bench2robust import domains

_HEALTHY = (30.0, 35.0)
"""Mean tire pressures, in psi, that the car calls healthy."""
_OFF_AVERAGE = 0.08
"""How far a price is from its five-day average before it looks wrong."""


@cache
def doubts_of(tool: str) -> Callable[[Any], str | None]:
    """Return why an answer of a tool looks wrong: what should say something is empty, or figures disagree."""
    rules = domains.load("bfcl").fields.get(tool)
    plain = tuple(pattern for pattern in (rules.critical if rules else ()) if "*" not in pattern)

    def doubts(value: Any) -> str | None:
        empty = next((name for name in plain if _empty(value, name.split("."))), None)
        return f"{empty} is empty" if empty else _disagreement(value)

    return doubts


def _empty(value: Any, path: list[str]) -> bool:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return value in ("", [], {})


def _disagreement(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    tires = [v for key, v in value.items() if key.endswith("TirePressure")]
    if tires and "healthy_tire_pressure" in value:
        healthy = _HEALTHY[0] <= sum(tires) / len(tires) <= _HEALTHY[1]
        return (
            None
            if healthy == value["healthy_tire_pressure"]
            else "the pressures do not fit the verdict on them"
        )
    price, average = value.get("price"), value.get("MA(5)")
    if isinstance(price, float) and isinstance(average, float) and average:
        return "the price is far from its average" if abs(price / average - 1) > _OFF_AVERAGE else None
    return None
