"""What there is at the helpdesk. Each task has a small world of its own, so nothing can be learnt by heart.

Words are few and every id is one word whose first letter says what it is: ``u`` user, ``b`` badge, ``t``
ticket, ``m`` model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from bench2robust.core.randomness import Draws

T = TypeVar("T")

LOGINS: Final = (
    "ana", "ben", "cleo", "dan", "eva", "finn", "gia", "hugo", "ida", "jon",
    "kim", "leo", "mia", "nils", "olga", "pia", "ravi", "sara", "tom", "zoe",
)  # fmt: skip
TOPICS: Final = ("mail", "vpn", "wifi", "sound", "backup")
KINDS: Final = ("laptop", "phone", "screen", "mouse")
STATES: Final = ("new", "open", "waiting", "solved", "closed")
"""In the order in which a ticket goes through them."""
PRIORITIES: Final = range(4, 10)
NEW_PRIORITY: Final = 5
"""Every new ticket has this priority: the one redundancy by which a wrong record can be told."""
ID_PATTERN: Final = r"\b[ubtm][0-9]{2}\b"

_STATES_DRAWN: Final = dict(zip(STATES, (0.15, 0.2, 0.25, 0.25, 0.15), strict=True))
_TWENTY: Final = range(10, 30)
_THIRTY: Final = range(10, 40)


@dataclass(frozen=True, slots=True)
class User:
    """An employee."""

    id: str
    login: str
    badge: str


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket; a user has at most one of a topic."""

    id: str
    user: str
    topic: str
    state: str
    priority: int
    """The higher, the more urgent."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be ordered."""

    id: str
    kind: str
    price: int
    stock: int
    """How many are left."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything, by id. The first user is the caller."""

    users: Mapping[str, User]
    tickets: Mapping[str, Ticket]
    models: Mapping[str, Model]
    """Those of a kind stand together, the cheapest first, with prices that differ."""
    orders: Mapping[str, tuple[str, ...]]
    """User to the models ordered, the latest last."""

    @property
    def caller(self) -> User:
        """The user whose task this is."""
        return next(iter(self.users.values()))

    def tickets_of(self, user: str) -> list[Ticket]:
        """Return the tickets of a user."""
        return [ticket for ticket in self.tickets.values() if ticket.user == user]

    def models_of(self, kind: str) -> list[Model]:
        """Return the models of a kind, the cheapest first."""
        return [model for model in self.models.values() if model.kind == kind]


def sample(draws: Draws, pool: Sequence[T], n: int) -> list[T]:
    """Return `n` different items of a pool, in random order."""
    left = list(pool)
    return [left.pop(draws.index(len(left))) for _ in range(n)]


def draw_world(draws: Draws) -> World:
    """Return a world of two users with two tickets each and one old order, and three models of every kind."""
    ids = [f"u{n}" for n in sample(draws, _TWENTY, 2)]
    badges = [f"b{n}" for n in sample(draws, _TWENTY, 2)]
    users = [User(*parts) for parts in zip(ids, sample(draws, LOGINS, 2), badges, strict=True)]
    numbers = iter(sample(draws, _THIRTY, 4))
    tickets = [ticket for user in users for ticket in _draw_tickets(draws, user.id, numbers)]
    models = _draw_models(draws)
    return World(
        users={user.id: user for user in users},
        tickets={ticket.id: ticket for ticket in tickets},
        models={model.id: model for model in models},
        orders={user.id: (draws.choice(models).id,) for user in users},
    )


def _draw_tickets(draws: Draws, user: str, numbers: Iterator[int]) -> list[Ticket]:
    """Return two tickets of different priority, so that at most one is new."""
    found: list[Ticket] = []
    for topic in sample(draws, TOPICS, 2):
        taken = {ticket.priority for ticket in found}
        weights = [w * (NEW_PRIORITY not in taken or s != "new") for s, w in _STATES_DRAWN.items()]
        state = STATES[draws.weighted(weights)]
        others = [p for p in PRIORITIES if p not in taken]
        priority = NEW_PRIORITY if state == "new" else draws.choice(others)
        found.append(Ticket(f"t{next(numbers)}", user, topic, state, priority))
    return found


def _draw_models(draws: Draws) -> list[Model]:
    ids = sample(draws, _THIRTY, 3 * len(KINDS))
    models = []
    for kind in KINDS:
        price = 16 + draws.index(10)
        for _ in range(3):
            price += 4 + draws.index(12)
            models.append(Model(f"m{ids.pop()}", kind, price, stock=6 + draws.index(20)))
    return models
