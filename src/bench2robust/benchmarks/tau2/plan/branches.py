"""Branches: what the user wants only if something holds, and what they want otherwise.

Recognised from conditional sentences ("if it is not available, cancel", "if it is less than 200",
"only if they are cheaper"). A branch is kept only when, on the pristine database, it leads where
gold leads; the road not taken is what a corrupted read can lead to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bench2robust.core.plan import Goal

from .choices import find_lines
from .draft import Draft
from .goals import Cancel, Change, Guard, Return, Swap, WriteGoal
from .lines import Except, HasStatus, Holds, Lines, Named, Orders, price
from .money import Method, Payment
from .stock import Available, ByPrice, Is, NewItem, PriceBound, SameAsOld, TheSame, VariantCondition
from .values import Difference, paid
from .words import Words
from .world import Json, NoMatch, World, items, variants

ORIGINAL = Payment((Method(original=True),))
REFUND = Payment((Method(original=True),), refund=True)


@dataclass(frozen=True, slots=True)
class InStock:
    """A variant that fits is (or is not) in stock."""

    orders: Orders
    swap: Swap
    wanted: bool = True

    def holds(self, world: World) -> bool:
        """Return whether it is so."""
        return (len(_found(self.orders, self.swap, world)) > 0) == self.wanted


@dataclass(frozen=True, slots=True)
class Costs:
    """The variant that fits costs less than (or not less than) what the user said."""

    orders: Orders
    swap: Swap
    bound: float
    below: bool

    def holds(self, world: World) -> bool:
        """Return whether it is so."""
        found = _found(self.orders, self.swap, world)
        return bool(found) and (price(found[0]) < self.bound) == self.below


@dataclass(frozen=True, slots=True)
class TotalFits:
    """The order costs at most (or more than) what the user said after the change."""

    change: Change
    bound: float
    wanted: bool = True

    def holds(self, world: World) -> bool:
        """Return whether it is so."""
        before = sum(paid(o) for o in self.change.orders.of(world))
        total = before + Difference((self.change,)).amount(world)
        return (round(total, 2) <= self.bound) == self.wanted


def _found(orders: Orders, swap: Swap, world: World) -> list[Json]:
    old = swap.lines.of(orders.of(world)[0])[0]
    stock = variants(world.product(str(old.get("name"))))
    return swap.new.candidates(stock, old, world)


def add_branches(goals: list[Goal], draft: Draft) -> list[Goal]:
    """Return the goals with the branches that the user's words and gold agree on."""
    result: list[Goal] = []
    for goal in goals:
        found: Goal | None = None
        if isinstance(goal, WriteGoal) and isinstance(goal.wish, Change):
            found = _change_unless(goal, goal.wish, draft)
        elif isinstance(goal, WriteGoal) and isinstance(goal.wish, Cancel | Return):
            found = _instead_of_change(goal, goal.wish, draft)
        result.append(found or goal)
    return [*result, *_only_if_cheaper(draft)]


# ── gold changes items; the user says what else if that does not work ──────────────────────────
def _change_unless(goal: WriteGoal, change: Change, draft: Draft) -> Goal | None:
    guards: list[Guard] = []
    for bound, sentence in _amounts(draft.words):
        if sentence.has("down to"):
            guards.append(TotalFits(change, bound))
        elif sentence.has("less than") and change.swaps[0].new.conditions[-1] == ByPrice(highest=False):
            guards.append(Costs(change.orders, change.swaps[0], bound, below=True))
    otherwise = _undo(change.orders, change.swaps[0].lines, draft)
    if otherwise is not None and not guards and _fallback(draft.words, _products(change, draft)):
        guards.append(InStock(change.orders, change.swaps[0]))
    guards = [g for g in guards if _holds(g, draft)]
    if not guards:
        return None
    instead = _fallback(draft.words, _products(change, draft)) or draft.words.has("cancel the order")
    return replace(goal, guards=tuple(guards), otherwise=otherwise if instead else None)


def _products(change: Change, draft: Draft) -> set[str]:
    return {
        str(i["name"]) for o in change.orders.of(draft.world) for s in change.swaps for i in s.lines.of(o)
    }


def _undo(orders: Orders, lines: Lines, draft: Draft) -> Goal | None:
    """Cancel the order, or return the lines, as its status has it."""
    order = orders.of(draft.world)[0]
    if order["status"] == "pending":
        return WriteGoal(draft.known, Cancel(orders, _reason(draft.words)))
    return WriteGoal(draft.known, Return(orders, lines, REFUND))


def _reason(words: Words) -> str:
    return "ordered by mistake" if words.has("by mistake", "mistakenly") else "no longer needed"


# ── gold cancels or returns, because what the user would rather have cannot be had ─────────────
def _instead_of_change(goal: WriteGoal, undo: Cancel | Return, draft: Draft) -> Goal | None:
    for order in undo.orders.of(draft.world):
        for change in _rather(order, undo.orders, draft):
            swap = change.swaps[0]
            for guard in _reasons_not_to(change, swap, draft):
                if _holds(guard, draft):
                    rather = WriteGoal(draft.known, change)
                    return replace(goal, guards=(guard,), otherwise=rather)
    return None


