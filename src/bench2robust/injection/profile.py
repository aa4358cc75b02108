"""Noise profiles: with what probability each tool's response is corrupted, and how (paper, Table 13)."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.noise import NOISE_TYPES, NoiseType

from .burst import Burst, Bursts
from .texts import TEXTS_VERSION

Distribution = Mapping[NoiseType, float]

# Clean comes first, so a call that is injected in a milder rescaling of a profile is injected in a
# harsher one too (on the same draw).
_ORDER: Final = (NoiseType.CLEAN, *NOISE_TYPES)
_TOLERANCE: Final = 1e-9
_KEYS: Final = ("version", "default", "tools", "burst")
_SEVERE: Final = {
    NoiseType.TIMEOUT: 0.06,
    NoiseType.RATE_LIMIT: 0.05,
    NoiseType.SERVER_ERROR: 0.05,
    NoiseType.MALFORMED: 0.04,
    NoiseType.AUTH_ERROR: 0.03,
    NoiseType.SCHEMA_DRIFT: 0.03,
    NoiseType.PARTIAL: 0.05,
    NoiseType.STALE: 0.04,
    NoiseType.FACTUAL: 0.05,
    NoiseType.CLEAN: 0.60,
}
_CLEAN_PROBABILITY: Final = {"severe": 0.60, "moderate": 0.80, "mild": 0.95, "none": 1.0}


class NoiseTable:
    """One tool's distribution, ready to be drawn from."""

    __slots__ = ("_bounds", "clean")

    def __init__(self, distribution: Distribution) -> None:
        self.clean = distribution[NoiseType.CLEAN]
        bounds, total = [], 0.0
        for noise in _ORDER:
            total += distribution[noise]
            bounds.append(total)
        # Rounding must not leave a gap below 1: the last type that can be drawn reaches up to 1.
        last = max(i for i, noise in enumerate(_ORDER) if distribution[noise] > 0)
        self._bounds = bounds[:last] + [1.0] * (len(bounds) - last)

    def at(self, u: float) -> NoiseType:
        """Return the noise type that a uniform number in [0, 1) stands for."""
        return _ORDER[bisect_right(self._bounds, u)]


def _checked(distribution: Distribution, where: str) -> dict[NoiseType, float]:
    """Return the distribution with every type present, or raise `SpecError`."""
    known = [str(noise) for noise in _ORDER]
    for name, p in distribution.items():
        if name not in known:
            raise SpecError(f"{where}: {UnknownNameError('noise type', str(name), known)}")
        if isinstance(p, bool) or not isinstance(p, int | float) or not math.isfinite(p) or p < 0:
            raise SpecError(f"{where}: expected a probability of at least 0, got {name!s}={p!r}")
    full = {noise: float(distribution.get(noise, 0.0)) for noise in _ORDER}
    total = math.fsum(full.values())
    if abs(total - 1.0) > _TOLERANCE:
        raise SpecError(f"{where}: expected probabilities, clean included, that sum to 1, got sum={total!r}")
    return full


def _noisy(distribution: Distribution) -> float:
    return math.fsum(distribution[noise] for noise in NOISE_TYPES)


def _rescaled(distribution: Distribution, clean: float) -> dict[NoiseType, float]:
    noisy = _noisy(distribution)
    if noisy == 0.0:
        return dict(distribution)
    # Twelve digits keep 0.03 from reading 0.029999999999999995 in manifests.
    scaled = {noise: round(distribution[noise] * (1.0 - clean) / noisy, 12) for noise in NOISE_TYPES}
    return {NoiseType.CLEAN: clean, **scaled}


