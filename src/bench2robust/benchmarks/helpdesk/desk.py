"""One episode of the helpdesk: the tools on an own copy of the world, and the verdict on what they left."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from bench2robust.core.episode import Score, Task, Trajectory
from bench2robust.core.tools import ToolCall, ToolResponse

from .tools import TOOLS
from .world import Model, Ticket, World

_WORD: Final = re.compile(r"\w+")
_PARAMETERS: Final = {tool.name: frozenset(tool.parameters["properties"]) for tool in TOOLS}
_STANDARD: Final = frozenset(tool.name for tool in TOOLS if not tool.alternative)


class Refusal(Exception):
    """What a tool says instead of an answer; its own error, not ours."""


class Desk:
    """One episode's own copy of a world.

    Args:
        task: made by `generator`.
        alternatives: whether the alternative tools exist.
    """

    __slots__ = ("_models", "_orders", "_task", "_tickets", "_tools", "_transferred", "_world")

    def __init__(self, task: Task, *, alternatives: bool = True) -> None:
        world: World = task.data["world"]
        self._task, self._world = task, world
        self._tools = _PARAMETERS.keys() if alternatives else _STANDARD
        # Records are frozen: a write puts a new one in its place.
        self._tickets = dict(world.tickets)
        self._models = dict(world.models)
        self._orders = dict(world.orders)
        self._transferred = False

    def call(self, call: ToolCall) -> ToolResponse:
        """Execute a call; a tool's refusal is a response with ``error=True``."""
        try:
            answer = self._execute(call)
        except Refusal as refusal:
            return ToolResponse(f"Error: {refusal}", error=True)
        return ToolResponse(answer if isinstance(answer, str) else json.dumps(answer))

    def score(self, trajectory: Trajectory) -> Score:
        """Judge the live world, and what the user was told.

        ``database``: tickets, models and orders are as the gold calls leave them. ``communicated``: each
        value to tell is a word of a text the user was told. ``handed_over``: the user got a person if
        they wanted one.
        """
        gold = Desk(self._task)
        for action in self._task.gold:
            gold.call(action.call)
        words = {word for text in trajectory.said for word in _WORD.findall(text)}
        parts = {
            "database": self._state() == gold._state(),
            "communicated": words.issuperset(self._task.tell),
            "handed_over": self._transferred or not gold._transferred,
        }
        return Score(all(parts.values()), parts)

    def _execute(self, call: ToolCall) -> Any:
        if call.name not in self._tools:
            raise Refusal(f"no tool {call.name}")
        if call.arguments.keys() != _PARAMETERS[call.name]:
            raise Refusal(f"{call.name} takes {' and '.join(sorted(_PARAMETERS[call.name]))}")
        return _TOOLS[call.name](self, call.arguments)

    def _state(self) -> tuple[Mapping[str, Any], ...]:
        return self._tickets, self._models, self._orders

    def _user(self, key: Any) -> str:
        if not isinstance(key, str) or key not in self._world.users:
            raise Refusal("no such user")
        return key

    def _ticket(self, key: Any) -> Ticket:
        if not isinstance(key, str) or key not in self._tickets:
            raise Refusal("no such ticket")
        return self._tickets[key]

    def _of_kind(self, kind: Any) -> list[Model]:
        models = [model for model in self._models.values() if model.kind == kind]
        if not models:
            raise Refusal("no such kind")
        return models

    def _find_user(self, arguments: Mapping[str, Any]) -> str:
        ((key, value),) = arguments.items()
        for user in self._world.users.values():
            if getattr(user, key) == value:
                return user.id
        raise Refusal("no such user")

    def _get_tickets(self, arguments: Mapping[str, Any]) -> Any:
        user = self._user(arguments["user"])
        mine = (ticket for ticket in self._tickets.values() if ticket.user == user)
        return {t.id: {"topic": t.topic, "state": t.state, "priority": t.priority} for t in mine}

    def _find_ticket(self, arguments: Mapping[str, Any]) -> str:
        user = self._user(arguments["user"])
        for ticket in self._tickets.values():
            if ticket.user == user and ticket.topic == arguments["topic"]:
                return ticket.id
        raise Refusal("no such ticket")

    def _get_status(self, arguments: Mapping[str, Any]) -> Any:
        ticket = self._ticket(arguments["ticket"])
        return {"state": ticket.state, "priority": ticket.priority}

    def _list_models(self, arguments: Mapping[str, Any]) -> Any:
        return {m.id: {"price": m.price, "stock": m.stock} for m in self._of_kind(arguments["kind"])}

    def _find_cheapest(self, arguments: Mapping[str, Any]) -> Any:
        model = self._of_kind(arguments["kind"])[0]
        return {"model": model.id, "price": model.price, "stock": model.stock}

    def _get_orders(self, arguments: Mapping[str, Any]) -> Any:
        return self._orders[self._user(arguments["user"])]

    def _set_state(self, arguments: Mapping[str, Any]) -> Any:
        ticket, state = self._ticket(arguments["ticket"]), arguments["state"]
        if state not in ("open", "closed"):
            raise Refusal("a ticket can be set to open or closed")
        if state == ticket.state or (state == "open" and ticket.state not in ("solved", "closed")):
            raise Refusal(f"the ticket is {ticket.state}")
        return self._put(replace(ticket, state=state))

    def _set_priority(self, arguments: Mapping[str, Any]) -> Any:
        ticket, priority = self._ticket(arguments["ticket"]), arguments["priority"]
        if type(priority) is not int or priority < 1:
            raise Refusal("a priority is a whole number from 1 on")
        if ticket.state == "closed":
            raise Refusal("the ticket is closed")
        return self._put(replace(ticket, priority=priority))

    def _put(self, ticket: Ticket) -> Any:
        self._tickets[ticket.id] = ticket
        return {"ticket": ticket.id, "state": ticket.state, "priority": ticket.priority}

    def _order_model(self, arguments: Mapping[str, Any]) -> Any:
        user, key = self._user(arguments["user"]), arguments["model"]
        if not isinstance(key, str) or key not in self._models:
            raise Refusal("no such model")
        model = self._models[key]
        if not model.stock:
            raise Refusal("none is left")
        self._models[key] = replace(model, stock=model.stock - 1)
        self._orders[user] = (*self._orders[user], key)
        return {"model": key, "price": model.price}

    def _add(self, arguments: Mapping[str, Any]) -> Any:
        numbers = arguments["a"], arguments["b"]
        if any(type(number) is not int for number in numbers):
            raise Refusal("expected two whole numbers")
        return sum(numbers)

    def _transfer(self, arguments: Mapping[str, Any]) -> str:
        self._transferred = True
        return "Transfer successful"


_TOOLS: Final[Mapping[str, Callable[[Desk, Mapping[str, Any]], Any]]] = {
    "find_user_by_login": Desk._find_user,
    "find_user_by_badge": Desk._find_user,
    "get_tickets": Desk._get_tickets,
    "find_ticket": Desk._find_ticket,
    "get_status": Desk._get_status,
    "list_models": Desk._list_models,
    "find_cheapest": Desk._find_cheapest,
    "get_orders": Desk._get_orders,
    "set_state": Desk._set_state,
    "set_priority": Desk._set_priority,
    "order_model": Desk._order_model,
    "add": Desk._add,
    "transfer_to_human": Desk._transfer,
}
