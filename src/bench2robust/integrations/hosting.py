"""What a host's tools look like from here: how it wraps their answers, and a call of one while it runs."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import CoroutineType
from typing import Any, Final, NamedTuple

from bench2robust.core.errors import UsageError
from bench2robust.core.tools import CallRecord, ToolKind, ToolResponse, ToolSpec

from . import values
from .delivery import Delivery
from .keyed import Answer


def _same(value: Any) -> Any:
    return value


def _payload(payload: Any, error: bool) -> Any:  # noqa: FBT001
    return payload


def _keep_value(value: Any, payload: Any) -> Any:
    return payload


class Form(NamedTuple):
    """How a host wraps what its tools answer; the default is a host that does not."""

    payload: Callable[[Any], Any] = _same
    """The answer inside what a tool returned."""
    error: Callable[[Any], bool] = values.failed
    """Whether what a tool returned is an error."""
    give: Callable[[Any, bool], Any] = _payload
    """What a failing tool returns, of a payload and of whether the host is told that it is an error."""
    refill: Callable[[Any, Any], Any] = _keep_value
    """What a tool returned, with another payload in it."""
    passes: tuple[type[BaseException], ...] = ()
    """What tools of the host raise without having failed, such as to ask a human first. It passes through as
    if the call had been cancelled."""


PLAIN: Final = Form()


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of a host."""

    spec: ToolSpec
    form: Form = PLAIN
    delivery: Delivery | None = None
    """How this tool's failures are delivered; the episode's own delivery comes first."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name

    @classmethod
    @lru_cache(maxsize=4096)
    def named(cls, name: str, kind: ToolKind = ToolKind.READ, form: Form = PLAIN) -> Tool:
        """Return a tool of which only this is known."""
        return cls(ToolSpec(name, "", {}, kind), form)


class Running:
    """A call that the injector answers; the episode's lock is free while the tool runs."""

    __slots__ = ("answer", "lock", "raised", "tool", "value")

    def __init__(self, lock: Any, tool: Tool) -> None:
        self.lock, self.tool = lock, tool
        self.value: Any = None
        self.raised: Exception | None = None
        self.answer: Answer | None = None

    def returned(self, value: Any) -> Answer:
        """Take what the tool returned."""
        self.value = finished(value)
        form = self.tool.form
        self.answer = answer = Answer.of(form.payload(value), error=form.error(value))
        return answer

    def failed(self, error: Exception) -> Answer:
        """Take what the tool raised."""
        self.answer = answer = own(error, self.tool)
        self.raised = error
        return answer

    def result(self, record: CallRecord, delivered: ToolResponse) -> Any:
        """Return what the tool returned, as it is or corrupted silently, or raise what it raised."""
        if delivered is self.answer:
            if self.raised is None:
                return self.value
            try:
                raise self.raised
            finally:
                self.raised = None  # or the exception and this frame would hold each other
        assert self.answer is not None
        payload = values.changed(self.answer.payload, record.corrupted, delivered.text)
        return self.tool.form.refill(self.value, payload)


def finished(value: Any) -> Any:
    """Return what a tool returned; a coroutine is no answer."""
    if type(value) is CoroutineType:
        value.close()
        raise UsageError("expected a tool that answers, got one that returns a coroutine; make it async def")
    return value


def own(error: Exception, tool: Tool) -> Answer:
    """Return the answer for a tool's own error; raises what is none."""
    if isinstance(error, (CancelledError, *tool.form.passes)):
        raise error
    return Answer.of(str(error) or type(error).__name__, error=True)
