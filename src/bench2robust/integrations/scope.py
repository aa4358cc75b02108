"""Fault scopes and episodes: where, and until when, tools fail.

The scope that holds is a context variable, so scopes in different threads and tasks do not see each other;
a scope can also be passed by hand. Nothing else is shared.
"""

from __future__ import annotations

import threading
from asyncio import CancelledError
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CoroutineType, TracebackType
from typing import Any, Final, NamedTuple, Self, Unpack

from bench2robust.core.episode import Assignment, Trajectory
from bench2robust.core.errors import UsageError
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import CallRecord, ToolCall, ToolKind, ToolResponse, ToolSpec

from . import values
from .delivery import TEXT, Delivery, Failure, Way, adeliver, deliver
from .keyed import Answer, Asked, KeyedInjector, kept
from .spec import FaultSpec, Options, Profile


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


class _Inside(NamedTuple):
    """An episode that is entered, and the one around it."""

    episode: Episode
    around: _Inside | None


_inside: ContextVar[_Inside | None] = ContextVar("bench2robust_faults", default=None)


def current() -> Episode | None:
    """Return the innermost episode that this thread or task is in; None outside all of them."""
    inside = _inside.get()
    return None if inside is None else inside.episode


class _Pending:
    """A call between its question and its answer; releases the episode's lock while the tool runs."""

    __slots__ = ("answer", "form", "lock", "raised", "value")

    def __init__(self, lock: threading.RLock, form: Form) -> None:
        self.lock, self.form = lock, form
        self.value: Any = None
        self.raised: Exception | None = None
        self.answer: Answer | None = None

    def returned(self, value: Any) -> Answer:
        if type(value) is CoroutineType:
            value.close()
            raise UsageError(
                "expected a tool that answers, got one that returns a coroutine; make it async def"
            )
        self.value = value
        self.answer = answer = Answer.of(self.form.payload(value), error=self.form.error(value))
        return answer

    def failed(self, error: Exception) -> Answer:
        if isinstance(error, (CancelledError, *self.form.passes)):
            raise error
        self.raised = error
        self.answer = answer = Answer.of(str(error) or type(error).__name__, error=True)
        return answer


