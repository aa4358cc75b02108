"""A library desk: a small, real benchmark, installed the way a third party would install one.

Members renew loans. Identity has two sides (library card, name), loans have two (the list, and an
alternative search by title). It has everything the evaluation has to cope with: a user who knows only
one way in, a task without a write, a task whose solution hands over, and a gold call that errors.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench2robust.core.episode import Action, Score, Task, Trajectory
from bench2robust.core.plan import (
    Act,
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
)
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse, ToolSpec

MEMBERS = {
    "m1": {"name": "Ada Byron", "card": "C-100", "email": "ada@example.org"},
    "m2": {"name": "Carl Gauss", "card": "C-200", "email": "carl@example.org"},
}
LOANS = {
    "L1": {"member": "m1", "title": "Dune", "due": "2030-05-01", "status": "open", "fee": 1.5},
    "L2": {"member": "m1", "title": "Emma", "due": "2030-05-09", "status": "open", "fee": 2.25},
    "L3": {"member": "m2", "title": "Ulysses", "due": "2030-04-02", "status": "open", "fee": 4.0},
    "L4": {"member": "m2", "title": "Walden", "due": "2030-06-02", "status": "lost", "fee": 30.0},
}


def _text(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {n: {"type": "string"} for n in names}, "required": list(names)}


TOOLS = (
    ToolSpec("find_member_by_card", "Member id of a library card.", _text("card")),
    ToolSpec("find_member_by_name", "Member id of a full name.", _text("name")),
    ToolSpec("get_loans", "Every loan of a member.", _text("member_id")),
    ToolSpec("search_loan", "One loan of a member, by title.", _text("member_id", "title"), alternative=True),
    ToolSpec("renew_loan", "Renew an open loan.", _text("loan_id"), ToolKind.WRITE),
    ToolSpec("set_email", "Change a member's e-mail.", _text("member_id", "email"), ToolKind.WRITE),
    ToolSpec("transfer_to_librarian", "Hand over to a human.", _text("summary"), ToolKind.ESCALATION),
)


class Desk:
    """One episode's library."""

    def __init__(self, task: Task, *, alternatives: bool = True) -> None:
        self.tools = {tool.name for tool in TOOLS if alternatives or not tool.alternative}
        self.members = copy.deepcopy(MEMBERS)
        self.loans = copy.deepcopy(LOANS)
        self.task = task

    def call(self, call: ToolCall) -> ToolResponse:
        """Execute a call."""
        if call.name not in self.tools:
            return ToolResponse(f"Error: Tool '{call.name}' not found.", error=True)
        try:
            result = getattr(self, f"tool_{call.name}")(**call.arguments)
        except (KeyError, TypeError, ValueError) as error:
            return ToolResponse(f"Error: {error.args[0]}", error=True)
        return ToolResponse(result if isinstance(result, str) else json.dumps(result))

    def tool_find_member_by_card(self, card: str) -> str:
        return next((k for k, m in self.members.items() if m["card"] == card), None) or _missing("card")

    def tool_find_member_by_name(self, name: str) -> str:
        return next((k for k, m in self.members.items() if m["name"] == name), None) or _missing("name")

    def tool_get_loans(self, member_id: str) -> list[dict[str, Any]]:
        if member_id not in self.members:
            _missing("member")
        return [{"loan_id": k, **loan} for k, loan in self.loans.items() if loan["member"] == member_id]

    def tool_search_loan(self, member_id: str, title: str) -> dict[str, Any]:
        found = [loan for loan in self.tool_get_loans(member_id) if loan["title"] == title]
        return found[0] if found else _missing("title")

    def tool_renew_loan(self, loan_id: str) -> dict[str, Any]:
        loan = self.loans[loan_id] if loan_id in self.loans else _missing("loan")
        if loan["status"] != "open":
            raise ValueError(f"a {loan['status']} loan cannot be renewed")
        loan.update(status="renewed", due="2030-12-01")
        return {"loan_id": loan_id, **loan}

    def tool_set_email(self, member_id: str, email: str) -> dict[str, Any]:
        member = self.members[member_id] if member_id in self.members else _missing("member")
        member["email"] = email
        return {"member_id": member_id, **member}

    def tool_transfer_to_librarian(self, summary: str) -> str:
        return "Transfer successful"

    def score(self, trajectory: Trajectory) -> Score:
        """Compare with a desk on which the gold calls were made."""
        gold = Desk(self.task)
        for action in self.task.gold:
            gold.call(action.call)
        database = (gold.members, gold.loans) == (self.members, self.loans)
        communicated = all(any(value in text for text in trajectory.said) for value in self.task.tell)
        return Score(database and communicated, {"database": database, "communicated": communicated})


