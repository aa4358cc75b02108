"""Fault scopes and episodes: where, and until when, tools fail.

The scope that holds is a context variable, so scopes in different threads and tasks do not see each other;
a scope can also be passed by hand. Nothing else is shared.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple, Self, Unpack, cast

from bench2robust.core.episode import Assignment, Trajectory
from bench2robust.core.errors import UsageError
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import CallRecord, ToolCall, ToolKind, ToolResponse

from .delivery import TEXT, Failure, Way, adeliver, deliver
from .hosting import Running, Tool, finished, own
from .keyed import Answer, Asked, KeyedInjector, Known, content
from .spec import FaultSpec, Options, Profile


class _Inside(NamedTuple):
    """An episode that is entered, and the one around it."""

    episode: Episode
    around: _Inside | None


_inside: ContextVar[_Inside | None] = ContextVar("bench2robust_faults", default=None)


def current() -> Episode | None:
    """Return the innermost episode that this thread or task is in; None outside all of them."""
    inside = _inside.get()
    return None if inside is None else inside.episode


Lock = threading.RLock
_Clean = tuple[int, int, Tool, Mapping[str, Any], Any]
"""A record that nobody has looked at yet: index, ordinal, tool, arguments, and what the tool returned or the
`Answer` for what it raised."""


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
        self.delivered: Counter[tuple[str, str]] = Counter()
        """How often each tool failed in which way: (tool, noise type or ``blocked``)."""
        self._kept: deque[CallRecord | _Clean] = deque(maxlen=spec.keep)
        self._lock = Lock()
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

    @property
    def kinds(self) -> Mapping[str, ToolKind]:
        """The tools that were called by now, and what calling them may do as far as their host says."""
        with self._lock:
            return self._injector.kinds

    @property
    def calls(self) -> int:
        """Calls that were answered, those of which no record is kept any more included."""
        return self._injector.calls

    @property
    def records(self) -> deque[CallRecord]:
        """The newest records, in the order in which answers came; see `FaultSpec.keep`."""
        with self._lock:
            made = (self._made(kept) if isinstance(kept, tuple) else kept for kept in self._kept)
            records = deque(made, self.spec.keep)
            self._kept = cast("deque[CallRecord | _Clean]", records)
        return records

    def drain(self) -> list[CallRecord]:
        """Hand over the records that are kept, and forget them."""
        with self._lock:
            records = list(self.records)
            self._kept.clear()
        return records

    def trajectory(self, ended: str = "done") -> Trajectory:
        """Return what `bench2robust.measures` and `bench2robust.memory` read: the records that are kept."""
        return Trajectory(records=list(self.records), steps=self.calls, ended=ended)

    def call(
        self,
        tool: Tool | str,
        arguments: Mapping[str, Any],
        run: Callable[..., Any],
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Answer a call of a tool.

        Args:
            tool: the tool, or its name.
            arguments: by name; what is called decides, with the seed and the task, what fails. Not to be changed
                afterwards.
            run: calls the real tool; called at most once, without the lock. What it raises is the tool's own
                failure, is recorded and reaches the caller.
            args: what `run` is given.
            kwargs: what `run` is given by name.

        Returns:
            What the tool returned, or what was delivered instead.
        """
        tool = tool if isinstance(tool, Tool) else Tool.named(tool)
        asked = content(arguments)
        injector = self._injector
        with self._lock:
            known = injector.meet(tool.spec)
            draw = injector.draw(known, asked[1])
            ordinal = injector.ordinal(known, draw[0])
        if ordinal >= 0:
            try:
                value = finished(run(*args, **kwargs))
            except Exception as error:
                self._clean(known, ordinal, tool, asked[0], own(error, tool))
                raise
            self._clean(known, ordinal, tool, asked[0], value)
            return value
        running = Running(self._lock, tool)

        def execute(_: ToolCall) -> ToolResponse:
            running.lock.release()
            try:
                return running.returned(run(*args, **kwargs))
            except Exception as error:
                return running.failed(error)
            finally:
                running.lock.acquire()

        with self._lock:
            delivered = injector.call(Asked.of(tool.name, asked, draw), execute)
            record = self._take(tool.name)
        failure = self._failure(record, running, delivered)
        if failure is None:
            return running.result(record, delivered)
        return deliver(self._way(tool, failure), failure, tool.form.give)

    async def acall(
        self,
        tool: Tool | str,
        arguments: Mapping[str, Any],
        run: Callable[..., Awaitable[Any]],
        /,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Answer a call of a tool that is awaited; otherwise the same as `call`.

        A call that is cancelled while the tool runs leaves no record, takes no budget, and its tool is not
        called again; one that is cancelled while a failure hangs has been answered, and keeps its record.
        """
        tool = tool if isinstance(tool, Tool) else Tool.named(tool)
        asked = content(arguments)
        injector = self._injector
        with self._lock:
            known = injector.meet(tool.spec)
            draw = injector.draw(known, asked[1])
            ordinal = injector.ordinal(known, draw[0])
        if ordinal >= 0:
            try:
                value = await run(*args, **kwargs)
            except Exception as error:
                self._clean(known, ordinal, tool, asked[0], own(error, tool))
                raise
            self._clean(known, ordinal, tool, asked[0], value)
            return value
        running = Running(self._lock, tool)

        async def execute(_: ToolCall) -> ToolResponse:
            running.lock.release()
            try:
                return running.returned(await run(*args, **kwargs))
            except Exception as error:
                return running.failed(error)
            finally:
                running.lock.acquire()

        with self._lock:
            delivered = await injector.acall(Asked.of(tool.name, asked, draw), execute)
            record = self._take(tool.name)
        failure = self._failure(record, running, delivered)
        if failure is None:
            return running.result(record, delivered)
        return await adeliver(self._way(tool, failure), failure, tool.form.give)

    def _clean(
        self, known: Known, ordinal: int, tool: Tool, arguments: Mapping[str, Any], value: Any
    ) -> None:
        """Keep the record of a call that was clean for sure."""
        with self._lock:
            record = (self._injector.passed(known), ordinal, tool, arguments, value)
            self._kept.append(record)
        if self.spec.on_record is not None:
            made = self._made(record)
            with self._lock:
                if self._kept and self._kept[-1] is record:
                    self._kept[-1] = made
            self.spec.on_record(made)

    def _made(self, record: _Clean) -> CallRecord:
        """Return the record that was only noted down."""
        index, ordinal, tool, arguments, value = record
        answer = value
        if type(value) is not Answer:
            answer = Answer.of(tool.form.payload(value), error=tool.form.error(value))
        kind = ToolCall if self.spec.show_arguments else Asked
        return CallRecord(index, kind(tool.name, arguments), ordinal, answer, answer, NoiseType.CLEAN)

    def _take(self, name: str) -> CallRecord:
        """Take the record of the call that was just answered; the lock is held."""
        record = self._injector.records.pop()
        if record.injected:
            self.delivered[name, "blocked" if record.blocked else str(record.noise)] += 1
            if not record.blocked:
                record.delivered = Answer(record.delivered.text, record.delivered.error)
        if self.spec.show_arguments:
            record.call = ToolCall(record.call.name, record.call.arguments)
        self._kept.append(record)
        return record

    def _failure(self, record: CallRecord, running: Running, delivered: ToolResponse) -> Failure | None:
        """Return the failure that was injected; None for an answer of the tool, changed or not."""
        if self.spec.on_record is not None:
            self.spec.on_record(record)
        if delivered is running.answer or record.noise.silent:
            return None
        noise = None if record.blocked else NoiseType(record.noise)
        return Failure(record.call.name, delivered.text, noise)

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
