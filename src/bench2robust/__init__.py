"""Bench2Robust: make tools fail in controlled ways, and see which agents survive it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .integrations import Faults, faults, inject
    from .integrations.remembering import ToolMemory

__version__ = "0.1.0"

__all__ = ["Faults", "ToolMemory", "__version__", "faults", "inject"]


def __getattr__(name: str) -> Any:
    """Import what people use around their own tools only once it is asked for."""
    if name in ("Faults", "faults", "inject"):
        from . import integrations

        return getattr(integrations, name)
    if name == "ToolMemory":
        from .integrations import remembering

        return remembering.ToolMemory
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
