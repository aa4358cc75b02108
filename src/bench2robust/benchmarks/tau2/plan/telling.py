"""Finds, for every value the user must be told, an expression over delivered fields that gives it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from bench2robust.core.plan import Goal

from .choices import find_lines, find_orders
from .draft import Draft
from .goals import Cancel, Change, Return, TellGoal, Value, WriteGoal
from .lines import HasStatus, Holds, LinePrice, Lines, Named, OrderCondition, Orders
from .stock import Available, ByOption, ByPrice, NewItem
from .values import (
    Balance,
    BalanceAfter,
    Choices,
    Difference,
    EverSpent,
    InStock,
    LinesCost,
    LineText,
    NewPrice,
    Paid,
    PaidWith,
    Refund,
    Rest,
    Saved,
    SentWhere,
    TotalAfter,
    Tracking,
    Variant,
)
from .world import Json, NoMatch, items

CHEAPEST = NewItem((Available(), ByPrice(highest=False)))


def tell_goal(tell: Sequence[str], goals: Sequence[Goal], draft: Draft) -> list[Goal]:
    """Return the goal that tells the user every value, if there is any to tell."""
    if not tell:
        return []
    wishes = [g.wish for g in goals if isinstance(g, WriteGoal)]
    chosen: list[Value] = []
    for place, wanted in enumerate(tell):
        if any(_says(v, wanted, draft) for v in chosen):
            continue
        for grounded in (True, False):
            value = next((v for v in _candidates(wishes, draft, grounded) if _says(v, wanted, draft)), None)
            if value is not None:
                draft.note(grounded, f"tell.{place}")
                chosen.append(value)
                break
        else:
            draft.notes.append(f"no expression gives the told value {wanted!r}")
    return [TellGoal(draft.known, tuple(chosen))] if chosen else []


def _says(value: Value, wanted: str, draft: Draft) -> bool:
    """Whether an expression gives the value: the same number, or a text that contains it."""
    try:
        text = value.of(draft.world)
    except NoMatch:
        return False
    try:
        number = float(wanted)
    except ValueError:
        return wanted.lower() in text.lower().replace(",", "")
    return any(_same_number(part, number) for part in text.split(", "))


def _same_number(text: str, number: float) -> bool:
    try:
        return abs(float(text) - number) < 0.005
    except ValueError:
        return False


def _candidates(wishes: Sequence[object], draft: Draft, grounded: bool) -> Iterator[Value]:  # noqa: FBT001
    """Yield expressions, those about what the user asks for first; ungrounded ones only on request."""
    yield from _of_wishes(wishes, draft)
    yield Balance()
    for order in draft.truth.orders:
        yield from _of_order(order, draft, grounded)
    yield from _of_stock(draft)
    for name in sorted(draft.truth.owned()):
        if draft.words.product(name):
            yield EverSpent(name)
    yield from _of_new_items(wishes)
    for order in draft.truth.orders:
        yield from _of_several_lines(order, draft, grounded)


def _of_wishes(wishes: Sequence[object], draft: Draft) -> Iterator[Value]:
    undone = tuple(w for w in wishes if isinstance(w, Cancel | Return))
    changed = tuple(w for w in wishes if isinstance(w, Change))
    if undone:
        yield Refund(undone)
        yield from (Refund((w,)) for w in undone)
    for wish in undone:
        if isinstance(wish, Return):
            yield Rest(wish)
    if changed:
        yield Difference(changed)
        yield BalanceAfter(changed)
    for change in changed:
        yield Difference((change,))
        yield from (Difference((change,), n) for n in range(len(change.orders.of(draft.world))))
        yield TotalAfter(change)


def _of_new_items(wishes: Sequence[object]) -> Iterator[Value]:
    for change in (w for w in wishes if isinstance(w, Change)):
        for n, swap in enumerate(change.swaps):
            yield NewPrice(change, n)
            plain = tuple(c for c in swap.new.conditions if not isinstance(c, ByPrice | ByOption))
            yield Choices(change, n, plain)


def _of_stock(draft: Draft) -> Iterator[Value]:
    for name, product in draft.truth.products.items():
        if draft.words.product(name):
            yield InStock(name)
            keys = next(iter(product["variants"].values()))["options"]
            for highest, cued in ((False, draft.words.cheapest()), (True, draft.words.dearest())):
                if cued:
                    yield Variant(name, (ByPrice(highest),))
                    yield from (Variant(name, (ByPrice(highest),), key) for key in keys)


def _of_order(order: Json, draft: Draft, grounded: bool) -> Iterator[Value]:  # noqa: FBT001
    status = str(order["status"])
    whole = _orders(order, (HasStatus(status),) if draft.words.has(status) else (), draft, grounded)
    if whole is not None:
        yield Tracking(whole)
        yield Paid(whole)
        yield PaidWith(whole)
        yield SentWhere(whole)
    for line in items(order):
        base = (Holds((Named((line["name"],)),)),) if draft.words.product(line["name"]) else ()
        found, orders = find_lines(order, [line], draft.words), _orders(order, base, draft, grounded, line)
        if orders is None:
            continue
        dearest = Lines(((LinePrice(highest=True),),))
        if draft.words.dearest() and dearest.of(order) == [line]:
            yield LinesCost(orders, dearest)
            yield LineText(orders, dearest)
        if found is not None and base and (found[1] or not grounded):
            yield LinesCost(orders, found[0])
            yield from (LineText(orders, found[0], key) for key in line["options"])


def _orders(
    order: Json,
    base: Sequence[OrderCondition],
    draft: Draft,
    grounded: bool,  # noqa: FBT001
    line: Json | None = None,
) -> Orders | None:
    found = find_orders([order], base, draft.words, draft.truth, [line] if line else ())
    return found[0] if found and (found[1] or not grounded) else None


def _of_several_lines(order: Json, draft: Draft, grounded: bool) -> Iterator[Value]:  # noqa: FBT001
    orders = _orders(order, (), draft, grounded)
    if orders is None:
        return
    for size in range(2, len(items(order)) + 1):
        for some in combinations(items(order), size):
            found = find_lines(order, some, draft.words)
            if found is not None:
                yield Saved(orders, found[0], CHEAPEST)
                yield LinesCost(orders, found[0])
