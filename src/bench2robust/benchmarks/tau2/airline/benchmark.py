"""τ²-bench airline as a benchmark: 50 tasks, 14 standard tools, five alternatives of ours."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

from bench2robust.benchmarks.tau2.benchmark import DomainBenchmark, Parts
from bench2robust.benchmarks.tau2.provider import airline_code, airline_data

from .alternatives import ALTERNATIVES, AirlineAlternatives
from .plan import compile_plan


class AirlineBenchmark(DomainBenchmark):
    """τ²-bench airline."""

    name = "tau2-airline"
    domain = "airline"
    id_pattern = r"\b(?:HAT\d{3}|(?=[A-Z0-9]*\d)(?=[A-Z0-9]*[A-Z])[A-Z0-9]{6}|(?:credit_card|gift_card|certificate)_\d+)\b"
    """What numbers of flights, reservations and payment methods look like (for `bench2robust.testing`)."""
    exceptions: Mapping[str, str] = MappingProxyType(
        {"35": "gold books for a date of birth that is neither in the database nor said"}
    )
    """The tasks that cannot honestly be passed, and why (for `bench2robust.testing`)."""

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
