"""The paper's protocols as series of runs: which benchmarks, tasks, modes, seeds and memories a table was made with.

A protocol that tells agents of a memory first plays belief rollouts (the paper: the agent itself, on training tasks)
unless a memory is given. Where a setting of the paper's is overridden, `deviations` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench2robust import agents
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.memory import Memory

from . import registry
from .beliefs import Choice, estimate_memory
from .episode import domain_of
from .models import is_chat
from .series import Series
from .spec import RunSpec, select
from .splits import refuse_held_out, split_of
from .sweep import PAPER_CLEAN, PAPER_LIMITS, Grid, sweep

COMBINED: Final = "combined-retail"
BELIEF_SEEDS: Final = (1000, 1001, 1002)
"""Seeds of belief rollouts: never those of an evaluation."""
_THREE: Final = ("clean", "inject", "inject_alt")
_NO_MEMORY: Final[dict[str, str]] = {}
_FULL: Final = {"memory-variant": "full"}


@dataclass(frozen=True, slots=True)
class Protocol:
    """How one of the paper's tables was made."""

    table: str
    """What it is called here (`tables.catalogue.NAMES`)."""
    settings: Mapping[str, Any]
    """Modes and seeds."""
    benchmarks: tuple[str, ...] = (COMBINED,)
    held_out: bool = True
    """Held-out tasks only, where the benchmark has some."""
    memories: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: {"": _NO_MEMORY})
    """Name of a run to its memory settings."""
    grid: Grid | None = None
    """The severities; None for the usual one."""

    @property
    def told(self) -> bool:
        """Whether some run needs beliefs."""
        return any(memory.get("memory-variant", "static") != "static" for memory in self.memories.values())


_VARIANTS: Final = {
    "base": _NO_MEMORY,
    "dynamic": {"memory-variant": "dynamic"},
    "static": {"memory-variant": "static"},
    "shuffled": {"memory-variant": "shuffled"},
    "full": _FULL,
    "static-online": {"memory-variant": "static", "update": "online"},
    "shuffled-online": {"memory-variant": "shuffled", "update": "online"},
    "full-online": {"memory-variant": "full", "update": "online"},
}
PROTOCOLS: Final[Mapping[str, Protocol]] = {
    "table1": Protocol("main", {"modes": _THREE, "seeds": 5}, memories={"base": _NO_MEMORY, "btm": _FULL}),
    "table3": Protocol("btm", {"modes": ("inject",), "seeds": 1}, held_out=False, memories=_VARIANTS),
    "table5": Protocol(
        "gap",
        {"modes": ("clean", "inject"), "seeds": 1},
        ("tau2-retail", "tau2-airline", "tau2-telecom", "retail-3i", "airline-3i", "bfcl-multi-turn"),
        held_out=False,
    ),
    "table7": Protocol(
        "transfer",
        {"modes": ("inject",), "seeds": 1},
        ("bfcl-multi-turn", "airline-3i", "tau2-telecom"),
        held_out=False,
        memories={"base": _NO_MEMORY, "btm": _FULL},
    ),
    "table14": Protocol(
        "severity", {"modes": ("inject",), "seeds": [42]}, grid=Grid(PAPER_CLEAN, PAPER_LIMITS)
    ),
}
REFERENCE: Final = "reference"
NAMES: Final = (*PROTOCOLS, REFERENCE)


def protocol(name: str) -> Protocol:
    """Return the protocol of one of the paper's tables.

    Raises:
        UnknownNameError: no such table can be reproduced.
    """
    if name not in PROTOCOLS:
        raise UnknownNameError("table to reproduce", name, NAMES)
    return PROTOCOLS[name]


def evaluation_of(
    name: str, wanted: Protocol, settings: Mapping[str, Any], memories: Mapping[str, Memory | Path]
) -> Series:
    """Return the runs that a table is made of.

    Args:
        name: what the series is called.
        wanted: the protocol.
        settings: agents and how they are asked; settings of the protocol given here win.
        memories: the memory of each benchmark, where the protocol has any.

    Raises:
        UsageError: as `RunSpec.from_settings`.
        NotInstalledError: what a benchmark needs is not installed.
    """
    found: dict[str, RunSpec] = {}
    for benchmark in wanted.benchmarks:
        base = {**_protocol_settings(wanted, benchmark), **settings, "benchmark": benchmark}
        for label, memory in wanted.memories.items():
            full = {**base, **memory}
            if memory.get("memory-variant", "static") != "static":
                full["memory"] = memories[benchmark]
            parts = [benchmark] * (len(wanted.benchmarks) > 1) + [label] * bool(label)
            if wanted.grid is not None:
                runs = sweep(full, wanted.grid).runs
                found |= {"-".join((*parts, point)): spec for point, spec in runs.items()}
            else:
                found["-".join(parts) or "study"] = RunSpec.from_settings(full)
    return Series(name, found)


