"""Tasks, as many as asked for: task `index` of `seed` is always the same, whatever else is generated."""

from __future__ import annotations

from typing import Final

from bench2robust.core import episode
from bench2robust.core.episode import Answer, Script, Task
from bench2robust.core.errors import SpecError
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall

from .wishes import (
    Action,
    CloseLowest,
    Condition,
    CostsUnder,
    MoreLeft,
    Order,
    Person,
    PriorityUnder,
    SetPriority,
    SetState,
    StateIs,
    TellHighest,
    TellPrice,
    TellTicket,
    Told,
    Truth,
    Wish,
)
from .world import KINDS, STATES, Model, Ticket, User, World, draw_world, sample

QUESTION: Final = "What is your login or your badge?"
"""What makes a caller who has not said so say who they are."""

_KEYS: Final = (("login",), ("badge",), ("login", "badge"), ("badge", "login"))
_KEY_WEIGHTS: Final = (0.2, 0.2, 0.35, 0.25)
_WITHHELD: Final = 0.15
"""Share of callers who say who they are only when asked."""
_COUNTS: Final = (0.35, 0.4, 0.25)
"""Shares of one, two and three wishes."""
_FORMS: Final = {
    "ticket": 0.22,
    "order": 0.17,
    "if_ticket": 0.22,
    "if_stock": 0.17,
    "extreme": 0.08,
    "ask": 0.14,
}
_PERSON: Final = 0.06
"""Share of tasks at whose end the caller wants a person, or may."""


def tasks(n: int, seed: int = 0) -> tuple[Task, ...]:
    """Return the first `n` tasks of a seed.

    Raises:
        SpecError: fewer than no tasks.
    """
    if n < 0:
        raise SpecError(f"expected a count of tasks of at least 0, got n={n!r}")
    return tuple(task(index, seed) for index in range(n))


def task(index: int, seed: int = 0) -> Task:
    """Return one task. Its id is the index, in other seeds than 0 ``seed.index``.

    `Task.data` holds the ``world``, the ``wishes`` and the ``introduction`` (who the caller says they are).
    """
    draws = Draws("helpdesk", seed, index)
    world = draw_world(draws)
    keys = _KEYS[draws.weighted(_KEY_WEIGHTS)]
    wishes = _Caller(draws, world).wishes()
    gold, tell = _solve(world, keys[0], wishes)
    introduction = _introduce(world.caller, keys)
    wanted = " ".join(wish.words() for wish in wishes)
    withheld = draws.uniform() < _WITHHELD
    return Task(
        id=str(index) if seed == 0 else f"{seed}.{index}",
        instructions=f"{introduction} {wanted}",
        gold=tuple(episode.Action(call) for call in gold),
        tell=tell,
        data={"world": world, "wishes": wishes, "introduction": "" if withheld else introduction},
        script=Script(wanted, (Answer(("login", "badge", "who"), introduction),)) if withheld else None,
    )


def _introduce(user: User, keys: tuple[str, ...]) -> str:
    return "My " + " and my ".join(f"{key} is {getattr(user, key)}" for key in keys) + "."


def _solve(world: World, key: str, wishes: tuple[Wish, ...]) -> tuple[list[ToolCall], tuple[str, ...]]:
    """Return the gold calls, and what has to be told."""
    truth = Truth(world, key)
    calls: list[ToolCall] = []
    tell: list[str] = []
    for wish in wishes:
        truth.user()
        effect = wish.effect(truth)
        calls.extend(call for call in truth.reads.values() if call not in calls)
        if isinstance(effect, ToolCall):
            calls.append(effect)
        elif isinstance(effect, Told):
            tell.append(effect.value)
    return calls, tuple(tell)


def _branch(condition: tuple[Condition, bool], taken: Action, other: Action) -> Wish:
    """Return the wish that comes to `taken` in the true world."""
    asked, holds = condition
    return Wish(taken, asked, other) if holds else Wish(other, asked, taken)


