"""Search spaces: which conditions each kind of selector may be built from, given the user's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from .lines import (
    Except,
    HasStatus,
    Holds,
    Lacks,
    LineCondition,
    LineOption,
    LinePrice,
    Lines,
    Named,
    OrderCondition,
    Orders,
    PricedLine,
    SentElsewhere,
    SentTo,
    Size,
    keep_lines,
    price,
)
from .search import Extra, Fit, fewest
from .stock import (
    AtLeast,
    Available,
    By,
    ByOption,
    ByPrice,
    Is,
    ItemNumber,
    LikeOther,
    NewItem,
    OneOf,
    Prefer,
    PriceBound,
    SameAsOld,
    Step,
    TheSame,
    VariantCondition,
)
from .truth import Truth
from .words import Words, scale
from .world import Json, Known, World, items, variants

_STATES = {
    "TX": "texas", "NY": "new york", "CA": "california", "FL": "florida", "AZ": "arizona", "IL": "illinois",
    "WA": "washington", "DC": "washington", "CO": "colorado", "PA": "pennsylvania", "NC": "north carolina",
    "OH": "ohio", "TN": "tennessee", "IN": "indiana",
}  # fmt: skip


def every_order(words: Words) -> bool:
    """Whether the user means all orders of a kind."""
    return any((s.has("all") and s.has("order", "pending")) or s.has("everything") for s in words.sentences)


# ── orders ─────────────────────────────────────────────────────────────────────────────────────
def order_extras(
    order: Json, words: Words, truth: Truth, about: Sequence[Json]
) -> Iterator[Extra[OrderCondition]]:
    """Conditions that may tell this order from the user's others; `about` are the lines it is about."""
    names = {line["name"] for line in items(order)}
    for name in sorted(names):
        yield Extra(Holds((Named((name,)),)), words.product(name))
        same = sum(line["name"] == name for line in items(order))
        if same > 1:
            yield Extra(Holds((Named((name,)),), same), words.has(f"{same} {name}") or words.has(str(same)))
    for line in about:
        for key, value in line["options"].items():
            said = words.option(key, value) >= 0
            yield Extra(Holds((Named((line["name"],)), LineOption(key, value))), said, 1 if said else 3)
        named = words.product(line["name"])
        yield Extra(PricedLine(line["name"], highest=True), named and words.dearest())
        yield Extra(PricedLine(line["name"], highest=False), named and words.has("less expensive", "cheaper"))
    for name in sorted(truth.owned() - names):
        yield Extra(Lacks(name), words.product(name), 2)
    address = order["address"]
    for field, spelled in (
        ("city", address["city"]),
        ("state", _STATES.get(address["state"], address["state"])),
    ):
        yield Extra(SentTo(field, address[field]), words.has(spelled))
    elsewhere = address != truth.user["address"]
    yield Extra(SentElsewhere(elsewhere), words.has("address"), 2)
    yield Extra(Size(len(items(order))), words.has(f"{len(items(order))} item"), 2)


def find_orders(
    wanted: Sequence[Json], base: Sequence[OrderCondition], words: Words, truth: Truth, about: Sequence[Json]
) -> tuple[Orders, bool] | None:
    """Return a selector that finds exactly these orders, and whether it is grounded in the words."""
    world = World(_nobody, truth)
    ids = {o["order_id"] for o in wanted}
    if len(wanted) == 1 and words.place(wanted[0]["order_id"].lstrip("#W")) >= 0:
        return Orders(said=wanted[0]["order_id"]), True
    several = len(wanted) > 1 or (every_order(words) and len(base) == 1)
    if several and _ids(base, truth, world) == ids:
        return Orders(conditions=tuple(base), every=True), True
    if len(wanted) > 1:
        pool = [e for o in wanted for e in order_extras(o, words, truth, about) if e.grounded]
        fit = fewest(base, _unique(pool), lambda c: _ids(c, truth, world) == ids)
        return (Orders(conditions=fit.conditions, every=True), fit.grounded) if fit else None
    pool = _unique(order_extras(wanted[0], words, truth, about))
    fit = fewest(base, pool, lambda c: _ids(c, truth, world) == ids)
    return (Orders(conditions=fit.conditions), fit.grounded) if fit else None


def _unique(
    extras: Iterator[Extra[OrderCondition]] | list[Extra[OrderCondition]],
) -> list[Extra[OrderCondition]]:
    return list({e.condition: e for e in extras}.values())


def _ids(conditions: Sequence[OrderCondition], truth: Truth, world: World) -> set[str]:
    found = truth.orders
    for condition in conditions:
        found = condition.keep(found, world)
    return {o["order_id"] for o in found}