def _rather(order: Json, orders: Orders, draft: Draft) -> Iterator[Change]:
    """Yield the changes of an order that the user would rather have."""
    if draft.words.has("all item") and draft.words.cheapest() and orders.every is False:
        every = Swap(Lines(((Except(),),)), NewItem((Available(), ByPrice(highest=False))), only_if_new=True)
        yield Change(orders, (every,), ORIGINAL)
    for line in items(order):
        about = _sentences_about(line["name"], draft)
        if not about.has("modify", "exchange", "change", "switch") or not draft.words.product(line["name"]):
            continue
        lines = find_lines(order, [line], draft.words)
        wanted = _wanted(line, about, draft)
        if lines is not None and wanted is not None:
            alone = (
                orders
                if not orders.every
                else Orders(conditions=(HasStatus(order["status"]), Holds((Named((line["name"],)),))))
            )
            yield Change(alone, (Swap(lines[0], wanted),), ORIGINAL)


def _wanted(line: Json, about: Words, draft: Draft) -> NewItem | None:
    """Return the variant that the user describes, where they do."""
    if about.has("same item", "exchange for the same"):
        return NewItem((Available(), TheSame()))
    conditions: list[VariantCondition] = [Available()]
    product = draft.truth.products[line["name"]]
    for key, before in line["options"].items():
        values = dict.fromkeys(v["options"].get(key, "") for v in variants(product))
        said = [v for v in values if v and about.option(key, v) >= 0]
        new = [v for v in said if v != before] or said
        if len(new) == 1:
            conditions.append(Is(key, new[0]))
        elif about.has("same", "other option"):
            conditions.append(SameAsOld(key))
    if about.cheapest():
        conditions.append(ByPrice(highest=False))
    told = [c for c in conditions if isinstance(c, Is | ByPrice)]
    return NewItem(tuple(conditions)) if told else None


def _reasons_not_to(change: Change, swap: Swap, draft: Draft) -> Iterator[Guard]:
    for bound, sentence in _amounts(draft.words):
        if sentence.has("down to"):
            yield TotalFits(change, bound, wanted=False)
        elif sentence.has("less than", "more than", "greater than"):
            yield Costs(change.orders, swap, bound, below=False)
    if _fallback(draft.words, set()):
        yield InStock(change.orders, swap, wanted=False)


# ── gold leaves items alone, because a change would not save anything ──────────────────────────
def _only_if_cheaper(draft: Draft) -> Iterator[Goal]:
    for sentence, names in draft.words.about(draft.truth.owned()):
        if not (sentence.has("only if") and sentence.has("cheaper") and sentence.has("exchange")):
            continue
        for name in sorted(names):
            for order in draft.truth.orders:
                lines = [i for i in items(order) if i["name"] == name]
                if len(lines) == 1 and order["status"] == "delivered":
                    goal = _cheaper(lines[0], sentence, draft)
                    if not _holds(goal.guards[0], draft):
                        yield goal


def _cheaper(line: Json, sentence: Words, draft: Draft) -> WriteGoal:
    orders = Orders(conditions=(HasStatus("delivered"), Holds((Named((line["name"],)),))))
    same = tuple(SameAsOld(key) for key in line["options"] if sentence.has(key))
    new = NewItem((Available(), *same, PriceBound(strict=True), ByPrice(highest=False)))
    swap = Swap(Lines(((Named((line["name"],)),),)), new)
    return WriteGoal(draft.known, Change(orders, (swap,), ORIGINAL), (InStock(orders, swap),))


# ── reading conditional sentences ──────────────────────────────────────────────────────────────
def _amounts(words: Words) -> Iterator[tuple[float, Words]]:
    """Yield the amounts that conditions are about, with their sentences."""
    for sentence in words.sentences:
        for text in re.findall(r"(?:than|down to)\s+\$?(\d+(?:\.\d+)?)", sentence.text):
            yield float(text), sentence


def _fallback(words: Words, products: set[str]) -> bool:
    """Whether the user says what to do if something is not available or not possible."""
    for n, sentence in enumerate(words.sentences):
        undo = sentence.has("cancel", "return")
        if undo and sentence.has("not available", "not possible"):
            return not products or any(sentence.product(p) for p in products) or len(products) == 1
        before = words.sentences[n - 1] if n else sentence
        if undo and sentence.has("if not") and before.has("available", "less than"):
            return True
    return False


def _sentences_about(name: str, draft: Draft) -> Words:
    """Return what the user says about a product, as one text."""
    owned = draft.truth.owned()
    return Words(" ".join(s.text for s, names in draft.words.about(owned) if name in names))


def _holds(guard: Guard, draft: Draft) -> bool:
    try:
        return guard.holds(draft.world)
    except NoMatch:
        return False
