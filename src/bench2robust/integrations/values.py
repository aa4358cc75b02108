"""Python values as text, and text's corruptions put back into Python values.

Tools outside the benchmarks answer with objects. They stay objects: a value is only written as text when
a fault needs text, and what a silent corruption changed is changed in a copy of the object, along the path
to the changed place, so that the tool's own object is never touched.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from bench2robust.core.domain import FieldRules
from bench2robust.core.tools import CorruptedField

_SEQUENCES: Final = (list, tuple, set, frozenset, deque)
_NOT_A_QUANTITY: Final = re.compile(
    r"(?:^|_)(?:id|ids|uuid|key|code|zip|postcode|phone|year|month|day|hour|minute|version|index|page|offset"
    r"|limit|port|ts|time|timestamp|date|number|no|at)$|[a-z](?:Id|ID|Ids|At|Time|Date|Code|Key|Number)$",
)
"""Keys of numbers and strings that name something rather than say how much or what it is like."""
_NOT_EMPTY: Final = re.compile(r"(?:^|_)(?:status|state|type|kind|role|mode|currency|unit)$")
"""Keys of strings that are one of a few: an empty one would be malformed, not incomplete."""
_FAILED: Final = re.compile(
    r"\s*(?:error(?:\s*:|\s+\d{3}\b|\s+(?:while|executing|running|calling|in)\b)|an error occurred\b"
    r"|http(?:/[\d.]+)?[ :]+(?:error )?[45]\d\d\b|unknown field '|required field '|tool '[^']*' timed out\b"
    r"|\{\s*\"error\"\s*:\s*+(?!null\b|false\b|\"\"))",
    re.IGNORECASE,
)
"""How errors begin that hosts return as if they were answers."""
_DEEPEST: Final = 6
_MOST_SHAPES: Final = 20
"""Elements of one list that are looked at."""


def plain(value: Any, other: Callable[[Any], Any] = str) -> Any:
    """Return a value as JSON values.

    Dataclasses, pydantic models and named tuples become objects, sets and tuples lists, decimals numbers,
    dates ISO strings.

    Args:
        value: anything.
        other: what becomes of an object of which none of this is known.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return plain(value.value, other)
    for kind in (str, int, float):
        if isinstance(value, kind):
            return value if type(value) is kind else kind(value)
    if isinstance(value, Decimal):
        return (
            int(value)
            if value == value.to_integral_value() and value.as_tuple().exponent == 0
            else float(value)
        )
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): plain(item, other) for key, item in value.items()}
    names = _fields(value)
    if names is not None:
        return {name: plain(getattr(value, name, None), other) for name in names}
    if isinstance(value, _SEQUENCES):
        items = [plain(item, other) for item in value]
        return sorted(items, key=repr) if isinstance(value, set | frozenset) else items
    return other(value)


def text(value: Any) -> str:
    """Return a value as an agent would read it: a string as it is, anything else as JSON."""
    if isinstance(value, str):
        return str(value)
    try:
        return json.dumps(plain(value))
    except (RecursionError, ValueError):  # it holds itself
        return f"<{type(value).__name__}>"


def failed(value: Any) -> bool:
    """Return whether a value is an error, for hosts that have no flag for it.

    Its text begins like one, or it is an object with an ``error`` that says something.
    """
    if isinstance(value, str):
        return _FAILED.match(value) is not None
    return isinstance(value, dict) and bool(value.get("error"))


def rules(value: Any) -> FieldRules | None:
    """Return what a silent corruption may touch in a value of which no domain says anything.

    *partial* may empty lists, objects and strings, *factual_error* may change numbers; never what looks like
    an id, a date or one of a few states. *stale* needs a domain that says which state comes before which.
    """
    if isinstance(value, str):
        if value[:1] not in ("{", "["):
            return FieldRules(numeric=("$",))
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    critical: dict[str, None] = {}
    numeric: dict[str, None] = {}
    try:
        for path, key, item in _walk(value, (), "", 0):
            pattern = ".".join(path) or "$"
            if isinstance(item, bool) or _NOT_A_QUANTITY.search(key):
                continue
            if isinstance(item, int | float | Decimal):
                numeric[pattern] = None
            elif _may_be_empty(item, path) and not (isinstance(item, str) and _NOT_EMPTY.search(key)):
                critical[pattern] = None
    except RecursionError:
        return None
    return FieldRules(critical=tuple(critical), numeric=tuple(numeric))


