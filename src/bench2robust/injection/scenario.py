"""Scenarios: what stays recoverable in an episode, and which tools that blocks (paper, section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bench2robust.core.domain import Domain, EquivalenceClass
from bench2robust.core.episode import Assignment, Scenario
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.randomness import Draws


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of S1, S2 and S3 among tasks, in percent.

    Raises:
        SpecError: a share that is no integer of at least 0, or a sum other than 100.

    >>> str(Mix.parse("30/45/25"))
    '30/45/25'
    """

    s1: int = 40
    s2: int = 60
    s3: int = 0

    def __post_init__(self) -> None:
        shares = (self.s1, self.s2, self.s3)
        if any(isinstance(share, bool) or not isinstance(share, int) or share < 0 for share in shares):
            raise SpecError(f"expected three integers of at least 0, got mix={self!s}; such as 40/60/0")
        if sum(shares) != 100:
            raise SpecError(f"expected shares that sum to 100, got mix={self!s} with sum {sum(shares)}")

    @classmethod
    def parse(cls, text: str) -> Mix:
        """Read ``S1/S2/S3``, such as ``40/60/0``."""
        parts = text.split("/")
        if len(parts) != 3 or not all(part.strip().isdecimal() for part in parts):
            raise SpecError(f"expected S1/S2/S3 in percent, such as 40/60/0, got mix={text!r}")
        return cls(*map(int, parts))

    def __str__(self) -> str:
        return f"{self.s1}/{self.s2}/{self.s3}"


class Block(StrEnum):
    """Which side S2 blocks."""

    RANDOM = "random"
    """Each counting side equally likely (the paper's)."""
    PRIMARY = "primary"
    """The side an agent would use first; measures switching independently of the policy."""


@dataclass(frozen=True, slots=True)
class ScenarioSpec:
    """How scenarios are given to tasks. The default mix is the paper's phase 5 without S3."""

    mix: Mix = field(default_factory=Mix)
    block: Block = Block.RANDOM

    def to_dict(self) -> dict[str, str]:
        """Return the spec as JSON values."""
        return {"mix": str(self.mix), "block": str(self.block)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ScenarioSpec:
        """Read what `to_dict` wrote; a missing key keeps its default.

        Raises:
            SpecError: an unknown key, or a value that cannot be.
        """
        unknown = sorted(set(data) - {"mix", "block"})
        if unknown:
            raise SpecError(f"unknown key in scenario={unknown[0]!r}; known: mix, block")
        block = data.get("block", Block.RANDOM)
        if block not in list(Block):
            raise SpecError(str(UnknownNameError("block", str(block), list(Block))))
        return cls(Mix.parse(str(data["mix"])) if "mix" in data else Mix(), Block(block))


@dataclass(frozen=True, slots=True)
class Eligibility:
    """What the certificates say about one task."""

    sides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Class to its counting sides: those by which alone the reference agent gets through."""
    primary: Mapping[str, str] = field(default_factory=dict)
    """Class to the side an agent would use first."""
    s3: tuple[str, ...] = ()
    """The classes that can be made impossible."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Class, or ``s2`` or ``s3``, to why it is not eligible."""

    @property
    def s2(self) -> bool:
        """Whether some class has two or more counting sides."""
        return any(len(sides) >= 2 for sides in self.sides.values())


def _blocks_in_s2(
    draws_of: tuple[int, str], block: Block, eligibility: Eligibility, domain: Domain
) -> tuple[str, str] | None:
    """Return the class and side to block, or None for a task that is not eligible."""
    classes = [cls.name for cls in domain.classes if len(eligibility.sides.get(cls.name, ())) >= 2]
    if block is Block.PRIMARY:
        classes = [name for name in classes if name in eligibility.primary]
    if not classes:
        return None
    name = Draws(*draws_of, "class").choice(classes)
    if block is Block.PRIMARY:
        return name, eligibility.primary[name]
    return name, Draws(*draws_of, "side").choice(eligibility.sides[name])


def _side_tools(cls: EquivalenceClass, name: str) -> frozenset[str]:
    for side in cls.sides:
        if side.name == name:
            return frozenset(side.tools)
    raise UnknownNameError(f"side of class {cls.name!r}", name, [side.name for side in cls.sides])


def _check_classes(eligibility: Eligibility, domain: Domain) -> None:
    known = [cls.name for cls in domain.classes]
    for name in (*eligibility.sides, *eligibility.primary, *eligibility.s3):
        if name not in known:
            raise UnknownNameError("equivalence class", name, known)


def assign(
    seed: int, task_id: str, spec: ScenarioSpec, eligibility: Eligibility, domain: Domain
) -> Assignment:
    """Draw the scenario of a task and what it blocks.

    Scenario, class and side are each keyed by (seed, task, purpose), never by agent or mode. A task
    that is not eligible for the scenario drawn runs as S1 and says so. Exempt tools are never blocked.

    Raises:
        UnknownNameError: `eligibility` names a class or side that the domain does not have.
    """
    _check_classes(eligibility, domain)
    mix = spec.mix
    assigned = tuple(Scenario)[Draws(seed, task_id, "scenario").weighted((mix.s1, mix.s2, mix.s3))]
    if assigned is Scenario.S2:
        chosen = _blocks_in_s2((seed, task_id), spec.block, eligibility, domain)
        if chosen is not None:
            name, side = chosen
            blocked = _side_tools(domain.equivalence(name), side) - domain.exempt
            return Assignment(assigned, Scenario.S2, blocked, name, side)
    if assigned is Scenario.S3 and eligibility.s3:
        name = Draws(seed, task_id, "class").choice(
            [c.name for c in domain.classes if c.name in eligibility.s3]
        )
        writes = {write for write, classes in domain.needs.items() if name in classes}
        blocked = (domain.equivalence(name).tools | writes) - domain.exempt
        return Assignment(assigned, Scenario.S3, blocked, name)
    return Assignment(assigned)
