"""One episode's own instances of the API classes, and what they answer.

The instances are those of the installed wheel; nothing of its executor is used. A class is built and
loaded once for a task; every episode gets its own copy from the pickled result, random generator
included, when it first calls one of its functions. What the classes keep in the process itself is contained:
the precision of mpmath and decimal, and the one weather object that all vehicles of the process share, are
used by one call at a time and put back; a default list of `post_tweet` is never the process's own; the
padding of long_context is copied with the instance.
"""

from __future__ import annotations

import decimal
import json
import pickle
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench2robust.core.tools import ToolCall, ToolResponse

from .functions import ESCALATION, Function, functions, parse
from .provider import STATELESS, Entry, api_class

State = Mapping[str, Any]
"""API class to a frozen copy of its public attributes; equal exactly when BFCL's state check says so."""

TRANSFERRED = "Transfer successful"

_GLOBAL = frozenset({"logarithm", "square_root", "get_outside_temperature_from_google"})
"""Functions that use something of the process: one call at a time."""
_ONE_AT_A_TIME = threading.RLock()


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
        made = {api: self._build(api) for api in entry.classes}
        self.copies: dict[str, bytes] = {api: pickle.dumps(instance) for api, instance in made.items()}
        self.state: State = {api: public(instance) for api, instance in made.items()}

    def withheld(self, turn: int) -> frozenset[str]:
        """Return the functions that do not exist yet in a turn.

        Where the ground truth itself calls a function before the turn that brings it (in one entry), it exists.
        """
        missed = ((since, names) for since, names in self.entry.missed.items() if since > turn)
        return frozenset(name for since, names in missed for name in names - self._called_before(since))

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
    """

    __slots__ = ("_blueprint", "_copies", "_instances", "state", "withheld")

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._copies: Mapping[str, bytes] = blueprint.copies
        self._instances: dict[str, Any] = {}
        self.state: State = blueprint.state
        """The public state now. A new object whenever something has changed, so an old one stays as it was."""
        self.withheld: frozenset[str] = frozenset()
        """Functions that do not exist yet."""

    def call(self, call: ToolCall) -> ToolResponse:
        """Execute a call and answer in the words of BFCL's executor; errors of every kind are answers."""
        name = call.name
        function = self._blueprint.tools.get(name)
        if function is None or name in self.withheld:
            if name == ESCALATION.name and isinstance(call.arguments.get("summary"), str):
                return ToolResponse(TRANSFERRED)
            return ToolResponse(f"Error during execution: name {name!r} is not defined", error=True)
        instance = self._instance(function.api)
        try:
            if name in _GLOBAL:
                with _contained():
                    return _response(getattr(instance, name)(**function.prepare(call.arguments)))
            return _response(getattr(instance, name)(**function.prepare(call.arguments)))
        except Exception as error:  # whatever a function raises is its answer, as in BFCL
            return ToolResponse(f"Error during execution: {error}", error=True)
        finally:
            if function.writes:
                self._look(function.api, instance)

    def fork(self) -> World:
        """Return a copy of the world as it is now."""
        other = World(self._blueprint)
        other._copies = {**self._copies, **{api: pickle.dumps(i) for api, i in self._instances.items()}}
        other.state, other.withheld = self.state, self.withheld
        return other

    def _instance(self, api: str) -> Any:
        instance = self._instances.get(api)
        if instance is None:
            # Bytes that `Blueprint` or `fork` made in this process.
            instance = self._instances[api] = pickle.loads(self._copies[api])
        return instance

    def _look(self, api: str, instance: Any) -> None:
        now = public(instance)
        if now != self.state[api]:
            self.state = {**self.state, api: now}


def public(instance: Any) -> Any:
    """Return a frozen copy of the attributes of an instance that BFCL compares."""
    try:
        return {name: _frozen(value) for name, value in vars(instance).items() if not name.startswith("_")}
    except RecursionError:  # a directory copied into itself: equal to nothing, as in BFCL
        return object()


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_frozen(item) for item in value]
    if isinstance(value, set):
        return frozenset(value)
    if hasattr(value, "contents"):  # a directory, which is compared by name and contents
        return ("directory", value.name, {key: _frozen(item) for key, item in value.contents.items()})
    if hasattr(value, "content"):
        return ("file", value.name, value.content)
    return value


def _response(result: Any) -> ToolResponse:
    return ToolResponse(_text(result), _says_no(result))


def _text(result: Any) -> str:
    if type(result) is str:
        return result
    if type(result) is dict:
        try:
            return json.dumps(result)
        except (TypeError, ValueError):
            return str(result)
    return str(result)


def _says_no(result: Any) -> bool:
    """Whether an answer is the function's own error."""
    if isinstance(result, dict):
        return "error" in result or (result.get("login_status") is False and "message" in result)
    if isinstance(result, list) and result:
        first = result[0]
        return "error" in first if isinstance(first, dict) else str(first).startswith("Error:")
    return False


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
