"""Reads domain files, and says exactly what is wrong with one that does not fit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from bench2robust.core.domain import Domain, EquivalenceClass, FieldRules, Side
from bench2robust.core.errors import DomainFileError, UnknownNameError

_KEYS: Final = (
    "name",
    "exempt",
    "tools",
    "classes",
    "needs",
    "granularity",
    "states",
    "responses",
    "constraints",
)
_TOOL_LISTS: Final = ("standard", "alternative")
_RESPONSE_KEYS: Final = ("tools", "critical", "state", "numeric", "enum")
_SEGMENT: Final = re.compile(r"\*|[^.*$]+")


def names() -> tuple[str, ...]:
    """Return the names of the domains that come with the package."""
    return tuple(sorted(f.name[:-5] for f in files(__package__).iterdir() if f.name.endswith(".toml")))


@cache
def load(name: str) -> Domain:
    """Return a domain that comes with the package.

    Raises:
        UnknownNameError: there is none of that name.
        DomainFileError: its file does not fit.
    """
    if name not in names():
        raise UnknownNameError("domain", name, names())
    file = f"{name}.toml"
    return _File(file).domain(files(__package__).joinpath(file).read_bytes())


def load_file(path: Path | str) -> Domain:
    """Return the domain that a TOML file describes.

    Raises:
        DomainFileError: the file cannot be read or does not fit; names file, key and the value found.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DomainFileError(str(path), "file", f"expected a readable file, got {error.strerror}") from error
    return _File(str(path)).domain(content)


