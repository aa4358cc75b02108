"""How a served policy's endpoint fails, when it is asked to: as real endpoints do, and reproducibly."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.randomness import Draws

_REMEMBERED = 200_000
"""Requests whose repeats are counted."""


class Fault(StrEnum):
    """One way in which a request can fail."""

    THROTTLED = "429"
    """Too many requests, with a Retry-After header."""
    BROKEN = "500"
    """Internal server error."""
    CUT = "cut"
    """The answer breaks off in the middle and the connection closes."""
    HANG = "hang"
    """No answer for `FaultSpec.hang` seconds, then the connection closes."""
    SLOW = "slow"
    """The answer comes, `FaultSpec.slow` seconds late."""


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """How often requests fail, and how.

    Raises:
        SpecError: a rate or a duration that cannot be.
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)
    """Shares of requests; together at most 1."""
    retry_after: float = 1.0
    """Seconds that the Retry-After header names."""
    hang: float = 600.0
    slow: float = 2.0
    seed: int = 0

    def __post_init__(self) -> None:
        if any(not 0 <= rate <= 1 for rate in self.rates.values()) or sum(self.rates.values()) > 1 + 1e-9:
            shown = ",".join(f"{fault}={rate}" for fault, rate in self.rates.items())
            raise SpecError(f"expected rates of 0 to 1 that sum to at most 1, got faults={shown!r}")
        for name in ("retry_after", "hang", "slow"):
            if not getattr(self, name) >= 0:
                raise SpecError(f"expected seconds, 0 or more, got {name}={getattr(self, name)!r}")

    @classmethod
    def rates_of(cls, text: str) -> dict[Fault, float]:
        """Return the rates of a text such as ``429=0.1,cut=0.05``.

        Raises:
            UnknownNameError: a fault that nobody knows.
            SpecError: not of this form.
        """
        rates = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _equals, rate = part.partition("=")
            if name not in list(Fault):
                raise UnknownNameError("fault", name, list(Fault))
            try:
                rates[Fault(name)] = float(rate)
            except ValueError:
                raise SpecError(f"expected FAULT=RATE such as 429=0.1, got faults={part!r}") from None
        return rates


class Faults:
    """Draws what happens to each request.

    A draw is keyed by the seed, the request's bytes, and how often the same bytes have come before, so a
    repeated request is drawn anew while order and concurrency change nothing.
    """

    def __init__(self, spec: FaultSpec) -> None:
        self._spec = spec
        self._seen: OrderedDict[bytes, int] = OrderedDict()

    def draw(self, body: bytes) -> tuple[Fault | None, Draws]:
        """Return what happens to a request, and where further draws for it come from."""
        spec = self._spec
        digest = blake2b(body, digest_size=16).digest()
        attempt = self._seen.pop(digest, 0)
        self._seen[digest] = attempt + 1
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        draws = Draws(spec.seed, "endpoint", digest.hex(), attempt)
        at = draws.uniform()
        for fault, rate in spec.rates.items():
            if at < rate:
                return fault, draws
            at -= rate
        return None, draws
