"""What has to hold of a task record before it becomes a task; each fault is one line that says where."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench2robust.core.schema import misfits
from bench2robust.core.tools import ToolSpec

from .compose import QUESTIONS
from .records import AMBIGUOUS, CHANGING, EXTRAS, INFEASIBLE, INTENTS

_SHOWN = 60
_DEEPEST = 60
"""Levels of nesting; a task has about six, and what reads one recursively has a limit."""
_NOT_IN_IDS = re.compile(r"[:/\\,\s]|^\.+$|^all$|^\d+-\d+$")
"""What separates ids on the command line and in run folders, and ids that mean something else there."""


_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which no file can hold."""


class Wrong(Exception):
    """What is wrong with one task."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the domain knows, that tasks have to agree with."""

    tools: Mapping[str, ToolSpec]
    ids: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Argument name to the ids that the database has for it, wherever in a call's arguments it stands."""
    rules: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Rule that an infeasible task may break, to the facts that it has to hold."""


def check_record(raw: Any, known: Known) -> None:
    """Check one record.

    Raises:
        Wrong: with the path of the key, what was expected and what came.
    """
    if too_deep(raw):
        raise Wrong(f"expected at most {_DEEPEST} levels of nesting, got more")
    _check_texts(raw)
    for path, kind in _NEEDED:
        _kind(_needed(raw, path), kind, ".".join(path))
    instructions = raw["user_scenario"]["instructions"]
    for key, value in instructions.items():
        if value is not None:
            _kind(value, str, f"user_scenario.instructions.{key}")
    _text(instructions["reason_for_call"], "user_scenario.instructions.reason_for_call")
    if raw.get("initial_state") is not None:
        raise Wrong("expected a task without initial_state, got one")
    criteria = raw["evaluation_criteria"]
    _check_basis(criteria)
    for place, value in enumerate(_several(criteria.get("communicate_info"), _TELL)):
        _text(value, f"{_TELL}.{place}")
    for place, action in enumerate(criteria["actions"]):
        _check_call(action, f"evaluation_criteria.actions.{place}", known)
    avoid = "evaluation_criteria.actions_should_not_taken"
    for place, action in enumerate(_several(criteria.get("actions_should_not_taken"), avoid)):
        _check_forbidden(action, "tool_name", f"{avoid}.{place}", known)
    extras = raw.get(EXTRAS)
    if extras is not None:
        _check_extras(_kind(extras, dict, EXTRAS), instructions, known)


def _check_texts(raw: Any) -> None:
    for path, text in _texts(raw):
        if _SURROGATE.search(text):
            raise Wrong(f"{path}: expected a text that can be written, got half a character in {shown(text)}")
    task_id = _kind(_needed(raw, ("id",)), str, "id")
    if not task_id or not task_id.isprintable() or _NOT_IN_IDS.search(task_id):
        raise Wrong(
            "id: expected a text without ':', '/', ',' and spaces that is no range of numbers, "
            f"got {shown(task_id)}"
        )


def _check_basis(criteria: Mapping[str, Any]) -> None:
    """Check that a task is judged by what is looked at here: the database, and what the user is told."""
    if _several(criteria.get("env_assertions"), "evaluation_criteria.env_assertions"):
        raise Wrong("evaluation_criteria.env_assertions: expected none (they are not scored here), got some")
    if criteria.get("reward_basis") is None:
        return
    basis = set(map(str, _several(criteria["reward_basis"], "evaluation_criteria.reward_basis")))
    needed = {"DB", "COMMUNICATE"} if criteria.get("communicate_info") else {"DB"}
    if not needed <= basis <= {"DB", "COMMUNICATE", "NL_ASSERTION"}:
        raise Wrong(
            "evaluation_criteria.reward_basis: expected DB and COMMUNICATE (nothing else is scored here), "
            f"got {shown(sorted(basis))}"
        )


def too_deep(value: Any) -> bool:
    """Whether a value is nested deeper than anything here reads."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def shown(value: Any) -> str:
    """Return a value for a message: JSON, cut where it is long."""
    text = "a deep nest" if too_deep(value) else json.dumps(value, ensure_ascii=False, default=str)
    text = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):x}", text)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


