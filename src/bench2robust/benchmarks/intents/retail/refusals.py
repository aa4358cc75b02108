"""Retail wishes that the policy forbids: how they are drawn, and how a plan finds that they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bench2robust.benchmarks.intents.records import EXTRAS
from bench2robust.benchmarks.intents.wishes import Detail, Errand, Refused, Wish
from bench2robust.benchmarks.tau2.plan.choices import find_orders
from bench2robust.benchmarks.tau2.plan.compiler import compile_plan, escalate
from bench2robust.benchmarks.tau2.plan.draft import Draft
from bench2robust.benchmarks.tau2.plan.goals import Cancel, SendTo, WriteGoal
from bench2robust.benchmarks.tau2.plan.lines import Orders
from bench2robust.benchmarks.tau2.plan.money import Address
from bench2robust.benchmarks.tau2.plan.truth import Truth, known_to
from bench2robust.benchmarks.tau2.plan.words import Words
from bench2robust.benchmarks.tau2.plan.world import Json, Known, NoMatch, World, settled
from bench2robust.core.episode import Task
from bench2robust.core.plan import Decision, Done, Facts, Goal, Plan, Say
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall, ToolResponse

from .frames import FRAMES, REASONS
from .which import which_items, which_method

if TYPE_CHECKING:
    from .kit import RetailKit

CANCEL, ADDRESS, RETURN, EXCHANGE = (
    "cancel_pending_order",
    "modify_pending_order_address",
    "return_delivered_order_items",
    "exchange_delivered_order_items",
)
RULES: Mapping[str, tuple[str, ...]] = {
    "wrong_status": ("needs",),
    "other_user": (),
    "second_change": (),
    "other_product": ("item", "wanted"),
    "refund_elsewhere": ("refund_to",),
}
"""Rule to the facts about it that a record has to hold."""
NO = "I am sorry, I cannot do this: "


# ── rules, as a plan checks them on delivered facts ────────────────────────────────────────────
class Rule(Protocol):
    """A policy rule that a wish breaks."""

    def broken(self, order: Json, world: World) -> str:
        """Say why the wish is not allowed for this order, empty where it is."""
        ...


@dataclass(frozen=True, slots=True)
class Status:
    """The order has to be in a status."""

    needed: str

    def broken(self, order: Json, world: World) -> str:
        """Compare with the delivered status."""
        status = str(order.get("status"))
        return "" if status == self.needed else f"the order is {status}, it would have to be {self.needed}."


@dataclass(frozen=True, slots=True)
class Own:
    """The order has to be the user's own."""

    def broken(self, order: Json, world: World) -> str:
        """Compare the order's user with who the user is."""
        return "" if order.get("user_id") == world.user_id() else "the order belongs to somebody else."


@dataclass(frozen=True, slots=True)
class Untouched:
    """Items of an order are changed, or a delivered order is returned or exchanged, only once."""

    before: Orders
    """The order that an earlier wish of the conversation changes."""

    def broken(self, order: Json, world: World) -> str:
        """Compare with the order changed before."""
        changed = {o.get("order_id") for o in self.before.of(world)}
        return (
            "the order has just been changed, which can be done once."
            if order.get("order_id") in changed
            else ""
        )


@dataclass(frozen=True, slots=True)
class SameProduct:
    """An item is exchanged for a variant of its own product."""

    item: str
    wanted: str

    def broken(self, order: Json, world: World) -> str:
        """Look the item up in the order, and compare the products."""
        if not any(line.get("name") == self.item for line in order.get("items") or []):
            raise NoMatch(f"no such item in order {order.get('order_id')}")
        return f"a {self.item} cannot become a {self.wanted}." if self.item != self.wanted else ""


@dataclass(frozen=True, slots=True)
class Refundable:
    """A refund goes to the original payment method or to a gift card."""

    source: str

    def broken(self, order: Json, world: World) -> str:
        """Compare the wanted method with the one that paid."""
        history = order.get("payment_history") or []
        paid = history[0].get("payment_method_id") if history else None
        if not paid:
            raise NoMatch("no payment is known")
        method = (world.user().get("payment_methods") or {}).get(paid) or {}
        allowed = self.source in ("gift_card", method.get("source"))
        return "" if allowed else "a refund goes to the original payment method or to a gift card."


@dataclass(frozen=True, slots=True)
class Refusal:
    """A wish that breaks a rule: say no. Where delivered facts hide that, the wish itself is pursued."""

    known: Known
    orders: Orders
    rule: Rule
    wish: Goal | None = None
    """What a misled agent does; None where there is no such call."""

    def decide(self, facts: Facts, done: int) -> Decision:
        """Decide from the facts (see `core.plan`)."""
        if done:
            return Done()
        world = World(self.known, facts)
        return settled(world, lambda: self._decide(world, facts, done))

    def _decide(self, world: World, facts: Facts, done: int) -> Decision:
        why = next(filter(None, (self.rule.broken(o, world) for o in self.orders.of(world))), "")
        if why or self.wish is None:
            return Say(NO + (why or "it is against the policy."), tuple(world.used))
        return self.wish.decide(facts, done)


