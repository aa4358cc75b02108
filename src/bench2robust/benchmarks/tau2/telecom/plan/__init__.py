"""Intent plans of τ² telecom: gold says which faults there are, the phone and the reads decide what is done."""

from .compiler import compile_plan

__all__ = ["compile_plan"]
