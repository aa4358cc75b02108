"""`inject`: a decorator and wrapper for any function that is a tool."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar, overload

from bench2robust.core.errors import SpecError, UnknownNameError, UsageError
from bench2robust.core.tools import ToolKind, ToolSpec

from .delivery import Delivery
from .hosting import Tool
from .scope import Episode, current

P = ParamSpec("P")
R = TypeVar("R")

_BOUND: Final = ("self", "cls")
"""First parameters that are no arguments."""


@overload
def inject(tool: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def inject(
    tool: Callable[P, R],
    /,
    *,
    name: str | None = None,
    kind: ToolKind | str = ToolKind.READ,
    delivery: Any = None,
    scope: Episode | None = None,
) -> Callable[P, R]: ...
@overload
def inject(
    *,
    name: str | None = None,
    kind: ToolKind | str = ToolKind.READ,
    delivery: Any = None,
    scope: Episode | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def inject(
    tool: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    kind: ToolKind | str = ToolKind.READ,
    delivery: Any = None,
    scope: Episode | None = None,
) -> Any:
    """Make a tool fail as the scope that holds when it is called says; outside a scope it is as it was.

    A decorator (``@inject``, ``@inject(kind="write")``) and a wrapper (``inject(tool)``), for functions and
    coroutine functions; the result keeps name, docstring and signature, which frameworks read.

    Args:
        tool: the function.
        name: the tool's name; the function's own by default.
        kind: what calling it may do: ``read``, ``write``, ``utility``, or ``escalation`` for handing over
            to a human, which never fails.
        delivery: how its failures reach the caller where the scope does not say; see `Delivery.read`.
        scope: the scope or episode to use, whatever holds when it is called.

    Raises:
        UsageError: something that cannot be a tool, or a word that nobody knows; one line.
    """
    if tool is None:
        return functools.partial(inject, name=name, kind=kind, delivery=delivery, scope=scope)
    if kind not in list(ToolKind):
        raise SpecError(str(UnknownNameError("kind", str(kind), list(ToolKind))))
    if scope is not None and not isinstance(scope, Episode):
        raise SpecError(f"expected a scope such as faults(…), got scope={scope!r}")
    signature = _signature(tool)
    arguments = _Arguments(signature)
    spec = ToolSpec(
        str(name or getattr(tool, "__name__", type(tool).__name__)),
        inspect.getdoc(tool) or "",
        {"type": "object", "properties": {parameter: {} for parameter in arguments.names}},
        ToolKind(kind),
    )
    target = Tool(spec, delivery=None if delivery is None else Delivery.read(delivery))
    if inspect.iscoroutinefunction(tool) or inspect.iscoroutinefunction(getattr(tool, "__call__", None)):  # noqa: B004
        return _asynchronous(tool, target, arguments, scope)
    return _synchronous(tool, target, arguments, scope)


def _synchronous(
    tool: Callable[..., Any], target: Tool, arguments: _Arguments, scope: Episode | None
) -> Callable[..., Any]:
    @functools.wraps(tool)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        episode = scope or current()
        if episode is None:
            return tool(*args, **kwargs)
        return episode.call(target, arguments.of(args, kwargs), tool, *args, **kwargs)

    return wrapper


def _asynchronous(
    tool: Callable[..., Any], target: Tool, arguments: _Arguments, scope: Episode | None
) -> Callable[..., Any]:
    @functools.wraps(tool)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        episode = scope or current()
        if episode is None:
            return await tool(*args, **kwargs)
        return await episode.acall(target, arguments.of(args, kwargs), tool, *args, **kwargs)

    return wrapper


class _Arguments:
    """Gives the arguments of a call by name, without the cost of binding a signature."""

    def __init__(self, signature: inspect.Signature) -> None:
        parameters = list(signature.parameters.values())
        kinds = inspect.Parameter
        positional = [
            p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        ]
        self._skip = 1 if positional[:1] and positional[0] in _BOUND else 0
        self._positional = tuple(positional[self._skip :])
        self._rest = next((p.name for p in parameters if p.kind is kinds.VAR_POSITIONAL), "args")
        self.names = tuple(
            p.name for p in parameters if p.kind in (*_NAMED, kinds.POSITIONAL_ONLY) and p.name not in _BOUND
        )

    def of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as they were given; defaults are not filled in."""
        if self._skip:
            args = args[1:]
        named = dict(zip(self._positional, args, strict=False))
        if kwargs:
            named.update(kwargs)
        if len(args) > len(self._positional):
            named[self._rest] = args[len(self._positional) :]
        return named


_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _signature(tool: Any) -> inspect.Signature:
    if isinstance(tool, staticmethod | classmethod):
        raise UsageError(f"expected a function, got tool={type(tool).__name__}; put @inject below it")
    if not callable(tool):
        raise UsageError(f"expected a function, got tool={tool!r}")
    if isinstance(tool, type):
        raise UsageError(
            f"expected a function, got the class tool={tool.__name__}; wrap the method that is called"
        )
    if inspect.isgeneratorfunction(tool) or inspect.isasyncgenfunction(tool):
        raise UsageError(f"expected a tool that answers once, got the generator tool={tool.__name__}")
    try:
        return inspect.signature(tool)
    except (TypeError, ValueError):  # a builtin that has none
        return inspect.Signature()
