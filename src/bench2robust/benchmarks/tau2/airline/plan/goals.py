"""Goals of an airline plan: what the user wants, decided from delivered facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bench2robust.benchmarks.tau2.plan.goals import next_write, say
from bench2robust.benchmarks.tau2.plan.world import settled
from bench2robust.core.plan import Decision, Done, Facts

from .wishes import Wish
from .world import Known, World


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
        return settled(world, lambda: self._decide(world, done))

    def _decide(self, world: World, done: int) -> Decision:
        wish = self.wish if all(guard.holds(world) for guard in self.guards) else self.otherwise
        return next_write(wish.writes(world) if wish else [], done, world)


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
        return settled(world, lambda: say([value.of(world) for value in self.values], world))