class _File:
    """One domain file being read; every error names it."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._tools: tuple[str, ...] = ()

    def domain(self, content: bytes) -> Domain:
        """Check the whole file and return what it describes."""
        try:
            data = tomllib.loads(content.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise self._error("syntax", f"expected TOML, got an error: {error}") from error
        self._known(data, _KEYS, "key", "top level")
        name = data.get("name")
        if not isinstance(name, str) or not name:
            raise self._error("name", f"expected a name, got {name!r}")
        self._tools = self._tool_list(self._table(data, "tools"))
        exempt = frozenset(self._tool_names(data.get("exempt", []), "exempt"))
        classes = tuple(self._class(key, sides) for key, sides in self._table(data, "classes").items())
        for cls in classes:
            for tool in sorted(cls.tools & exempt):
                raise self._error(
                    f"classes.{cls.name}", f"expected tools that can be blocked, got exempt {tool!r}"
                )
        return Domain(
            name=name,
            classes=classes,
            needs=self._needs(self._table(data, "needs"), [cls.name for cls in classes]),
            granularity=self._granularity(self._table(data, "granularity")),
            fields=self._responses(self._table(data, "responses")),
            earlier=self._earlier(self._table(data, "states")),
            exempt=exempt,
            constraints=self._strings(data["constraints"], "constraints") if "constraints" in data else None,
            tools=self._tools,
        )

    def _error(self, key: str, problem: str) -> DomainFileError:
        return DomainFileError(self._file, key, problem)

    def _known(self, found: Iterable[str], known: Iterable[str], what: str, key: str) -> None:
        allowed = tuple(known)
        for name in found:
            if name not in allowed:
                raise self._error(key, str(UnknownNameError(what, name, allowed)))

    def _table(self, data: Mapping[str, Any], key: str) -> dict[str, Any]:
        value = data.get(key, {})
        if not isinstance(value, dict):
            raise self._error(key, f"expected a table, got {value!r}")
        return value

    def _strings(self, value: Any, key: str) -> tuple[str, ...]:
        """Return a list of different, non-empty strings."""
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self._error(key, f"expected a list of strings, got {value!r}")
        for i, item in enumerate(value):
            if item in value[:i]:
                raise self._error(key, f"expected each once, got {item!r} twice")
        return tuple(value)

    def _tool_list(self, lists: Mapping[str, Any]) -> tuple[str, ...]:
        self._known(lists, _TOOL_LISTS, "list of tools", "tools")
        tools = [tool for key, value in lists.items() for tool in self._strings(value, f"tools.{key}")]
        if not tools:
            raise self._error("tools", f"expected the names of the domain's tools, got {dict(lists)!r}")
        return self._strings(tools, "tools")

    def _tool_names(self, value: Any, key: str) -> tuple[str, ...]:
        tools = self._strings(value, key)
        self._known(tools, self._tools, "tool", key)
        return tools

    def _class(self, name: str, sides: Any) -> EquivalenceClass:
        key = f"classes.{name}"
        if not isinstance(sides, dict):
            raise self._error(key, f"expected a table of sides, got {sides!r}")
        if len(sides) < 2:
            raise self._error(
                key, f"expected two or more sides, got {len(sides)}: {', '.join(sides) or 'none'}"
            )
        read = []
        for side, value in sides.items():
            tools = self._tool_names(value, f"{key}.{side}")
            if not tools:
                raise self._error(f"{key}.{side}", f"expected one tool or more, got {value!r}")
            read.append(Side(side, tools))
        return EquivalenceClass(name, tuple(read))

    def _needs(self, needs: Mapping[str, Any], classes: list[str]) -> dict[str, tuple[str, ...]]:
        self._known(needs, self._tools, "tool", "needs")
        read = {tool: self._strings(value, f"needs.{tool}") for tool, value in needs.items()}
        for tool, needed in read.items():
            self._known(needed, classes, "equivalence class", f"needs.{tool}")
        return read

    def _granularity(self, notes: Mapping[str, Any]) -> dict[str, str]:
        self._known(notes, self._tools, "tool", "granularity")
        for tool, note in notes.items():
            if not isinstance(note, str) or not note:
                raise self._error(f"granularity.{tool}", f"expected a note, got {note!r}")
        return dict(notes)

    def _responses(self, responses: Mapping[str, Any]) -> dict[str, FieldRules]:
        fields: dict[str, FieldRules] = {}
        for name, response in responses.items():
            key = f"responses.{name}"
            if not isinstance(response, dict):
                raise self._error(key, f"expected a table, got {response!r}")
            self._known(response, _RESPONSE_KEYS, "key", key)
            rules = self._rules(response, key)
            for tool in self._tool_names(response.get("tools"), f"{key}.tools"):
                if tool in fields:
                    raise self._error(
                        f"{key}.tools", f"expected one response a tool, got {tool!r} in a second one"
                    )
                fields[tool] = rules
        return fields

    def _rules(self, response: Mapping[str, Any], key: str) -> FieldRules:
        patterns = {
            kind: self._patterns(response.get(kind, []), f"{key}.{kind}") for kind in _RESPONSE_KEYS[1:]
        }
        for pattern in patterns["critical"]:
            for kind in ("state", "enum"):
                for other in patterns[kind]:
                    if _overlap(pattern, other):
                        raise self._error(
                            f"{key}.critical",
                            f"expected fields that may be empty, got {pattern!r}, which is {kind} {other!r}",
                        )
        return FieldRules(patterns["critical"], patterns["state"], patterns["numeric"])

    def _patterns(self, value: Any, key: str) -> tuple[str, ...]:
        patterns = self._strings(value, key)
        for pattern in patterns:
            segments = pattern.split(".")
            if pattern != "$" and not all(_SEGMENT.fullmatch(s) and s == s.strip() for s in segments):
                raise self._error(key, f"expected dotted keys, '*' or '$' alone, got {pattern!r}")
        return patterns

    def _earlier(self, states: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """Return for every state the states before it, nearest first."""
        before = {state: self._strings(value, f"states.{state}") for state, value in states.items()}
        for state, direct in before.items():
            self._known(direct, before, "state", f"states.{state}")
        earlier = {}
        for state in before:
            found: dict[str, None] = {}
            reached = list(before[state])
            while reached:
                if state in reached:
                    raise self._error(
                        f"states.{state}", f"expected an order of states, got {state!r} before itself"
                    )
                found.update(dict.fromkeys(reached))
                reached = [b for s in reached for b in before[s] if b not in found]
            if found:
                earlier[state] = tuple(found)
        return earlier


def _overlap(a: str, b: str) -> bool:
    """Return whether two patterns can match the same place."""
    first, second = a.split("."), b.split(".")
    return len(first) == len(second) and all(
        x == y or "*" in (x, y) for x, y in zip(first, second, strict=True)
    )
