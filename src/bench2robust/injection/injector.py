"""The injector: stands between an agent and the tools of one episode (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from sys import maxsize
from typing import Final

from bench2robust.core.domain import Domain, FieldRules
from bench2robust.core.errors import AgentError
from bench2robust.core.noise import OBSERVABLE, NoiseType
from bench2robust.core.randomness import Draws, Series, unit
from bench2robust.core.tools import CallRecord, CorruptedField, ToolCall, ToolKind, ToolResponse, ToolSpec

from . import texts
from .burst import Weather
from .corruption import corrupt
from .spec import Effects, InjectionSpec

Execute = Callable[[ToolCall], ToolResponse]
"""Runs a call on the real environment."""
ExecuteAsync = Callable[[ToolCall], Awaitable[ToolResponse]]

_REJECTS: Final = frozenset((NoiseType.RATE_LIMIT, NoiseType.AUTH_ERROR, NoiseType.SCHEMA_DRIFT))
_OBSERVABLE: Final = frozenset(OBSERVABLE)
_CLEAN: Final = NoiseType.CLEAN


class _Tool:
    """What one episode remembers about one tool."""

    __slots__ = ("answer", "calls", "draw", "fields", "in_a_row", "inside", "series", "weather")

    def __init__(self) -> None:
        self.calls = 0
        """Calls so far, cancelled ones included: the next call's ordinal."""
        self.in_a_row = 0
        """Noise injections delivered in a row."""
        self.answer: ToolResponse | None = None
        """What every call gets when the tool is blocked."""
        self.series: Series | None = None
        """The draws, one stream a call; None where nothing is drawn."""
        self.draw: Callable[[float], NoiseType] | None = None
        self.weather: Weather | None = None
        """Where failures come in bursts; then a call is drawn by `inside` in one, and clean outside."""
        self.inside: Callable[[float], NoiseType] | None = None
        self.fields: tuple[str, ...] = ()
        """The field names for *schema_drift*, once needed."""


class _Pending:
    """A call between its draw and its delivery."""

    __slots__ = ("answer", "block", "call", "corrupted", "drawn", "noise", "ordinal", "tool", "withheld")

    def __init__(self, call: ToolCall, tool: _Tool, ordinal: int) -> None:
        self.call = call
        self.tool = tool
        self.ordinal = ordinal
        self.drawn: NoiseType | None = None
        self.block = b""
        """The bytes of the draw; what else the fault needs comes from the same stream."""
        self.answer: ToolResponse | None = None
        """Set when the call is answered without executing it."""
        self.noise = _CLEAN
        self.withheld: str | None = None
        self.corrupted: tuple[CorruptedField, ...] = ()


