"""What a proxy is told."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum

from bench2robust.core.errors import SpecError
from bench2robust.integrations.spec import FaultSpec


class Form(StrEnum):
    """What an injected failure is in the protocol."""

    RESULT = "result"
    """A result with ``isError``, which a client shows to its model."""
    ERROR = "error"
    """A JSON-RPC error, which most clients raise."""
    MIXED = "mixed"
    """Either, equally likely."""


@dataclass(frozen=True, slots=True)
class ProxySpec:
    """Everything that decides what a proxy does to the calls that go through it.

    Raises:
        SpecError: seconds that cannot be.
    """

    faults: FaultSpec = field(default_factory=FaultSpec)
    """Profile, limits, seed, domain, scenario, blocked tools, and whether arguments may be shown."""
    task: str = "mcp"
    """Names the episode; with the seed it keys every draw. Sessions after the first get a number behind it."""
    form: Form = Form.RESULT
    hang: float = 0.0
    """Seconds for which an injected *timeout* is silence before it is answered; infinity for ever."""
    timeout: float = 600.0
    """Seconds that the server may take for a request, or between two messages on its progress; then the
    client gets an error. 0 for any time."""

    def __post_init__(self) -> None:
        if math.isnan(self.hang) or self.hang < 0:
            raise SpecError(f"expected seconds of at least 0 or inf, got hang={self.hang!r}")
        if not 0 <= self.timeout < math.inf:
            raise SpecError(f"expected seconds of at least 0, got timeout={self.timeout!r}; 0 waits for ever")

    def episode(self, number: int) -> str:
        """Return the name of the episode of a session, counted from 1."""
        return self.task if number == 1 else f"{self.task} {number}"

    def blocked(self, number: int) -> frozenset[str]:
        """Return what is blocked in a session."""
        drawn = self.faults.assignment(self.episode(number), self.faults.seed)
        return self.faults.blocked | drawn.blocked

    def exempting(self, tools: frozenset[str]) -> ProxySpec:
        """Return the spec under which some more tools are never injected and never blocked."""
        domain = replace(self.faults.domain, exempt=self.faults.domain.exempt | tools)
        return replace(self, faults=replace(self.faults, domain=domain))
