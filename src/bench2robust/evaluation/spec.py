"""What a run is: benchmark, agents, modes, seeds, tasks, injection, scenarios.

A TOML file and the options of ``b2r run`` give the same mapping of settings, and `RunSpec.from_settings`
makes the same object of it::

    benchmark = "tau2-retail"
    agents = ["naive", "strategic"]
    modes = ["clean", "inject_alt"]
    seeds = 5                          # 0, 1, 2, 3, 4; or a list of seeds
    tasks = "0-9,13"                   # or "all", or a list of ids
    profile = "severe"                 # or moderate, mild, none, a file, or a table of probabilities
    clean-probability = 0.8
    budget = 5
    max-consecutive = 2
    effects = "observation"
    mix = "40/60/0"
    block = "random"
    max-steps = 100                    # 25 where an agent is a model (paper, Table 12)

The settings of models are those of `models`, those of a tool memory those of `memory`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench2robust import agents
from bench2robust.core.episode import Mode
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.injection import Effects, InjectionSpec, Limits, NoiseProfile, ScenarioSpec

from . import memory, models
from .memory import MemorySpec
from .models import Models, is_chat

SETTINGS = (
    "benchmark",
    "agents",
    "modes",
    "seeds",
    "tasks",
    "profile",
    "clean-probability",
    "budget",
    "max-consecutive",
    "effects",
    "mix",
    "block",
    "max-steps",
    *memory.SETTINGS,
    *models.SETTINGS,
)
ALL = "all"
_RANGE = re.compile(r"(\d+)-(\d+)")
_MOST_SEEDS = 100_000
_STEPS_OF_MODELS = 25


@dataclass(frozen=True, slots=True)
class RunSpec:
    """Everything that decides the results of a run.

    Raises:
        UnknownNameError: an agent that nobody knows.
        SpecError: something empty, given twice, or outside what it may be.
    """

    benchmark: str
    agents: tuple[str, ...] = agents.REFERENCE
    modes: tuple[Mode, ...] = tuple(Mode)
    seeds: tuple[int, ...] = tuple(range(5))
    tasks: tuple[str, ...] = (ALL,)
    """Task ids, ranges of numeric ids such as ``0-9``, or ``all``."""
    injection: InjectionSpec = field(default_factory=InjectionSpec)
    scenarios: ScenarioSpec = field(default_factory=ScenarioSpec)
    max_steps: int = 100
    """Assistant actions after which an episode ends."""
    models: Models = field(default_factory=Models)
    """How the agents that are models are asked, and who talks to them."""
    memory: MemorySpec | None = None
    """What the agents are told of a tool memory; None for nothing."""

    def __post_init__(self) -> None:
        for name in self.agents:
            if is_chat(name):
                self.models.of(name)
            else:
                agents.create(name)
        for what in ("agents", "modes", "seeds", "tasks"):
            values = getattr(self, what)
            if not values:
                raise SpecError(
                    f"expected at least one, got {what}=(); leave the setting out for the usual ones"
                )
            if what != "tasks" and len(set(values)) < len(values):
                raise SpecError(f"expected each once, got {what}={_joined(values)!r}")
        if any(not 0 <= seed < 2**63 for seed in self.seeds):
            raise SpecError(f"expected seeds from 0 to 2**63 - 1, got seeds={_joined(self.seeds)!r}")
        if isinstance(self.max_steps, bool) or not isinstance(self.max_steps, int) or self.max_steps < 1:
            raise SpecError(f"expected an integer of at least 1, got max-steps={self.max_steps!r}")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> RunSpec:
        """Return the spec that settings (`SETTINGS`) describe; a setting left out keeps its usual value.

        Raises:
            UnknownNameError: a setting, agent, mode or profile that nobody knows.
            SpecError: a value that cannot be, or no benchmark.
        """
        for key in settings:
            if key not in SETTINGS:
                raise UnknownNameError("setting", key, SETTINGS)
        if not isinstance(settings.get("benchmark"), str):
            raise SpecError(f"expected a benchmark's name, got benchmark={settings.get('benchmark')!r}")
        readers: dict[str, tuple[str, Callable[[Any], Any]]] = {
            "agents": ("agents", lambda value: _names("agents", value)),
            "modes": ("modes", lambda value: tuple(_mode(name) for name in _names("modes", value))),
            "seeds": ("seeds", read_seeds),
            "tasks": ("tasks", lambda value: _names("tasks", value)),
            "max-steps": ("max_steps", lambda value: value),
        }
        given = {name: read(settings[key]) for key, (name, read) in readers.items() if key in settings}
        names = given.get("agents", agents.REFERENCE)
        if any(map(is_chat, names)):
            given.setdefault("max_steps", _STEPS_OF_MODELS)
        else:
            _refuse_idle(settings)
        scenarios = {key: settings[key] for key in ("mix", "block") if key in settings}
        return cls(
            settings["benchmark"],
            injection=_injection(settings),
            scenarios=ScenarioSpec.from_dict(scenarios),
            models=Models.from_settings(settings, names),
            memory=MemorySpec.from_settings(settings),
            **given,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON values, for the manifest."""
        data = {
            "benchmark": self.benchmark,
            "agents": list(self.agents),
            "modes": [str(mode) for mode in self.modes],
            "seeds": list(self.seeds),
            "tasks": list(self.tasks),
            "injection": self.injection.to_dict(),
            "scenarios": self.scenarios.to_dict(),
            "max_steps": self.max_steps,
        }
        return (
            {**data, "models": self.models.to_dict(self.agents)} if any(map(is_chat, self.agents)) else data
        )


