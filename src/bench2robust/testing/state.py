"""What an author's objects hold: the texts in a plan's goal, and the state of an environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from bench2robust.core.ports import Environment

_PLAIN: Final = (str, bytes, int, float, complex, bool, type(None), Enum, range)
_CODE: Final = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)
_CHANGES: Final = "changes()"
"""Key of what an environment says itself that it has changed."""


def attributes(value: Any) -> dict[str, Any]:
    """Return what an object holds in its ``__dict__`` and in the slots of its classes."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = f"_{cls.__name__.lstrip('_')}{name}"
            hidden = name.startswith("__") and not name.endswith("__")
            key = mangled if hidden else name
            if key not in ("__dict__", "__weakref__") and hasattr(value, key):
                found[key] = getattr(value, key)
    return found


def texts(value: Any, _seen: dict[int, Any] | None = None) -> Iterator[str]:
    """Yield every text in a value: in attributes, in collections, and in what functions are bound to."""
    seen = {} if _seen is None else _seen
    if isinstance(value, str):
        yield value
    elif not isinstance(value, (*_PLAIN, type, ModuleType)) and id(value) not in seen:
        seen[id(value)] = value  # kept, so that no other object gets its id
        for part in _parts(value):
            yield from texts(part, seen)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.keys()
        yield from value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        yield from value
    if isinstance(value, partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, FunctionType):
        yield from (value.__defaults__, value.__kwdefaults__)
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # not bound yet
                continue
    yield from attributes(value).values()


@dataclass(frozen=True, slots=True)
class State:
    """An environment at one moment: the text of each of its attributes, or of what it says it has changed."""

    parts: Mapping[str, str]

    @classmethod
    def of(cls, environment: Environment) -> State:
        """Look at an environment, by its own ``changes()`` where it has one."""
        changes = getattr(environment, "changes", None)
        if callable(changes):
            return cls({_CHANGES: _canonical(changes(), {})})
        return cls({name: _canonical(value, {}) for name, value in attributes(environment).items()})

    def differing(self, other: State) -> set[str]:
        """Return the names of the attributes that are not the same in both."""
        names = self.parts.keys() | other.parts.keys()
        return {name for name in names if self.parts.get(name) != other.parts.get(name)}


def _canonical(value: Any, seen: dict[int, int]) -> str:
    """Return a text that two values share when they hold the same; the order of keys does not matter."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, _CODE):
        return str(getattr(value, "__qualname__", value.__name__))
    if id(value) in seen:
        return f"<{seen[id(value)]} up>"
    seen = {**{key: up + 1 for key, up in seen.items()}, id(value): 1}
    if isinstance(value, Mapping):
        inside = sorted(f"{_canonical(k, seen)}: {_canonical(v, seen)}" for k, v in value.items())
    elif isinstance(value, set | frozenset):
        inside = sorted(_canonical(item, seen) for item in value)
    elif isinstance(value, list | tuple):
        inside = [_canonical(item, seen) for item in value]
    else:
        inside = sorted(f"{name}={_canonical(item, seen)}" for name, item in attributes(value).items())
        own_words = repr(value)  # all there is of a date, say
        inside += [own_words] if not inside and " at 0x" not in own_words else []
    return f"{type(value).__name__}({', '.join(inside)})"
