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
import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from bench2robust.core.domain import FieldRules
from bench2robust.core.randomness import Draws, encode
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse, ToolSpec
from bench2robust.injection import Injector

from . import values

if TYPE_CHECKING:
    from bench2robust.core.randomness import Series
    from bench2robust.injection.injector import _Pending, _Tool

_BYTES: Final = 8
"""Of a draw."""
_PLAIN: Final = frozenset((str, int, float, bool, type(None)))
_MOST_CONTENTS: Final = 1 << 13
"""Different calls that are remembered at least; of older ones the occurrences start anew."""
_set = object.__setattr__


class Asked(ToolCall):
    """A call as it was made. Its repr names the arguments and shows none of them, for they may be secrets."""

    __slots__ = ("before", "block", "written")

    before: int
    block: bytes
    written: str

    @classmethod
    def of(cls, name: str, content: Content, draw: tuple[bytes, int] = (b"", 0)) -> Asked:
        """Return the call that has a draw."""
        call = cls(name, content[0])
        _set(call, "written", content[1])
        _set(call, "block", draw[0])
        _set(call, "before", draw[1])
        return call

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


Content = tuple[Mapping[str, Any], str]
"""Arguments as a record may hold them, and the text that is the same for equal ones, in any process."""


def content(arguments: Mapping[str, Any]) -> Content:
    """Return what is called: nobody can change it, and no object lives on in it."""
    for value in arguments.values():
        if type(value) not in _PLAIN:
            break
    else:
        return arguments, repr(arguments) if len(arguments) == 1 else repr(sorted(arguments.items()))
    try:
        kept = {name: values.plain(value, _unknown) for name, value in arguments.items()}
    except RecursionError:
        kept = {name: _unknown(value) for name, value in arguments.items()}
    return kept, json.dumps(kept, sort_keys=True)


def _unknown(value: Any) -> str:
    """Name an object that no JSON value stands for. Its own text may hold its address."""
    return f"<{type(value).__name__}>"


class Known:
    """A tool that was met, ready to be drawn for."""

    __slots__ = ("clean", "salt", "state", "tool")

    def __init__(self, tool: _Tool, path: tuple[int, str, str, str], clean: float) -> None:
        self.tool = tool
        self.state = blake2b(encode(path), digest_size=_BYTES)
        self.salt = hash(path[-1])
        self.clean = (math.ceil(clean * 2**53) << 11).to_bytes(_BYTES + 1, "big")
        """The least draw that is not clean, one byte longer than draws are: that of 1.0 does not fit."""


class KeyedInjector(Injector):
    """An injector whose draws go by content and occurrence, and which finds places to corrupt by itself.

    Not safe for threads by itself: `scope.Episode` holds a lock around each step.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: dict[str, Known] = {}
        self._young: dict[int, int] = {}
        self._old: Mapping[int, int] = {}

    @property
    def calls(self) -> int:
        """Calls that were answered."""
        return self._delivered

    @property
    def kinds(self) -> dict[str, ToolKind]:
        """The tools that were met, and what calling them may do."""
        return {name: spec.kind for name, spec in self._specs.items()}

    def meet(self, spec: ToolSpec) -> Known:
        """Let a tool exist, and return what is known of it."""
        known = self._known.get(spec.name)
        if known is None:
            self.offer(spec)
            tool = self._tools[spec.name] = self._meet(spec.name)
            profile = self._spec.profile
            # Bursts are counted in calls, so every call has to go the whole way.
            clean = profile.table(spec.name).clean if profile.burst(spec.name) is None else 0.0
            known = Known(tool, (self._seed, self._task, "noise", spec.name), clean)
            self._known[spec.name] = known
        return known

    def draw(self, known: Known, written: str) -> tuple[bytes, int]:
        """Return the draw of a call, and how often just that was called before."""
        key = known.salt ^ hash(written)
        young = self._young
        before = young.get(key)
        if before is None:
            before = self._old.get(key, 0)
            if len(young) >= _MOST_CONTENTS:
                self._old, self._young = young, {}
                young = self._young
        young[key] = before + 1
        state = known.state.copy()
        state.update(f"{before} {written}".encode("utf-8", "surrogatepass"))
        return state.digest(), before

    def ordinal(self, known: Known, block: bytes) -> int:
        """Take the ordinal of a call that is clean for sure; -1 for one that `call` has to answer."""
        tool = known.tool
        if tool.answer is not None or tool.draw is None or b"\0" + block >= known.clean:
            return -1
        ordinal = tool.calls
        tool.calls = ordinal + 1
        return ordinal

    def passed(self, known: Known) -> int:
        """Count the answer of a call that was clean for sure; return its index."""
        known.tool.in_a_row = 0
        index = self._delivered
        self._delivered = index + 1
        return index

    def _block(self, pending: _Pending, series: Series) -> bytes:
        call = pending.call
        assert isinstance(call, Asked)
        return call.block

    def _rest(self, pending: _Pending) -> Draws:
        call = pending.call
        assert isinstance(call, Asked)
        return Draws(self._seed, self._task, "fault", call.name, call.before, call.written)

    def _rules(self, name: str, true: ToolResponse) -> FieldRules | None:
        rules = super()._rules(name, true)
        if rules is None and isinstance(true, Answer):
            return values.rules(true.payload)
        return rules