_SUBJECTS = frozenset(("order_id", "reservation_id"))
"""What an attempt that is to be refused has to name; it may leave out the rest."""
_TELL = "evaluation_criteria.communicate_info"
_NEEDED: tuple[tuple[tuple[str, ...], type], ...] = (
    (("id",), str),
    (("user_scenario", "instructions", "reason_for_call"), str),
    (("user_scenario", "instructions", "task_instructions"), str),
    (("evaluation_criteria", "actions"), list),
)
_KIND: Mapping[type, str] = {str: "a text", list: "a list", dict: "a table"}


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text in a value with where it stands, keys too."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield path, key
            yield from _texts(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _texts(inner, f"{path}.{place}")


def _inside(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _needed(raw: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(raw, dict) or key not in raw:
            raise Wrong(f"expected a key {'.'.join(path)!r}, found none")
        raw = raw[key]
    return raw


def _kind(value: Any, kind: type, path: str) -> Any:
    if not isinstance(value, kind):
        raise Wrong(f"{path}: expected {_KIND[kind]}, got {shown(value)}")
    return value


def _text(value: Any, path: str) -> None:
    if not _kind(value, str, path).strip():
        raise Wrong(f"{path}: expected words, got {shown(value)}")


def _several(value: Any, path: str) -> list[Any]:
    return [] if value is None else list(_kind(value, list, path))


def _key(table: Any, key: str, kind: type, path: str) -> Any:
    """Return what a table holds under a key that it has to have."""
    if key not in _kind(table, dict, path):
        raise Wrong(f"expected a key '{path}.{key}', found none")
    value = _kind(table[key], kind, f"{path}.{key}")
    if kind is str:
        _text(value, f"{path}.{key}")
    return value


def _tool(name: str, path: str, known: Known) -> ToolSpec:
    if name not in known.tools:
        close = difflib.get_close_matches(name, list(known.tools), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise Wrong(f"{path}: expected a tool of this domain, got tool={name!r}{hint}")
    return known.tools[name]


def _check_call(call: Any, path: str, known: Known, *, whole: bool = True) -> None:
    """Check a call; one that is not `whole` may lack arguments."""
    name = _key(call, "name", str, path)
    tool = _tool(name, path, known)
    arguments = call.get("arguments")
    if not isinstance(arguments, dict):
        raise Wrong(f"{path}: expected a table of arguments for tool={name!r}, got {shown(arguments)}")
    properties = tool.parameters.get("properties", {})
    for key, value in arguments.items():
        if key not in properties:
            raise Wrong(f"{path}: {name}: expected arguments {', '.join(properties)}, got {shown(key)}")
        _check_ids(key, value, f"{path}: {name}", known)
        for misfit in misfits(value, properties[key], tool.parameters, key):
            raise Wrong(f"{path}: {name}: {misfit}")
    for key in tool.parameters.get("required", ()) if whole else ():
        if key not in arguments:
            raise Wrong(f"{path}: {name}: expected an argument {key!r}, found none")


def _check_ids(key: str, value: Any, path: str, known: Known) -> None:
    """Check every id in a value, which is named by the key that it stands under, in a list or not."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict):
            for inner, item in one.items():
                _check_ids(inner, item, f"{path}: {key}", known)
        elif isinstance(one, list):
            _check_ids(key, one, path, known)
        elif key in known.ids and not (isinstance(one, str) and one in known.ids[key]):
            raise Wrong(f"{path}: expected an id that is in the database, got {key}={shown(one)}")


def _check_forbidden(call: Any, key: str, path: str, known: Known) -> None:
    """Check a call that must not happen: one that could, as else it never does. Any arguments may be left out."""
    name = _key(call, key, str, path)
    arguments = call.get("arguments")
    if arguments is None and key == "tool_name":
        arguments = {}
    _check_call({"name": name, "arguments": arguments}, path, known, whole=False)


def _check_extras(extras: Mapping[str, Any], instructions: Mapping[str, Any], known: Known) -> None:
    intent = extras.get("intent")
    if "intent" in extras and intent not in INTENTS:
        raise Wrong(f"{EXTRAS}.intent: expected one of {', '.join(INTENTS)}, got {shown(intent)}")
    if "source" in extras:
        _key(extras, "source", str, EXTRAS)
    if "opening" in extras or intent in (AMBIGUOUS, CHANGING):
        _check_script(extras, instructions, needs_answer=intent in (AMBIGUOUS, CHANGING))
    if intent == CHANGING:
        _check_call(_key(extras, "abandoned", dict, EXTRAS), f"{EXTRAS}.abandoned", known)
    if intent == INFEASIBLE or "attempt" in extras:
        _check_infeasible(extras, known)
    path = f"{EXTRAS}.forbidden"
    for place, call in enumerate(_several(extras.get("forbidden"), path)):
        _check_forbidden(call, "name", f"{path}.{place}", known)


def _check_script(extras: Mapping[str, Any], instructions: Mapping[str, Any], *, needs_answer: bool) -> None:
    _key(extras, "opening", str, EXTRAS)
    if not isinstance(instructions.get("known_info"), str):
        raise Wrong("expected a key 'user_scenario.instructions.known_info' with a text, found none")
    answers = _key(extras, "answers", list, EXTRAS)
    if needs_answer and not answers:
        raise Wrong(f"{EXTRAS}.answers: expected at least one answer, got []")
    for place, answer in enumerate(answers):
        path = f"{EXTRAS}.answers.{place}"
        asks = _key(answer, "asks", str, path)
        if asks not in QUESTIONS:
            raise Wrong(f"{path}.asks: expected one of {', '.join(QUESTIONS)}, got {shown(asks)}")
        _key(answer, "text", str, path)
        cues = _key(answer, "cues", list, path)
        for number, cue in enumerate(cues):
            _text(cue, f"{path}.cues.{number}")
        if not any(cue.lower() in QUESTIONS[asks].lower() for cue in cues):
            raise Wrong(f"{path}.cues: expected one that {QUESTIONS[asks]!r} holds, got {shown(cues)}")


def _check_infeasible(extras: Mapping[str, Any], known: Known) -> None:
    attempt = _key(extras, "attempt", dict, EXTRAS)
    _check_call(attempt, f"{EXTRAS}.attempt", known, whole=False)
    for key in _SUBJECTS & set(known.tools[attempt["name"]].parameters.get("required", ())):
        _key(attempt["arguments"], key, str, f"{EXTRAS}.attempt.arguments")
    user_id = _key(extras, "user_id", str, EXTRAS)
    _check_ids("user_id", user_id, EXTRAS, known)
    if not _key(extras, "forbidden", list, EXTRAS):
        raise Wrong(f"{EXTRAS}.forbidden: expected at least one call, got []")
    rule = _key(extras, "rule", str, EXTRAS)
    if rule not in known.rules:
        raise Wrong(f"{EXTRAS}.rule: expected one of {', '.join(known.rules)}, got {shown(rule)}")
    for key in known.rules[rule]:
        _key(extras, key, str, EXTRAS)
