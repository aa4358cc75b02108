"""The user of a telecom episode: does on the phone what the assistant names, and tells what it shows."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from bench2robust.core.episode import Script
from bench2robust.core.tools import ToolCall, ToolResponse

NOTHING_TO_ADD = "That is all I can tell you. Please go on."
_LIKE_THIS = "Please write what I should do as a call, for example {}()."

Parameters = Mapping[str, tuple[str, ...]]
"""The user's tools, and the names of their parameters in order."""


class PhoneUser:
    """A scripted user with a phone (`core.ports.User`).

    A message that names actions as calls, ``toggle_data()`` or
    ``grant_app_permission(app_name="messaging", permission="sms")``, has them done in that order, each
    as often as it is written; the reply is what each showed, nothing else. Arguments may also be one
    JSON object, as `ToolCall.signature` writes them. A tool that is only mentioned is not used: the
    user asks for a call. Otherwise the script answers: each of its answers once, when asked.

    Args:
        script: what the user says, and when.
        tools: the user's tools.
        act: does a call on the phone.
    """

    def __init__(self, script: Script, tools: Parameters, act: Callable[[ToolCall], ToolResponse]) -> None:
        self._opening = script.opening
        self._answers = list(script.answers)
        self._tools = tools
        self._act = act

    def reply(self, said: str | None) -> str:
        """Do what is asked, or answer; None asks for the first message."""
        if said is None:
            return self._opening
        shown = [self._do(name, text) for name, text in written_calls(said, self._tools)]
        if shown:
            return "\n".join(shown)
        low = said.lower()
        asked = [answer for answer in self._answers if any(cue.lower() in low for cue in answer.cues)]
        if asked:
            self._answers = [answer for answer in self._answers if answer not in asked]
            return " ".join(answer.text for answer in asked)
        named = next((name for name in self._tools if re.search(rf"\b{name}\b", said)), None)
        return _LIKE_THIS.format(named) if named else NOTHING_TO_ADD

    def _do(self, name: str, text: str) -> str:
        arguments = read_arguments(text, self._tools[name])
        if arguments is None:
            return f"{name}: I do not understand ({text})."
        return f"{name}: {self._act(ToolCall(name, arguments)).text}"


def written_calls(text: str, tools: Parameters) -> list[tuple[str, str]]:
    """Return every call of a tool that a text writes out, with the text between its parentheses.

    >>> written_calls("Run check() and set(mode='a(b)'), not other().", {"check": (), "set": ("mode",)})
    [('check', ''), ('set', "mode='a(b)'")]
    """
    found, free = [], 0
    for match in re.finditer(r"\b([a-z_]+)\(", text):
        if match[1] not in tools or match.start() < free:
            continue
        end = _closing(text, match.end())
        if end >= 0:
            found.append((match[1], text[match.end() : end].strip()))
            free = end
    return found


def _closing(text: str, start: int) -> int:
    """Return the place of the parenthesis that closes the one before `start`, or -1; quoted ones do not count."""
    depth, quote, escaped = 1, "", False
    for place in range(start, len(text)):
        char = text[place]
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in "'\"":
            quote = char
        else:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if depth == 0:
                return place
    return -1


def read_arguments(text: str, parameters: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the arguments that are written between the parentheses of a call, None where they are unclear.

    >>> read_arguments("'messaging', permission='sms'", ("app_name", "permission"))
    {'app_name': 'messaging', 'permission': 'sms'}
    >>> read_arguments('{"mode": "4g_only"}', ("mode",))
    {'mode': '4g_only'}
    >>> read_arguments("mode: 4g_only", ("mode",)) is None
    True
    """
    if not text:
        return {}
    try:
        whole = json.loads(text)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and whole.keys() <= set(parameters):
        return whole
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or len(call.args) > len(parameters):
            return None
        given = {name: ast.literal_eval(value) for name, value in zip(parameters, call.args, strict=False)}
        return given | {key.arg: ast.literal_eval(key.value) for key in call.keywords if key.arg}
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
