"""What callers want: conditions and actions that combine, each with its words and its meaning.

A meaning is written once, over a `View` of the helpdesk. Seen through the true world (`Truth`) it gives
the gold calls; seen through what the tools delivered (`plans.Delivered`) it is what a reference policy
does, and a corrupted answer changes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bench2robust.core.tools import ToolCall

from .world import Model, Ticket, World


class View(Protocol):
    """What a wish may look at."""

    def user(self) -> str:
        """The caller's number."""
        ...

    def ticket(self, topic: str) -> Ticket:
        """The caller's ticket on a topic."""
        ...

    def tickets(self) -> Sequence[Ticket]:
        """All of the caller's tickets."""
        ...

    def cheapest(self, kind: str) -> Model:
        """The cheapest model of a kind."""
        ...

    def models(self, kind: str) -> Sequence[Model]:
        """All models of a kind."""
        ...

    def total(self, a: int, b: int) -> int:
        """The sum of two numbers."""
        ...


class NoMatch(Exception):
    """What a wish is about is not in view."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something the caller wants to know."""

    value: str


@dataclass(frozen=True, slots=True)
class Denied:
    """The rules do not allow what the caller wants."""

    why: str


Effect = ToolCall | Told | Denied
"""What a wish comes to: a write or a transfer, something to tell, or a no."""

TRANSFER: Final = ToolCall("transfer_to_human", {"summary": "The user wants a person."})


# ── conditions ─────────────────────────────────────────────────────────────────────────────────
class Condition(Protocol):
    """When a wish applies."""

    def words(self) -> str:
        """Return it in the user's words."""
        ...

    def holds(self, view: View) -> bool:
        """Return whether it does."""
        ...


@dataclass(frozen=True, slots=True)
class StateIs:
    """A ticket is in a state."""

    topic: str
    state: str

    def words(self) -> str:
        """Return it in the user's words."""
        return f"my {self.topic} ticket is {self.state}"

    def holds(self, view: View) -> bool:
        """Return whether it does."""
        return view.ticket(self.topic).state == self.state


@dataclass(frozen=True, slots=True)
class PriorityUnder:
    """A ticket's priority is under a limit."""

    topic: str
    limit: int

    def words(self) -> str:
        """Return it in the user's words."""
        return f"my {self.topic} ticket has a priority under {self.limit}"

    def holds(self, view: View) -> bool:
        """Return whether it does."""
        return view.ticket(self.topic).priority < self.limit


@dataclass(frozen=True, slots=True)
class CostsUnder:
    """The cheapest model of a kind costs less than a limit."""

    kind: str
    limit: int

    def words(self) -> str:
        """Return it in the user's words."""
        return f"the cheapest {self.kind} costs under {self.limit}"

    def holds(self, view: View) -> bool:
        """Return whether it does."""
        return view.cheapest(self.kind).price < self.limit


@dataclass(frozen=True, slots=True)
class MoreLeft:
    """More than so many of the cheapest model of a kind are left."""

    kind: str
    limit: int

    def words(self) -> str:
        """Return it in the user's words."""
        return f"more than {self.limit} of the cheapest {self.kind} are left"

    def holds(self, view: View) -> bool:
        """Return whether it does."""
        return view.cheapest(self.kind).stock > self.limit


# ── actions ────────────────────────────────────────────────────────────────────────────────────
class Action(Protocol):
    """What is to be done."""

    def words(self) -> str:
        """Return it in the user's words."""
        ...

    def effect(self, view: View) -> Effect:
        """Return what it comes to."""
        ...


@dataclass(frozen=True, slots=True)
class SetPriority:
    """Set a ticket to a priority, or raise it by so much."""

    topic: str
    number: int
    raised: bool = False

    def words(self) -> str:
        """Return it in the user's words."""
        if self.raised:
            return f"raise the priority of my {self.topic} ticket by {self.number}"
        return f"set my {self.topic} ticket to priority {self.number}"

    def effect(self, view: View) -> Effect:
        """A write, unless the ticket is closed."""
        ticket = view.ticket(self.topic)
        if ticket.state == "closed":
            return Denied("the ticket is closed")
        priority = ticket.priority + self.number if self.raised else self.number
        return ToolCall("set_priority", {"ticket": ticket.id, "priority": priority})


@dataclass(frozen=True, slots=True)
class SetState:
    """Close a ticket, or open it again."""

    topic: str
    state: str

    def words(self) -> str:
        """Return it in the user's words."""
        ticket = f"my {self.topic} ticket"
        return f"close {ticket}" if self.state == "closed" else f"open {ticket} again"

    def effect(self, view: View) -> Effect:
        """A write, unless the ticket's state forbids it."""
        return _set_state(view.ticket(self.topic), self.state)


@dataclass(frozen=True, slots=True)
class CloseLowest:
    """Close the ticket with the lowest priority."""

    def words(self) -> str:
        """Return it in the user's words."""
        return "close my ticket with the lowest priority"

    def effect(self, view: View) -> Effect:
        """A write, unless it is closed already."""
        return _set_state(min(view.tickets(), key=lambda ticket: ticket.priority), "closed")


