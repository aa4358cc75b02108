"""One episode of a τ² domain: τ²'s own tools on an overlay, and the verdict on what they left."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.core.episode import Score, Trajectory
from bench2robust.core.tools import ToolCall, ToolResponse

from .provider import DomainCode
from .store import Base, Key, World

_RESERVED = frozenset({"self", "tool_name", "requestor"})
"""Argument names that collide with parameters of τ²'s own dispatch; calls with one are left to it."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What every episode of a domain shares in a process."""

    code: DomainCode
    base: Base
    standard: frozenset[str]
    """Tools of the installed τ²."""
    reads: frozenset[str]
    """Tools, standard and added, whose answer is a function of the records they read."""
    writes: frozenset[str]
    """Tools that may change a record they look at."""
    added: frozenset[str]
    """Tools of ours: the alternatives, and what the installed τ² lacks."""
    alternatives: frozenset[str]
    """Those of `added` that exist only in the modes with alternatives."""
    supply: Callable[[World], Any]
    """Makes the object whose methods the added tools are."""


class DomainEnvironment:
    """One episode's own copy of a domain's database.

    A response is the text that τ²'s ``Environment.get_response`` gives for the same call, errors
    included, and never an object of the database.

    Args:
        shared: what the process shares.
        changes: returns the records that the reference solution changes (called when scoring).
        tell: values that have to be told to the user.
        alternatives: whether the alternative tools exist in this episode.
    """

    __slots__ = ("_added", "_changes", "_dispatch", "_names", "_shared", "_standard", "_tell", "_world")

    def __init__(
        self,
        shared: Shared,
        changes: Callable[[], Mapping[Key, str]],
        tell: Sequence[str] = (),
        *,
        alternatives: bool = True,
    ) -> None:
        self._shared = shared
        self._changes = changes
        self._tell = tell
        self._world = World(shared.base)
        self._standard = shared.code.tools(self._world)
        self._added = shared.supply(self._world)
        self._names = shared.added if alternatives else shared.added.difference(shared.alternatives)
        self._dispatch: Any = None

    def call(self, call: ToolCall) -> ToolResponse:
        """Execute a call. What τ² reports as an error is a response with ``error=True``."""
        if call.name in self._shared.reads:
            return self._read(call)
        world = self._world
        world.writing = call.name in self._shared.writes
        try:
            return self._execute(call)
        finally:
            world.writing = False

    def changes(self) -> dict[Key, str]:
        """Return the records that this episode has changed so far, as canonical text."""
        return self._world.changes()

    def score(self, trajectory: Trajectory) -> Score:
        """Judge the live database and what the user was told.

        ``database``: every record that this episode or the reference solution changed is equal in both
        (all others are equal by construction). ``communicated``: each value to tell is part of a text
        told to the user, upper and lower case and commas in the text ignored; this is upstream's rule.
        Passing takes both. τ²'s natural-language assertions need a model as judge and are not scored.
        """
        texts = [text.lower().replace(",", "") for text in trajectory.said if text.strip()]
        communicated = all(any(value.lower() in text for text in texts) for value in self._tell)
        database = self._world.changes() == self._changes()
        return Score(database and communicated, {"database": database, "communicated": communicated})

    def _read(self, call: ToolCall) -> ToolResponse:
        question = _question(call, self._names)
        world, base = self._world, self._shared.base
        if question is not None:
            known = base.remembered(question, world)
            if known is not None:
                return known
        world.seen.clear()
        answer = self._execute(call)
        if question is not None:
            base.remember(question, answer, world)
        return answer

    def _execute(self, call: ToolCall) -> ToolResponse:
        try:
            result = self._invoke(call.name, call.arguments)
        except Exception as error:  # whatever a tool raises is its answer, as in τ²
            return ToolResponse(f"Error: {error}", error=True)
        return ToolResponse(self._shared.code.environment.to_json_str(result))

    def _invoke(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if name in self._names:
            return getattr(self._added, name)(**arguments)
        if name in self._shared.standard and _RESERVED.isdisjoint(arguments):
            return getattr(self._standard, name)(**arguments)
        if self._dispatch is None:
            self._dispatch = self._shared.code.environment(
                self._shared.code.name, policy="", tools=self._standard
            )
        return self._dispatch.make_tool_call(name, requestor="assistant", **arguments)


def _question(call: ToolCall, names: frozenset[str]) -> tuple[Any, ...] | None:
    """Return what an answer is remembered by, or None when only a run can tell.

    Only texts are compared safely (``True == 1 == 1.0``, and nested values are not hashable). Whether
    an alternative tool exists is part of the question.
    """
    values = call.arguments.values()
    if all(type(value) is str for value in values):
        return (call.name, call.name in names, *call.arguments.items())
    return None
