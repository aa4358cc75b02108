"""Selectors of variants: which item to take instead of a line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .lines import OrderCondition, extreme, price
from .words import scale
from .world import Json, NoMatch, World, items, variants


class VariantCondition(Protocol):
    """Keeps some of a product's variants, seen from the line to be replaced."""

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Return the variants that stay."""
        ...


@dataclass(frozen=True, slots=True)
class Available:
    """Variants in stock."""

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants in stock."""
        return [v for v in stock if v.get("available")]


@dataclass(frozen=True, slots=True)
class Is:
    """Variants with an option value."""

    key: str
    value: str

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants with the value."""
        return [v for v in stock if (v.get("options") or {}).get(self.key) == self.value]


@dataclass(frozen=True, slots=True)
class Prefer:
    """The first of these values that any variant has; no restriction when none has one."""

    key: str
    values: tuple[str, ...]

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants with the best value that there is."""
        for value in self.values:
            found = Is(self.key, value).keep(stock, old, world)
            if found:
                return found
        return stock


@dataclass(frozen=True, slots=True)
class OneOf:
    """The first of these values that any variant has, and nothing else."""

    key: str
    values: tuple[str, ...]

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants with the best of the values."""
        for value in self.values:
            found = Is(self.key, value).keep(stock, old, world)
            if found:
                return found
        return []


@dataclass(frozen=True, slots=True)
class SameAsOld:
    """Variants with the same value as the old line."""

    key: str

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants like the old line in this option."""
        value = (old.get("options") or {}).get(self.key)
        return Is(self.key, value).keep(stock, old, world) if value else []


@dataclass(frozen=True, slots=True)
class TheSame:
    """The very same item (or any but that)."""

    same: bool = True

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the old item, or all others."""
        return [v for v in stock if (v.get("item_id") == old.get("item_id")) == self.same]


@dataclass(frozen=True, slots=True)
class LikeOther:
    """Variants with the options that another line of the user has (all, or one option)."""

    orders: tuple[OrderCondition, ...]
    key: str = ""

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants like a line of the same product in the other orders."""
        others = world.orders()
        for condition in self.orders:
            others = condition.keep(others, world)
        found = [i for o in others for i in items(o) if i.get("name") == old.get("name") and i is not old]
        found = [i for i in found if i.get("item_id") != old.get("item_id")]
        if self.key:
            wanted = {(i.get("options") or {}).get(self.key) for i in found}
            return [v for v in stock if (v.get("options") or {}).get(self.key) in wanted]
        return [v for v in stock if any(v.get("options") == i.get("options") for i in found)]


@dataclass(frozen=True, slots=True)
class PriceBound:
    """Variants that cost at most (or less than) the old line, or a number the user said."""

    below: float | None = None
    strict: bool = False

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep variants within the bound."""
        bound = price(old) if self.below is None else self.below
        return [v for v in stock if price(v) < bound or (price(v) == bound and not self.strict)]


@dataclass(frozen=True, slots=True)
class ByPrice:
    """The cheapest (or dearest)."""

    highest: bool

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at the extreme price."""
        return extreme(stock, price, highest=self.highest)


def _place(thing: Json, key: str) -> float | None:
    placed = scale(str((thing.get("options") or {}).get(key, "")))
    return placed[1] if placed else None


@dataclass(frozen=True, slots=True)
class ByOption:
    """The variants highest (or lowest) in an option that has an order."""

    key: str
    highest: bool

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at the extreme of the option."""
        placed = [v for v in stock if _place(v, self.key) is not None]
        return extreme(placed, lambda v: _place(v, self.key), highest=self.highest)


@dataclass(frozen=True, slots=True)
class Step:
    """The next value up (or down) from the old line's, among those in stock."""

    key: str
    up: bool

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at the nearest value beyond the old one."""
        at = _place(old, self.key)
        if at is None:
            return []
        beyond = [
            v for v in stock if (p := _place(v, self.key)) is not None and (p > at if self.up else p < at)
        ]
        return extreme(beyond, lambda v: _place(v, self.key), highest=not self.up)


@dataclass(frozen=True, slots=True)
class By:
    """Variants whose option differs from the old line's by a number the user said."""

    key: str
    difference: float

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at that distance."""
        at = _place(old, self.key)
        return [] if at is None else [v for v in stock if _place(v, self.key) == at + self.difference]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """Variants at or above a value the user said, in an option that has an order."""

    key: str
    value: str

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the variants at or above the value."""
        floor = scale(self.value)
        if floor is None:
            return []
        return [v for v in stock if (p := _place(v, self.key)) is not None and p >= floor[1]]


@dataclass(frozen=True, slots=True)
class ItemNumber:
    """The item whose number the user says."""

    item_id: str

    def keep(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Keep the item."""
        return [v for v in stock if v.get("item_id") == self.item_id]


@dataclass(frozen=True, slots=True)
class NewItem:
    """Which variant to take instead of a line."""

    conditions: tuple[VariantCondition, ...]

    def candidates(self, stock: list[Json], old: Json, world: World) -> list[Json]:
        """Return the variants that satisfy every condition, applied in order."""
        for condition in self.conditions:
            stock = condition.keep(stock, old, world)
        return stock

    def options(self, old: Json) -> dict[str, str] | None:
        """Return the complete options where the conditions fix them all, else None."""
        fixed: dict[str, str] = {}
        before = old.get("options") or {}
        for condition in self.conditions:
            if isinstance(condition, Is):
                fixed[condition.key] = condition.value
            elif isinstance(condition, SameAsOld) and condition.key in before:
                fixed[condition.key] = before[condition.key]
            elif isinstance(condition, TheSame) and condition.same:
                fixed = dict(before)
        plain = all(isinstance(c, Available | Is | SameAsOld | TheSame) for c in self.conditions)
        return fixed if plain and before and set(fixed) == set(before) else None

    def of(self, old: Json, world: World) -> Json:
        """Return the one variant."""
        name = str(old.get("name") or "")
        if not name:
            raise NoMatch("the item has no name")
        found = self.candidates(variants(world.product(name, self.options(old))), old, world)
        if len(found) != 1:
            raise NoMatch(f"{'no' if not found else 'several'} {name} variants fit")
        return found[0]
