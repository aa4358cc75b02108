"""Goals of an airline plan: what the user wants, decided from delivered facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bench2robust.core.plan import Act, Decision, Done, Facts, Need, Say, Stuck

from .wishes import Wish
from .world import Known, Missing, NoMatch, World


class Guard(Protocol):
    """A condition on the delivered facts that the user attached to a wish."""

    def holds(self, world: World) -> bool:
        """Return whether the wish applies."""
        ...


@dataclass(frozen=True, slots=True)
class WishGoal:
    """A wish, when it applies, and what the user wants instead when it does not."""

    known: Known
    wish: Wish
    guards: tuple[Guard, ...] = ()
    otherwise: Wish | None = None

    def decide(self, facts: Facts, done: int) -> Decision:
        """Decide from the facts (see `core.plan`)."""
        world = World(self.known, facts)
        try:
            wish: Wish | None = self.wish
            if not all(guard.holds(world) for guard in self.guards):
                wish = self.otherwise
            writes = wish.writes(world) if wish else []
        except Missing as missing:
            return Need(missing.fetch)
        except NoMatch as none:
            return Stuck(str(none), tuple(world.used))
        if done >= len(writes):
            return Done("" if writes else "not allowed")
        write = writes[done]
        return Act(write.call, tuple(world.used), write.verify, write.happened)


class Value(Protocol):
    """A value to tell the user, as an expression over delivered facts."""

    def of(self, world: World) -> str:
        """Return the value as text."""
        ...


@dataclass(frozen=True, slots=True)
class TellGoal:
    """The user wants to know something."""

    known: Known
    values: tuple[Value, ...]

    def decide(self, facts: Facts, done: int) -> Decision:
        """Decide from the facts (see `core.plan`)."""
        if done:
            return Done()
        world = World(self.known, facts)
        try:
            texts = [value.of(world) for value in self.values]
        except Missing as missing:
            return Need(missing.fetch)
        except NoMatch as none:
            return Stuck(str(none), tuple(world.used))
        return Say("This is what you asked for: " + "; ".join(texts), tuple(world.used))