def read_settings(file: Path) -> dict[str, Any]:
    """Return the settings of a TOML file, in which ``max_steps`` is ``max-steps`` too.

    A profile file or a memory named there is looked for beside it. Why a profile was recommended (the table
    ``[recommendation]`` of ``b2r recommend``) is no setting.

    Raises:
        SpecError: no such file, or not TOML.
    """
    settings = {key.replace("_", "-"): value for key, value in _read(file).items()}
    settings.pop("recommendation", None)
    profile, memory_file = settings.get("profile"), settings.get("memory")
    if isinstance(profile, str) and _is_file_name(profile):
        settings["profile"] = str(file.parent / profile)
    if isinstance(memory_file, str):
        settings["memory"] = str(file.parent / memory_file)
    return settings


def read_seeds(value: Any) -> tuple[int, ...]:
    """Return the seeds of a count (``5``: 0 to 4), a list, or a text such as ``5``, ``3,7`` or ``10-14``.

    Raises:
        SpecError: anything else.
    """
    expected = f"expected a count such as 5, or a list such as 3,7 or 10-14, got seeds={value!r}"
    if isinstance(value, str):
        value = int(value) if value.strip().isdecimal() else _expanded(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= _MOST_SEEDS:
            raise SpecError(f"expected a count from 1 to {_MOST_SEEDS}, got seeds={value!r}")
        return tuple(range(value))
    if not isinstance(value, Sequence) or not value:
        raise SpecError(expected)
    if any(isinstance(seed, bool) or not isinstance(seed, int) for seed in value):
        raise SpecError(expected)
    return tuple(value)


def select(tasks: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the ids that a selection names, each once, in the benchmark's own order.

    Args:
        tasks: ids, ranges of numeric ids, or ``all``.
        known: every id of the benchmark.

    Raises:
        UnknownNameError: an id, or the end of a range, that the benchmark does not have.
    """
    there = set(known)
    chosen: set[str] = set()
    for name in tasks:
        if name in there:
            chosen.add(name)
        elif name == ALL:
            chosen |= there
        elif (ends := _RANGE.fullmatch(name)) and int(ends[1]) <= int(ends[2]):
            missing = next((end for end in ends.groups() if end not in there), None)
            if missing is not None:
                raise UnknownNameError("task", missing, known)
            chosen.update(
                id_ for id_ in known if id_.isdecimal() and int(ends[1]) <= int(id_) <= int(ends[2])
            )
        else:
            raise UnknownNameError("task", name, known)
    return tuple(id_ for id_ in known if id_ in chosen)


def _refuse_idle(settings: Mapping[str, Any]) -> None:
    """Refuse settings of models where there are none: whoever gives them expects them to do something."""
    idle = next((key for key in models.SETTINGS if key in settings), None)
    if idle is not None:
        raise SpecError(
            f"expected an agent that is a model, such as chat:MODEL, beside {idle}={settings[idle]!r}; add one to agents"
        )


def _expanded(text: str) -> list[int] | None:
    """Return the numbers of a text such as ``3,7`` or ``10-14``, or None."""
    seeds: list[int] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        ends = _RANGE.fullmatch(part)
        if ends and int(ends[1]) <= int(ends[2]) < int(ends[1]) + _MOST_SEEDS:
            seeds += range(int(ends[1]), int(ends[2]) + 1)
        elif part.isdecimal():
            seeds.append(int(part))
        else:
            return None
    return seeds


def _names(what: str, value: Any) -> tuple[str, ...]:
    """Return the names of ``a,b`` or of a list."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, Sequence) or not all(isinstance(name, str) for name in value):
        raise SpecError(f"expected names, as a list or separated by commas, got {what}={value!r}")
    return tuple(value)


def _mode(name: str) -> Mode:
    if name not in list(Mode):
        raise UnknownNameError("mode", name, list(Mode))
    return Mode(name)


def _injection(settings: Mapping[str, Any]) -> InjectionSpec:
    profile = _profile(settings.get("profile", "severe"))
    if "clean-probability" in settings:
        profile = profile.with_clean_probability(settings["clean-probability"])
    limits = {"budget": "budget", "max-consecutive": "max_consecutive"}
    given = {name: settings[key] for key, name in limits.items() if key in settings}
    effects = settings.get("effects", Effects.OBSERVATION)
    if effects not in list(Effects):
        raise UnknownNameError("effects", str(effects), list(Effects))
    return InjectionSpec(profile, Limits(**given), Effects(effects))


def _profile(value: Any) -> NoiseProfile:
    if isinstance(value, Mapping):
        return NoiseProfile.from_dict(value)
    if not isinstance(value, str):
        raise SpecError(f"expected a profile's name, a file or a table, got profile={value!r}")
    return NoiseProfile.from_dict(_read(Path(value))) if _is_file_name(value) else NoiseProfile.named(value)


def _is_file_name(text: str) -> bool:
    return text.endswith((".toml", ".json"))


def _read(file: Path) -> dict[str, Any]:
    """Return what a TOML or JSON file holds."""
    try:
        text = file.read_text(encoding="utf-8")
        data = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise SpecError(f"expected a file that can be read, got file='{file}' ({error.strerror})") from None
    except ValueError as error:
        kind = "JSON" if file.suffix == ".json" else "TOML"
        raise SpecError(f"expected {kind} in file='{file}' ({' '.join(str(error).split())})") from None
    if not isinstance(data, dict):
        raise SpecError(f"expected a table in file='{file}', got {type(data).__name__}")
    return data


def _joined(values: Iterable[object]) -> str:
    return ",".join(map(str, values))
