"""How likely each scenario is before a task has shown anything: the law of `injection.assign`, averaged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bench2robust.core.domain import Domain
from bench2robust.core.episode import Assignment, Scenario
from bench2robust.injection import Block, Eligibility, Mix, ScenarioSpec

UNKNOWN_MIX: Final = Mix(34, 33, 33)
"""What is assumed of a mix that nobody has told: each scenario as likely as the others."""


def law(spec: ScenarioSpec, eligibility: Eligibility, domain: Domain) -> Iterator[tuple[Assignment, float]]:
    """Give everything that `injection.assign` may draw for a task, with its probability.

    A scenario for which the task is not eligible runs as S1, and so it is given: `assigned` is what is
    effective, since nothing that happens in an episode tells the two apart.
    """
    s1, s2, s3 = (share / 100 for share in (spec.mix.s1, spec.mix.s2, spec.mix.s3))
    hit = [cls for cls in domain.classes if len(eligibility.sides.get(cls.name, ())) >= 2]
    if spec.block is Block.PRIMARY:
        hit = [cls for cls in hit if cls.name in eligibility.primary]
    for cls in hit:
        primary = spec.block is Block.PRIMARY
        sides = (eligibility.primary[cls.name],) if primary else eligibility.sides[cls.name]
        for side in cls.sides:
            if side.name in sides:
                blocked = frozenset(side.tools) - domain.exempt
                where = Assignment(Scenario.S2, Scenario.S2, blocked, cls.name, side.name)
                yield where, s2 / len(hit) / len(sides)
    gone = [cls for cls in domain.classes if cls.name in eligibility.s3]
    for cls in gone:
        writes = {write for write, classes in domain.needs.items() if cls.name in classes}
        yield (
            Assignment(Scenario.S3, Scenario.S3, (cls.tools | writes) - domain.exempt, cls.name),
            s3 / len(gone),
        )
    yield Assignment(), s1 + (0.0 if hit else s2) + (0.0 if gone else s3)


def everything(domain: Domain) -> Eligibility:
    """Return the eligibility of a task that needs every class, and could do with any side of each."""
    needed = {name for classes in domain.needs.values() for name in classes}
    return Eligibility(
        sides={cls.name: tuple(side.name for side in cls.sides) for cls in domain.classes},
        primary={cls.name: cls.sides[0].name for cls in domain.classes},
        s3=tuple(cls.name for cls in domain.classes if cls.name in needed),
    )


def prior(
    scenarios: ScenarioSpec | None, population: Sequence[Eligibility], domain: Domain
) -> Mapping[Assignment, float]:
    """Return the probability of each scenario, class and side for a task drawn from a population at random.

    Args:
        scenarios: the mix; None for `UNKNOWN_MIX`.
        population: what its tasks are eligible for; empty for tasks that are eligible for everything.
        domain: classes, sides and needs.
    """
    spec = scenarios or ScenarioSpec(UNKNOWN_MIX)
    tasks = population or (everything(domain),)
    total: defaultdict[Assignment, float] = defaultdict(float)
    for eligibility in tasks:
        for where, p in law(spec, eligibility, domain):
            total[where] += p / len(tasks)
    return {where: p for where, p in total.items() if p > 0}