def compile_refusal(db: dict[str, Any], task: Task, execute: Callable[[ToolCall], ToolResponse]) -> Plan:
    """Compile an infeasible task: the allowed wishes as usual, then the one that is to be refused."""
    allowed = compile_plan(db, task, execute)
    extras = task.data[EXTRAS]
    attempt, words = extras["attempt"], Words(task.instructions)
    user_id = str(extras["user_id"])
    truth = Truth(db, user_id)
    said = tuple(o for o in truth.user["orders"] if words.place(o.lstrip("#W")) >= 0)
    known = known_to(truth.user, words, said)
    draft = Draft(words, truth, known, World(known, truth))
    order_id = attempt["arguments"]["order_id"]
    orders = _orders(db["orders"][order_id], draft)
    earlier = [g.wish.orders for g in allowed.goals if isinstance(g, WriteGoal) and hasattr(g.wish, "orders")]
    rule = _rule(extras, earlier)
    goal = Refusal(known, orders, rule, _attempt(attempt, known, orders))
    return Plan((*allowed.goals, goal), escalate, (*allowed.ungrounded, *draft.ungrounded), allowed.notes)


def _orders(order: Json, draft: Draft) -> Orders:
    if draft.words.has(order["order_id"].lstrip("#W")):
        return Orders(said=order["order_id"])
    found = find_orders([order], (), draft.words, draft.truth, ())
    if found is None:
        raise NoMatch("the order cannot be told from the words")
    draft.note(found[1], "order_id")
    return found[0]


def _rule(extras: Mapping[str, Any], earlier: Sequence[Orders]) -> Rule:
    made: Mapping[str, Callable[[], Rule]] = {
        "wrong_status": lambda: Status(extras["needs"]),
        "other_user": Own,
        "second_change": lambda: Untouched(earlier[0]),
        "other_product": lambda: SameProduct(extras["item"], extras["wanted"]),
        "refund_elsewhere": lambda: Refundable(extras["refund_to"]),
    }
    return made[extras["rule"]]()


def _attempt(attempt: Mapping[str, Any], known: Known, orders: Orders) -> Goal | None:
    arguments = attempt["arguments"]
    if attempt["name"] == CANCEL:
        return WriteGoal(known, Cancel(orders, arguments["reason"]))
    if attempt["name"] == ADDRESS:
        said = tuple((k, v) for k, v in arguments.items() if k != "order_id")
        return WriteGoal(known, SendTo(orders, Address(said=said)))
    return None


# ── draws ──────────────────────────────────────────────────────────────────────────────────────
def draw_refused(kit: RetailKit, draws: Draws, user_id: str) -> Refused | None:
    """Draw an errand with one wish that breaks a rule; None where the draw is not possible."""
    return draws.choice(_DRAWS)(kit, draws, user_id)


def _told(order: Json, orders: Sequence[Json], draws: Draws) -> Detail:
    """Describe an order without its status, which the user is wrong about."""
    number = order["order_id"]
    ways = [f"order {number}", f"the order with number {number}"]
    for line in order["items"]:
        if sum(any(i["name"] == line["name"] for i in o["items"]) for o in orders) == 1:
            ways += [
                f"the order with the {line['name']}",
                f"the order in which you bought the {line['name']}",
            ]
            break
    return Detail(draws.choice(ways))


def _refused(
    kit: RetailKit, draws: Draws, user_id: str, wish: Wish, rule: str, **more: Any
) -> Refused:  # fmt: skip
    """Put together a refusal; `more` are the facts of the rule, and the wishes that are allowed."""
    wishes = more.pop("wishes", ())
    forbidden = more.pop("forbidden", {"order_id": wish.call.arguments["order_id"]})
    errand = Errand(kit.person(user_id, draws), wishes)
    return Refused(errand, wish, rule, forbidden, {"user_id": user_id, **more})


def _cancel_wish(order: Json, which: Detail, draws: Draws, reason: str = "") -> Wish:
    reason = reason or draws.choice(sorted(REASONS))
    details = {"order": which, "reason": Detail(f" {draws.choice(REASONS[reason])[0]}")}
    return Wish(ToolCall(CANCEL, {"order_id": order["order_id"], "reason": reason}), FRAMES[CANCEL], details)