def _may_be_empty(item: Any, path: tuple[str, ...]) -> bool:
    """Return whether an empty one would be incomplete, not malformed: no whole record ever has no fields."""
    if isinstance(item, Mapping):
        return bool(path) and path[-1] != "*"
    return isinstance(item, list | tuple) or (isinstance(item, str) and bool(path))


def _walk(
    value: Any, path: tuple[str, ...], key: str, depth: int
) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Give every place of a value: its path as a pattern, the last key on it, and what is there."""
    if not isinstance(value, str | int | float | Decimal) and _fields(value) is None:
        yield path, key, value
    elif isinstance(value, str | int | float | Decimal):
        yield path, key, value
        return
    if depth == _DEEPEST:
        return
    names = _fields(value)
    if isinstance(value, Mapping) or names is not None:
        items = (
            value.items()
            if isinstance(value, Mapping)
            else ((n, getattr(value, n, None)) for n in names or ())
        )
        for name, item in items:
            if isinstance(name, str) and name and not set(name) & set(".*$"):
                yield from _walk(item, (*path, name), name, depth + 1)
    elif isinstance(value, list | tuple | deque):
        for item in list(value)[:_MOST_SHAPES]:
            yield from _walk(item, (*path, "*"), key, depth + 1)


def changed(value: Any, fields: Iterable[CorruptedField], delivered: str) -> Any:
    """Return a copy of a value with what a corruption changed.

    Every type on the way is kept, and the type of each changed value where it can hold the new one (an
    emptied dataclass becomes ``{}``).

    Args:
        value: what the tool answered; left as it is.
        fields: what changed in its JSON form.
        delivered: its JSON form after the change, for values that cannot be changed in place: of these
            the JSON value is returned.
    """
    if isinstance(value, str):
        return delivered
    try:
        for field in fields:
            path = () if field.path == "$" else tuple(field.path.split("."))
            value = _replaced(value, path, field.delivered)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return json.loads(delivered)
    return value


def _replaced(value: Any, path: Sequence[str], new: Any) -> Any:
    if not path:
        return _like(value, new)
    key, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        found, rest = _key(value, path)
        result = copy.copy(value)
        result[found] = _replaced(value[found], rest, new)  # type: ignore[index]  # a read-only one raises
        return result
    if hasattr(value, "model_copy"):
        return value.model_copy(update={key: _replaced(getattr(value, key), rest, new)})
    if hasattr(value, "_replace"):
        return value._replace(**{key: _replaced(getattr(value, key), rest, new)})
    if dataclasses.is_dataclass(value):
        changed_copy: Any = copy.copy(value)
        object.__setattr__(changed_copy, key, _replaced(getattr(value, key), rest, new))
        return changed_copy
    items = list(value)
    items[int(key)] = _replaced(items[int(key)], rest, new)
    return type(value)(items)


def _key(value: Mapping[Any, Any], path: Sequence[str]) -> tuple[Any, Sequence[str]]:
    """Return the key that a path begins with, which may hold dots or be no string, and the rest of the path."""
    names = {str(key): key for key in value}
    for n in range(1, len(path) + 1):
        if (name := ".".join(path[:n])) in names:
            return names[name], path[n:]
    raise KeyError(path[0])


def _like(old: Any, new: Any) -> Any:
    """Return a JSON value as one of the old value's type, or as it is where that type cannot hold it."""
    kind = type(old)
    if kind is type(new):
        return new
    if kind is Decimal:
        return Decimal(repr(new))
    if not isinstance(old, (Mapping, str, int, float, Enum, *_SEQUENCES)):
        return new
    try:
        return kind(new)
    except (TypeError, ValueError):
        return new


def _fields(value: Any) -> Sequence[str] | None:
    """Return the names of the fields of a dataclass, a pydantic model or a named tuple; None for others."""
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    models = getattr(kind, "model_fields", None)
    if isinstance(models, Mapping):
        return list(models)
    names = getattr(kind, "_fields", None)
    return names if isinstance(value, tuple) and isinstance(names, tuple) else None
