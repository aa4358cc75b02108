"""What the compiler knows of a task while it compiles it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from bench2robust.benchmarks.tau2.plan.draft import CannotCompile
from bench2robust.core.tools import ToolCall

from .speech import Speech
from .truth import Truth
from .wishes import Wish
from .world import Json, Known, NoMatch, World

__all__ = ["CannotCompile", "Draft"]

T = TypeVar("T")


@dataclass(slots=True)
class Draft:
    """What is known about a task while its plan is being compiled."""

    speech: Speech
    truth: Truth
    known: Known
    wishes: list[Wish] = field(default_factory=list)
    """What has been compiled so far, in gold's order."""
    ungrounded: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def world(self) -> World:
        """The pristine world."""
        return World(self.known, self.truth)

    def note(self, grounded: bool, argument: str) -> None:  # noqa: FBT001
        """Keep the name of an argument that the user's words hold no cue for."""
        if not grounded and argument not in self.ungrounded:
            self.ungrounded.append(argument)

    def trip(self, call: ToolCall) -> Json:
        """Return the reservation that a gold call is about."""
        trip = self.truth[f"reservation {call.arguments.get('reservation_id')}"]
        if trip is None:
            raise CannotCompile(f"reservation_id={call.arguments.get('reservation_id')!r}")
        return dict(trip)

    def fits(self, wish: Wish, calls: Sequence[ToolCall]) -> bool:
        """Whether a wish gives exactly these writes on the pristine database."""
        try:
            given = sorted(write.call.signature() for write in wish.writes(self.world))
        except NoMatch:
            return False
        return given == sorted(call.signature() for call in calls)

    def holds(self, found: Callable[[World], T]) -> T | None:
        """Return what an expression gives on the pristine database, None where it gives nothing."""
        try:
            return found(self.world)
        except NoMatch:
            return None
