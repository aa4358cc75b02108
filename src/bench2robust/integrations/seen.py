"""What one run of an agent showed, for checks: its calls, what was said, and when."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bench2robust.core.episode import Message, Role, Trajectory
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.tools import CallRecord, ToolKind
from bench2robust.measures.facts import RunFacts

from .scope import Episode
from .spec import FaultSpec

if TYPE_CHECKING:
    from .checks import Check


class Seen:
    """Watches one episode.

    Args:
        spec: what fails, and how.
        task: names the episode; equal seed, task and calls meet equal faults.
        kinds: tools that write (``"write"``) or hand over to a human (``"escalation"``), where neither
            `inject` nor the domain's needs say so, as with tools of a framework.
        clock: gives the time in seconds; a test that does not want to wait gives its own.

    Raises:
        SpecError: a kind that nobody knows.
    """

    def __init__(
        self,
        spec: FaultSpec,
        task: str = "",
        kinds: Mapping[str, ToolKind | str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._told = spec.on_record
        self._said_kinds = _kinds(kinds or {})
        self._spoken: list[tuple[int, Role, str]] = []
        self.clock = clock
        """Gives the time in seconds; may be set anew before the agent runs."""
        self.times: dict[int, float] = {}
        """When each call was answered, by the record's index."""
        self.began = clock()
        self.episode = Episode(replace(spec, on_record=self._see), task)
        """The episode, for tools that take theirs by hand."""

    def __repr__(self) -> str:
        return f"<Seen task={self.episode.task!r} seed={self.seed} calls={self.episode.calls}>"

    @property
    def seed(self) -> int:
        """The seed."""
        return self.episode.spec.seed

    @property
    def records(self) -> list[CallRecord]:
        """The calls, in the order in which they were answered."""
        return list(self.episode.records)

    @property
    def facts(self) -> RunFacts:
        """What the measures need beside a trajectory."""
        needs = dict.fromkeys(self.episode.spec.domain.needs, ToolKind.WRITE)
        return RunFacts({**self.episode.kinds, **needs, **self._said_kinds}, self.episode.spec.domain)

    def said(self, text: str) -> None:
        """Note what the agent told its user, where it did: claims are checked against what happened by then."""
        self._spoken.append((self.episode.calls, Role.ASSISTANT, str(text)))

    def heard(self, text: str) -> None:
        """Note what the user told the agent: values in it are nobody's invention."""
        self._spoken.append((self.episode.calls, Role.USER, str(text)))

    def trajectory(self, calls: int | None = None) -> Trajectory:
        """Return what happened as `bench2robust.measures` read it.

        Args:
            calls: only so many calls, the first, and what was said by then.
        """
        kept = self.records[:calls]
        records = [replace(record, index=place) for place, record in enumerate(kept)]
        messages: list[tuple[float, Message]] = [
            (record.index + 0.5, Message(Role.ASSISTANT, record=place)) for place, record in enumerate(kept)
        ]
        last = float("inf") if calls is None else calls
        messages += [(at, Message(role, text)) for at, role, text in self._spoken if at <= last]
        messages.sort(key=lambda entry: entry[0])
        return Trajectory([message for _, message in messages], records, len(messages), "done")

    def ended_by(self, error: BaseException) -> str:
        """Return the tool of which an injected failure was raised and nobody handled it; empty for none.

        Args:
            error: what ended the run: a crash of the host, where the agent would have had a choice.
        """
        for record in reversed(self.records):
            if record.injected and record.delivered.error and record.delivered.text in str(error):
                return record.call.name
        return ""

    def check(self, *checks: Check | str) -> None:
        """Make sure of what the agent did.

        Args:
            checks: of `integrations.checks`, or their names (``"recovered"``, ``"max_identical_calls(3)"``).

        Raises:
            AssertionError: with a line for each that does not hold.
            UsageError: a name that nobody knows.
        """
        from .checks import read

        __tracebackhide__ = True
        found = [(check.name, check.find(self)) for check in map(read, checks)]
        problems = [f"{name}: {problem}" for name, problem in found if problem]
        if problems:
            raise AssertionError("\n".join(problems))

    def _see(self, record: CallRecord) -> None:
        self.times[record.index] = self.clock()
        if self._told is not None:
            self._told(record)


def _kinds(given: Any) -> dict[str, ToolKind]:
    if not isinstance(given, Mapping):
        raise SpecError(f'expected tools and what they do, got kinds={given!r}; such as {{"pay": "write"}}')
    for kind in given.values():
        if kind not in list(ToolKind):
            raise SpecError(str(UnknownNameError("kind", str(kind), list(ToolKind))))
    return {str(tool): ToolKind(kind) for tool, kind in given.items()}