class _Caller:
    """Makes up wishes that do not touch each other: each ticket and each kind is used once."""

    def __init__(self, draws: Draws, world: World) -> None:
        self._draws = draws
        (ordered,) = world.orders[world.caller.id]
        # The kind that was ordered before is left alone, so that a new order shows.
        kinds = [kind for kind in KINDS if kind != world.models[ordered].kind]
        self._kinds = [world.models_of(kind) for kind in sample(draws, kinds, len(kinds))]
        self._tickets = sample(draws, world.tickets_of(world.caller.id), 2)

    def wishes(self) -> tuple[Wish, ...]:
        """Return one to three wishes, and sometimes to talk to a person after them."""
        makers = {
            "ticket": self._ticket,
            "order": self._order,
            "if_ticket": self._if_ticket,
            "if_stock": self._if_stock,
            "extreme": self._extreme,
            "ask": self._ask,
        }
        found = []
        for _ in range(1 + self._draws.weighted(_COUNTS)):
            weights = [weight if self._possible(form) else 0 for form, weight in _FORMS.items()]
            form = tuple(_FORMS)[self._draws.weighted(weights)]
            found.append(makers[form]())
        if self._draws.uniform() < _PERSON:
            found.append(self._person())
        return tuple(found)

    def _possible(self, form: str) -> bool:
        if form == "extreme":
            return len(self._tickets) == 2
        tickets, kinds = bool(self._tickets), bool(self._kinds)
        return {"ticket": tickets, "if_ticket": tickets, "ask": tickets or kinds}.get(form, kinds)

    def _ticket(self) -> Wish:
        return Wish(self._draws.choice(self._allowed(self._tickets.pop())))

    def _order(self) -> Wish:
        return Wish(self._purchase(self._kinds.pop()))

    def _if_ticket(self) -> Wish:
        ticket = self._tickets.pop()
        taken = self._draws.choice(self._allowed(ticket))
        others = [action for action in self._actions(ticket) if type(action) is not type(taken)]
        return _branch(self._about(ticket), taken, self._draws.choice(others))

    def _if_stock(self) -> Wish:
        cheapest = self._kinds.pop()[0]
        condition: Condition
        if self._draws.uniform() < 0.5:
            condition = CostsUnder(cheapest.kind, cheapest.price + self._draws.index(10) - 4)
        else:
            condition = MoreLeft(cheapest.kind, cheapest.stock + self._draws.index(6) - 3)
        otherwise: Action = TellPrice((cheapest.kind,))
        if self._tickets and self._draws.uniform() < 0.7:
            otherwise = self._draws.choice(self._allowed(self._tickets.pop()))
        return Wish(Order(cheapest.kind), condition, otherwise)

    def _extreme(self) -> Wish:
        lowest = min(self._tickets, key=lambda ticket: ticket.priority)
        self._tickets.clear()
        if lowest.state == "closed" or self._draws.uniform() < 0.4:
            return Wish(TellHighest())
        return Wish(CloseLowest())

    def _ask(self) -> Wish:
        if self._tickets and (not self._kinds or self._draws.uniform() < 0.5):
            what = self._draws.choice(("state", "priority"))
            return Wish(TellTicket(self._tickets.pop().topic, what))
        wanted = min(len(self._kinds), 1 + self._draws.index(2))
        return Wish(TellPrice(tuple(self._kinds.pop()[0].kind for _ in range(wanted))))

    def _person(self) -> Wish:
        if not self._tickets:
            return Wish(Person())
        ticket = self._tickets.pop()
        condition, _ = self._state(ticket)
        return Wish(Person(), condition, self._draws.choice(self._allowed(ticket)))

    def _about(self, ticket: Ticket) -> tuple[Condition, bool]:
        """Return a condition on a ticket, and whether it holds."""
        if self._draws.uniform() < 0.6:
            return self._state(ticket)
        rises = self._draws.index(2)
        return PriorityUnder(ticket.topic, ticket.priority + rises), bool(rises)

    def _state(self, ticket: Ticket) -> tuple[Condition, bool]:
        state = ticket.state if self._draws.uniform() < 0.6 else self._draws.choice(STATES)
        return StateIs(ticket.topic, state), state == ticket.state

    def _allowed(self, ticket: Ticket) -> list[Action]:
        """Return actions that the ticket's true state allows."""
        raising, setting, closing, opening = self._actions(ticket)
        if ticket.state == "closed":
            return [opening]
        if ticket.state == "solved":
            return [raising, setting, closing, opening, opening]
        return [raising, setting, closing]

    def _actions(self, ticket: Ticket) -> tuple[Action, Action, Action, Action]:
        """Return one of each kind of action on a ticket."""
        by = 1 + self._draws.index(3)
        to = self._draws.choice([p for p in range(4, 13) if p != ticket.priority])
        return (
            SetPriority(ticket.topic, by, raised=True),
            SetPriority(ticket.topic, to),
            SetState(ticket.topic, "closed"),
            SetState(ticket.topic, "open"),
        )

    def _purchase(self, models: list[Model]) -> Order:
        """Return an order of the cheapest model, or of the dearest under a limit that leaves another one."""
        if self._draws.uniform() < 0.6:
            return Order(models[0].kind)
        place = 1 + self._draws.index(2)
        gap = models[place + 1].price - models[place].price if place == 1 else 6
        return Order(models[0].kind, models[place].price + 1 + self._draws.index(min(gap, 6)))
