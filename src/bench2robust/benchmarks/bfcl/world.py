"""One episode's own instances of the API classes, and what they answer.

The instances are those of the installed wheel; nothing of its executor is used. A class is built and
loaded once for a task; every episode gets its own copy from the pickled result, random generator
included, when it first calls one of its functions. What the classes keep in the process itself is contained:
the precision of mpmath and decimal, and the one weather object that all vehicles of the process share, are
used by one call at a time and put back; a default list of `post_tweet` is never the process's own; the
padding in the state of long_context is copied with the instance. The public state is taken when it is asked for, at
the end of a turn.
"""

from __future__ import annotations

import decimal
import json
import marshal
import pickle
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec

from .functions import ESCALATION, Function, functions, parse
from .provider import STATELESS, Entry, api_class
from .texts import answer, padded_answer

State = Mapping[str, Any]
"""API class to a frozen copy of its public attributes; equal exactly when BFCL's state check says so."""

TRANSFERRED = "Transfer successful"

_GLOBAL = frozenset({"logarithm", "square_root", "get_outside_temperature_from_google"})
"""Functions that use something of the process: one call at a time."""
_RANDOM = "_random"
_PLAIN = frozenset({str, int, float, bool, type(None)})
_EXACT = 2
"""Version of marshal's format that has no references, so that equal values have equal bytes."""
_NONE: frozenset[str] = frozenset()
_ONE_AT_A_TIME = threading.RLock()


class _Generator:
    """A random generator of an API class, made when it is first used (its state is 625 numbers)."""

    __slots__ = ("_factory", "_made", "_state")

    def __init__(self, factory: Any, state: Any) -> None:
        self._factory, self._state = factory, state
        self._made: Any = None

    def copy(self) -> _Generator:
        """Return one that draws the same numbers from here on."""
        return _Generator(self._factory, self._state if self._made is None else self._made.getstate())

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            # Without __init__, which seeds from the system once more before the state replaces all of it.
            self._made = self._factory.__new__(self._factory, 0)
            self._made.setstate(self._state)
        return getattr(self._made, name)


class Copy(NamedTuple):
    """An instance to be copied."""

    kind: type[Any]
    content: bytes
    """Its attributes without the random generator: marshalled where they are data, else pickled."""
    loads: Callable[[bytes], dict[str, Any]]
    generator: _Generator | None

    @classmethod
    def of(cls, instance: Any) -> Copy:
        """Keep an instance as it is now."""
        held = dict(vars(instance))
        generator = held.pop(_RANDOM, None)
        if generator is not None and not isinstance(generator, _Generator):
            generator = _Generator(type(generator), generator.getstate())
        kept = None if generator is None else generator.copy()
        try:
            # The newest format: what two attributes share, they share in the copy too.
            return cls(type(instance), marshal.dumps(held), marshal.loads, kept)
        except ValueError:  # a directory
            return cls(type(instance), pickle.dumps(held), pickle.loads, kept)

    def instance(self) -> Any:
        """Return a copy that shares nothing with any other."""
        made = object.__new__(self.kind)
        held = self.loads(self.content)  # bytes that this process has made itself
        if self.generator is not None:
            held[_RANDOM] = self.generator.copy()
        made.__dict__ = held
        return made


class Blueprint:
    """What every episode of a task starts from; built once, never changed.

    Args:
        entry: the task as the wheel's files hold it.
    """

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.tools: dict[str, Function] = {
            name: function
            for api in entry.classes
            for name, function in functions(api).items()
            if name not in entry.excluded
        }
        """Every function that exists in some turn."""
        self.whole: dict[str, Function] = {n: f for api in entry.classes for n, f in functions(api).items()}
        """Every function of the task's classes, as for BFCL's executor, to which nothing is held out."""
        self.specs: tuple[ToolSpec, ...] = (*(function.spec for function in self.tools.values()), ESCALATION)
        """These as tools, and the one that hands over."""
        made = {api: self._build(api) for api in entry.classes}
        self.copies = {api: Copy.of(instance) for api, instance in made.items()}
        self.state: State = {api: public(instance) for api, instance in made.items()}
        self._offers: dict[frozenset[str], tuple[ToolSpec, ...]] = {_NONE: self.specs}
        missed = {since: names - self._called_before(since) for since, names in entry.missed.items()}
        self._withheld = {
            turn: frozenset(name for since, names in missed.items() if since > turn for name in names)
            for turn in range(max(missed, default=0))
        }

    def withheld(self, turn: int) -> frozenset[str]:
        """Return the functions that do not exist yet in a turn.

        Where the ground truth itself calls a function before the turn that brings it (in one entry), it exists.
        """
        return self._withheld.get(turn, _NONE)

    def offer(self, withheld: frozenset[str]) -> tuple[ToolSpec, ...]:
        """Return the tools that there are while some are withheld."""
        found = self._offers.get(withheld)
        if found is None:
            found = tuple(spec for spec in self.specs if spec.name not in withheld)
            self._offers[withheld] = found
        return found

    def refused(self, name: str, answer: ToolResponse) -> bool:
        """Whether an answer says that a function does not exist only because it is held out."""
        return answer.error and name in self.whole and answer.text == _undefined(name)

    def _called_before(self, turn: int) -> frozenset[str]:
        return frozenset(parse(line).name for lines in self.entry.gold[:turn] for line in lines)

    def _build(self, api: str) -> Any:
        instance = api_class(api)()
        if api not in STATELESS:
            config = json.loads(json.dumps(self.entry.config.get(api, {})))
            instance._load_scenario(config, long_context=self.entry.long_context)
        return instance


