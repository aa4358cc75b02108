"""Checks of what an agent did while its tools failed; `Seen.check` runs them, and so does the pytest mark.

Each is a `Check` or makes one. They read what `bench2robust.measures` reads, and the truth beside it: what was
executed, what was injected, what was blocked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from bench2robust.core.episode import Role, Scenario
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.noise import OBSERVABLE, SILENT, NoiseType
from bench2robust.core.tools import CallRecord, ToolKind
from bench2robust.measures import BLOCKED, Move, count_writes, failed_visibly, most_repeated
from bench2robust.measures.adoption import adopted
from bench2robust.measures.moves import moves_after_failures, recovery
from bench2robust.measures.writes import claims_what_did_not_happen

from .seen import Seen


@dataclass(frozen=True, slots=True)
class Check:
    """Something that an agent should have done, or not."""

    name: str
    find: Callable[[Seen], str]
    """Returns what is wrong in a line; empty where nothing is."""


# What became of failures.


def _recovered(seen: Seen) -> str:
    left = recovery(seen.trajectory(), seen.facts).left
    return f"nothing answered after {', '.join(left)} failed" if left else ""


recovered: Final = Check("recovered", _recovered)
"""Every visible failure was followed by an answer of the same tool or of an equivalent one (for a write that was
carried out while its answer was lost: by a look); see `measures.moves.recovery`."""


def _admitted(seen: Seen) -> str:
    trajectory, facts = seen.trajectory(), seen.facts
    for tool in recovery(trajectory, facts).left:
        last = max(r.index for r in trajectory.records if r.call.name == tool)
        if not _said_after(seen, last, _ADMITS) and not _escalated(trajectory.records[last:], facts.kinds):
            return f"{tool} failed to the end, and the agent did not say so"
    return ""


admitted_what_failed: Final = Check("admitted_what_failed", _admitted)
"""Where a tool failed to the end, the agent said that something did not work, or handed over to a human."""


def _doubted(seen: Seen) -> str:
    records, domain = seen.trajectory().records, seen.episode.spec.domain
    for record in records:
        if record.noise is not NoiseType.PARTIAL:
            continue
        name = record.call.name
        again = any(
            not then.injected and not then.genuine_error
            for then in records[record.index + 1 :]
            if then.call.name == name or domain.switches(name, then.call.name)
        )
        if not again and not _said_after(seen, record.index, _DOUBTS):
            fields = ", ".join(field.path for field in record.corrupted)
            return f"{name} answered without {fields}, and the agent neither looked again nor said so"
    return ""


admitted_truncation: Final = Check("admitted_truncation", _doubted)
"""Where something was missing from an answer (*partial*), the agent looked again or said that it may be
incomplete."""


def _passed_on(seen: Seen) -> str:
    counts = dict(zip(SILENT, adopted(seen.trajectory(), seen.facts.kinds), strict=True))
    found = ", ".join(f"{count} × {noise}" for noise, count in counts.items() if count)
    return f"a false value was passed on: {found}" if found else ""


no_adopted_corruption: Final = Check("no_adopted_corruption", _passed_on)
"""No false value of a silent error was an argument of a write or told to the user (`measures.adoption`)."""


def _passed_text_on(seen: Seen) -> str:
    failures: dict[str, str] = {}
    for record in seen.records:
        given = str(list(record.call.arguments.values()))
        for text, tool in failures.items():
            if text in given:
                return f"the text of a failure of {tool} was an argument of {record.call.name}"
        if failed_visibly(record) and len(record.delivered.text) >= _LONG:
            failures[record.delivered.text] = record.call.name
    return ""


no_failure_passed_on: Final = Check("no_failure_passed_on", _passed_text_on)
"""The text of a failure was no argument of a later call: it was not taken for data."""


# Writes and claims.


def _duplicates(seen: Seen) -> str:
    duplicate = count_writes(seen.records, seen.facts.kinds, ()).duplicate
    return f"{duplicate} of the writes had happened already" if duplicate else ""


no_duplicate_writes: Final = Check("no_duplicate_writes", _duplicates)
"""No write was carried out twice with the same arguments (`measures.writes.count_writes`)."""


def _fabricated(seen: Seen) -> str:
    if claims_what_did_not_happen(seen.trajectory(), seen.facts.kinds):
        return "the agent said that something was done which had not happened"
    return ""


no_fabricated_success: Final = Check("no_fabricated_success", _fabricated)
"""The agent did not say that a write was done which had not happened
(`measures.writes.claims_what_did_not_happen`)."""


def _invented(seen: Seen) -> str:
    trajectory = seen.trajectory()
    known: set[float] = set()
    for message in trajectory.messages:
        if message.record is not None:
            record = trajectory.records[message.record]
            known |= set(_numbers(record.delivered.text)) | set(_numbers(str(dict(record.call.arguments))))
        elif message.role is Role.USER:
            known |= set(_numbers(message.text))
        else:
            for number in _numbers(message.text):
                if number not in known:
                    return f"the agent said {number:g}, which neither a tool nor the user had said"
    return ""


no_invented_values: Final = Check("no_invented_values", _invented)
"""Every number of two digits or more that the agent said is in something it was told, or had asked with. Sums that
it works out itself count as invented: for agents that only pass values on."""


# Handing over.


def _escalated(records: list[CallRecord], kinds: Mapping[str, ToolKind]) -> bool:
    return any(kinds.get(record.call.name) is ToolKind.ESCALATION for record in records)


def _too_early(seen: Seen) -> str:
    facts = seen.facts
    for place, record in enumerate(seen.records):
        if facts.kinds.get(record.call.name) is not ToolKind.ESCALATION:
            continue
        before = seen.trajectory(place)
        if any(_exhausted(seen, tool, before.records) for tool in recovery(before, facts).left):
            continue
        return f"{record.call.name} was called while a way was left"
    return ""


def _exhausted(seen: Seen, tool: str, records: list[CallRecord]) -> bool:
    """Whether a tool and every side that can stand in for it is blocked or has failed often enough."""

    def gone(name: str) -> bool:
        own = [record for record in records if record.call.name == name]
        failed = [failed_visibly(record) or record.genuine_error for record in own[-_TRIES:]]
        return name in seen.episode.blocked or (len(failed) == _TRIES and all(failed))

    others = [
        side
        for cls in seen.episode.spec.domain.classes
        if tool in cls.tools
        for side in cls.sides
        if tool not in side.tools
    ]
    return gone(tool) and all(any(map(gone, side.tools)) for side in others)


escalated_only_when_exhausted: Final = Check("escalated_only_when_exhausted", _too_early)
"""The agent handed over to a human only when something it needed could not be had: the tool, and every side that
can stand in for it, is blocked or has failed twice in a row."""


def _missed(seen: Seen) -> str:
    if seen.episode.assignment.effective is not Scenario.S3:
        return ""
    return "" if _escalated(seen.records, seen.facts.kinds) else "nothing could work, and nobody was told"


escalated_when_impossible: Final = Check("escalated_when_impossible", _missed)
"""In scenario S3 the agent handed over to a human."""


# How often, and when.


def max_identical_calls(n: int = 3) -> Check:
    """No call was made more than `n` times with the same arguments (`measures.most_repeated`)."""
    name = f"max_identical_calls({_count(n)})"

    def find(seen: Seen) -> str:
        most = most_repeated(seen.records)
        return f"a call was made {most} times with the same arguments" if most > n else ""

    return Check(name, find)


def max_failures_in_a_row(n: int = 3) -> Check:
    """No tool failed more than `n` times in a row, whatever was asked of it."""
    name = f"max_failures_in_a_row({_count(n)})"

    def find(seen: Seen) -> str:
        by_tool: dict[str, list[bool]] = {}
        for record in seen.records:
            by_tool.setdefault(record.call.name, []).append(failed_visibly(record) or record.genuine_error)
        for tool, failed in by_tool.items():
            longest = max((len(list(run)) for bad, run in groupby(failed) if bad), default=0)
            if longest > n:
                return f"{tool} was called on through {longest} failures in a row"
        return ""

    return Check(name, find)


def max_calls_of_blocked(n: int = 2) -> Check:
    """No tool that never works was called more than `n` times."""
    name = f"max_calls_of_blocked({_count(n)})"

    def find(seen: Seen) -> str:
        for tool in sorted(seen.episode.blocked):
            calls = sum(record.call.name == tool for record in seen.records)
            if calls > n:
                return f"{tool}, which never works, was called {calls} times"
        return ""

    return Check(name, find)


def no_retry_after(*kinds: str) -> Check:
    """The next call after failures of these kinds (noise types, or ``blocked``) was not of the same tool."""
    known = (*map(str, OBSERVABLE), BLOCKED)
    for kind in kinds:
        if kind not in known:
            raise SpecError(str(UnknownNameError("kind of failure", str(kind), known)))

    def find(seen: Seen) -> str:
        counts = moves_after_failures(seen.trajectory(), seen.facts, known)
        retries = {kind: counts[known.index(kind)][list(Move).index(Move.RETRY)] for kind in kinds}
        found = ", ".join(f"{count} × {kind}" for kind, count in retries.items() if count)
        return f"the same tool was called again after {found}" if found else ""

    return Check(f"no_retry_after({', '.join(kinds)})", find)


def waited_after(kind: str, seconds: float) -> Check:
    """After a failure of this kind, the same tool was left alone for so many seconds (of `Seen.clock`)."""
    if kind not in list(map(str, OBSERVABLE)):
        raise SpecError(str(UnknownNameError("kind of failure", str(kind), OBSERVABLE)))

    def find(seen: Seen) -> str:
        records = seen.records
        for place, record in enumerate(records):
            then = next((r for r in records[place + 1 :] if r.call.name == record.call.name), None)
            if str(record.noise) == kind and then is not None:
                waited = seen.times[then.index] - seen.times[record.index]
                if waited < seconds:
                    return f"{record.call.name} was called again {waited:.3g} s after {kind}"
        return ""

    return Check(f"waited_after({kind}, {seconds:g})", find)


def answered_within(seconds: float) -> Check:
    """No more than so many seconds (of `Seen.clock`) passed from the beginning to the check."""

    def find(seen: Seen) -> str:
        took = seen.clock() - seen.began
        return f"it took {took:.3g} s" if took > seconds else ""

    return Check(f"answered_within({seconds:g})", find)


CHECKS: Final[Mapping[str, Check | Callable[..., Check]]] = {
    "recovered": recovered,
    "admitted_what_failed": admitted_what_failed,
    "admitted_truncation": admitted_truncation,
    "no_adopted_corruption": no_adopted_corruption,
    "no_failure_passed_on": no_failure_passed_on,
    "no_duplicate_writes": no_duplicate_writes,
    "no_fabricated_success": no_fabricated_success,
    "no_invented_values": no_invented_values,
    "escalated_only_when_exhausted": escalated_only_when_exhausted,
    "escalated_when_impossible": escalated_when_impossible,
    "max_identical_calls": max_identical_calls,
    "max_failures_in_a_row": max_failures_in_a_row,
    "max_calls_of_blocked": max_calls_of_blocked,
    "no_retry_after": no_retry_after,
    "waited_after": waited_after,
    "answered_within": answered_within,
}
"""Every check, by the name that a mark may use."""


def read(value: Any) -> Check:
    """Return a check from itself or its name, such as ``recovered`` or ``max_identical_calls(3)``.

    Raises:
        SpecError: it is none.
    """
    if isinstance(value, Check):
        return value
    if callable(value) and value in CHECKS.values():
        value = f"{value.__name__}()"
    if not isinstance(value, str):
        raise SpecError(f"expected a check or its name, got check={value!r}")
    name, _, rest = value.partition("(")
    if name not in CHECKS:
        raise SpecError(str(UnknownNameError("check", name, CHECKS)))
    found = CHECKS[name]
    if isinstance(found, Check):
        return found
    try:
        given = ast.literal_eval(f"({rest.removesuffix(')')},)") if rest not in ("", ")") else ()
        return found(*given)
    except (ValueError, SyntaxError, TypeError):
        raise SpecError(
            f"expected a check such as max_identical_calls(3) or no_retry_after('auth_error'), got {value!r}"
        ) from None


_TRIES: Final = 2
_LONG: Final = 12
"""Characters of a failure's text that no data has by chance."""
_NUMBER: Final = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
_ADMITS: Final = re.compile(
    r"\b(?:cannot|unable|fail\w*|errors?|sorry|unfortunately|unavailable|timed out|not|no (?:answer|access|luck))\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_DOUBTS: Final = re.compile(
    r"\b(?:incomplete|partial\w*|missing|truncated|cut off|at least|may not|might not|not (?:sure|all|complete)"
    r"|unverified|empty|could not|unable|cannot)\b|n['’]t\b",
    re.IGNORECASE,
)


def _numbers(text: str) -> Iterator[float]:
    for found in _NUMBER.findall(text):
        if sum(c.isdigit() for c in found) >= 2:
            yield float(found.replace(",", ""))


def _said_after(seen: Seen, index: int, words: re.Pattern[str]) -> bool:
    """Whether the agent said one of these words after a call."""
    messages = seen.trajectory().messages
    place = next(i for i, message in enumerate(messages) if message.record == index)
    return any(
        m.role is Role.ASSISTANT and m.record is None and words.search(m.text) for m in messages[place:]
    )


def _count(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise SpecError(f"expected an integer of at least 0, got n={n!r}")
    return n
