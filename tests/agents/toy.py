"""A shop with one user and one order, a plan for it, and an episode in which the test chooses every fault.

Facts and their routes (``*`` marks the alternative tools):

    user     find_by_email | find_by_name*
    order    get_order     | list_orders* together with check_items*
    street   list_orders*  | get_order          (shares a part with each route of `order`)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bench2robust.agents import create
from bench2robust.core.domain import Domain, EquivalenceClass, FieldRules, Side
from bench2robust.core.episode import Action, Task
from bench2robust.core.noise import NoiseType
from bench2robust.core.plan import (
    Act,
    Decision,
    Done,
    Facts,
    Fetch,
    Goal,
    Handover,
    Need,
    Part,
    Plan,
    Route,
    Say,
    Stuck,
)
from bench2robust.core.ports import Briefing, Play, Utterance
from bench2robust.core.tools import CallRecord, ToolCall, ToolKind, ToolResponse, ToolSpec
from bench2robust.injection import InjectionSpec, Mix, ScenarioSpec
from bench2robust.memory.knowledge import Knowledge

ERRORS = {
    NoiseType.TIMEOUT: "Error: request timed out after 30s",
    NoiseType.RATE_LIMIT: "HTTP 429 Too Many Requests",
    NoiseType.SERVER_ERROR: "HTTP 502 Bad Gateway",
    NoiseType.MALFORMED: '{"id": "o1", "sta',
    NoiseType.AUTH_ERROR: "HTTP 403 Forbidden",
    NoiseType.SCHEMA_DRIFT: "Unknown field 'items_v2'",
}
REFUSAL = "refusal"
"""Not a noise type: the tool itself says no."""
TIMEOUT, AUTH = NoiseType.TIMEOUT, NoiseType.AUTH_ERROR
PARTIAL, STALE, FACTUAL = NoiseType.PARTIAL, NoiseType.STALE, NoiseType.FACTUAL

Fault = NoiseType | str | None

READS = ("find_by_email", "get_order")
ALTERNATIVES = ("find_by_name", "list_orders", "check_items")
TOOLS = tuple(
    [ToolSpec(name, "", {}) for name in READS]
    + [ToolSpec(name, "", {}, alternative=True) for name in ALTERNATIVES]
    + [ToolSpec("cancel", "", {}, ToolKind.WRITE), ToolSpec("hand_over", "", {}, ToolKind.ESCALATION)]
)
STANDARD = tuple(tool for tool in TOOLS if not tool.alternative)


# ── the shop ───────────────────────────────────────────────────────────────────────────────────
class Shop:
    def __init__(self) -> None:
        lines = [{"name": "lamp", "price": 10}, {"name": "desk", "price": 30}]
        self.order = {"id": "o1", "status": "pending", "items": lines, "total": 40, "street": "Main St"}

    @property
    def cancelled(self) -> bool:
        return self.order["status"] == "cancelled"

    def call(self, call: ToolCall) -> ToolResponse:
        match call.name, dict(call.arguments):
            case "find_by_email", {"email": "ann@shop.org"}:
                return ToolResponse("ann_1")
            case "find_by_name", {"name": "Ann"}:
                return ToolResponse("ann_1")
            case "find_by_email" | "find_by_name", _:
                return ToolResponse("Error: User not found", error=True)
            case "get_order", _:
                return ToolResponse(json.dumps(self.order))
            case "list_orders", _:
                return ToolResponse(json.dumps([{k: v for k, v in self.order.items() if k != "items"}]))
            case "check_items", _:
                return ToolResponse(json.dumps(self.order["items"]))
            case "cancel", {"status": status} if not status == self.order["status"] == "pending":
                return ToolResponse("Error: Non-pending order cannot be cancelled", error=True)
            case "cancel", _:
                self.order["status"] = "cancelled"
                return ToolResponse(json.dumps(self.order))
            case _:
                return ToolResponse("Transfer successful")


# ── the plan ───────────────────────────────────────────────────────────────────────────────────
def _part(fact: str, tool: str, **arguments: str) -> Part:
    return Part(fact, ToolCall(tool, arguments))


def _same(values: Sequence[Any]) -> Any:
    return values[0]


def _merge(values: Sequence[Any]) -> Any:
    return {**values[0][0], "items": values[1]}


def order_doubts(order: Any) -> str | None:
    if sum(line["price"] for line in order["items"]) != order["total"]:
        return "prices do not add up"
    return None


def user_fetch(email: str) -> Fetch:
    by_email = Route("email", (_part("by email", "find_by_email", email=email),), _same)
    by_name = Route("name", (_part("by name", "find_by_name", name="Ann"),), _same)
    return Fetch("user", (by_email, by_name))


def order_fetch(user: str) -> Fetch:
    listing = (_part("listing", "list_orders", user=user), _part("items", "check_items", order="o1"))
    details = Route("details", (_part("details", "get_order", order="o1"),), _same)
    return Fetch("order", (details, Route("listing", listing, _merge)), order_doubts)


def street_fetch(user: str) -> Fetch:
    listing = Route("listing", (_part("listing", "list_orders", user=user),), lambda v: v[0][0]["street"])
    details = Route("details", (_part("details", "get_order", order="o1"),), lambda v: v[0]["street"])
    return Fetch("street", (listing, details))


@dataclass(frozen=True)
class Find:
    """Needs user and order; stuck without them, and with an order that holds no lamp."""

    email: str = "ann@shop.org"
    verify: bool = True

    def decide(self, facts: Facts, done: int) -> Decision:
        if done:
            return Done()
        if "user" not in facts:
            return Need(user_fetch(self.email))
        if facts["user"] is None:
            return Stuck("no such user", ("user",))
        return self.with_user(facts)

    def with_user(self, facts: Facts) -> Decision:
        if "order" not in facts:
            return Need(order_fetch(facts["user"]))
        order = facts["order"]
        if order is None or not any(line["name"] == "lamp" for line in order["items"]):
            return Stuck("no order with a lamp", ("user", "order"))
        return self.with_order(facts)

    def with_order(self, facts: Facts) -> Decision:
        raise NotImplementedError


class Cancel(Find):
    def with_order(self, facts: Facts) -> Decision:
        if facts["order"]["status"] not in ("pending", "processed"):
            return Done("not allowed")
        call = ToolCall("cancel", {"order": "o1", "status": facts["order"]["status"]})
        verify = order_fetch(facts["user"]) if self.verify else None
        return Act(call, ("user", "order"), verify, lambda order: order["status"] == "cancelled")


class CancelIfCheap(Cancel):
    def with_order(self, facts: Facts) -> Decision:
        return Done("too dear") if facts["order"]["total"] > 42 else super().with_order(facts)


class TellTotal(Find):
    def with_order(self, facts: Facts) -> Decision:
        return Say(f"total {facts['order']['total']}", ("order",))


class TellStreet(Find):
    def with_user(self, facts: Facts) -> Decision:
        if "street" not in facts:
            return Need(street_fetch(facts["user"]))
        if facts["street"] is None:
            return Stuck("no street", ("street",))
        return Say(facts["street"], ("street",))


class Human:
    def decide(self, facts: Facts, done: int) -> Decision:
        return Handover(ToolCall("hand_over", {"summary": "as asked"}))


def plan_of(*goals: Goal) -> Plan:
    return Plan(goals, lambda summary: ToolCall("hand_over", {"summary": summary}))


PLAN = plan_of(Cancel(), TellTotal())
TASK = Task(
    "toy",
    "cancel my order, and what did it cost?",
    gold=(
        Action(ToolCall("get_order", {"order": "o1"})),
        Action(ToolCall("cancel", {"order": "o1", "status": "pending"})),
    ),
    tell=("40",),
)


# ── the episode ────────────────────────────────────────────────────────────────────────────────
def corrupt(noise: NoiseType, true: ToolResponse) -> ToolResponse | None:
    """Return what a silent type makes of a response, None where it cannot change it."""
    value = None if true.error else json.loads(true.text) if true.text[0] in "{[" else None
    if noise is PARTIAL:
        if isinstance(value, dict):
            return ToolResponse(json.dumps({**value, "items": []}))
        return ToolResponse("[]") if value and "name" in value[0] else None
    if noise is STALE and isinstance(value, dict):
        return ToolResponse(json.dumps({**value, "status": "processed"}))
    if noise is FACTUAL and isinstance(value, dict):
        return ToolResponse(json.dumps({**value, "total": 45}))
    return None


def named(move: ToolCall | Utterance) -> str:
    """Return the tool that is called, what is said, or ``bye``."""
    if isinstance(move, Utterance):
        return "bye" if move.last else move.text
    return move.name


@dataclass
class Episode:
    """Tools that fail as `faults` say (tool to the noise of its calls, in order), and what was seen of them."""

    faults: Mapping[str, Sequence[Fault]] = field(default_factory=dict)
    blocked: Collection[str] = ()
    shop: Shop = field(default_factory=Shop)
    records: list[CallRecord] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    delivered: list[ToolResponse | str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def last(self) -> CallRecord:
        return self.records[-1]

    def call(self, call: ToolCall) -> ToolResponse:
        ordinal = self.counts[call.name]
        self.counts[call.name] += 1
        faults = self.faults.get(call.name, ())
        fault = (faults[ordinal] if ordinal < len(faults) else None) or NoiseType.CLEAN
        noise = NoiseType.CLEAN if fault == REFUSAL else fault
        record = CallRecord(len(self.records), call, ordinal, None, ToolResponse(""), noise)
        if call.name in self.blocked:
            record.blocked, record.delivered = True, ToolResponse(ERRORS[AUTH], error=True)
        else:
            no = ToolResponse("Error: Order not found", error=True)
            record.true = record.delivered = no if fault == REFUSAL else self.shop.call(call)
            if noise.observable:
                record.noise, record.delivered = noise, ToolResponse(ERRORS[noise], error=True)
            elif noise.silent and (corrupted := corrupt(noise, record.true)):
                record.noise, record.delivered = noise, corrupted
        self.records.append(record)
        return record.delivered

    def play(self, play: Play, most: int = 1000) -> Episode:
        answer: ToolResponse | str | None = None
        while True:
            try:
                move = play.send(answer)
            except StopIteration:
                return self
            assert len(self.moves) < most
            self.moves.append(named(move))
            answer = "ok" if isinstance(move, Utterance) else self.call(move)
            self.delivered.append(answer)

    @property
    def fulfilled(self) -> bool:
        return self.shop.cancelled and "total 40" in self.moves


ORDER_FIELDS = FieldRules(critical=("items",), state=("status",), numeric=("total",))
DOMAIN = Domain(
    "toy",
    classes=(
        EquivalenceClass("identity", (Side("email", READS[:1]), Side("name", ALTERNATIVES[:1]))),
        EquivalenceClass("order", (Side("details", READS[1:]), Side("listing", ALTERNATIVES[1:]))),
    ),
    needs={"cancel": ("identity", "order")},
    fields={"get_order": ORDER_FIELDS, "check_items": FieldRules(critical=("$",), numeric=("*.price",))},
    earlier={"cancelled": ("processed",), "pending": ("processed",)},
    exempt=frozenset({"hand_over"}),
)
KNOWLEDGE = Knowledge(DOMAIN, InjectionSpec(), ScenarioSpec(Mix(30, 45, 25)))
"""What the informed are told."""
BRIEFING = Briefing(TASK, TOOLS, "", "hello", PLAN)


def run(
    name: str,
    faults: Mapping[str, Sequence[Fault]] | None = None,
    blocked: Collection[str] = (),
    change: Callable[[Briefing], Briefing] = lambda briefing: briefing,
) -> Episode:
    """Play one episode; `change` alters the briefing."""
    agent, episode = create(name, KNOWLEDGE), Episode(faults or {}, frozenset(blocked))
    briefing = replace(BRIEFING, oracle=episode) if agent.omniscient else BRIEFING
    return episode.play(agent.play(change(briefing)))


def with_plan(*goals: Goal) -> Callable[[Briefing], Briefing]:
    return lambda briefing: replace(briefing, plan=plan_of(*goals))