def _missing(what: str) -> Any:
    raise ValueError(f"{what} not found")


def _task(
    number: int, words: str, *gold: tuple[str, dict[str, str]], tell: tuple[str, ...] = (), **data: Any
) -> Task:
    actions = tuple(Action(ToolCall(name, arguments)) for name, arguments in gold)
    return Task(str(number), words, actions, tell, data=data)


TASKS = (
    _task(
        0,
        "I am Ada Byron, card C-100. Please renew my loan of Dune.",
        ("find_member_by_card", {"card": "C-100"}),
        ("renew_loan", {"loan_id": "L1"}),
        card="C-100", name="Ada Byron", renew=["Dune"],
    ),
    _task(
        1,
        "My card is C-200. Renew Ulysses, please.",
        ("renew_loan", {"loan_id": "L3"}),
        card="C-200", renew=["Ulysses"],
    ),
    _task(
        2,
        "Ada Byron here, card C-100. What is the late fee on Emma?",
        ("get_loans", {"member_id": "m1"}),
        tell=("2.25",), card="C-100", name="Ada Byron", ask="Emma",
    ),
    _task(
        3,
        "Carl Gauss, card C-200. My e-mail is now gauss@example.org.",
        ("set_email", {"member_id": "m2", "email": "gauss@example.org"}),
        card="C-200", name="Carl Gauss", email="gauss@example.org",
    ),
    _task(
        4,
        "I want to complain about the heating.",
        ("transfer_to_librarian", {"summary": "heating"}),
        handover=True,
    ),
    _task(
        5,
        "Ada Byron, card C-100. Renew Dune and Emma, and tell me the fee on Emma.",
        ("renew_loan", {"loan_id": "L1"}),
        ("renew_loan", {"loan_id": "L2"}),
        tell=("2.25",), card="C-100", name="Ada Byron", renew=["Dune", "Emma"], ask="Emma",
    ),
    _task(
        6,
        "Carl Gauss, card C-200. Can I renew Walden?",
        ("renew_loan", {"loan_id": "L4"}),
        card="C-200", name="Carl Gauss", renew=["Walden"],
    ),
)  # fmt: skip


def _one(values: Sequence[Any]) -> Any:
    return values[0] or None


def _titled(title: str, values: Sequence[Any]) -> Any:
    return next((loan for loan in values[0] or () if loan.get("title") == title), None)


@dataclass(frozen=True)
class Desire:
    """What one user wants; the steps its goals share."""

    data: dict[str, Any]

    def member(self) -> Fetch:
        routes = []
        for side, key, tool in (
            ("card", "card", "find_member_by_card"),
            ("name", "name", "find_member_by_name"),
        ):
            if key in self.data:
                part = Part(f"member by {key}", ToolCall(tool, {key: self.data[key]}))
                routes.append(Route(side, (part,), _one))
        return Fetch("member", tuple(routes))

    def loan(self, member: str, title: str, fact: str = "") -> Fetch:
        fact = fact or f"loan {title}"
        listing = Part("loans", ToolCall("get_loans", {"member_id": member}))
        search = Part(fact, ToolCall("search_loan", {"member_id": member, "title": title}))
        return Fetch(
            fact, (Route("list", (listing,), partial(_titled, title)), Route("search", (search,), _one))
        )


@dataclass(frozen=True)
class Renew(Desire):
    title: str = ""

    def decide(self, facts: Facts, done: int) -> Decision:
        if done:
            return Done()
        if "member" not in facts:
            return Need(self.member())
        fact = f"loan {self.title}"
        if fact not in facts:
            return Need(self.loan(facts["member"], self.title))
        loan = facts[fact]
        if not loan.get("loan_id") or not loan.get("status"):
            return Stuck("the loan has no id or status", (fact,))
        if loan["status"] != "open":
            return Done("not open")
        return Act(
            ToolCall("renew_loan", {"loan_id": loan["loan_id"]}),
            (fact,),
            self.loan(facts["member"], self.title),
            _renewed,
        )


