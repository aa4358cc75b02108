"""How a reference policy goes about a wish: its meaning, seen through what the tools have delivered."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from bench2robust.core.episode import Task
from bench2robust.core.plan import (
    Act,
    Ask,
    Decision,
    Done,
    Facts,
    Fetch,
    Handover,
    Need,
    Part,
    Plan,
    Route,
    Say,
    Stuck,
    never_doubts,
)
from bench2robust.core.tools import ToolCall

from .generator import QUESTION
from .wishes import TRANSFER, Denied, NoMatch, Told, Wish
from .world import NEW_PRIORITY, Model, Ticket

_KEYS: Final = re.compile(r"\b(login|badge) is (\w+)")

Build = Callable[[Sequence[Any]], Any]


def plan(task: Task) -> Plan:
    """Return the plan of a task of the generator: the wishes, to be decided from delivered facts."""
    introduction = task.data["introduction"]
    return Plan(tuple(Pursuit(introduction, wish) for wish in task.data["wishes"]), _escalate)


def _escalate(summary: str) -> ToolCall:
    return ToolCall(TRANSFER.name, {"summary": summary})


class _Missing(Exception):
    """A fact is not there yet."""

    def __init__(self, decision: Need | Ask) -> None:
        super().__init__()
        self.decision = decision


@dataclass(frozen=True, slots=True)
class Pursuit:
    """A wish as a goal (`core.plan.Goal`)."""

    introduction: str
    """Who the caller says they are; empty for one who has to be asked."""
    wish: Wish

    def decide(self, facts: Facts, done: int) -> Decision:
        """Look at the facts so far; a wish takes one act."""
        if done:
            return Done()
        view = Delivered(self.introduction, facts)
        try:
            view.user()  # the policy: find out who the user is before anything else
            effect = self.wish.effect(view)
            used = tuple(view.used)
            if isinstance(effect, Told):
                return Say(f"You asked for this: {effect.value}.", used)
            if isinstance(effect, Denied):
                return Done(effect.why)
            if effect == TRANSFER:
                return Handover(effect)
            return _act(effect, view.user(), used)
        except _Missing as missing:
            return missing.decision
        except NoMatch as nothing:
            return Stuck(str(nothing), tuple(view.used))


class Delivered:
    """What the tools have delivered so far, as a `wishes.View`; says what is missing and what was used."""

    def __init__(self, introduction: str, facts: Facts) -> None:
        self._introduction = introduction
        self._facts = facts
        self.used: dict[str, None] = {}

    def user(self) -> str:
        """The caller's number, by whatever key the caller gives."""
        words = self._introduction or self._facts.get("introduction")
        if words is None:
            raise _Missing(Ask("introduction", QUESTION))
        routes = tuple(
            _route(key, f"user by {key}", ToolCall(f"find_user_by_{key}", {key: value}))
            for key, value in _KEYS.findall(words)
        )
        return self._text("user", routes)

    def ticket(self, topic: str) -> Ticket:
        """The caller's ticket on a topic; its number and its status are two facts, had together or apart."""
        user = self.user()
        everything = _all_tickets(user)
        search = ToolCall("find_ticket", {"user": user, "topic": topic})
        number = self._text(
            f"number {topic}",
            (
                Route("list", (everything,), partial(_number_of, topic)),
                _route("search", f"number by {topic}", search),
            ),
        )
        status = self._get(f"status {topic}", _status_routes(everything, number), _status_doubts)
        return _ticket(number, user, {"topic": topic, **status} if isinstance(status, dict) else None)

    def tickets(self) -> Sequence[Ticket]:
        """All of the caller's tickets."""
        user = self.user()
        listed = self._get("tickets", (Route("list", (_all_tickets(user),), _first),), _tickets_doubts)
        if not isinstance(listed, dict) or not listed:
            raise NoMatch("no tickets")
        return [_ticket(number, user, record) for number, record in listed.items()]

    def cheapest(self, kind: str) -> Model:
        """The cheapest model of a kind, from the list or by itself."""
        search = ToolCall("find_cheapest", {"kind": kind})
        routes = (
            Route("list", (_all_models(kind),), _cheapest_of),
            _route("search", f"cheapest {kind} alone", search),
        )
        record = self._get(f"cheapest {kind}", routes, _model_doubts)
        return _model(record.get("model") if isinstance(record, dict) else None, kind, record)

    def models(self, kind: str) -> Sequence[Model]:
        """All models of a kind."""
        listed = self._get(f"models {kind}", (Route("list", (_all_models(kind),), _first),), _models_doubts)
        if not isinstance(listed, dict) or not listed:
            raise NoMatch("no models")
        return [_model(number, kind, record) for number, record in listed.items()]

    def total(self, a: int, b: int) -> int:
        """The sum of two numbers, by the tool."""
        call = ToolCall("add", {"a": a, "b": b})
        total = self._get(f"sum of {a} and {b}", (_route("add", f"{a} + {b}", call),))
        if not isinstance(total, int):
            raise NoMatch("no sum")
        return total

    def _get(
        self, fact: str, routes: tuple[Route, ...], doubts: Callable[[Any], str | None] = never_doubts
    ) -> Any:
        self.used[fact] = None
        if fact not in self._facts:
            raise _Missing(Need(Fetch(fact, routes, doubts)))
        return self._facts[fact]

    def _text(self, fact: str, routes: tuple[Route, ...]) -> str:
        value = self._get(fact, routes)
        if not isinstance(value, str) or not value:
            raise NoMatch(f"no {fact}")
        return value


