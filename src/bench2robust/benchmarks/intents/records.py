"""3I-shaped tasks as records in τ²'s form, and as tasks.

A record is τ²'s own task JSON: τ²'s ``Task`` model validates it and ignores the one key that is ours::

    "bench2robust": {"source": "3i", "intent": "ambiguous",
                     "opening": "Hi. …",                            the user's first message
                     "answers": [{"asks": "order", "cues": ["which order", …], "text": "It is …"}],
                     "abandoned": {"name": "…", "arguments": {…}},  changing: what is not to be executed
                     "rule": "…", "forbidden": [{"name": "…", "arguments": {…}}]}  infeasible: what must not happen

The same is said in words in ``user_scenario``, for users that are language models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench2robust.benchmarks.tau2.benchmark import task_of
from bench2robust.core.episode import Answer, Script, Task
from bench2robust.core.tools import ToolCall

from .compose import Text

EXTRAS = "bench2robust"
GENERAL, AMBIGUOUS, CHANGING, INFEASIBLE = "general", "ambiguous", "changing", "infeasible"
INTENTS = (GENERAL, AMBIGUOUS, CHANGING, INFEASIBLE)


def record(
    task_id: str,
    domain: str,
    text: Text,
    calls: Sequence[ToolCall],
    tell: Sequence[str],
    extras: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a task in τ²'s form."""
    purpose = f"3I-shaped {domain} task, intent {extras['intent']}."
    more: dict[str, Any] = {"source": "3i", **extras}
    if text.opening:
        more["opening"] = text.opening
        more["answers"] = [reply.to_dict() for reply in text.replies]
    return {
        "id": task_id,
        "description": {"purpose": purpose, "relevant_policies": None, "notes": None},
        "user_scenario": text.scenario(domain),
        "initial_state": None,
        "evaluation_criteria": {
            "actions": actions(task_id, calls),
            "communicate_info": list(tell),
            "nl_assertions": None,
        },
        EXTRAS: more,
    }


def actions(task_id: str, calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Return gold actions in τ²'s form."""
    return [
        {"action_id": f"{task_id}_{n}", "name": call.name, "arguments": dict(call.arguments), "info": None}
        for n, call in enumerate(calls)
    ]


def call_of(data: Mapping[str, Any]) -> ToolCall:
    """Return a call that a record holds."""
    return ToolCall(data["name"], data["arguments"])


def canonical(call: ToolCall) -> str:
    """Return a call as text in which the order of items does not matter."""
    arguments = dict(call.arguments)
    if "new_item_ids" in arguments:
        arguments["pairs"] = sorted(
            zip(arguments.pop("item_ids"), arguments.pop("new_item_ids"), strict=True)
        )
    elif "item_ids" in arguments:
        arguments["item_ids"] = sorted(arguments["item_ids"])
    return ToolCall(call.name, arguments).signature()


def read_record(raw: Mapping[str, Any]) -> Task:
    """Return a record as a task with its script; source and intent stand in `Task.data`.

    Records of the authors' pipeline lack our extras: they are read as general tasks whose user says
    everything at once.

    Raises:
        KeyError, TypeError, BenchmarkError: not a record.
    """
    task = task_of(raw)
    extras: Mapping[str, Any] = raw.get(EXTRAS) or {}
    forbidden = _forbidden(raw)
    intent = extras.get("intent", INFEASIBLE if forbidden else GENERAL)
    data = {**raw, "source": extras.get("source", "3i"), "intent": intent, "forbidden": forbidden}
    if "opening" not in extras:
        return replace(task, data=data)
    answers = tuple(Answer(tuple(a["cues"]), a["text"]) for a in extras.get("answers", ()))
    return replace(task, data=data, script=Script(extras["opening"], answers))


def _forbidden(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls that must not happen, as ``name`` and ``arguments``; ours, and the authors' spelling."""
    extras: Mapping[str, Any] = raw.get(EXTRAS) or {}
    theirs = raw["evaluation_criteria"].get("actions_should_not_taken") or ()
    named = [{"name": a["tool_name"], "arguments": a.get("arguments") or {}} for a in theirs]
    return [*extras.get("forbidden", ()), *named]