class Injector:
    """Makes the tools of one episode fail as its spec, seed and task say, and keeps a record of every call.

    Synchronous and asynchronous callers share one decision: `_begin` (draw, answer what never executes)
    and `_finish` (limits, corruption), with nothing awaited inside either. Limits are counted
    at delivery, so overlapping calls cannot exceed them, and a call that is cancelled or raises while
    it executes has used its ordinal and nothing else: no record, no budget, no place in the episode.

    Args:
        spec: profile, limits, effects.
        seed: the run's seed.
        task: the task's id; with the seed it keys every draw.
        domain: which fields may be corrupted, which tools are exempt.
        tools: every tool that exists in the episode. Calls of other names are executed and their
            genuine error is delivered.
        blocked: tools that never execute and always answer with the same error; exempt tools are not.
    """

    def __init__(
        self,
        spec: InjectionSpec,
        seed: int,
        task: str,
        *,
        domain: Domain,
        tools: Iterable[ToolSpec],
        blocked: frozenset[str] = frozenset(),
    ) -> None:
        self.records: list[CallRecord] = []
        """The records since the start, or since the last `drain`."""
        self._spec, self._seed, self._task, self._domain = spec, seed, task, domain
        self._specs = {tool.name: tool for tool in tools}
        self._tools: dict[str, _Tool] = {}
        self._blocked = frozenset(name for name in blocked if not self._exempt(name)) if blocked else blocked
        limits = spec.limits
        self._budget = maxsize if limits.budget is None else limits.budget
        self._max_in_a_row = maxsize if limits.max_consecutive is None else limits.max_consecutive
        self._rejects = _REJECTS if spec.effects is Effects.REQUEST else frozenset[NoiseType]()
        self._delivered = 0
        self._last: CallRecord | None = None

    @property
    def blocked(self) -> frozenset[str]:
        """The tools that are blocked in this episode."""
        return self._blocked

    def last(self) -> CallRecord:
        """Return the record of the call that was answered last, drained or not.

        Raises:
            AgentError: before the first answer.
        """
        if self._last is None:
            raise AgentError("expected a call before its record is asked for, got none yet")
        return self._last

    def drain(self) -> list[CallRecord]:
        """Hand over the records since the last `drain` and forget them."""
        records, self.records = self.records, []
        return records

    def call(self, call: ToolCall, execute: Execute) -> ToolResponse:
        """Answer a call: blocked, executed, or rejected before it executes.

        Args:
            call: what the agent proposes.
            execute: runs it on the real environment; called at most once. What it raises passes through.
        """
        pending = self._begin(call)
        if pending.answer is not None:
            return self._deliver(pending, None, pending.answer)
        return self._finish(pending, execute(call))

    async def acall(self, call: ToolCall, execute: ExecuteAsync) -> ToolResponse:
        """Answer a call whose execution is awaited; otherwise the same as `call`."""
        pending = self._begin(call)
        if pending.answer is not None:
            return self._deliver(pending, None, pending.answer)
        return self._finish(pending, await execute(call))

    def offer(self, tool: ToolSpec) -> None:
        """Let a tool exist from now on; what was answered under its name before stays as it was.

        For hosts whose tools are only known once they are called.
        """
        self._specs[tool.name] = tool
        self._tools.pop(tool.name, None)

    def _block(self, pending: _Pending, series: Series) -> bytes:
        """Return the bytes that a call draws from: those of its ordinal.

        A subclass whose calls overlap in any order may go by what is called instead, here and in `_rest`.
        """
        return series.block(pending.ordinal)

    def _rules(self, name: str, true: ToolResponse) -> FieldRules | None:
        """Return what a silent corruption may touch in a response; None for nothing.

        A subclass may know more than the domain says.
        """
        return self._domain.fields.get(name)

    def _fits(self, name: str, true: ToolResponse, text: str) -> bool:
        """Return whether a silently corrupted text may be delivered; where not, the fault did not land.

        A subclass may have promises to keep, such as a schema.
        """
        return True

    def _begin(self, call: ToolCall) -> _Pending:
        """Take the call's ordinal, draw, and answer it if it must not execute."""
        tool = self._tools.get(call.name)
        if tool is None:
            tool = self._tools[call.name] = self._meet(call.name)
        ordinal = tool.calls
        tool.calls = ordinal + 1
        pending = _Pending(call.copy(), tool, ordinal)
        if tool.answer is not None:
            pending.answer = tool.answer
        elif tool.series is not None and tool.draw is not None:
            pending.block = block = self._block(pending, tool.series)
            draw = tool.draw if tool.weather is None else tool.inside if tool.weather.next() else None
            pending.drawn = drawn = _CLEAN if draw is None else draw(unit(block[:8]))
            if drawn in self._rejects and self._allowed(pending):
                pending.noise = drawn
                pending.answer = self._failure(pending, "")
        return pending

    def _finish(self, pending: _Pending, true: ToolResponse) -> ToolResponse:
        """Corrupt what the real tool answered, if the draw says so, the limits allow it and it can land."""
        drawn = pending.drawn
        if drawn is None or drawn is _CLEAN or not self._allowed(pending):
            return self._deliver(pending, true, true)
        if drawn in _OBSERVABLE:
            pending.noise = drawn
            return self._deliver(pending, true, self._failure(pending, "" if true.error else true.text))
        rules = None if true.error else self._rules(pending.call.name, true)
        if rules is not None:
            corruption = corrupt(drawn, true.text, rules, self._domain.earlier, self._rest(pending))
            if corruption is not None and self._fits(pending.call.name, true, corruption[0]):
                pending.noise = drawn
                text, pending.corrupted = corruption
                return self._deliver(pending, true, ToolResponse(text))
        pending.withheld = "not_landed"
        return self._deliver(pending, true, true)

    def _deliver(self, pending: _Pending, true: ToolResponse | None, delivered: ToolResponse) -> ToolResponse:
        """Count what is delivered and keep its record."""
        tool, noise = pending.tool, pending.noise
        if noise is _CLEAN:
            tool.in_a_row = 0
        else:
            tool.in_a_row += 1
            self._budget -= 1
        record = CallRecord(
            self._delivered,
            pending.call,
            pending.ordinal,
            true,
            delivered,
            pending.drawn,
            noise,
            tool.answer is not None,
            pending.withheld,
            pending.corrupted,
        )
        self._delivered += 1
        self._last = record
        self.records.append(record)
        return delivered

    def _allowed(self, pending: _Pending) -> bool:
        """Return whether the limits leave room for the fault drawn, and note why where they do not.

        A rejection that was withheld before the call executed stays withheld after it.
        """
        if self._budget <= 0:
            pending.withheld = "budget"
        elif pending.tool.in_a_row >= self._max_in_a_row:
            pending.withheld = "consecutive"
        return pending.withheld is None

    def _exempt(self, name: str) -> bool:
        spec = self._specs.get(name)
        return name in self._domain.exempt or (spec is not None and spec.kind is ToolKind.ESCALATION)

    def _meet(self, name: str) -> _Tool:
        """Set up what the episode remembers about a tool, at its first call."""
        tool = _Tool()
        profile = self._spec.profile
        if name in self._blocked:
            theta = profile.for_tool(name)
            draws = Draws(self._seed, self._task, "block", name)
            weights = [theta[noise] for noise in texts.BLOCK_TYPES]
            tool.answer = ToolResponse(texts.blocked(weights, self._field_names(name), draws), error=True)
        elif name in self._specs and not self._exempt(name):
            tool.series = Series(self._seed, self._task, "noise", name)
            tool.draw = profile.table(name).at
            burst = profile.burst(name)
            if burst is not None:
                noisy = 1.0 - profile.table(name).clean
                tool.weather = Weather(burst, noisy, Series(self._seed, self._task, "burst", name))
                tool.inside = profile.inside_burst(name).at
        return tool

    def _field_names(self, name: str) -> tuple[str, ...]:
        return texts.field_names(self._specs.get(name), self._domain.fields.get(name))

    def _rest(self, pending: _Pending) -> Draws:
        """Return the numbers of the call's stream that follow the draw of the noise type."""
        assert pending.tool.series is not None
        return pending.tool.series.after_first(pending.ordinal, pending.block)

    def _failure(self, pending: _Pending, true: str) -> ToolResponse:
        """Return the answer for an observable type; `true` is what *malformed_response* may garble."""
        tool, draws = pending.tool, self._rest(pending)
        if pending.drawn is NoiseType.MALFORMED:
            return ToolResponse(texts.malformed(true, draws), error=True)
        if not tool.fields:
            tool.fields = self._field_names(pending.call.name)
        return ToolResponse(draws.choice(texts.variants(pending.noise, tool.fields)), error=True)
