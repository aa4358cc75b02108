"""What a policy has learned so far, read with names; whatever is not there yet is asked for.

Steps are written as if everything were known. A `Desk` raises `Wanting` with the decision that would
bring what is missing, and the goal hands that decision to the policy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench2robust.core.plan import Act, Ask, Decision, Facts, Fetch, Need
from bench2robust.core.tools import ToolCall

from . import routes
from .known import Known
from .routes import Json

_TOLD = "told "
"""Begins the facts that say the user has been told of a write."""


class Wanting(Exception):
    """Something has to be done before the plan can go on."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision)
        self.decision = decision


class NoMatch(Exception):
    """The facts do not let the plan go on."""


@dataclass(frozen=True, slots=True)
class Write:
    """A write, how to look whether it has happened, and what the user is told of it."""

    call: ToolCall
    verify: Fetch
    happened: Callable[[Any], bool]
    telling: str


class Desk:
    """One decision's view of the facts.

    Args:
        known: what the user said at once.
        facts: what has been learned.
        done: how many writes of the goal have been carried out. Every write is followed by telling the
            user, which is a fact: so writes carried out minus tellings says whether one is untold.
    """

    def __init__(self, known: Known, facts: Facts, done: int) -> None:
        self.known = known
        self.used: dict[str, None] = {}
        """The fetched facts that were looked at."""
        self._facts = facts
        self._untold = done - sum(fact.startswith(_TOLD) for fact in facts)

    def customer_id(self) -> str:
        """Who the user is, for the carrier."""
        value = self._fetched("customer_id", lambda: routes.identity(self.known))
        if not isinstance(value, str):
            raise NoMatch("the customer cannot be identified")
        return value

    def customer(self) -> Json:
        """The customer's record."""
        customer_id = self.customer_id()
        value = self._fetched("customer", lambda: routes.customer(self.known, customer_id))
        if not isinstance(value, dict):
            raise NoMatch("no record of the customer")
        return value

    def line(self) -> Json:
        """The line with the user's number."""
        if self._facts.get(routes.LINE_BY_PHONE) is not None:
            found = [("line", "")]
        else:
            ids = self.customer().get("line_ids") or []
            found = [(f"line {place}", line_id) for place, line_id in enumerate(ids)]
        for fact, line_id in found:
            value = self._line(fact, line_id)
            if isinstance(value, dict) and value.get("phone_number") == self.known.phone:
                return value
        raise NoMatch("no line of the customer has that number")

    def plan(self, line: Json) -> Json:
        """The plan of a line."""
        plan_id = str(line.get("plan_id"))
        value = self._fetched(f"plan {plan_id}", lambda: routes.plan(plan_id))
        if not isinstance(value, dict):
            raise NoMatch(f"no plan {plan_id}")
        return value

    def bills(self, when: str = "") -> list[Json]:
        """The customer's bills; `when` tells one look from another."""
        customer_id = self.customer_id()
        ids = self.customer().get("bill_ids") or []
        value = self._fetched(f"{when}bills of {customer_id}", lambda: routes.bills(customer_id, ids, when))
        if not isinstance(value, list):
            raise NoMatch("the bills cannot be had")
        return list(routes.records(value))

    def hear(self, fact: str, question: str) -> str:
        """What the user answers to a question, asked once."""
        if fact not in self._facts:
            raise Wanting(Ask(fact, question))
        return str(self._facts[fact])

    def written(self, name: str) -> bool:
        """Whether a write was carried out, and the user told."""
        return _TOLD + name in self._facts

    def write(self, name: str, write: Write) -> str:
        """What the user answers to being told of a write, which is carried out first."""
        if not self.written(name) and not self._untold:
            raise Wanting(Act(write.call, tuple(self.used), write.verify, write.happened))
        return self.hear(_TOLD + name, write.telling)

    def _line(self, fact: str, line_id: str) -> Any:
        return self._fetched(fact, lambda: routes.line(fact, self.known, line_id))

    def _fetched(self, fact: str, fetch: Callable[[], Fetch]) -> Any:
        self.used[fact] = None
        if fact not in self._facts:
            raise Wanting(Need(fetch()))
        return self._facts[fact]
