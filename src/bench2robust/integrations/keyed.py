"""The injector for hosts whose calls overlap: draws keyed by what is called, and objects for answers.

The benchmarks' injector draws by the ordinal of a call among the calls of its tool. Hosts run the calls of
one turn in threads or tasks, which arrive in any order. Here the key is what is called and how often just
that was called before: ``(seed, task, "noise", tool, content, occurrence)``. Calls with different arguments
get the same faults in any order, and calls with equal arguments can be told apart by nobody. Only the limits
are counted as answers are delivered: when the last of a budget goes to one of two overlapping calls, which of
them gets it is the host's doing (`Limits.unlimited` leaves nothing to it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from bench2robust.core.domain import FieldRules
from bench2robust.core.tools import ToolCall, ToolResponse
from bench2robust.injection import Injector

from . import values

_PLAIN: Final = frozenset((str, int, float, bool, type(None)))
_MOST_CONTENTS: Final = 1 << 13
"""Different calls that are remembered at least; of older ones the occurrences start anew."""
_set = object.__setattr__


class Asked(ToolCall):
    """A call as it was made. Its repr names the arguments and shows none of them, for they may be secrets."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"ToolCall({self.name!r}, arguments hidden: {', '.join(self.arguments) or 'none'})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ToolCall):
            return self.name == other.name and self.arguments == other.arguments
        return NotImplemented

    __hash__ = ToolCall.__hash__

    def copy(self) -> ToolCall:
        """Return itself: its arguments are a copy already."""
        return self


class Answer(ToolResponse):
    """A response that is an object, written as text when first asked for. Its repr does not show it."""

    __slots__ = ("_text", "payload")

    _text: str | None
    payload: Any
    """The object."""

    def __init__(self, text: str = "", error: bool = False, note: str = "") -> None:  # noqa: FBT001, FBT002
        _set(self, "_text", text)
        _set(self, "payload", text)
        _set(self, "error", error)
        _set(self, "note", note)

    @classmethod
    def of(cls, payload: Any, *, error: bool) -> Answer:
        """Return the response that is an object."""
        answer = cls.__new__(cls)
        _set(answer, "_text", None)
        _set(answer, "payload", payload)
        _set(answer, "error", error)
        _set(answer, "note", "")
        return answer

    @property
    def text(self) -> str:
        """The object as an agent would read it."""
        text = self._text
        if text is None:
            text = values.text(self.payload)
            _set(self, "_text", text)
        return text

    def __repr__(self) -> str:
        return f"ToolResponse(text hidden, error={self.error})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ToolResponse):
            return (self.text, self.error, self.note) == (other.text, other.error, other.note)
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.text, self.error, self.note))


def kept(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments as a record may hold them: nobody can change them, and no object lives on in them."""
    for value in arguments.values():
        if type(value) not in _PLAIN:
            return {name: _kept(value) for name, value in arguments.items()}
    return arguments


def _kept(value: Any) -> Any:
    try:
        return values.plain(value, _unknown)
    except RecursionError:
        return _unknown(value)


def _unknown(value: Any) -> str:
    """Name an object that no JSON value stands for. Its own text may hold its address."""
    return f"<{type(value).__name__}>"


def _content(call: ToolCall) -> bytes:
    """Return the same bytes for equal calls, in any process."""
    arguments = call.arguments
    for value in arguments.values():
        if type(value) not in _PLAIN:
            written = json.dumps(arguments, sort_keys=True)
            break
    else:
        written = repr(sorted(arguments.items())) if len(arguments) > 1 else repr(arguments)
    return blake2b(f"{call.name}{written}".encode(errors="replace"), digest_size=8).digest()


class KeyedInjector(Injector):
    """An injector whose draws go by content and occurrence, and which finds places to corrupt by itself.

    Not safe for threads by itself: `scope.Episode` holds a lock around its two steps.
    """

    _young: dict[bytes, int] | None = None
    _old: Mapping[bytes, int]

    def _place(self, pending: Any) -> int:
        content = _content(pending.call)
        if self._young is None or len(self._young) >= _MOST_CONTENTS:
            self._old, self._young = self._young or {}, {}
        seen = self._young.get(content)
        if seen is None:
            seen = self._old.get(content, 0)
        self._young[content] = seen + 1
        return int.from_bytes(content, "big") << 32 | seen

    def _rules(self, name: str, true: ToolResponse) -> FieldRules | None:
        rules = super()._rules(name, true)
        if rules is None and isinstance(true, Answer):
            return values.rules(true.payload)
        return rules