# ── lines ──────────────────────────────────────────────────────────────────────────────────────
def find_lines(order: Json, chosen: Sequence[Json], words: Words) -> tuple[Lines, bool] | None:
    """Return a selector of exactly these lines of an order, and whether it is grounded."""
    fit = _line_conditions(order, chosen, words)
    if fit is not None:
        return Lines((fit.conditions,)), fit.grounded
    wishes = []
    for name in dict.fromkeys(line["name"] for line in chosen):
        fit = _line_conditions(order, [line for line in chosen if line["name"] == name], words)
        if fit is None:
            return None
        wishes.append(fit)
    return Lines(tuple(f.conditions for f in wishes)), all(f.grounded for f in wishes)


def _line_conditions(order: Json, chosen: Sequence[Json], words: Words) -> Fit[LineCondition] | None:
    names = tuple(dict.fromkeys(line["name"] for line in chosen))
    others = tuple(dict.fromkeys(i["name"] for i in items(order) if i["name"] not in names))
    named = all(words.product(n) for n in names)
    candidates: list[tuple[LineCondition, ...]] = [(Named(names),), (Except(),)]
    if others and words.all_but() and all(words.product(n) for n in others):
        candidates.insert(0, (Except(others),))
    elif not named:
        candidates.reverse()
    for conditions in candidates:
        if _same_lines(keep_lines(conditions, items(order)), chosen):
            return Fit(conditions, named or isinstance(conditions[0], Except))
    extras: list[Extra[LineCondition]] = [
        Extra(LinePrice(highest=True), words.dearest(), 2),
        Extra(LinePrice(highest=False), words.cheapest(), 2),
    ]
    for line in chosen:
        extras += [Extra(LineOption(k, v), words.option(k, v) >= 0) for k, v in line["options"].items()]
    return fewest((Named(names),), extras, lambda c: _same_lines(keep_lines(c, items(order)), chosen))


def _same_lines(found: Sequence[Json], wanted: Sequence[Json]) -> bool:
    return sorted(i["item_id"] for i in found) == sorted(i["item_id"] for i in wanted)


# ── variants ───────────────────────────────────────────────────────────────────────────────────
def find_variant(old: Json, new_id: str, words: Words, truth: Truth) -> tuple[NewItem, bool] | None:
    """Return a selector of the variant to take instead of a line, and whether it is grounded."""
    product = truth.products[old["name"]]
    stock = variants(product)
    new = product["variants"][new_id]
    world = World(_nobody, truth)

    def picks(conditions: tuple[VariantCondition, ...]) -> bool:
        found = NewItem(conditions).candidates(stock, old, world)
        return len(found) == 1 and found[0]["item_id"] == new_id

    if new_id == old["item_id"]:
        return NewItem((Available(), TheSame())), True
    if words.has(new_id):
        return NewItem((Available(), ItemNumber(new_id))), True
    fit = None
    for base, ranked in _bases(old, new, words, truth):
        fit = _variant_fit(base, ranked, [*_variant_extras(old, new, words, truth)], picks)
        if fit and fit.grounded:
            break
    if fit is None:
        return None
    return NewItem(_soften(fit.conditions, product, words, picks)), fit.grounded


def _bases(
    old: Json, new: Json, words: Words, truth: Truth
) -> Iterator[tuple[list[VariantCondition], list[ByPrice]]]:
    """Yield mandatory conditions and a price rank, the fullest reading of the words first."""
    said: list[VariantCondition] = [Available()]
    said += [Is(k, v) for k, v in new["options"].items() if words.option(k, v) >= 0]
    if price(new) <= price(old) and words.has("same or lower", "previous"):
        said.append(PriceBound())
    owned = truth.owned()
    ranks = [ByPrice(highest=h) for h, cue in ((False, Words.cheapest), (True, Words.dearest))
             if words.cued(old["name"], owned, cue)]  # fmt: skip
    moved = [k for k, v in new["options"].items() if old["options"].get(k) != v]
    steps = [e.condition for k in moved for e in _ordinal_extras(k, str(old["options"].get(k)), new["options"][k], words)
             if e.grounded and words.option(k, new["options"][k]) < 0]  # fmt: skip
    rest = [SameAsOld(k) for k in new["options"] if k not in moved]
    unchanged = words.has(
        "other option", "other specification", "exact same", "exactly the same", "same item"
    )
    for ranked in [*[[r] for r in ranks], []]:
        if unchanged:
            yield [*said, *rest], ranked
        for step in steps:
            yield [*said, step], ranked
        yield said, ranked


def _variant_fit(
    base: list[VariantCondition],
    ranked: list[ByPrice],
    extras: list[Extra[VariantCondition]],
    picks: Callable[[tuple[VariantCondition, ...]], bool],
) -> Fit[VariantCondition] | None:
    """Search with the price rank (if any) applied last, since it ranks what the others leave."""
    fit = fewest(tuple(base), extras, lambda c: picks((*c, *ranked)))
    return Fit((*fit.conditions, *ranked), fit.grounded) if fit else None


