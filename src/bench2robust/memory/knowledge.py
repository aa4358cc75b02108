"""What a policy is told about the world before it acts, beyond the task itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench2robust.core.domain import Domain
from bench2robust.injection import Eligibility, InjectionSpec, ScenarioSpec

if TYPE_CHECKING:
    from .beliefs import Beliefs


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What holds for every episode of a run; never the scenario, the draws or the eligibility of a task."""

    domain: Domain
    """Classes, sides, needs, and which fields a silent corruption may touch."""
    injection: InjectionSpec | None = None
    """The noise profile and its limits; None when they are not known."""
    scenarios: ScenarioSpec | None = None
    """The mix of scenarios; None when it is not known. Where nothing is ever blocked: a mix of 100/0/0."""
    beliefs: Beliefs | None = None
    """What past episodes have shown."""
    population: tuple[Eligibility, ...] = ()
    """What the tasks of the benchmark are eligible for: which of them this task is, is not said. Empty when
    not known; then every class is taken to be eligible, by every side."""
