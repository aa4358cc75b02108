"""One episode of τ²-bench telecom: τ²'s own tools, for the agent and for the user, and τ²'s verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench2robust.core.episode import Message, Role, Score, Script, Task, Trajectory
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec

from .alternatives import ALTERNATIVES, AddedTools
from .user import Parameters, PhoneUser
from .world import Start

_RESERVED = frozenset({"self", "tool_name", "requestor"})
"""Argument names that collide with parameters of τ²'s own dispatch; calls with one are left to it."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What every episode of a process shares: who has which tools."""

    standard: frozenset[str]
    """The agent's tools in τ²."""
    phone: Parameters
    """The user's tools, with the names of their parameters."""
    phone_specs: tuple[ToolSpec, ...]
    """The same, as a user with a language model is told of them."""
    reads: frozenset[str]
    """Tools of both that change nothing."""


class TelecomEnvironment:
    """One episode's own carrier and phone (`core.ports.Environment`, `DualControl` and `UserTools`).

    A response is the text that τ²'s ``Environment.get_response`` gives for the same call, errors
    included, but for the ids of new bills: τ² makes them at random, here they are keyed by the task.
    As in τ², phone and carrier are synchronised after every call that succeeds (after a read that
    follows a read this changes nothing, so it is left out).

    Args:
        task: the task.
        start: where it starts, and what it is judged by.
        toolbox: who has which tools.
        alternatives: whether the agent's alternative tools exist in this episode.
    """

    __slots__ = (
        "_acts",
        "_added",
        "_bills",
        "_made",
        "_names",
        "_stale",
        "_start",
        "_task",
        "_toolbox",
        "_world",
    )

    def __init__(self, task: Task, start: Start, toolbox: Toolbox, *, alternatives: bool = True) -> None:
        self._task, self._start, self._toolbox = task, start, toolbox
        self._world = start.open()
        self._added = AddedTools(self._world.tools.db)
        self._names = frozenset(ALTERNATIVES if alternatives else ())
        self._bills = len(self._world.tools.db.bills)
        self._stale = False
        self._made: list[ToolCall] = []
        self._acts: list[Message] = []

    def call(self, call: ToolCall) -> ToolResponse:
        """Execute a call of the agent. What τ² reports as an error is a response with ``error=True``."""
        return self._respond(call, self._world.tools, self._toolbox.standard, "assistant")

    def act(self, call: ToolCall) -> ToolResponse:
        """Execute a call of the user."""
        response = self._respond(call, self._world.user_tools, self._toolbox.phone, "user")
        self._acts.append(Message(Role.USER, response.text, call=call))
        return response

    def user_tools(self) -> tuple[ToolSpec, ...]:
        """Return the user's tools."""
        return self._toolbox.phone_specs

    def user(self) -> PhoneUser:
        """Return the user, who holds the phone."""
        script = self._task.script or Script(self._task.instructions)
        return PhoneUser(script, self._toolbox.phone, self.act)

    def acts(self) -> list[Message]:
        """Hand over what the user has done since the last time."""
        acts, self._acts = self._acts, []
        return acts

    def score(self, trajectory: Trajectory) -> Score:
        """Judge the live world, and what was really called.

        ``assertions``: every assertion of the task holds now. ``actions``, where the task's reward asks
        for it: every gold action was executed, by whomever. Both are upstream's rules; passing takes
        both. The trajectory is not looked at: a blocked call is in it, but was never executed.
        """
        parts = {}
        if self._start.assertions is not None:
            held = [
                self._world.run_env_assertion(a, raise_assertion_error=False) for a in self._start.assertions
            ]
            parts["assertions"] = all(held)
        if self._start.actions is not None:
            parts["actions"] = all(
                any(_same(gold, made) for made in self._made) for gold in self._start.actions
            )
        return Score(all(parts.values()), parts)

    def _respond(
        self, call: ToolCall, toolkit: Any, names: frozenset[str] | Parameters, requestor: str
    ) -> ToolResponse:
        self._made.append(call)
        if call.name not in self._toolbox.reads:
            self._stale = True
        try:
            if requestor == "assistant" and call.name in self._names:
                result = getattr(self._added, call.name)(**call.arguments)
            elif call.name in names and _RESERVED.isdisjoint(call.arguments):
                result = getattr(toolkit, call.name)(**call.arguments)
            else:
                result = self._world.make_tool_call(call.name, requestor=requestor, **call.arguments)
            if self._stale:
                self._synchronise()
        except Exception as error:  # whatever a tool raises is its answer, as in τ²
            return ToolResponse(f"Error: {error}", error=True)
        return ToolResponse(self._world.to_json_str(result))

    def _synchronise(self) -> None:
        self._name_new_bills()
        self._world.sync_tools()
        self._stale = False

    def _name_new_bills(self) -> None:
        """Replace the random ids of bills that τ² has added."""
        db = self._world.tools.db
        for place in range(self._bills, len(db.bills)):
            bill = db.bills[place]
            draws = Draws(self._task.id, "bill", place)
            old, bill.bill_id = bill.bill_id, f"B{draws.index(16**8):08x}"
            for customer in db.customers:
                customer.bill_ids[:] = [
                    bill.bill_id if known == old else known for known in customer.bill_ids
                ]
        self._bills = len(db.bills)


def _same(gold: Mapping[str, Any], made: ToolCall) -> bool:
    """Whether a call is a gold action: τ² compares the arguments that the action names, else the call's."""
    if gold["name"] != made.name:
        return False
    compared = gold.get("compare_args")
    names = made.arguments.keys() if compared is None else compared
    return {k: v for k, v in made.arguments.items() if k in names} == {
        k: v for k, v in gold["arguments"].items() if k in names
    }
