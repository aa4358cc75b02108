"""Compiles a gold solution into an intent plan, on the pristine database, guided by gold.

Every argument of every effective gold write becomes a selector over delivered fields: a mandatory
base (what the user's words and the tool demand), then the fewest extra conditions that make it
unique. Nothing here knows a task; what a task is about comes from its words and its gold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench2robust.core.episode import Task
from bench2robust.core.plan import Goal, Plan
from bench2robust.core.tools import ToolCall, ToolResponse

from .branches import add_branches
from .choices import find_lines, find_orders, find_variant
from .draft import CannotCompile, Draft
from .goals import Cancel, Change, HandoverGoal, MoveTo, PayWith, Return, SendTo, Swap, Wish, WriteGoal
from .lines import Except, HasStatus, Holds, Lines, Named, OrderCondition, Orders
from .payments import find_address, find_payment
from .stock import Available, ByPrice, NewItem
from .telling import tell_goal
from .truth import Truth, known_to, who
from .words import Words
from .world import Json, NoMatch, World, items

ESCALATION = "transfer_to_human_agents"
EVERY_LINE = Lines(((Except(),),))


def escalate(summary: str) -> ToolCall:
    """Build the escalation call."""
    return ToolCall(ESCALATION, {"summary": summary})


def compile_plan(db: Json, task: Task, execute: Callable[[ToolCall], ToolResponse]) -> Plan:
    """Compile a task's gold solution.

    Args:
        db: the pristine database as JSON.
        task: the task.
        execute: a fresh environment's `call`, to see which gold calls genuinely error.
    """
    words = Words(task.instructions)
    gold = [(a.call.name, a.call.arguments) for a in task.gold]
    writes, notes = _effective(task, execute)
    user_id = who(db, words, gold)
    handover = tuple(HandoverGoal(ToolCall(n, a)) for n, a in gold if n == ESCALATION)
    if user_id is None:
        return Plan(handover, escalate, notes=(*notes, "no user can be told from the task"))
    truth = Truth(db, user_id)
    said = tuple(o for o in truth.user["orders"] if words.place(o.lstrip("#W")) >= 0)
    known = known_to(truth.user, words, said)
    draft = Draft(words, truth, known, World(known, truth), notes=notes)
    wishes = _wishes(writes, draft)
    goals: list[Goal] = [WriteGoal(known, wish) for wish in wishes]
    goals = add_branches(goals, draft)
    goals += tell_goal(task.tell, goals, draft)
    return Plan((*goals, *handover), escalate, tuple(draft.ungrounded), tuple(draft.notes))


def _effective(task: Task, execute: Callable[[ToolCall], ToolResponse]) -> tuple[list[ToolCall], list[str]]:
    """Return the gold writes that change something, and a note for each gold call that errors."""
    writes, notes = [], []
    for action in task.gold:
        response = execute(action.call)
        if response.error:
            notes.append(f"left out, genuinely errors: {action.call.name}: {response.text}")
        elif action.call.name in _WISH:
            writes.append(action.call)
    return writes, notes


def _wishes(writes: Sequence[ToolCall], draft: Draft) -> list[Wish]:
    """Compile writes in order; writes that one selector can find together become one wish."""
    wishes: list[Wish] = []
    rest = list(writes)
    while rest:
        call = rest.pop(0)
        alike = [c for c in rest if c.name == call.name and c.name != "modify_user_address"]
        wish = _together([call, *alike], draft) if alike else None
        if wish is not None:
            rest = [c for c in rest if c not in alike]
        else:
            wish = _WISH[call.name]([call], draft)
        wishes.append(wish)
    return wishes


def _together(calls: Sequence[ToolCall], draft: Draft) -> Wish | None:
    """Return one wish for several writes where it reproduces them all, else None."""
    before = len(draft.ungrounded)
    try:
        wish = _WISH[calls[0].name](calls, draft)
        if reproduces(wish, calls, draft.world):
            return wish
    except (CannotCompile, NoMatch):
        pass
    del draft.ungrounded[before:]
    return None


def reproduces(wish: Wish, calls: Sequence[ToolCall], world: World) -> bool:
    """Whether a wish gives exactly these writes on the pristine database."""
    try:
        given = [canonical(w.call) for w in wish.writes(world)]
    except NoMatch:
        return False
    return sorted(given) == sorted(canonical(c) for c in calls)


def canonical(call: ToolCall) -> str:
    """Return a call as a string in which the order of item pairs does not matter."""
    arguments: dict[str, Any] = dict(call.arguments)
    if "new_item_ids" in arguments:
        pairs = sorted(zip(arguments.pop("item_ids"), arguments.pop("new_item_ids"), strict=True))
        arguments["pairs"] = pairs
    elif "item_ids" in arguments:
        arguments["item_ids"] = sorted(arguments["item_ids"])
    return ToolCall(call.name, arguments).signature()


def _orders_of(calls: Sequence[ToolCall], draft: Draft) -> list[Json]:
    return [draft.truth[f"order {c.arguments['order_id']}"] for c in calls]


def _find_orders(
    calls: Sequence[ToolCall], base: Sequence[OrderCondition], about: Sequence[Json], draft: Draft
) -> Orders:
    found = find_orders(_orders_of(calls, draft), base, draft.words, draft.truth, about)
    if found is None:
        raise CannotCompile("order_id")
    draft.note(found[1], f"{calls[0].name}.order_id")
    return found[0]


def _lines_named(order: Json, item_ids: Sequence[str]) -> list[Json]:
    """Return the lines with these ids, one for each id."""
    found, pool = [], list(items(order))
    for item_id in item_ids:
        line = next(i for i in pool if i["item_id"] == item_id)
        pool.remove(line)
        found.append(line)
    return found


def _status_base(status: str, about: Sequence[Json], draft: Draft) -> list[OrderCondition]:
    """Return what an order must be for the write, and hold of what the user names."""
    names = [n for n in dict.fromkeys(line["name"] for line in about) if draft.words.product(n)]
    return [HasStatus(status), *(Holds((Named((n,)),)) for n in names)]


def _cancel(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    reason = str(calls[0].arguments["reason"])
    draft.note(draft.words.reason(reason), "cancel_pending_order.reason")
    orders = _find_orders(calls, [HasStatus("pending")], (), draft)
    return Cancel(orders, reason)


def _return(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    order = _orders_of(calls, draft)[0]
    chosen = _lines_named(order, calls[0].arguments["item_ids"])
    lines = find_lines(order, chosen, draft.words)
    if lines is None:
        raise CannotCompile("item_ids")
    draft.note(lines[1], "return_delivered_order_items.item_ids")
    about = () if lines[0] == EVERY_LINE else chosen
    orders = _find_orders(calls, _status_base("delivered", about, draft), chosen, draft)
    payment = find_payment(calls[0], order, draft, refund=True)
    return Return(orders, lines[0], payment)


def _change(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    call, order = calls[0], _orders_of(calls, draft)[0]
    old = _lines_named(order, call.arguments["item_ids"])
    pairs = list(zip(old, call.arguments["new_item_ids"], strict=True))
    status = "pending" if call.name == "modify_pending_order_items" else "delivered"
    swaps = _same_rule_for_all(order, pairs, draft) or tuple(_swap(order, p, call.name, draft) for p in pairs)
    orders = _find_orders(calls, _status_base(status, old, draft), old, draft)
    due = sum(draft.truth.products[o["name"]]["variants"][n]["price"] - o["price"] for o, n in pairs)
    payment = find_payment(call, order, draft, due=round(due, 2))
    return Change(orders, swaps, payment)


def _same_rule_for_all(
    order: Json, pairs: Sequence[tuple[Json, str]], draft: Draft
) -> tuple[Swap, ...] | None:
    """Return the one rule "every item to its cheapest (dearest)" where the user says so and it fits."""
    if not draft.words.has("all item", "all your item"):
        return None
    for highest in (False, True):
        if not (draft.words.dearest() if highest else draft.words.cheapest()):
            continue
        swap = Swap(EVERY_LINE, NewItem((Available(), ByPrice(highest))), only_if_new=True)
        try:
            given = [(o["item_id"], n["item_id"]) for o, n in swap.pairs(order, draft.world)]
        except NoMatch:
            continue
        if sorted(given) == sorted((o["item_id"], n) for o, n in pairs):
            return (swap,)
    return None


def _swap(order: Json, pair: tuple[Json, str], tool: str, draft: Draft) -> Swap:
    old, new_id = pair
    lines = find_lines(order, [old], draft.words)
    new = find_variant(old, new_id, draft.words, draft.truth)
    if lines is None or new is None:
        raise CannotCompile("new_item_ids" if lines else "item_ids")
    draft.note(
        lines[1] or draft.words.has("all item", "all your item", old["product_id"]), f"{tool}.item_ids"
    )
    draft.note(new[1], f"{tool}.new_item_ids")
    return Swap(lines[0], new[0])


def _send_to(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    orders = _find_orders(calls, [HasStatus("pending", loose=True)], (), draft)
    return SendTo(orders, find_address(calls[0].arguments, draft))


def _move_to(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    return MoveTo(find_address(calls[0].arguments, draft))


def _pay_with(calls: Sequence[ToolCall], draft: Draft) -> Wish:
    orders = _find_orders(calls, [HasStatus("pending", loose=True)], (), draft)
    payment = find_payment(calls[0], _orders_of(calls, draft)[0], draft)
    return PayWith(orders, payment)


_WISH: Mapping[str, Callable[[Sequence[ToolCall], Draft], Wish]] = {
    "cancel_pending_order": _cancel,
    "return_delivered_order_items": _return,
    "exchange_delivered_order_items": _change,
    "modify_pending_order_items": _change,
    "modify_pending_order_address": _send_to,
    "modify_user_address": _move_to,
    "modify_pending_order_payment": _pay_with,
}
