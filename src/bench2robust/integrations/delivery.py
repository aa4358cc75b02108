"""How a failure reaches the caller of a tool: returned as text or object, raised, or as silence."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.noise import OBSERVABLE, NoiseType

BLOCKED: Final = "blocked"
"""Stands for a blocked tool where a noise type stands for a failure that is drawn."""
_NAMES: Final = ("text", "object", "raise", "hang")


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure that was injected, on its way to the caller."""

    tool: str
    text: str
    """What an agent reads."""
    noise: NoiseType | None
    """One of the observable types; None for a blocked tool."""

    @property
    def kind(self) -> str:
        """The noise type's name, or ``blocked``."""
        return BLOCKED if self.noise is None else str(self.noise)


class ToolFailure(Exception):
    """What a failing tool raises where the user names no exception of their own."""

    failure: Failure

    @classmethod
    def of(cls, failure: Failure) -> ToolFailure:
        """Return the exception for a failure."""
        error = cls(failure.text)
        error.failure = failure
        return error


@dataclass(frozen=True, slots=True)
class Returned:
    """The failure is returned."""

    make: Callable[[Failure], Any]
    """What is returned."""
    error: bool = True
    """Whether the host is told that it is an error, where it has a flag for it. Without the flag an error
    is data like any other."""


@dataclass(frozen=True, slots=True)
class Raised:
    """The failure is raised."""

    make: Callable[[Failure], BaseException]


@dataclass(frozen=True, slots=True)
class Hang:
    """The call does not answer until its caller's timeout; a guard ends it if there is none.

    Args:
        seconds: the guard, in wall-clock seconds.
        then: what is delivered when the guard ends it; the failure's text where there is none.

    Raises:
        SpecError: no finite number of seconds.
    """

    seconds: float = 30.0
    then: Returned | Raised | None = None

    def __post_init__(self) -> None:
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float):
            raise SpecError(f"expected seconds, got seconds={self.seconds!r}; such as Hang(30)")
        if not 0 <= self.seconds < math.inf:
            raise SpecError(f"expected a finite number of seconds, got seconds={self.seconds!r}")


Way = Returned | Raised | Hang


def _text(failure: Failure) -> str:
    return failure.text


def _object(failure: Failure) -> dict[str, Any]:
    return {"error": {"type": failure.kind, "message": failure.text}}


TEXT: Final = Returned(_text)
OBJECT: Final = Returned(_object, error=False)
RAISE: Final = Raised(ToolFailure.of)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Which failures are delivered in which way."""

    ways: Mapping[str, Way]
    """Noise type, or ``blocked``, to the way."""
    default: Way = TEXT

    def of(self, failure: Failure) -> Way:
        """Return the way of a failure."""
        return self.ways.get(failure.kind, self.default)

    @classmethod
    def read(cls, value: Any) -> Delivery:
        """Return the delivery that a user asks for.

        Args:
            value: ``text``, ``object`` (an error as data: ``{"error": …}``), ``raise`` (a `ToolFailure`),
                ``hang`` (a timeout hangs, the others are text); an exception class, which is raised with the
                text; a function from `Failure` to what is returned; a `Returned`, `Raised` or `Hang`; or a
                mapping from noise types (and ``blocked``, ``default``) to any of these.

        Raises:
            SpecError: anything else, or an exception class that cannot be made from a text alone.
        """
        if isinstance(value, Delivery):
            return value
        if value == "hang":
            return cls({NoiseType.TIMEOUT: Hang()})
        if not isinstance(value, Mapping):
            return cls({}, _way(value))
        known = (*OBSERVABLE, BLOCKED, "default")
        for name in value:
            if name not in known:
                raise SpecError(str(UnknownNameError("kind of failure", str(name), known)))
        ways = {str(name): _way(way) for name, way in value.items()}
        default = ways.pop("default", TEXT)
        return cls(ways, default)


def _way(value: Any) -> Way:
    if isinstance(value, Returned | Raised | Hang):
        return value
    if isinstance(value, str):
        if value not in _NAMES:
            raise SpecError(str(UnknownNameError("delivery", value, _NAMES)))
        ways: dict[str, Way] = {"text": TEXT, "object": OBJECT, "raise": RAISE, "hang": Hang()}
        return ways[value]
    if isinstance(value, type) and issubclass(value, BaseException):
        return _raised(value)
    if callable(value) and not isinstance(value, type):
        return Returned(value)
    raise SpecError(
        f"expected text, object, raise, hang, an exception class or a function, got delivery={value!r}"
    )


def _raised(error: type[BaseException]) -> Raised:
    try:
        error("a failure")
    except Exception:  # whatever it needs, a text is not enough
        raise SpecError(
            f"expected an exception that a text is enough for, got delivery={error.__name__}; "
            "give Raised(lambda failure: …) that makes one"
        ) from None
    if issubclass(error, ToolFailure):
        return RAISE
    return Raised(lambda failure: error(failure.text))


Give = Callable[[Any, bool], Any]
"""Makes what a host's tool returns of a payload, and of whether it is an error."""


def deliver(way: Way, failure: Failure, give: Give) -> Any:
    """Deliver a failure to a synchronous caller: return what the tool returns, or raise."""
    if isinstance(way, Hang):
        time.sleep(way.seconds)
        return _end(way.then or TEXT, failure, give)
    return _end(way, failure, give)


async def adeliver(way: Way, failure: Failure, give: Give) -> Any:
    """Deliver a failure to a caller that awaits it; a hang ends at once when it is cancelled."""
    if isinstance(way, Hang):
        await asyncio.sleep(way.seconds)
        return _end(way.then or TEXT, failure, give)
    return _end(way, failure, give)


def _end(way: Returned | Raised, failure: Failure, give: Give) -> Any:
    if isinstance(way, Raised):
        raise way.make(failure)
    return give(way.make(failure), way.error)
