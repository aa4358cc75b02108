"""The ground truth of a task: what its calls answer, what state each turn leaves, and which other ways hold.

Everything is found by running the calls on worlds of their own, once a task. An equivalence is never taken
from the class alone: the other calls are made on the real state right before the usual call, and have to give
the same data (a read) or leave the same state (a write). So what is natively broken in a task (inboxes with
lists, tickets without an owner, a tool that is held out) is no way there.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from typing import Any

from bench2robust.core.tools import ToolCall

from .equivalence import Reading, Writing, readings, writings
from .functions import WRITES, parse
from .world import Blueprint, State, World


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the ground truth."""

    call: ToolCall
    text: str
    """What it answers."""
    readings: tuple[Reading, ...] = ()
    """The other ways that give the same data here."""
    writings: tuple[Writing, ...] = ()
    """The other ways that leave the same state here."""

    @property
    def reads(self) -> bool:
        """Whether it only reads."""
        return self.call.name not in WRITES

    @property
    def value(self) -> Any:
        """The parsed answer, or the text where it is not JSON."""
        return parsed(self.text)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the ground truth; nothing is checked where it makes no call."""

    steps: tuple[Step, ...]
    state: State
    """The public state at its end."""

    @property
    def most_steps(self) -> int:
        """How many calls an agent may make in it.

        BFCL allows 20 steps, and a step may hold several calls; here each call is a step. One turn of
        long_context makes 34 calls, so there is room for twenty for every twenty that the truth makes.
        """
        return MOST_STEPS * max(1, -(-len(self.steps) // MOST_STEPS))


MOST_STEPS = 20
"""BFCL's ``MAXIMUM_STEP_LIMIT``."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The ground truth of a task."""

    turns: tuple[Turn, ...]


def parsed(text: str) -> Any:
    """Return the value of an answer: JSON, a list as Python prints it, or the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text) if text.startswith("[") else text
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text


def establish(blueprint: Blueprint) -> Truth:
    """Run the ground truth of a task and check which other ways hold in it."""
    world = World(blueprint)
    turns = []
    for number, lines in enumerate(blueprint.entry.gold):
        world.withheld = blueprint.withheld(number)
        turns.append(Turn(tuple(_step(world, parse(line)) for line in lines), world.state))
    return Truth(tuple(turns))


def _step(world: World, call: ToolCall) -> Step:
    before = world.fork() if readings(call.name) or writings(call.name) else None
    text = world.call(call).text
    if before is None:
        return Step(call, text)
    others = tuple(way for way in readings(call.name) if _gives(way, call, parsed(text), before.fork()))
    instead = tuple(way for way in writings(call.name) if _leaves(way, call, world.state, before.fork()))
    return Step(call, text, others, instead)


def _gives(way: Reading, call: ToolCall, value: Any, world: World) -> bool:
    """Whether a way gives the same data, and changes nothing."""
    before, answers = world.state, []
    for other in way.calls(call.arguments):
        response = world.call(other)
        if response.error:
            return False
        answers.append((other.arguments, parsed(response.text)))
    return way.answer(call.arguments, answers) == value and world.state == before


def _leaves(way: Writing, call: ToolCall, state: State, world: World) -> bool:
    """Whether a way leaves the same state."""
    return not any(world.call(other).error for other in way.calls(call.arguments)) and world.state == state
