"""One episode as one line of JSON, and back.

Keys whose value is the usual one are left out; `decode` puts them back. A line looks like this::

    {"id": "13:naive:inject_alt:0", "task": "13", "agent": "naive", "mode": "inject_alt", "seed": 0,
     "assignment": {"assigned": "s2", "effective": "s2", "class": "order", "side": "…", "blocked": ["…"]},
     "outcome": {"passed": true, "parts": {"database": true}, "escalation": "none", "steps": 5, "calls": 4,
                 "injections": 1, "blocked_calls": 0, "blind_repeats": 0},
     "ended": "done", "messages": [["user", "…"], ["call", 0], ["assistant", "…"]],
     "usage": {"agent": {"requests": 3, "prompt_tokens": 9000, "completion_tokens": 80, "cost": 0.01},
               "user": {…}, "messages": [[1, 1, 2900, 30, 0.003], …]},
     "calls": [{"tool": "…", "arguments": {}, "ordinal": 0, "executed": true, "drawn": "timeout",
                "noise": "timeout", "landed": true, "delivered": "…", "error": true, "true": "…"}]}

``["call", n]`` in `messages` stands for the assistant's call n and the tool's answer to it (a third item is
what a model wrote beside the call), and
``["user_call", {"tool": "…", "arguments": {}, "answer": "…"}]`` for a call that the user made.
In `calls`: `executed` says whether the real tool ran; `true` is what it answered, left out where that
equals `delivered`; `error` says that the agent saw an error, `genuine_error` that the tool itself
answered with one; `drawn`, `noise`, `landed`, `blocked`, `withheld` and `corrupted` are those of
`core.tools.CallRecord` (no `noise` means clean, no `drawn` means that nothing was drawn); `note` is
the live recovery note that the agent read behind `delivered`, left out where there was none.
`usage` is there when a model was asked: the sums of agent and user, and for each message that a model
wrote its place (tools' answers counted), requests, prompt tokens, completion tokens and cost. Waiting
times are not in a line: equal runs have equal lines.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bench2robust.core.episode import (
    Assignment,
    Escalation,
    Message,
    Mode,
    Outcome,
    Role,
    Scenario,
    Score,
    Trajectory,
    Usage,
)
from bench2robust.core.errors import AgentError
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import CallRecord, CorruptedField, ToolCall, ToolResponse

T = TypeVar("T")
_CALL = "call"
_LARGEST_COUNT = 2**31 - 1
_LARGEST_SEED = 2**63 - 1
_USER_CALL = "user_call"


@dataclass(frozen=True, slots=True)
class Result:
    """Who played which episode, and how it ended."""

    task: str
    agent: str
    mode: Mode
    seed: int
    assignment: Assignment
    outcome: Outcome
    usage: Usage | None = None
    """What the agent's model was asked for; None for an agent without one."""
    user_usage: Usage | None = None
    """The same for the user."""

    @property
    def spent(self) -> Usage | None:
        """What all models of the episode together were asked for; None where none was asked."""
        if self.usage is None or self.user_usage is None:
            return self.usage or self.user_usage
        return self.usage + self.user_usage

    @property
    def id(self) -> str:
        """``TASK:AGENT:MODE:SEED``."""
        return episode_id(self.task, self.agent, self.mode, self.seed)


def episode_id(task: str, agent: str, mode: str, seed: int) -> str:
    """Return the id of an episode, ``TASK:AGENT:MODE:SEED``."""
    return f"{task}:{agent}:{mode}:{seed}"


@dataclass(frozen=True, slots=True)
class Episode:
    """A result and what led to it."""

    result: Result
    trajectory: Trajectory


