"""What an agent is told, before it is put into words: the five variants of a memory (paper, Table 3).

| variant | probabilities | fallback map, granularity | constraints |
|---|---|---|---|
| full | the memory's | yes | yes |
| static | 0.50 each | yes | yes |
| dynamic | the memory's | no | no |
| shuffled | the memory's, in other places | yes | yes |
| none | no | no | no |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from bench2robust.core.domain import Domain
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.randomness import Draws

from .beliefs import Belief, Beliefs
from .memory import Memory
from .structure import AND, Fallback, constraints, fallbacks, recoverable

UNIFORM: Final = 0.5
"""Every probability of `Variant.STATIC`."""


class Variant(StrEnum):
    """How much of a memory an agent is told."""

    FULL = "full"
    STATIC = "static"
    """Structure only: every P is 0.50."""
    DYNAMIC = "dynamic"
    """Beliefs only: of the ways around a tool, those that were seen, without a word on what they give."""
    SHUFFLED = "shuffled"
    """The probabilities of `FULL`, in places drawn at random: same format, same values, nothing learned."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way around a tool, and how often episodes recovered by it."""

    tools: tuple[str, ...]
    probability: float
    note: str = ""
    """What it gives and what it lacks; empty where that is not told."""

    @property
    def name(self) -> str:
        """The tools, as the block names them."""
        return AND.join(self.tools)


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that an agent is told."""

    recovery: Mapping[str, Mapping[NoiseType, float]] = field(default_factory=dict)
    """Tool to P(episode recovery | error), for the nine noise types."""
    alternatives: Mapping[str, tuple[Alternative, ...]] = field(default_factory=dict)
    """Tool to the ways around it."""
    paths: tuple[Fallback, ...] = ()
    """The fallback map, of the tools that an agent would use first."""
    constraints: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.recovery or self.constraints)

    @property
    def values(self) -> tuple[float, ...]:
        """Every probability, in the block's order."""
        return tuple(
            p
            for tool, row in self.recovery.items()
            for p in (*row.values(), *(way.probability for way in self.alternatives.get(tool, ())))
        )

    def with_values(self, values: Sequence[float]) -> Content:
        """Return the same with other probabilities, in the order of `values`."""
        left = iter(values)
        recovery: dict[str, dict[NoiseType, float]] = {}
        alternatives: dict[str, tuple[Alternative, ...]] = {}
        for tool, row in self.recovery.items():
            recovery[tool] = {noise: next(left) for noise in row}
            if tool in self.alternatives:
                alternatives[tool] = tuple(
                    replace(way, probability=next(left)) for way in self.alternatives[tool]
                )
        return replace(self, recovery=recovery, alternatives=alternatives)


def content(
    memory: Memory, domain: Domain, tools: Iterable[str], variant: Variant = Variant.FULL, seed: int = 0
) -> Content:
    """Return what an agent is told.

    Args:
        memory: the beliefs.
        domain: classes, granularity, constraints.
        tools: the names of the tools on offer; no other is ever named.
        variant: how much of it.
        seed: where `Variant.SHUFFLED` puts the probabilities.
    """
    if variant is Variant.NONE:
        return Content()
    offered = tuple(tools)
    beliefs = memory.beliefs
    recovery = {
        tool: {noise: beliefs.of(tool, noise).mean for noise in NOISE_TYPES}
        for tool in recoverable(domain, offered)
    }
    if variant is Variant.DYNAMIC:
        return Content(recovery, _seen(beliefs, offered, recovery))
    paths = fallbacks(domain, offered)
    first = tuple(path for path in paths if path.primary)
    told = Content(recovery, _known(beliefs, paths), first, constraints(domain, offered))
    if variant is Variant.STATIC:
        return told.with_values([UNIFORM] * len(told.values))
    return told.with_values(_shuffled(told.values, seed)) if variant is Variant.SHUFFLED else told


def _known(beliefs: Beliefs, paths: Iterable[Fallback]) -> dict[str, tuple[Alternative, ...]]:
    """Return the ways that the domain knows, with the beliefs about them."""
    found: dict[str, tuple[Alternative, ...]] = {}
    for path in paths:
        way = Alternative(path.tools, _switch(beliefs, path).mean, path.note)
        found[path.source] = (*found.get(path.source, ()), way)
    return found


def _seen(
    beliefs: Beliefs, offered: Sequence[str], sources: Iterable[str]
) -> dict[str, tuple[Alternative, ...]]:
    """Return the ways that the beliefs know."""
    found = {
        source: tuple(
            Alternative((target,), beliefs.switch(source, target).mean)
            for target in offered
            if (source, target) in beliefs.switches
        )
        for source in sources
    }
    return {source: ways for source, ways in found.items() if ways}


def _switch(beliefs: Beliefs, path: Fallback) -> Belief:
    """Return the belief about a way: whichever of its tools was called first after the failure, together."""
    each = [beliefs.switch(path.source, target) for target in path.tools]
    return Belief(sum(b.successes for b in each), sum(b.failures for b in each), each[0].prior)


def _shuffled(values: Sequence[float], seed: int) -> list[float]:
    """Return the values in places drawn at random (Fisher and Yates)."""
    draws, mixed = Draws(seed, "memory", "shuffled"), list(values)
    for last in range(len(mixed) - 1, 0, -1):
        at = draws.index(last + 1)
        mixed[last], mixed[at] = mixed[at], mixed[last]
    return mixed