@dataclass(frozen=True, slots=True)
class NoiseProfile:
    """Probabilities of the nine noise types and of a clean response, per tool (θ_j in the paper).

    Args:
        default: the distribution of every tool that has none of its own; types left out have
            probability 0.
        tools: distributions of single tools.
        bursts: which tools' failures come in bursts (`injection.burst`); none do by default.

    Raises:
        SpecError: an unknown noise type, a negative or non-finite probability, a sum that is not 1, or bursts
            that cannot give so many failures.

    >>> NoiseProfile.severe().for_tool("get_order_details")[NoiseType.TIMEOUT]
    0.06
    """

    default: Distribution = field(default_factory=lambda: dict(_SEVERE))
    tools: Mapping[str, Distribution] = field(default_factory=dict)
    bursts: Bursts = field(default_factory=Bursts)
    _default_table: NoiseTable = field(init=False, repr=False, compare=False)
    _tables: dict[str, NoiseTable] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        default = _checked(self.default, "profile default")
        tools = {name: _checked(self.tools[name], f"profile tool {name!r}") for name in sorted(self.tools)}
        put = object.__setattr__
        put(self, "default", default)
        put(self, "tools", tools)
        put(self, "_default_table", NoiseTable(default))
        put(self, "_tables", {name: NoiseTable(tool) for name, tool in tools.items()})
        if self.bursts.default is not None:
            self.bursts.default.check(_noisy(default), "burst")
        for name in {**tools, **dict(self.bursts.tools)}:
            burst = self.bursts.of(name)
            if burst is not None:
                burst.check(_noisy(self.for_tool(name)), f"burst.tools.{name}")

    def __hash__(self) -> int:
        own = tuple((name, tuple(tool.items())) for name, tool in self.tools.items())
        return hash((tuple(self.default.items()), own, self.bursts))

    @classmethod
    def severe(cls) -> NoiseProfile:
        """Return the paper's profile (Table 13): P(clean) = 0.60."""
        return cls()

    @classmethod
    def empty(cls) -> NoiseProfile:
        """Return the profile under which every response is clean."""
        return cls({NoiseType.CLEAN: 1.0})

    @classmethod
    def named(cls, name: str) -> NoiseProfile:
        """Return a profile by name: ``severe`` (P(clean) = .60), ``moderate`` (.80), ``mild`` (.95), ``none``.

        Raises:
            UnknownNameError: any other name.
        """
        if name not in _CLEAN_PROBABILITY:
            raise UnknownNameError("profile", name, _CLEAN_PROBABILITY)
        return cls.severe().with_clean_probability(_CLEAN_PROBABILITY[name])

    def with_clean_probability(self, p: float) -> NoiseProfile:
        """Return the profile with P(clean) = `p` and the nine types rescaled alike (paper, Table 14).

        A distribution without noise has nothing to rescale and stays as it is.

        Raises:
            SpecError: `p` outside [0, 1], or below 1 for a profile that has no noise at all.
        """
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0.0 <= p <= 1.0:
            raise SpecError(f"expected a clean probability between 0 and 1, got p={p!r}")
        if p < 1.0 and all(d[NoiseType.CLEAN] == 1.0 for d in (self.default, *self.tools.values())):
            raise SpecError(
                f"expected a profile with noise to rescale, got an empty one for p={p!r}; start from a named one"
            )
        tools = {name: _rescaled(tool, float(p)) for name, tool in self.tools.items()}
        return NoiseProfile(_rescaled(self.default, float(p)), tools, self.bursts)

    def for_tool(self, name: str) -> Distribution:
        """Return the distribution of a tool."""
        return self.tools.get(name, self.default)

    def table(self, name: str) -> NoiseTable:
        """Return the distribution of a tool, ready to be drawn from."""
        return self._tables.get(name, self._default_table)

    def burst(self, name: str) -> Burst | None:
        """Return how the failures of a tool lie together; None where they are independent, or there are none."""
        return self.bursts.of(name) if _noisy(self.for_tool(name)) > 0 else None

    def inside_burst(self, name: str) -> NoiseTable:
        """Return the distribution of a tool's calls that lie in a burst, ready to be drawn from.

        Raises:
            KeyError: the tool's failures do not come in bursts.
        """
        burst, theta = self.burst(name), self.for_tool(name)
        if burst is None:
            raise KeyError(name)
        scale = burst.intensity / _noisy(theta)
        inside = {noise: theta[noise] * scale for noise in NOISE_TYPES}
        return NoiseTable({**inside, NoiseType.CLEAN: max(0.0, 1.0 - math.fsum(inside.values()))})

    def check_tools(self, known: Iterable[str]) -> None:
        """Refuse a profile that names a tool which does not exist.

        Raises:
            UnknownNameError: with a suggestion.
        """
        names = list(known)
        for name in {**self.tools, **dict(self.bursts.tools)}:
            if name not in names:
                raise UnknownNameError("tool", name, names)

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as JSON values, with the version of the texts that agents read."""
        data: dict[str, Any] = {
            "version": TEXTS_VERSION,
            "default": {str(noise): p for noise, p in self.default.items()},
            "tools": {name: {str(noise): p for noise, p in d.items()} for name, d in self.tools.items()},
        }
        bursts = self.bursts.to_dict()
        return {**data, "burst": bursts} if bursts else data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NoiseProfile:
        """Read what `to_dict` wrote, or a hand-written table of the same form (only ``default`` has to be there).

        Raises:
            SpecError: an unknown key, another version of the texts, or probabilities that cannot be.
        """
        unknown = sorted(set(data) - set(_KEYS))
        if unknown:
            raise SpecError(f"unknown key in profile={unknown[0]!r}; known: {', '.join(_KEYS)}")
        version = data.get("version", TEXTS_VERSION)
        if version != TEXTS_VERSION:
            raise SpecError(f"expected a profile for texts version {TEXTS_VERSION}, got version={version!r}")
        default, tools = data.get("default"), data.get("tools", {})
        if not isinstance(default, Mapping):
            raise SpecError(f"expected a table of probabilities, got default={default!r}")
        if not isinstance(tools, Mapping) or not all(isinstance(d, Mapping) for d in tools.values()):
            raise SpecError(f"expected a table of probabilities for each tool, got tools={tools!r}")
        return cls(default, tools, Bursts.from_dict(data.get("burst", {})))