def _renewed(loan: Any) -> bool:
    return bool(loan.get("status") == "renewed")


@dataclass(frozen=True)
class Ask(Desire):
    def decide(self, facts: Facts, done: int) -> Decision:
        if done:
            return Done()
        if "member" not in facts:
            return Need(self.member())
        fact = f"loan {self.data['ask']}"
        if fact not in facts:
            return Need(self.loan(facts["member"], self.data["ask"]))
        if facts[fact].get("fee") is None:
            return Stuck("the loan has no fee", (fact,))
        return Say(f"The fee is {facts[fact]['fee']}.", (fact,))


@dataclass(frozen=True)
class SetEmail(Desire):
    def decide(self, facts: Facts, done: int) -> Decision:
        if done:
            return Done()
        if "member" not in facts:
            return Need(self.member())
        return Act(
            ToolCall("set_email", {"member_id": facts["member"], "email": self.data["email"]}), ("member",)
        )


@dataclass(frozen=True)
class Complain(Desire):
    def decide(self, facts: Facts, done: int) -> Decision:
        return Done() if done else Handover(_escalate("heating"))


def _escalate(summary: str) -> ToolCall:
    return ToolCall("transfer_to_librarian", {"summary": summary})


class Library:
    """The benchmark."""

    name = "toy-library"
    domain = str(Path(__file__).with_name("toy_library.toml"))
    version = "1.0"

    def tasks(self) -> Sequence[Task]:
        return TASKS

    def tools(self, alternatives: bool) -> Sequence[ToolSpec]:
        return [tool for tool in TOOLS if alternatives or not tool.alternative]

    def policy(self, alternatives: bool) -> str:
        return "Help members." + (" search_loan finds one loan." if alternatives else "")

    def open(self, task: Task, *, alternatives: bool = True) -> Desk:
        return Desk(task, alternatives=alternatives)

    def plan(self, task: Task) -> Plan:
        data = dict(task.data)
        goals: list[Any] = [Renew(data, title) for title in data.get("renew", ())]
        goals += [Ask(data)] if "ask" in data else []
        goals += [SetEmail(data)] if "email" in data else []
        goals += [Complain(data)] if "handover" in data else []
        return Plan(tuple(goals), _escalate)


class Mishaps(Library):
    """The library, told by a test what goes wrong in task 3, and where.

    What is kept in `opened` is kept in this process only.
    """

    name = "toy-mishaps"

    def __init__(self) -> None:
        self.at: dict[str, Callable[[], None]] = {}
        """``call``, ``decide``, ``open``, ``plan`` or ``score`` to what happens then."""
        self.opened: list[str] = []

    def happen(self, where: str, task: Task) -> None:
        if where in self.at and task.id == "3":
            self.at[where]()

    def open(self, task: Task, *, alternatives: bool = True) -> Desk:
        self.opened.append(task.id)
        self.happen("open", task)
        return UnluckyDesk(self, task, alternatives=alternatives)

    def plan(self, task: Task) -> Plan:
        self.happen("plan", task)
        plan = super().plan(task)
        return Plan(tuple(Unlucky(self, task, goal) for goal in plan.goals), plan.escalate)


class UnluckyDesk(Desk):
    def __init__(self, owner: Mishaps, task: Task, *, alternatives: bool) -> None:
        super().__init__(task, alternatives=alternatives)
        self.owner = owner

    def call(self, call: ToolCall) -> ToolResponse:
        self.owner.happen("call", self.task)
        return super().call(call)

    def score(self, trajectory: Trajectory) -> Score:
        self.owner.happen("score", self.task)
        return super().score(trajectory)


@dataclass(frozen=True)
class Unlucky:
    owner: Mishaps
    task: Task
    goal: Any

    def decide(self, facts: Facts, done: int) -> Decision:
        self.owner.happen("decide", self.task)
        decision: Decision = self.goal.decide(facts, done)
        return decision


def library() -> Library:
    """Entry point."""
    return Library()


def mishaps() -> Mishaps:
    """Entry point of the library in which things go wrong."""
    return Mishaps()


def rude() -> Library:
    """Entry point of a plugin whose factory fails."""
    raise RuntimeError("no books")
