"""helpdesk: a compact domain of our own, on the standard library, with as many tasks as you ask for.

Callers of an IT helpdesk want tickets changed, equipment ordered, and things told. Read in this order:
`world` (what there is), `desk` (the tools), `wishes` (what callers want), `generator` (tasks),
`plans` (how a reference policy goes about it), `benchmark` (the port).
"""

from __future__ import annotations

from functools import cache

from .benchmark import HelpdeskBenchmark
from .generator import task, tasks

__all__ = ["HelpdeskBenchmark", "helpdesk", "task", "tasks"]


@cache
def helpdesk() -> HelpdeskBenchmark:
    """Return the default set of tasks (one instance a process; the entry point ``helpdesk``)."""
    return HelpdeskBenchmark()
