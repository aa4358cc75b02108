"""What every table needs of a study: who its systems are, and means as cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any, Final

import numpy as np

from bench2robust.core.episode import Mode
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.models import is_chat
from bench2robust.evaluation.statistics import Difference, Estimate, mean
from bench2robust.evaluation.study import Study

from .table import Cell

PERCENT: Final = 100.0


@dataclass(frozen=True, slots=True)
class Options:
    """How tables are made."""

    mode: Mode = Mode.INJECT
    """The injected mode of tables about one mode."""
    base: str = ""
    """The system that the others are compared with; empty for the first."""
    trained: frozenset[str] = frozenset()
    """Systems that were trained with a memory, as far as the caller knows (Train BTM)."""
    force: bool = False
    """Whether unlike runs may stand side by side."""
    lenient: bool = False
    """Whether damaged lines are left out."""


@dataclass(frozen=True, slots=True)
class Who:
    """One system of a study."""

    name: str
    agent: str
    """Its agent, as ``b2r run --agents`` takes it."""
    memory: Mapping[str, Any] | None
    """The memory setting of its runs' manifests; None where the agent is told nothing."""

    @property
    def told(self) -> bool:
        """Whether it is told of a memory (Infer BTM)."""
        return self.memory is not None

    def trained(self, options: Options) -> bool | None:
        """Whether it was trained with a memory; None where nobody has said."""
        if self.name in options.trained:
            return True
        return None if is_chat(self.agent) and not options.trained else False


def systems(study: Study) -> tuple[Who, ...]:
    """Return the systems that a study has episodes of, in its order."""
    return tuple(_who(study, name) for name in study.present)


def _who(study: Study, name: str) -> Who:
    place = study.systems.index(name)
    run = study.runs[int(study.data["run"][study.data["system"] == place][0])]
    agents = list(run.manifest["spec"]["agents"])
    inside = [agent for agent in agents if agent.removeprefix("chat:") in name]
    agent = max(inside, key=len) if inside else agents[0]  # a label stands for the one agent of its run
    memory = run.manifest["spec"].get("memory")
    told = isinstance(memory, Mapping) and memory.get("variant") not in (None, "none")
    return Who(name, agent, memory if told else None)


def check_options(study: Study, options: Options) -> None:
    """Refuse options that name systems nobody has.

    Raises:
        UnknownNameError: with a suggestion.
    """
    for name in (*options.trained, *filter(None, [options.base])):
        if name not in study.present:
            raise UnknownNameError("system", name, study.present)


def based(found: tuple[Who, ...], options: Options) -> tuple[Who, ...]:
    """Return systems with the base first."""
    return tuple(sorted(found, key=lambda who: who.name != options.base)) if options.base else found


def need(study: Study, table: str, modes: Collection[Mode]) -> None:
    """Refuse a study that lacks a mode.

    Raises:
        UsageError: it names the modes that are missing.
    """
    missing = [mode for mode in modes if mode not in study.modes]
    if missing:
        raise UsageError(
            f"expected modes {', '.join(modes)} for table={table!r}, got {', '.join(study.modes)}; "
            f"run --modes {','.join(missing)} too"
        )


def rate(study: Study, column: str = "passed") -> Cell:
    """Return the mean of a column of shares in percent."""
    return of_estimate(mean(study.sample(column)), PERCENT)


def average(study: Study, column: str) -> Cell:
    """Return the mean of a column of counts."""
    return of_estimate(mean(study.sample(column)))


def tokens(study: Study) -> Cell:
    """Return the mean tokens of an episode; nothing where no model was asked."""
    return average(study, "tokens") if np.any(study.data["tokens"]) else Cell()


def of_estimate(estimate: Estimate, factor: float = 1.0) -> Cell:
    """Return an estimate as a cell; nothing where there is no episode."""
    if not estimate.n or isnan(estimate.mean):
        return Cell()
    std = None if estimate.std is None else factor * estimate.std
    return Cell(factor * estimate.mean, std, factor * estimate.low, factor * estimate.high, estimate.n)


def of_difference(difference: Difference) -> Cell:
    """Return a difference of rates in points; nothing where there is no pair."""
    if not difference.n or isnan(difference.mean):
        return Cell()
    return Cell(
        PERCENT * difference.mean,
        None,
        PERCENT * difference.low,
        PERCENT * difference.high,
        difference.n,
    )


def gap(a: Cell, b: Cell) -> Cell:
    """Return how much `b` is above `a`, as the paper has it: the difference of two printed means."""
    if isinstance(a.value, int | float) and isinstance(b.value, int | float):
        return Cell(b.value - a.value)
    return Cell()


def counted(study: Study) -> str:
    """Return what a study holds, for a title: benchmark, tasks, seeds."""
    tasks = np.unique(study.data["task"])
    names = ", ".join(dict.fromkeys(study.tasks[place][0] for place in tasks))
    seeds = len(study.seeds)
    return f"{names}, {len(tasks):,} tasks, {seeds} seed{'s' if seeds != 1 else ''}"


def notes(study: Study, *more: str) -> tuple[str, ...]:
    """Return the notes below a table: how to read it, then what warns."""
    return (*filter(None, more), *(f"warning: {text}" for text in warned(study)))


def warned(study: Study) -> Iterable[str]:
    """Return a study's warnings, each once, and one of few tasks."""
    few = mean(study.sample("passed")).warnings
    return dict.fromkeys((*study.warnings, *few))