# ── routes ─────────────────────────────────────────────────────────────────────────────────────
def _first(values: Sequence[Any]) -> Any:
    return values[0]


def _route(side: str, fact: str, call: ToolCall, build: Build = _first) -> Route:
    return Route(side, (Part(fact, call),), build)


def _all_tickets(user: str, purpose: str = "") -> Part:
    return Part(f"{purpose}ticket list", ToolCall("get_tickets", {"user": user}))


def _all_models(kind: str) -> Part:
    return Part(f"{kind} list", ToolCall("list_models", {"kind": kind}))


def _status_routes(everything: Part, number: str, purpose: str = "") -> tuple[Route, ...]:
    alone = ToolCall("get_status", {"ticket": number})
    return (
        Route("list", (everything,), partial(_status_in_list, number)),
        _route("search", f"{purpose}status of {number}", alone),
    )


def _number_of(topic: str, values: Sequence[Any]) -> str | None:
    """Return the number of the ticket on a topic, from the list of all."""
    tickets = values[0] if isinstance(values[0], dict) else {}
    found = (n for n, record in tickets.items() if isinstance(record, dict) and record.get("topic") == topic)
    return next(found, None)


def _status_in_list(number: str, values: Sequence[Any]) -> Any:
    record = values[0].get(number) if isinstance(values[0], dict) else None
    return {key: record.get(key) for key in ("state", "priority")} if isinstance(record, dict) else None


def _cheapest_of(values: Sequence[Any]) -> Any:
    """Return the cheapest model of a list, in the shape in which it comes alone."""
    listed = values[0] if isinstance(values[0], dict) else {}
    whole = {n: m for n, m in listed.items() if isinstance(m, dict) and isinstance(m.get("price"), int)}
    if not whole:
        return None
    number = min(whole, key=lambda n: int(whole[n]["price"]))
    # What the list says by its order is worth keeping: it is sorted, the cheapest first.
    return {"model": number, **whole[number], "first": number == next(iter(listed))}


# ── records ────────────────────────────────────────────────────────────────────────────────────
def _ticket(number: str, user: str, record: Any) -> Ticket:
    try:
        return Ticket(number, user, record["topic"], record["state"], int(record["priority"]))
    except (KeyError, TypeError):
        raise NoMatch("no such ticket") from None


def _model(number: Any, kind: str, record: Any) -> Model:
    if not isinstance(number, str) or not number:
        raise NoMatch("no such model")
    try:
        return Model(number, kind, int(record["price"]), int(record["stock"]))
    except (KeyError, TypeError):
        raise NoMatch("no such model") from None


# ── what looks wrong ───────────────────────────────────────────────────────────────────────────
def _status_doubts(status: Any) -> str | None:
    if not isinstance(status, dict) or not status.get("state"):
        return "no status"
    if status["state"] == "new" and status.get("priority") != NEW_PRIORITY:
        return "new, but not of the priority of new tickets"
    return None


def _tickets_doubts(tickets: Any) -> str | None:
    if not isinstance(tickets, dict) or not tickets:
        return "no tickets"
    if any(not record or not record.get("topic") for record in tickets.values()):
        return "a ticket is empty"
    return next(filter(None, map(_status_doubts, tickets.values())), None)


def _model_doubts(model: Any) -> str | None:
    if not isinstance(model, dict) or not model.get("model"):
        return "no model"
    return None if model.get("first", True) else "not the first of the list"


def _models_doubts(models: Any) -> str | None:
    if not isinstance(models, dict) or not models or not all(models.values()):
        return "a model is empty"
    prices = [model.get("price") for model in models.values()]
    return None if prices == sorted(prices) else "not sorted by price"


# ── writes ─────────────────────────────────────────────────────────────────────────────────────
def _act(call: ToolCall, user: str, used: tuple[str, ...]) -> Act:
    """Return the act, with how to see whether it has been done."""
    if call.name == "order_model":
        orders = _route("orders", "check orders", ToolCall("get_orders", {"user": user}))
        return Act(call, used, Fetch("check orders", (orders,)), partial(_ordered, call.arguments["model"]))
    number = call.arguments["ticket"]
    routes = _status_routes(_all_tickets(user, "check "), number, "check ")
    key = "state" if call.name == "set_state" else "priority"
    return Act(call, used, Fetch(f"check {number}", routes), partial(_shows, key, call.arguments[key]))


def _ordered(model: str, orders: Any) -> bool:
    return isinstance(orders, list) and model in orders


def _shows(key: str, value: Any, status: Any) -> bool:
    return isinstance(status, dict) and status.get(key) == value