def encode(episode: Episode) -> bytes:
    """Return the episode as one line, newline included; equal episodes give equal bytes.

    Raises:
        AgentError: an argument of a call is not JSON.
    """
    result, trajectory = episode.result, episode.trajectory
    line: dict[str, Any] = {
        "id": result.id,
        "task": result.task,
        "agent": result.agent,
        "mode": result.mode,
        "seed": result.seed,
        "assignment": _assignment(result.assignment),
        "outcome": _outcome(result.outcome),
        "ended": trajectory.ended,
        "messages": [_message(m) for m in trajectory.messages if m.role is not Role.TOOL],
    }
    if result.usage is not None or result.user_usage is not None:
        line["usage"] = _usages(result, trajectory.messages)
    line["calls"] = [_record(record) for record in trajectory.records]
    try:
        return json.dumps(line, separators=(",", ":")).encode() + b"\n"
    except (TypeError, ValueError) as error:
        raise AgentError(
            f"agent={result.agent!r} gave a call arguments that are not JSON ({error})"
        ) from error


def decode(line: bytes | str) -> Episode:
    """Return the episode of a line.

    Raises:
        ValueError: the line is not JSON, or not an episode.
    """
    data = _parsed(line)
    try:
        result = _read_result(data)
        records = [_read_record(index, call) for index, call in enumerate(data["calls"])]
        messages = [m for role, *what in data["messages"] for m in _read_messages(role, what, records)]
        for place, *spent in data.get("usage", {}).get("messages", ()):
            messages[place].usage = Usage(*spent)
        return Episode(result, Trajectory(messages, records, result.outcome.steps, data["ended"]))
    except (KeyError, TypeError, IndexError) as error:
        raise _not_an_episode(error) from error


def decode_result(line: bytes | str) -> Result:
    """Return the result of a line, without the trajectory.

    Raises:
        ValueError: the line is not JSON, or not an episode.
    """
    data = _parsed(line)
    try:
        return _read_result(data)
    except (KeyError, TypeError) as error:
        raise _not_an_episode(error) from error


def _parsed(line: bytes | str) -> Any:
    try:
        return json.loads(line)
    except RecursionError as error:
        raise _not_an_episode(error) from None


def _not_an_episode(error: Exception) -> ValueError:
    return ValueError(f"not an episode ({type(error).__name__}: {error})")


def _read_result(data: Mapping[str, Any]) -> Result:
    return Result(
        task=_of_kind(str, data["task"]),
        agent=_of_kind(str, data["agent"]),
        mode=Mode(data["mode"]),
        seed=_count(data["seed"], most=_LARGEST_SEED),
        assignment=_read_assignment(data["assignment"]),
        outcome=_read_outcome(data["outcome"]),
        usage=_read_usage(data, "agent"),
        user_usage=_read_usage(data, "user"),
    )


def _of_kind(kind: type[T], value: Any) -> T:
    """Return a value as it is.

    Raises:
        TypeError: it is of another kind.
    """
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, got {str(value)[:40]!r}")
    return value


def _count(value: Any, most: int = _LARGEST_COUNT) -> int:
    """Return a whole number from 0 on.

    Raises:
        TypeError: it is none.
    """
    if type(value) is not int or not 0 <= value <= most:
        raise TypeError(f"expected an integer from 0 to {most}, got {str(value)[:40]!r}")
    return value


def _assignment(assignment: Assignment) -> dict[str, Any]:
    data: dict[str, Any] = {"assigned": assignment.assigned, "effective": assignment.effective}
    if assignment.equivalence:
        data["class"] = assignment.equivalence
    if assignment.side:
        data["side"] = assignment.side
    if assignment.blocked:
        data["blocked"] = sorted(assignment.blocked)
    return data


def _read_assignment(data: Mapping[str, Any]) -> Assignment:
    return Assignment(
        assigned=Scenario(data["assigned"]),
        effective=Scenario(data["effective"]),
        blocked=frozenset(data.get("blocked", ())),
        equivalence=data.get("class", ""),
        side=data.get("side", ""),
    )


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "passed": outcome.score.passed,
        "parts": dict(outcome.score.parts),
        "escalation": outcome.escalation,
        "steps": outcome.steps,
        "calls": outcome.calls,
        "injections": outcome.injections,
        "blocked_calls": outcome.blocked_calls,
        "blind_repeats": outcome.blind_repeats,
    }


