"""What a test asks for: its mark and the command line, read into a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.tools import ToolKind
from bench2robust.integrations import exact
from bench2robust.integrations.checks import Check, read
from bench2robust.integrations.spec import FaultSpec, Options

_OWN: Final = ("profile", "seeds", "min_pass_rate", "level", "checks", "kinds")
_MOST_SEEDS: Final = 100_000


@dataclass(frozen=True)
class Wish:
    """What the command line says; it comes before what a mark says."""

    profile: str | None = None
    seeds: str | None = None
    replay: int | None = None
    """The one seed to run, without a gate."""

    def __bool__(self) -> bool:
        return self != Wish()


@dataclass(frozen=True)
class Plan:
    """How one test is run."""

    spec: FaultSpec
    seeds: tuple[int, ...]
    min_pass_rate: float | None = None
    """The share of seeds that has to pass as far as chance allows; None for all."""
    level: float = 0.95
    checks: tuple[Check, ...] = ()
    kinds: Mapping[str, ToolKind | str] | None = None
    replay: bool = False

    @classmethod
    def read(cls, marked: Mapping[str, Any], wish: Wish) -> Plan:
        """Return the plan of a test.

        Args:
            marked: the words of its mark: ``profile`` (``severe``), ``seeds`` (a count, or which), the gate's
                ``min_pass_rate`` and ``level``, ``checks``, ``kinds``, and those of `spec.Options`.
            wish: the command line's.

        Raises:
            UsageError: a word or a value that cannot be; one line.
        """
        known = (*_OWN, *Options.__annotations__)
        for word in marked:
            if word not in known:
                raise SpecError(str(UnknownNameError("word in tool_faults", word, known)))
        options: Any = {word: marked[word] for word in Options.__annotations__ if word in marked}
        profile = marked.get("profile", "severe") if wish.profile is None else wish.profile
        seeds = read_seeds(marked.get("seeds", 1) if wish.seeds is None else wish.seeds)
        plan = cls(
            FaultSpec.read(profile, 0, options),
            seeds if wish.replay is None else (wish.replay,),
            None if wish.replay is not None else _rate(marked.get("min_pass_rate")),
            exact.checked(marked.get("level", 0.95)),
            _checks(marked.get("checks", ())),
            marked.get("kinds"),
            replay=wish.replay is not None,
        )
        plan._can_fail()
        return plan

    def _can_fail(self) -> None:
        rate, n = self.min_pass_rate, len(self.seeds)
        if rate and exact.upper(0, n, self.level) >= rate:
            enough = next(n for n in range(1, _MOST_SEEDS) if exact.upper(0, n, self.level) < rate)
            raise SpecError(
                f"expected at least {enough} seeds for min_pass_rate={rate!r}, with fewer it cannot fail, got seeds={n}"
            )


def read_seeds(value: Any) -> tuple[int, ...]:
    """Return seeds from a count (``20``: 0 to 19) or which they are (``"3,7"``, ``"10-14"``, a list).

    Raises:
        SpecError: anything else.
    """
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_SEEDS:
        return tuple(range(value))
    seeds: list[int] = []
    if isinstance(value, str):
        for part in value.split(","):
            low, dash, high = part.strip().partition("-")
            if not low.isdecimal() or not (high.isdecimal() if dash else True):
                raise _not_seeds(value)
            wanted = range(int(low), int(high if dash else low) + 1)
            if len(wanted) > _MOST_SEEDS:
                raise _not_seeds(value)
            seeds += wanted
    elif isinstance(value, list | tuple | range):
        seeds += value
    if (
        not 0 < len(seeds) <= _MOST_SEEDS
        or len(set(seeds)) < len(seeds)
        or not all(type(s) is int for s in seeds)
    ):
        raise _not_seeds(value)
    return tuple(seeds)


def _not_seeds(value: Any) -> SpecError:
    return SpecError(
        f"expected a count of seeds, or seeds such as 3,7 or 10-14, each once, got seeds={value!r}"
    )


def _rate(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise SpecError(f"expected a share above 0 and up to 1, got min_pass_rate={value!r}; such as 0.9")
    return float(value)


def _checks(value: Any) -> tuple[Check, ...]:
    if isinstance(value, str | Check) or callable(value):
        value = (value,)
    if not isinstance(value, list | tuple | set | frozenset):
        raise SpecError(f"expected checks or their names in a list, got checks={value!r}")
    return tuple(map(read, value))
