"""Intent plans of τ² airline: gold solutions compiled so that only delivered facts decide."""

from .compiler import compile_plan

__all__ = ["compile_plan"]
