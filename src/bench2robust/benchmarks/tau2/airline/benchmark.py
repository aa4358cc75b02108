"""τ²-bench airline as a benchmark: 50 tasks, 14 standard tools, five alternatives of ours."""

from __future__ import annotations

from importlib.resources import files

from bench2robust.benchmarks.tau2.benchmark import DomainBenchmark, Parts
from bench2robust.benchmarks.tau2.provider import airline_code, airline_data

from .alternatives import ALTERNATIVES, AirlineAlternatives
from .plan import compile_plan


class AirlineBenchmark(DomainBenchmark):
    """τ²-bench airline."""

    name = "tau2-airline"
    domain = "airline"

    def __init__(self) -> None:
        super().__init__(
            Parts(
                data=airline_data,
                code=airline_code,
                supply=AirlineAlternatives,
                alternatives=ALTERNATIVES,
                addendum=addendum,
                compile=compile_plan,
            )
        )


def addendum() -> str:
    """Return the policy addendum of the modes with alternatives."""
    return files(__package__).joinpath("addendum.md").read_text(encoding="utf-8").rstrip("\n")