class Episode:
    """One run of an agent: draws, limits and blocked tools start anew with it.

    Used as a context manager, it holds for everything called inside, in this thread or task and in tasks
    started there. Threads started inside need `inject(tool, scope=episode)` or a copied context. It can be
    entered in several threads at once.

    Args:
        spec: what fails, and how.
        task: names the episode. Equal seed, task and calls give equal faults, in any process.
    """

    def __init__(self, spec: FaultSpec, task: str = "") -> None:
        if not isinstance(task, str):
            raise UsageError(f"expected the name of a task, got task={task!r}")
        self.spec, self.task = spec, task
        self.assignment: Assignment = spec.assignment(task, spec.seed)
        """The scenario, and what it blocks."""
        self.records: deque[CallRecord] = deque(maxlen=spec.keep)
        """The newest records, in the order in which answers came; see `FaultSpec.keep`."""
        self.calls = 0
        """Calls that were answered, those of which no record is kept any more included."""
        self.delivered: Counter[tuple[str, str]] = Counter()
        """How often each tool failed in which way: (tool, noise type or ``blocked``)."""
        self._lock = threading.RLock()
        self._met: set[str] = set()
        self._injector = KeyedInjector(
            spec.injection,
            spec.seed,
            task,
            domain=spec.domain,
            tools=(),
            blocked=self.assignment.blocked | spec.blocked,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} task={self.task!r} seed={self.spec.seed} calls={self.calls}>"

    def __enter__(self) -> Self:
        _inside.set(_Inside(self, _inside.get()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inside = _inside.get()
        if inside is not None and inside.episode is self:
            _inside.set(inside.around)

    @property
    def blocked(self) -> frozenset[str]:
        """The tools that always fail in this episode."""
        return self._injector.blocked

    def drain(self) -> list[CallRecord]:
        """Hand over the records that are kept, and forget them."""
        with self._lock:
            records = list(self.records)
            self.records.clear()
        return records

    def trajectory(self, ended: str = "done") -> Trajectory:
        """Return what `bench2robust.measures` and `bench2robust.memory` read: the records that are kept."""
        return Trajectory(records=list(self.records), steps=self.calls, ended=ended)

    def call(self, tool: Tool | str, arguments: Mapping[str, Any], run: Callable[[], Any]) -> Any:
        """Answer a call of a tool.

        Args:
            tool: the tool, or its name.
            arguments: by name; what is called decides, with the seed and the task, what fails.
            run: calls the real tool; called at most once, without the lock. What it raises is the tool's own
                failure, is recorded and reaches the caller.

        Returns:
            What the tool returned, or what was delivered instead.
        """
        tool = tool if isinstance(tool, Tool) else Tool.named(tool)
        pending = _Pending(self._lock, tool.form)

        def execute(_: ToolCall) -> ToolResponse:
            pending.lock.release()
            try:
                return pending.returned(run())
            except Exception as error:
                return pending.failed(error)
            finally:
                pending.lock.acquire()

        with self._lock:
            delivered = self._injector.call(self._ask(tool, arguments), execute)
            record = self._take(tool.name)
        failure = self._failure(record, pending, delivered)
        if failure is None:
            return self._result(record, pending, delivered)
        return deliver(self._way(tool, failure), failure, tool.form.give)

    async def acall(
        self, tool: Tool | str, arguments: Mapping[str, Any], run: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Answer a call of a tool that is awaited; otherwise the same as `call`.

        A call that is cancelled while the tool runs leaves no record, takes no budget, and its tool is not
        called again; one that is cancelled while a failure hangs has been answered, and keeps its record.
        """
        tool = tool if isinstance(tool, Tool) else Tool.named(tool)
        pending = _Pending(self._lock, tool.form)

        async def execute(_: ToolCall) -> ToolResponse:
            pending.lock.release()
            try:
                return pending.returned(await run())
            except Exception as error:  # it is the tool's own, and raised again
                return pending.failed(error)
            finally:
                pending.lock.acquire()

        with self._lock:
            delivered = await self._injector.acall(self._ask(tool, arguments), execute)
            record = self._take(tool.name)
        failure = self._failure(record, pending, delivered)
        if failure is None:
            return self._result(record, pending, delivered)
        return await adeliver(self._way(tool, failure), failure, tool.form.give)

    def _ask(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolCall:
        """Return the call as the injector is asked; the lock is held."""
        if tool.name not in self._met:
            self._met.add(tool.name)
            self._injector.offer(tool.spec)
        return Asked(tool.name, kept(arguments))

    def _take(self, name: str) -> CallRecord:
        """Take the record of the call that was just answered; the lock is held."""
        record = self._injector.records.pop()
        self.calls += 1
        if record.injected:
            self.delivered[name, "blocked" if record.blocked else str(record.noise)] += 1
            if not record.blocked:
                record.delivered = Answer(record.delivered.text, record.delivered.error)
        if self.spec.show_arguments:
            record.call = ToolCall(record.call.name, record.call.arguments)
        self.records.append(record)
        return record

    def _failure(self, record: CallRecord, pending: _Pending, delivered: ToolResponse) -> Failure | None:
        """Return the failure that was injected; None for an answer of the tool, changed or not."""
        if self.spec.on_record is not None:
            self.spec.on_record(record)
        if delivered is pending.answer or record.noise.silent:
            return None
        noise = None if record.blocked else NoiseType(record.noise)
        return Failure(record.call.name, delivered.text, noise)

    def _result(self, record: CallRecord, pending: _Pending, delivered: ToolResponse) -> Any:
        if delivered is pending.answer:
            if pending.raised is None:
                return pending.value
            try:
                raise pending.raised
            finally:
                pending.raised = None  # or the exception and this frame would hold each other
        assert pending.answer is not None
        payload = values.changed(pending.answer.payload, record.corrupted, delivered.text)
        return pending.form.refill(pending.value, payload)

    def _way(self, tool: Tool, failure: Failure) -> Way:
        delivery = self.spec.delivery or tool.delivery
        return TEXT if delivery is None else delivery.of(failure)


class Faults(Episode):
    """A scope in which tools fail: an episode itself, and the maker of more.

    Args:
        spec: what fails, and how.
    """

    def episode(self, task: str, seed: int | None = None) -> Episode:
        """Return a new episode under the same settings.

        Args:
            task: its name; the same name gives the same faults.
            seed: another seed than the scope's.
        """
        return Episode(self.spec if seed is None else replace(self.spec, seed=seed), task)


def faults(profile: Profile = "severe", *, seed: int = 0, **options: Unpack[Options]) -> Faults:
    """Make a scope in which tools fail.

    Args:
        profile: what fails how often; see `spec.Profile`.
        seed: with the task and the calls it decides every fault.
        options: see `spec.Options`; each is explained at `spec.FaultSpec`, and delivery at `Delivery.read`.

    Raises:
        UsageError: a word or a value that cannot be; one line.
    """
    return Faults(FaultSpec.read(profile, seed, options))