class World:
    """The instances of one episode.

    Args:
        blueprint: what they start from.
        whole: whether every function of the task's classes exists, also those that are held out.
    """

    __slots__ = ("_answer", "_blueprint", "_changed", "_copies", "_instances", "_state", "_tools", "withheld")

    def __init__(self, blueprint: Blueprint, *, whole: bool = False) -> None:
        self._blueprint = blueprint
        self._tools = blueprint.whole if whole else blueprint.tools
        self._copies: Mapping[str, Copy] = blueprint.copies
        self._instances: dict[str, Any] = {}
        self._state: State = blueprint.state
        self._changed: set[str] = set()
        """Classes of which something may have changed since the public state was taken."""
        self._answer = padded_answer if blueprint.entry.long_context else answer
        self.withheld = _NONE
        """Functions that do not exist yet."""

    @property
    def state(self) -> State:
        """The public state now. A new object whenever something may have changed, so an old one stays as it was."""
        if self._changed:
            taken = {api: public(self._instances[api]) for api in self._changed}
            self._state = {**self._state, **taken}
            self._changed.clear()
        return self._state

    def call(self, call: ToolCall) -> ToolResponse:
        """Execute a call and answer in the words of BFCL's executor; errors of every kind are answers."""
        name = call.name
        function = self._tools.get(name)
        if function is None or name in self.withheld:
            if name == ESCALATION.name and isinstance(call.arguments.get("summary"), str):
                return ToolResponse(TRANSFERRED)
            return ToolResponse(_undefined(name), error=True)
        instance = self._instance(function.api)
        if function.shows:
            self._changed.add(function.api)
        try:
            if name in _GLOBAL:
                with _contained():
                    return self._answer(getattr(instance, name)(**function.prepare(call.arguments)))
            return self._answer(getattr(instance, name)(**function.prepare(call.arguments)))
        except Exception as error:  # whatever a function raises is its answer, as in BFCL
            return ToolResponse(f"Error during execution: {error}", error=True)

    def fork(self) -> World:
        """Return a copy of the world as it is now."""
        other = World(self._blueprint)
        other._tools = self._tools
        other._copies = {**self._copies, **{api: Copy.of(i) for api, i in self._instances.items()}}
        other._state, other.withheld = self.state, self.withheld
        return other

    def _instance(self, api: str) -> Any:
        instance = self._instances.get(api)
        if instance is None:
            instance = self._instances[api] = self._copies[api].instance()
        return instance


class Values:
    """A frozen copy of public attributes that are data: made and compared as bytes where that is enough."""

    __slots__ = ("_content",)

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Values):
            # Other bytes can be equal values: a dict in another order, 2 and 2.0.
            return self._content == other._content or self._read() == other._read()
        return bool(self._read() == other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._read())

    def _read(self) -> Any:
        return marshal.loads(self._content)


def public(instance: Any) -> Any:
    """Return a frozen copy of the attributes of an instance that BFCL compares."""
    held = {name: value for name, value in vars(instance).items() if name[0] != "_"}
    try:
        return Values(marshal.dumps(held, _EXACT))
    except ValueError:  # a directory
        pass
    try:
        return {name: _frozen(value) for name, value in held.items()}
    except RecursionError:  # a directory copied into itself: equal to nothing, as in BFCL
        return object()


def _frozen(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if "contents" in vars(value):  # a directory, which is compared by name and contents
        return ("directory", value.name, {key: _frozen(item) for key, item in value.contents.items()})
    return ("file", value.name, value.content)


def _undefined(name: str) -> str:
    return f"Error during execution: name {name!r} is not defined"


@contextmanager
def _contained() -> Iterator[None]:
    """Give a call the process's precision for itself, and put it back."""
    import mpmath

    with _ONE_AT_A_TIME, decimal.localcontext():
        before = mpmath.mp.dps
        try:
            yield
        finally:
            mpmath.mp.dps = before
