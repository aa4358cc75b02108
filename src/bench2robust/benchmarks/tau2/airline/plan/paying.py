"""How the user pays: one method for a change, several for a booking, each chosen from the delivered record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from .world import Json, NoMatch, World

GIFT, CARD, CERTIFICATE = "gift_card", "credit_card", "certificate"


def methods(user: Json) -> list[Json]:
    """The user's payment methods, in the record's order."""
    return [one for one in (user.get("payment_methods") or {}).values() if isinstance(one, dict)]


def covers(method: Json, due: float) -> bool:
    """Whether a method can pay an amount by itself."""
    return method.get("source") == CARD or (method.get("amount") or 0) >= due


class Pick(StrEnum):
    """Which of several methods."""

    ONLY = "the only one"
    FIRST = "the first"
    SMALLEST = "the smallest"
    LARGEST = "the largest"


def pick(found: list[Json], which: Pick) -> Json:
    """Return the method that is meant."""
    if not found or (which is Pick.ONLY and len(found) > 1):
        raise NoMatch(f"{len(found)} payment methods fit")
    if which in (Pick.ONLY, Pick.FIRST):
        return found[0]
    by_amount = sorted(found, key=lambda one: one.get("amount") or 0)
    return by_amount[0] if which is Pick.SMALLEST else by_amount[-1]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a method has to be."""

    source: str
    last_four: str = ""
    brand: str = ""
    amount: int | None = None
    """Its value as the user says it ("the 500 dollar certificate")."""
    said: str = ""
    """Its id, where the user says it."""
    other_than: tuple[str, ...] = ()
    """Ids, or values, that the user has said of others."""

    def fits(self, method: Json) -> bool:
        """Return whether a method is that."""
        value = method.get("amount")
        return (
            method.get("source") == self.source
            and self.last_four in ("", method.get("last_four"))
            and self.brand in ("", method.get("brand"))
            and (self.amount is None or value == self.amount)
            and self.said in ("", method.get("id"))
            and method.get("id") not in self.other_than
            and not (isinstance(value, int | float) and f"{value:g}" in self.other_than)
        )


# ── one method, for a change of a reservation ──────────────────────────────────────────────────
class Payer(Protocol):
    """Chooses the method that a change is paid with or refunded to."""

    def of(self, trip: Json, due: float, world: World) -> str:
        """Return its id; `due` is what there is to pay (below 0 to be refunded)."""
        ...


@dataclass(frozen=True, slots=True)
class Original:
    """The method that the reservation was paid with."""

    def of(self, trip: Json, due: float, world: World) -> str:
        """Return its id."""
        payments = [p for p in trip.get("payment_history") or [] if isinstance(p, dict)]
        if not payments:
            raise NoMatch("no payment in the reservation")
        return str(payments[0].get("payment_id"))


@dataclass(frozen=True, slots=True)
class OfKind:
    """A method of a kind that the user names, such as a gift card; only one that can pay the amount."""

    kind: Kind
    which: Pick = Pick.ONLY

    def of(self, trip: Json, due: float, world: World) -> str:
        """Return its id."""
        found = [one for one in methods(world.user()) if self.kind.fits(one) and covers(one, due)]
        return str(pick(found, self.which).get("id"))


@dataclass(frozen=True, slots=True)
class Possible:
    """The method that the policy leaves: no certificate, and it can pay the amount."""

    which: Pick = Pick.ONLY

    def of(self, trip: Json, due: float, world: World) -> str:
        """Return its id."""
        found = [m for m in methods(world.user()) if m.get("source") != CERTIFICATE and covers(m, due)]
        return str(pick(found, self.which).get("id"))


@dataclass(frozen=True, slots=True)
class AsFor:
    """The same method as another change of the same reservation, whatever this one costs."""

    payer: Payer
    other: Costed
    """The other change: what it costs is what its method must be able to pay."""

    def of(self, trip: Json, due: float, world: World) -> str:
        """Return its id."""
        return self.payer.of(trip, self.other.due(trip, world), world)


class Costed(Protocol):
    """A change that costs something."""

    def due(self, trip: Json, world: World) -> float:
        """Return what there is to pay."""
        ...


# ── several methods, for a booking ─────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Share:
    """Part of a payment: methods of a kind, in an order, each paying what it can of what is left."""

    kind: Kind
    most: int = 1
    which: Pick = Pick.ONLY
    """Of several, the one (or the order in which they are used: FIRST is the record's)."""

    def chosen(self, user: Json) -> list[Json]:
        """Return the methods in the order in which they are used."""
        found = [one for one in methods(user) if self.kind.fits(one)]
        if self.most == 1:
            return [pick(found, self.which)]
        if self.which in (Pick.SMALLEST, Pick.LARGEST):
            found.sort(key=lambda one: one.get("amount") or 0, reverse=self.which is Pick.LARGEST)
        return found[: self.most]


@dataclass(frozen=True, slots=True)
class Shares:
    """A whole payment. `unless_wasted`: leave certificates out that would lose more than so much."""

    shares: tuple[Share, ...]
    unless_wasted: int | None = None

    def of(self, total: int, user: Json) -> list[dict[str, object]]:
        """Return the payments that make up a total; NoMatch where they cannot."""
        left, payments = total, []
        for share in self.shares:
            for method in share.chosen(user):
                value = left if method.get("source") == CARD else int(method.get("amount") or 0)
                if self._wastes(method, left):
                    continue
                part = min(value, left)
                if part > 0:
                    payments.append({"payment_id": str(method.get("id")), "amount": part})
                    left -= part
        if left:
            raise NoMatch("the payment methods do not cover the price")
        return payments

    def _wastes(self, method: Json, left: int) -> bool:
        lost = (method.get("amount") or 0) - left
        return (
            self.unless_wasted is not None
            and method.get("source") == CERTIFICATE
            and lost > self.unless_wasted
        )