def beliefs_of(wanted: Protocol, settings: Mapping[str, Any], tasks: str | None = None) -> Series:
    """Return the belief rollouts of a protocol.

    They are each benchmark's training tasks, injected, with and without alternatives, on seeds of their own.

    Args:
        wanted: the protocol.
        settings: agents and how they are asked.
        tasks: which training tasks; None for all.

    Raises:
        SpecError: more than one agent: beliefs are about one.
        UsageError: as `RunSpec.from_settings`, or a task that is held out.
    """
    if len(settings["agents"]) != 1:
        raise SpecError(
            f"expected one agent where a memory is estimated, got agents={','.join(settings['agents'])!r}; "
            "give --memory FILE, or reproduce them one at a time"
        )
    plain = {key: value for key, value in settings.items() if key not in ("tasks", "seeds", "modes")}
    found = {}
    for benchmark in wanted.benchmarks:
        own = {
            **plain,
            "benchmark": benchmark,
            "modes": ("inject", "inject_alt"),
            "seeds": BELIEF_SEEDS,
            "tasks": tasks or list(split_of(benchmark).train),
        }
        spec = found[benchmark] = RunSpec.from_settings(own)
        known = [task.id for task in registry.load(benchmark).tasks()]
        refuse_held_out(benchmark, select(spec.tasks, known))
    return Series("beliefs", found)


def learned(folder: Path, benchmarks: Sequence[str]) -> dict[str, Memory]:
    """Return the memory of each benchmark, from the belief rollouts in a folder.

    Raises:
        UsageError: held-out tasks are among them, or nothing is there to learn from.
    """
    return {
        benchmark: estimate_memory([folder / benchmark], Choice(agents=("all",))) for benchmark in benchmarks
    }


def blank(benchmark: str) -> Memory:
    """Return a memory of a benchmark's domain that has seen nothing, for an estimate of what runs take."""
    return Memory(domain_of(registry.load(benchmark)).name)


def deviations(wanted: Protocol, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return in what settings are not the paper's."""
    ours = {"modes", "seeds", "tasks", "profile", "clean-probability", "budget", "max-consecutive", "mix"}
    found = [f"{key}={_short(settings[key])}" for key in sorted(ours & settings.keys())]
    if any(not is_chat(name) for name in settings["agents"]):
        found.append("reference policies in place of a model")
    if any(name.endswith("-3i") or name == COMBINED for name in wanted.benchmarks):
        found.append("3I-shaped tasks in place of Retail-3I and Airline-3I, whose files are not public")
    return tuple(found)


def _short(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _protocol_settings(wanted: Protocol, benchmark: str) -> dict[str, Any]:
    held_out = split_of(benchmark).held_out if wanted.held_out else ()
    settings = dict(wanted.settings)
    return {**settings, "tasks": list(held_out)} if held_out else settings


READER: Final = "reader"
"""The policy that knows of fallbacks only what a memory says."""


def reference_protocols() -> dict[str, tuple[Protocol, tuple[str, ...]]]:
    """Return the parts of the reference study: name to protocol and agents.

    ``study`` is every policy that follows a plan by itself, ``sweep`` the same over severities, and ``memory`` the
    policy that knows of fallbacks only what a memory says.
    """
    policies = (*agents.REFERENCE, *agents.INFORMED)
    held_out = Protocol("main", {"modes": _THREE, "seeds": 5})
    memories = Protocol("btm", {"modes": ("inject",), "seeds": 5}, memories=_VARIANTS)
    return {
        "study": (held_out, policies),
        "sweep": (PROTOCOLS["table14"], policies),
        "memory": (memories, (READER,)),
    }


def reference_tables() -> dict[str, str]:
    """Return the tables of the reference study, and of which part each is made."""
    apart = {"btm": "memory", "severity": "sweep"}
    names = ("main", "gap", "strategy", "btm", "errors", "transfer", "severity", "efficiency")
    return {name: apart.get(name, "study") for name in names}
