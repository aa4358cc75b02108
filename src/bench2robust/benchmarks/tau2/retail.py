"""τ²-bench retail as a benchmark: 114 tasks, 16 standard tools, five alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from .alternatives import ALTERNATIVES, AddedTools
from .benchmark import DomainBenchmark, Parts
from .plan import compile_plan
from .provider import retail_code, retail_data


class RetailBenchmark(DomainBenchmark):
    """τ²-bench retail."""

    name = "tau2-retail"
    domain = "retail"

    def __init__(self) -> None:
        super().__init__(
            Parts(
                data=retail_data,
                code=retail_code,
                supply=AddedTools,
                alternatives=ALTERNATIVES,
                addendum=addendum,
                compile=compile_plan,
                substitutes={"get_item_details": "get_product_details"},
            )
        )

    def split(self) -> Mapping[str, object]:
        """Return the part of combined-retail's split that these tasks are (`evaluation.splits.HasSplit`)."""
        from bench2robust.benchmarks.intents.combined import shipped_for  # which itself needs this module

        return shipped_for(self.tasks())


def addendum() -> str:
    """Return the policy addendum of the modes with alternatives."""
    return files(__package__).joinpath("addendum.md").read_text(encoding="utf-8").rstrip("\n")