def _read_outcome(data: Mapping[str, Any]) -> Outcome:
    return Outcome(
        score=Score(_of_kind(bool, data["passed"]), data["parts"]),
        escalation=Escalation(data["escalation"]),
        steps=_count(data["steps"]),
        calls=_count(data["calls"]),
        injections=_count(data["injections"]),
        blocked_calls=_count(data["blocked_calls"]),
        blind_repeats=_count(data["blind_repeats"]),
    )


def _message(message: Message) -> tuple[Any, ...]:
    if message.record is not None:
        return (_CALL, message.record, message.text) if message.text else (_CALL, message.record)
    if (call := message.call) is not None:
        return (
            _USER_CALL,
            {"tool": call.name, "arguments": dict(call.arguments), "answer": message.text},
        )
    return (message.role, message.text)


def _read_messages(role: str, what: list[Any], records: list[CallRecord]) -> list[Message]:
    first, *rest = what
    if role == _USER_CALL:
        return [Message(Role.USER, first["answer"], call=ToolCall(first["tool"], first["arguments"]))]
    if role != _CALL:
        return [Message(Role(role), first)]
    answer = Message(Role.TOOL, records[_count(first)].shown, first)
    return [Message(Role.ASSISTANT, rest[0] if rest else "", first), answer]


def _usages(result: Result, messages: list[Message]) -> dict[str, Any]:
    sums = {
        who: {
            "requests": usage.requests,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost": usage.cost,
        }
        for who, usage in (("agent", result.usage), ("user", result.user_usage))
        if usage is not None
    }
    each = [
        [place, m.usage.requests, m.usage.prompt_tokens, m.usage.completion_tokens, m.usage.cost]
        for place, m in enumerate(messages)
        if m.usage is not None
    ]
    return {**sums, "messages": each}


def _read_usage(data: Mapping[str, Any], who: str) -> Usage | None:
    usage = data.get("usage", {}).get(who)
    return None if usage is None else Usage(**usage)


def _record(record: CallRecord) -> dict[str, Any]:
    data: dict[str, Any] = {
        "tool": record.call.name,
        "arguments": dict(record.call.arguments),
        "ordinal": record.ordinal,
        "executed": record.executed,
        "delivered": record.delivered.text,
    }
    if record.delivered.error:
        data["error"] = True
    if record.drawn is not None:
        data["drawn"] = record.drawn
    if record.landed:
        data["noise"] = record.noise
        data["landed"] = True
    if record.blocked:
        data["blocked"] = True
    if record.note:
        data["note"] = record.note
    if record.withheld is not None:
        data["withheld"] = record.withheld
    if record.genuine_error:
        data["genuine_error"] = True
    if record.true is not None and record.true.text != record.delivered.text:
        data["true"] = record.true.text
    if record.corrupted:
        data["corrupted"] = [
            {"path": c.path, "true": c.true, "delivered": c.delivered} for c in record.corrupted
        ]
    return data


def _read_record(index: int, data: Mapping[str, Any]) -> CallRecord:
    true = None
    if data["executed"]:
        true = ToolResponse(data.get("true", data["delivered"]), data.get("genuine_error", False))
    return CallRecord(
        index=index,
        call=ToolCall(data["tool"], data["arguments"]),
        ordinal=data["ordinal"],
        true=true,
        delivered=ToolResponse(data["delivered"], data.get("error", False)),
        drawn=NoiseType(data["drawn"]) if "drawn" in data else None,
        noise=NoiseType(data.get("noise", NoiseType.CLEAN)),
        blocked=data.get("blocked", False),
        withheld=data.get("withheld"),
        corrupted=tuple(
            CorruptedField(c["path"], c["true"], c["delivered"]) for c in data.get("corrupted", ())
        ),
        note=data.get("note", ""),
    )