def _wrong_status(kit: RetailKit, draws: Draws, user_id: str) -> Refused | None:
    orders = kit.orders(user_id)
    order = draws.choice(orders)
    which = _told(order, orders, draws)
    if order["status"] != "pending" and draws.uniform() < 0.5:
        return _refused(
            kit, draws, user_id, _cancel_wish(order, which, draws), "wrong_status", needs="pending"
        )
    if order["status"] != "pending":
        address = kit.new_address(draws)
        details = {"order": which, "address": Detail(kit.spoken(address))}
        wish = Wish(ToolCall(ADDRESS, {"order_id": order["order_id"], **address}), FRAMES[ADDRESS], details)
        return _refused(kit, draws, user_id, wish, "wrong_status", needs="pending")
    items = which_items(draws.some(order["items"]), order, draws)
    if items is None:
        return None
    details = {"item": items, "order": which, "payment": Detail("")}
    wish = Wish(ToolCall(RETURN, {"order_id": order["order_id"]}), FRAMES[RETURN], details)
    return _refused(kit, draws, user_id, wish, "wrong_status", needs="delivered")


def _other_user(kit: RetailKit, draws: Draws, user_id: str) -> Refused | None:
    other = draws.choice(kit.people)
    pending = [o for o in kit.orders(other) if o["status"] == "pending"]
    if other == user_id or not pending:
        return None
    order = draws.choice(pending)
    whose = draws.choice(
        ("your brother's", "your flatmate's", "a colleague's", "your neighbour's", "your mother's")
    )
    which = Detail(
        draws.choice((f"{whose} order {order['order_id']}", f"{whose} purchase {order['order_id']}"))
    )
    return _refused(kit, draws, user_id, _cancel_wish(order, which, draws, "no longer needed"), "other_user")


def _second_change(kit: RetailKit, draws: Draws, user_id: str) -> Refused | None:
    orders = kit.orders(user_id)
    order = draws.choice(orders)
    first = {"pending": "modify_pending_order_items", "delivered": RETURN}.get(order["status"])
    wish = kit.wish(draws, user_id, first, order, [(first, order)]) if first else None
    if wish is None:
        return None
    which = Detail(f"that same order {order['order_id']}")
    if order["status"] == "pending":
        second = _cancel_wish(order, which, draws)
    else:
        details = {
            "item": Detail("another item"),
            "order": which,
            "payment": Detail(""),
            "option": Detail("for a newer one"),
        }
        second = Wish(ToolCall(EXCHANGE, {"order_id": order["order_id"]}), FRAMES[EXCHANGE], details)
    return _refused(kit, draws, user_id, second, "second_change", wishes=(wish,))


def _other_product(kit: RetailKit, draws: Draws, user_id: str) -> Refused | None:
    orders = kit.orders(user_id)
    order = draws.choice([o for o in orders if o["status"] == "delivered"] or orders)
    line = draws.choice(order["items"])
    items = which_items([line], order, draws)
    wanted = draws.choice(sorted(p["name"] for p in kit.db["products"].values()))
    owned = {i["name"] for o in orders for i in o["items"]}
    if order["status"] != "delivered" or items is None or line["name"] not in items.text or wanted in owned:
        return None
    option = Detail(f"for {draws.choice(('a', 'one'))} {wanted}")
    details = {"item": items, "order": _told(order, orders, draws), "payment": Detail(""), "option": option}
    wish = Wish(ToolCall(EXCHANGE, {"order_id": order["order_id"]}), FRAMES[EXCHANGE], details)
    return _refused(kit, draws, user_id, wish, "other_product", item=line["name"], wanted=wanted)


def _refund_elsewhere(kit: RetailKit, draws: Draws, user_id: str) -> Refused | None:
    orders = kit.orders(user_id)
    order = draws.choice([o for o in orders if o["status"] == "delivered"] or orders)
    user = kit.db["users"][user_id]
    methods = user["payment_methods"]
    paid = methods[order["payment_history"][0]["payment_method_id"]]
    elsewhere = [m for m, r in methods.items() if r["source"] not in ("gift_card", paid["source"])]
    if order["status"] != "delivered" or not elsewhere:
        return None
    method = draws.choice(sorted(elsewhere))
    items, said = which_items(draws.some(order["items"]), order, draws), which_method(method, user, draws)
    if items is None or said is None:
        return None
    only = draws.choice((", with the money going to {} or not at all", ", but only if {} gets the refund"))
    details = {"item": items, "order": _told(order, orders, draws), "payment": Detail(only.format(said))}
    arguments = {"order_id": order["order_id"], "payment_method_id": method}
    wish = Wish(ToolCall(RETURN, arguments), FRAMES[RETURN], details)
    source = methods[method]["source"]
    return _refused(kit, draws, user_id, wish, "refund_elsewhere", forbidden=arguments, refund_to=source)


_DRAWS = (_wrong_status, _other_user, _second_change, _other_product, *[_refund_elsewhere] * 4)
"""Four times in eight a refund elsewhere: few users have the two methods that it takes."""