def _set_state(ticket: Ticket, state: str) -> Effect:
    if ticket.state == state or (state == "open" and ticket.state not in ("solved", "closed")):
        return Denied(f"the ticket is {ticket.state}")
    return ToolCall("set_state", {"ticket": ticket.id, "state": state})


@dataclass(frozen=True, slots=True)
class Order:
    """Order the cheapest model of a kind, or with a limit the dearest under it."""

    kind: str
    limit: int = 0

    def words(self) -> str:
        """Return it in the user's words."""
        if self.limit:
            return f"order the dearest {self.kind} under {self.limit}"
        return f"order the cheapest {self.kind}"

    def effect(self, view: View) -> Effect:
        """A write."""
        return ToolCall("order_model", {"user": view.user(), "model": self._choice(view).id})

    def _choice(self, view: View) -> Model:
        if not self.limit:
            return view.cheapest(self.kind)
        affordable = [model for model in view.models(self.kind) if model.price < self.limit]
        if not affordable:
            raise NoMatch("nothing costs so little")
        return max(affordable, key=lambda model: model.price)


@dataclass(frozen=True, slots=True)
class TellTicket:
    """Say what state or priority a ticket has."""

    topic: str
    what: str

    def words(self) -> str:
        """Return it in the user's words."""
        return f"tell me the {self.what} of my {self.topic} ticket"

    def effect(self, view: View) -> Effect:
        """Something to tell."""
        ticket = view.ticket(self.topic)
        return Told(ticket.state if self.what == "state" else str(ticket.priority))


@dataclass(frozen=True, slots=True)
class TellHighest:
    """Say which ticket has the highest priority."""

    def words(self) -> str:
        """Return it in the user's words."""
        return "tell me which of my tickets has the highest priority"

    def effect(self, view: View) -> Effect:
        """Its topic."""
        return Told(max(view.tickets(), key=lambda ticket: ticket.priority).topic)


@dataclass(frozen=True, slots=True)
class TellPrice:
    """Say what the cheapest model of a kind costs, or of two kinds together."""

    kinds: tuple[str, ...]

    def words(self) -> str:
        """Return it in the user's words."""
        named = " and ".join(f"the cheapest {kind}" for kind in self.kinds)
        return f"tell me the price of {named}" + (" together" if len(self.kinds) > 1 else "")

    def effect(self, view: View) -> Effect:
        """A price, or the sum of two."""
        prices = [view.cheapest(kind).price for kind in self.kinds]
        return Told(str(prices[0] if len(prices) == 1 else view.total(*prices)))


@dataclass(frozen=True, slots=True)
class Person:
    """Talk to a person."""

    def words(self) -> str:
        """Return it in the user's words."""
        return "let me talk to a person"

    def effect(self, view: View) -> Effect:
        """A transfer."""
        return TRANSFER


@dataclass(frozen=True, slots=True)
class Wish:
    """An action, or with a condition up to two."""

    action: Action
    condition: Condition | None = None
    otherwise: Action | None = None

    def words(self) -> str:
        """Return it as a sentence."""
        if self.condition is None:
            return f"Please {self.action.words()}."
        otherwise = f", otherwise {self.otherwise.words()}" if self.otherwise else ""
        return f"If {self.condition.words()}, {self.action.words()}{otherwise}."

    def effect(self, view: View) -> Effect:
        """Return what it comes to."""
        if self.condition is None or self.condition.holds(view):
            return self.action.effect(view)
        return self.otherwise.effect(view) if self.otherwise else Denied("does not apply")


class Truth:
    """The true world as a `View`; keeps the reads it takes, the usual way, each once.

    Args:
        world: where to look.
        key: by which of the caller's keys the caller is found, ``login`` or ``badge``.
    """

    def __init__(self, world: World, key: str) -> None:
        self._world = world
        self._key = key
        self.reads: dict[tuple[object, ...], ToolCall] = {}

    def _read(self, name: str, **arguments: str | int) -> None:
        self.reads.setdefault((name, *arguments.values()), ToolCall(name, arguments))

    def user(self) -> str:
        """The caller's number."""
        caller = self._world.caller
        self._read(f"find_user_by_{self._key}", **{self._key: getattr(caller, self._key)})
        return caller.id

    def ticket(self, topic: str) -> Ticket:
        """The caller's ticket on a topic."""
        return next(ticket for ticket in self.tickets() if ticket.topic == topic)

    def tickets(self) -> Sequence[Ticket]:
        """All of the caller's tickets."""
        user = self.user()
        self._read("get_tickets", user=user)
        return self._world.tickets_of(user)

    def cheapest(self, kind: str) -> Model:
        """The cheapest model of a kind."""
        return self.models(kind)[0]

    def models(self, kind: str) -> Sequence[Model]:
        """All models of a kind."""
        self._read("list_models", kind=kind)
        return self._world.models_of(kind)

    def total(self, a: int, b: int) -> int:
        """The sum of two numbers."""
        self._read("add", a=a, b=b)
        return a + b
