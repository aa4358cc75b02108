"""Intent plans of BFCL tasks: each value of the ground truth with where it comes from."""

from .compiler import compile_plan

__all__ = ["compile_plan"]