def _variant_extras(old: Json, new: Json, words: Words, truth: Truth) -> Iterator[Extra[VariantCondition]]:
    for key, value in new["options"].items():
        before = old["options"].get(key)
        if words.option(key, value) < 0:
            yield Extra(Is(key, value), grounded=False, cost=3)
        if before == value:
            yield Extra(SameAsOld(key))
            continue
        sold = sorted({v["options"].get(key, "") for v in variants(truth.products[old["name"]])})
        yield from _ordinal_extras(key, str(before), value, words, sold)
    bounded = words.has("same or lower", "cheaper", "previous", "same price")
    yield Extra(PriceBound(), bounded)
    yield Extra(ByPrice(highest=False), grounded=False, cost=3)
    yield Extra(ByPrice(highest=True), grounded=False, cost=3)
    yield Extra(TheSame(same=False), cost=2)
    like = words.has(
        "same type", "type that you just ordered", "other", "same water resistance", "rest of that"
    )
    for order in truth.orders:
        for line in items(order):
            if line["name"] == old["name"] and line["item_id"] != old["item_id"]:
                status = HasStatus(order["status"])
                yield Extra(LikeOther((status,)), like, 2)
                for key in new["options"]:
                    yield Extra(LikeOther((status,), key), like, 3)


def _ordinal_extras(
    key: str, before: str, value: str, words: Words, values: Iterable[str] = ()
) -> Iterator[Extra[VariantCondition]]:
    a, b = scale(before), scale(value)
    if a is None or b is None or a[0] != b[0] or a[1] == b[1]:
        return
    up = b[1] > a[1]
    more = words.has("larger", "bigger", "brighter", "longer", "higher", "more", "upgrade", "fancy")
    less = words.has("smaller", "less", "shorter", "lower", "lesser", "easier")
    yield Extra(Step(key, up), more if up else less)
    most = words.has("maximum", "max", "highest", "largest", "biggest")
    least = words.has("minimum", "easiest", "fewest", "least", "smallest", "lowest")
    yield Extra(ByOption(key, highest=True), most)
    yield Extra(ByOption(key, highest=False), least)
    difference = abs(b[1] - a[1])
    if words.has(f"{difference:g}"):
        yield Extra(By(key, b[1] - a[1]), more if up else less)
    for floor in values:
        placed = scale(floor)
        if placed and placed[1] <= b[1] and words.has(f"{floor} or above", f"{floor} or higher"):
            yield Extra(AtLeast(key, floor))


def _soften(
    conditions: tuple[VariantCondition, ...],
    product: Json,
    words: Words,
    picks: Callable[[tuple[VariantCondition, ...]], bool],
) -> tuple[VariantCondition, ...]:
    """Turn a value that the user named as one of an ordered list of wishes into that list."""
    result = conditions
    for condition in conditions:
        if not isinstance(condition, Is):
            continue
        mentioned = _wishes(condition, product, words)
        if mentioned is None:
            continue
        rest = tuple(c for c in result if c != condition)
        ranks = tuple(c for c in rest if isinstance(c, ByPrice | ByOption))
        plain = tuple(c for c in rest if c not in ranks)
        softened = (*plain, mentioned, *ranks)
        if picks(softened):
            result = softened
    return result


def _wishes(condition: Is, product: Json, words: Words) -> Prefer | OneOf | None:
    """Return the ordered values of an option that the user names as alternatives, if they do."""
    every = dict.fromkeys(v["options"].get(condition.key, "") for v in variants(product))
    for n, sentence in enumerate(words.sentences):
        places = {v: sentence.option(condition.key, v) for v in every if v}
        said = sorted((v for v, p in places.items() if p >= 0), key=lambda v: places[v])
        if condition.value not in said:
            continue
        wish = sentence.place("prefer")
        wished = tuple(v for v in said if places[v] > wish >= 0)
        if condition.value in wished:
            return Prefer(condition.key, wished)
        chain = _either(
            condition.value, Words(" ".join(t.text for t in words.sentences[max(0, n - 1) : n + 4]))
        )
        if len(chain) > 1:
            return OneOf(condition.key, chain)
    return None


def _either(value: str, words: Words) -> tuple[str, ...]:
    """Return the amounts that the user would take one after the other ("8 bar, else 9 bar, else 7 bar")."""
    number, _, unit = value.partition(" ")
    if not number.isdigit() or not unit or not words.has("not possible", "not available"):
        return ()
    return tuple(f"{amount} {unit}" for amount in words.measures(unit))


_nobody = Known()
