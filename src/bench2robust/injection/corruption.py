"""The three silent corruptions: well-formed answers with wrong content (paper, Table 9).

Each works on parsed JSON at the places that the domain's `FieldRules` name, keeps key order, keys and
JSON types, and reports every value it changed. Where nothing can change it returns None: a fault that
did not land is not a fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from bench2robust.core.domain import FieldRules
from bench2robust.core.noise import NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import CorruptedField

Corruption = tuple[str, tuple[CorruptedField, ...]]
"""The new text, and what changed in it."""


_Path = tuple[str | int, ...]
_Places = dict[_Path, tuple[Any, Any]]
"""Path to the container and the key in it under which the place's value lies."""


@lru_cache(maxsize=1024)
def _segments(patterns: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(() if pattern == "$" else tuple(pattern.split(".")) for pattern in patterns)


def _places(box: list[Any], patterns: tuple[str, ...]) -> _Places:
    """Return every place of the JSON value in `box[0]` that a pattern matches, each once."""
    found: _Places = {}
    for segments in _segments(patterns):
        if segments:
            _find(box[0], segments, 0, (), found)
        else:
            found[()] = (box, 0)
    return found


def _find(value: Any, segments: tuple[str, ...], depth: int, path: _Path, found: _Places) -> None:
    segment = segments[depth]
    keys: Iterable[str | int]
    if isinstance(value, dict):
        keys = value if segment == "*" else (segment,) if segment in value else ()
    elif isinstance(value, list) and segment == "*":
        keys = range(len(value))
    else:
        return
    if depth + 1 == len(segments):
        for key in keys:
            found[(*path, key)] = (value, key)
    else:
        for key in keys:
            _find(value[key], segments, depth + 1, (*path, key), found)


def _replace(path: _Path, parent: Any, key: Any, new: Any) -> CorruptedField:
    true, parent[key] = parent[key], new
    return CorruptedField(".".join(map(str, path)) or "$", true, new)


def _partial(box: list[Any], rules: FieldRules, draws: Draws) -> list[CorruptedField]:
    found = _places(box, rules.critical)
    # A state is an enum: an empty one would be malformed, not incomplete.
    states = _places(box, rules.state) if rules.state else {}
    places = []
    for path, (parent, key) in found.items():
        value = parent[key]
        if value and isinstance(value, list | dict | str) and path not in states:
            places.append((path, parent, key))
    if not places:
        return []
    changed, emptied = [], set[_Path]()
    for path, parent, key in sorted(draws.some(places), key=lambda place: len(place[0])):
        if not any(path[:depth] in emptied for depth in range(len(path))):
            emptied.add(path)
            changed.append(_replace(path, parent, key, type(parent[key])()))
    return changed


def _stale(
    box: list[Any], rules: FieldRules, earlier: Mapping[str, tuple[str, ...]], draws: Draws
) -> list[CorruptedField]:
    places = []
    for path, (parent, key) in _places(box, rules.state).items():
        value = parent[key]
        if isinstance(value, str) and value in earlier:
            places.append((path, parent, key, earlier[value]))
    if not places:
        return []
    changed = []
    for path, parent, key, states in draws.some(places):
        changed.append(_replace(path, parent, key, draws.choice(states)))
    return changed


_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?((?:[eE][-+]?[0-9]+)?)")


def _ranges(n: int) -> list[tuple[int, int]]:
    """Return the integers 10-25 % below and above `n`, as inclusive ranges that are not empty."""
    both = ((-(-3 * n // 4), 9 * n // 10), (-(-11 * n // 10), 5 * n // 4))
    return [(low, high) for low, high in both if n and low <= high]


class _Number(NamedTuple):
    """A number's text and the values 10-25 % off that are written in the same format.

    The number of decimals is kept: a last decimal is neither dropped nor, where it was not 0, made 0,
    and a whole amount stays whole (``92.0``) unless it is too small to.
    """

    sign: str
    decimals: int
    exponent: str
    step: int
    """What the ranges count, in units of the last decimal."""
    ends_in_zero: bool
    """Whether the last decimal may be 0."""
    ranges: list[tuple[int, int]]

    @classmethod
    @lru_cache(maxsize=4096)  # an episode meets the same prices again and again
    def of(cls, text: str) -> _Number | None:
        """Parse a JSON number; None when `text` is none, or when no value fits."""
        match = _NUMBER.fullmatch(text)
        if match is None:
            return None
        sign, whole, decimals, exponent = match.groups(default="")
        n, unit = int(whole + decimals), 10 ** len(decimals)
        if not decimals.strip("0"):
            ranges = _ranges(n // unit)
            if ranges:
                return cls(sign, len(decimals), exponent, unit, ends_in_zero=True, ranges=ranges)
            if not decimals:
                return None
        ends_in_zero = decimals[-1] == "0"
        ranges = [(low, high) for low, high in _ranges(n) if ends_in_zero or low < high or low % 10]
        return cls(sign, len(decimals), exponent, 1, ends_in_zero, ranges) if ranges else None

    def perturbed(self, draws: Draws) -> str:
        """Return the text of one of the values; up and down are equally likely where both exist."""
        low, high = draws.choice(self.ranges)
        n = low + draws.index(high - low + 1)
        if not self.ends_in_zero and n % 10 == 0:
            n += 1 if n < high else -1
        digits = str(n * self.step).rjust(self.decimals + 1, "0")
        cut = len(digits) - self.decimals
        fraction = "." + digits[cut:] if self.decimals else ""
        return self.sign + digits[:cut] + fraction + self.exponent


def _factual(box: list[Any], rules: FieldRules, draws: Draws) -> list[CorruptedField]:
    places = []
    for path, (parent, key) in _places(box, rules.numeric).items():
        kind = type(parent[key])
        # bool is an int to Python, not to JSON
        if (kind is float or kind is int) and (number := _Number.of(repr(parent[key]))):
            places.append((path, parent, key, kind, number))
    if not places:
        return []
    changed = []
    for path, parent, key, kind, number in draws.some(places):
        changed.append(_replace(path, parent, key, kind(number.perturbed(draws))))
    return changed


def _factual_text(text: str, draws: Draws) -> Corruption | None:
    """Perturb a response that is nothing but the text of a number."""
    number = _Number.of(text)
    if number is None:
        return None
    new = number.perturbed(draws)
    return new, (CorruptedField("$", json.loads(text), json.loads(new)),)


def _stale_text(
    text: str, rules: FieldRules, earlier: Mapping[str, tuple[str, ...]], draws: Draws
) -> Corruption | None:
    """Move back a response that is nothing but a state ("delayed")."""
    if "$" not in rules.state or text not in earlier:
        return None
    new = draws.choice(earlier[text])
    return new, (CorruptedField("$", text, new),)


def corrupt(
    noise: NoiseType, text: str, rules: FieldRules, earlier: Mapping[str, tuple[str, ...]], draws: Draws
) -> Corruption | None:
    """Corrupt the text of a response silently.

    Args:
        noise: one of the silent types.
        text: the true response: JSON as ``json.dumps`` writes it, or the text of a number or a state.
        rules: what may be touched.
        earlier: state to the states before it.
        draws: where every choice comes from.

    Returns:
        The new text and every changed field, or None when nothing can change.
    """
    if text[:1] not in ("{", "["):
        if noise is NoiseType.STALE:
            return _stale_text(text, rules, earlier, draws)
        return _factual_text(text, draws) if noise is NoiseType.FACTUAL and "$" in rules.numeric else None
    try:
        box = [json.loads(text)]
    except ValueError:
        return None
    if noise is NoiseType.PARTIAL:
        changed = _partial(box, rules, draws)
    elif noise is NoiseType.STALE:
        changed = _stale(box, rules, earlier, draws)
    else:
        changed = _factual(box, rules, draws)
    return (json.dumps(box[0]), tuple(changed)) if changed else None
