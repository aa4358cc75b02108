"""The installed bfcl-eval: where it is, what the multi-turn part needs, its API classes and its data.

The wheel's own dependency list is 6.4 GB (torch, transformers, …), most of it for parts that are not used
here. The multi-turn classes need the standard library and mpmath, so the wheel is installed without
dependencies. Only its API classes are imported: its executor calls ``eval`` on what a model says and keeps
every instance it ever made in a module's globals, and ``bfcl_eval.utils`` makes folders when imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from bench2robust.core.errors import BenchmarkError, NotInstalledError

WHEEL = "bfcl-eval==2026.3.23"
"""The pinned wheel, installed with ``--no-deps``."""

REQUIREMENTS: Mapping[str, str] = {"mpmath": "mpmath==1.3.0"}
"""Import name to requirement: what the API classes need, and nothing else."""

HINT = "run `b2r setup bfcl`"

_PACKAGE = "bfcl_eval"
_SOURCE = f"{_PACKAGE}.eval_checker.multi_turn_eval.func_source_code"
_VERSION = "BFCL_v4"

MODULES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""API class to its module, which is also the name of the file that documents it."""

STATELESS = frozenset({"MathAPI"})

_PADDING = 500
"""Characters or members of a text or list that is padding."""


class Category(StrEnum):
    """The four multi-turn categories, as the wheel's files name them."""

    BASE = "multi_turn_base"
    MISS_FUNC = "multi_turn_miss_func"
    MISS_PARAM = "multi_turn_miss_param"
    LONG_CONTEXT = "multi_turn_long_context"


def install_command(python: str) -> list[list[str]]:
    """Return the commands that put the pinned wheel into the environment of the interpreter `python`."""
    pip = [python, "-m", "pip", "install"]
    return [[*pip, *REQUIREMENTS.values()], [*pip, "--no-deps", WHEEL]]


@dataclass(frozen=True, slots=True)
class Status:
    """What is installed of BFCL."""

    distribution: str | None
    """``bfcl-eval``, or None when the package is not there."""
    version: str | None
    data: Path | None
    """Folder of the data, None when it is not where the wheel keeps it."""
    missing: tuple[str, ...]
    """Requirements that cannot be imported."""

    @property
    def ready(self) -> bool:
        """Whether the benchmark can run."""
        return self.distribution is not None and self.data is not None and not self.missing

    @property
    def pinned(self) -> bool:
        """Whether this is the version that the tests run against."""
        return f"{self.distribution}=={self.version}" == WHEEL


def status() -> Status:
    """Say what is installed, without importing any of it."""
    missing = tuple(req for name, req in REQUIREMENTS.items() if importlib.util.find_spec(name) is None)
    folder = _folder()
    if folder is None:
        return Status(None, None, None, missing)
    data = folder / "data"
    there = (data / "multi_turn_func_doc").is_dir()
    return Status(WHEEL.partition("==")[0], _version(), data if there else None, missing)


def require() -> Path:
    """Return the folder of the package, without importing it.

    Raises:
        NotInstalledError: it, or what it needs, is missing.
    """
    folder = _folder()
    if folder is None:
        raise NotInstalledError(f"expected BFCL, found no package name={_PACKAGE!r}; {HINT}")
    for name in REQUIREMENTS:
        if importlib.util.find_spec(name) is None:
            raise NotInstalledError(f"expected what BFCL needs, found no package name={name!r}; {HINT}")
    return folder


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a category and its ground truth, as the files hold them. Never change it."""

    id: str
    """Such as ``multi_turn_base_17``."""
    question: tuple[str, ...]
    """What the user says, turn by turn; empty where BFCL hands out functions instead."""
    config: Mapping[str, Any]
    """API class to its initial state."""
    classes: tuple[str, ...]
    gold: tuple[tuple[str, ...], ...]
    """The ground truth's calls as written, turn by turn."""
    excluded: frozenset[str]
    """Functions that the data holds out."""
    missed: Mapping[int, frozenset[str]]
    """Turn to the functions that exist only from that turn on."""

    @property
    def number(self) -> str:
        """The number at the end of the id, which the four categories share."""
        return self.id.rpartition("_")[2]

    @property
    def long_context(self) -> bool:
        """Whether the API classes pad their state and answers."""
        return self.id.startswith(Category.LONG_CONTEXT)


@cache
def entries(category: Category) -> tuple[Entry, ...]:
    """Read the 200 entries of a category.

    Raises:
        NotInstalledError: the wheel is missing.
        BenchmarkError: its data is missing, or is not what it should be.
    """
    name = f"{_VERSION}_{category}.json"
    lines, answers = _read(name), _read(f"possible_answer/{name}")
    try:
        gold = {line["id"]: line["ground_truth"] for line in answers}
        return tuple(_entry(line, gold[line["id"]]) for line in lines)
    except (KeyError, TypeError) as error:
        raise BenchmarkError(
            f"expected entries with ground truth in category='{category}', key {error} is missing; {HINT}"
        ) from error


@cache
def documents(api: str) -> tuple[Mapping[str, Any], ...]:
    """Read the function documents of an API class, in the file's order."""
    return tuple(_read(f"multi_turn_func_doc/{MODULES[api]}.json"))


@cache
def api_class(api: str) -> type[Any]:
    """Import an API class.

    Raises:
        NotInstalledError: the wheel, or what it needs, is missing.
    """
    require()
    found: type[Any] = getattr(importlib.import_module(f"{_SOURCE}.{MODULES[api]}"), api)
    return found


@cache
def padding() -> tuple[str | list[Any], ...]:
    """Return the long texts and lists with which the API classes pad their answers in long_context."""
    values = vars(importlib.import_module(f"{_SOURCE}.long_context")).values()
    return tuple(value for value in values if isinstance(value, str | list) and len(value) >= _PADDING)


def _entry(line: Mapping[str, Any], gold: Sequence[Sequence[str]]) -> Entry:
    missed = line.get("missed_function", {})
    return Entry(
        id=line["id"],
        question=tuple("\n".join(message["content"] for message in turn) for turn in line["question"]),
        config=line["initial_config"],
        classes=tuple(line["involved_classes"]),
        gold=tuple(map(tuple, gold)),
        excluded=frozenset(line.get("excluded_function", ())),
        missed={int(turn): frozenset(names) for turn, names in missed.items()},
    )


def _folder() -> Path | None:
    spec = importlib.util.find_spec(_PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def _version() -> str | None:
    import importlib.metadata  # 25 ms: only `status` needs it

    try:
        return importlib.metadata.version(WHEEL.partition("==")[0])
    except importlib.metadata.PackageNotFoundError:
        return None


def _read(name: str) -> list[Any]:
    """Read a file that is called ``.json`` and holds one JSON value a line."""
    path = require() / "data" / name
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise BenchmarkError(
            f"expected BFCL data in JSON lines at path='{path}' ({error}); {HINT}"
        ) from error
