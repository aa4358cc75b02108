"""What a policy is told about the world before it acts, beyond the task itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from bench2robust.core.domain import Domain
from bench2robust.core.episode import Assignment
from bench2robust.injection import Eligibility, InjectionSpec, ScenarioSpec

from .beliefs import Beliefs
from .kernel import Kernel, learned
from .prior import prior


@dataclass(frozen=True)
class Knowledge:
    """What holds for every episode of a run; never the scenario, the draws or the eligibility of a task."""

    domain: Domain
    """Classes, sides, needs, and which fields a silent corruption may touch."""
    injection: InjectionSpec | None = None
    """The noise profile and its limits; None when they are not known."""
    scenarios: ScenarioSpec | None = None
    """The mix of scenarios; None when it is not known. Where nothing is ever blocked: a mix of 100/0/0."""
    beliefs: Beliefs | None = None
    """What past episodes have shown; tells the shares of the noise types where the profile is not known."""
    population: tuple[Eligibility, ...] = ()
    """What the tasks of the benchmark are eligible for: which of them this task is, is not said. Empty when
    not known; then every class is taken to be eligible, by every side."""

    @cached_property
    def prior(self) -> Mapping[Assignment, float]:
        """How likely each scenario, class and side is before a task has shown anything."""
        return prior(self.scenarios, self.population, self.domain)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The one kernel of a known profile, or those that an unknown one may have, equally likely."""
        if self.injection is None:
            return learned(self.beliefs, self.domain)
        return (Kernel(self.injection.profile, self.injection.limits, self.domain),)
