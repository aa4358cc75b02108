"""Run folders loaded as columns: a study is systems × modes × seeds × tasks, and what each episode shows.

>>> from bench2robust.evaluation.statistics import mean, paired
>>> from bench2robust.evaluation.study import Study
>>> study = Study.load(["runs/a", "better=runs/b"])           # doctest: +SKIP
>>> hard = study.select(mode="inject_alt", effective="s2")    # doctest: +SKIP
>>> mean(hard.select(system="retry").sample("passed"))        # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bench2robust.core.episode import Mode
from bench2robust.core.errors import B2RError, FolderError, UnknownNameError, UsageError
from bench2robust.measures import ERRORS, MOVES, SILENT_ERRORS, VISIBLE, RunFacts

from . import registry
from .columns import ENDS, MODES, SCENARIOS, Columns, read_columns
from .episode import domain_of
from .journal import read_lost
from .likeness import differences, parts
from .statistics import Sample
from .store import read_facts, read_manifest

Array = NDArray[Any]
_CODED: Final[Mapping[str, Sequence[str]]] = {
    "mode": MODES,
    "assigned": SCENARIOS,
    "effective": SCENARIOS,
    "realised": SCENARIOS,
    "ended": ENDS,
}
_TABLES: Final[Mapping[str, tuple[Sequence[str], ...]]] = {
    "met": (ERRORS,),
    "moves": (VISIBLE, MOVES),
    "adopted": (SILENT_ERRORS,),
}


@dataclass(frozen=True, eq=False)
class LoadedRun:
    """A run folder of a study."""

    folder: Path
    label: str
    """What the caller called it; empty where nothing."""
    manifest: Mapping[str, Any]
    facts: RunFacts
    episodes: int
    """How many are there."""
    warnings: tuple[str, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict)
    """Each agent of the run, and the study's system that it is."""

    @property
    def parts(self) -> dict[str, Any]:
        """The parts of its fingerprint (`likeness.parts`)."""
        return parts(self.manifest)


@dataclass(frozen=True, eq=False)
class Study:
    """Episodes of one or more runs, as columns of equal length.

    Columns are those of `columns.Columns.data`, and ``run``, ``system``, ``benchmark`` and ``intent``: places
    in the tuples here. A task is numbered by benchmark and id, so that equal numbers mean equal tasks.
    """

    runs: tuple[LoadedRun, ...]
    systems: tuple[str, ...]
    """Who acted: the agent, with its memory, and the run's name where that is needed to tell two apart."""
    benchmarks: tuple[str, ...]
    tasks: tuple[tuple[str, str], ...]
    """Benchmark and id of every task."""
    intents: tuple[str, ...]
    """Kinds of users; the first is empty, for tasks that do not say."""
    data: Mapping[str, Array]
    warnings: tuple[str, ...] = field(default=())
    """What a reader of any number from this should know."""

    @classmethod
    def load(
        cls,
        folders: Iterable[Path | str],
        *,
        force: bool = False,
        lenient: bool = False,
        may_differ: Collection[str] = (),
        workers: int | None = None,
    ) -> Study:
        """Load run folders, finished or not.

        Args:
            folders: each a path, or ``NAME=PATH`` to call its system NAME.
            force: whether unlike runs may stand side by side; then a warning says in what they differ.
            lenient: whether to leave out damaged lines; then a warning names them.
            may_differ: parts (`likeness.parts`) in which runs are meant to differ, such as ``benchmark``.
            workers: how many processes decode; None for one a processor.

        Raises:
            FolderError: no run folder, a damaged line, or a folder without episodes.
            UsageError: unlike runs, or a folder given twice.
        """
        named = [_named(folder) for folder in folders]
        if not named:
            raise UsageError("expected at least one run folder, got none")
        paths = Counter(path.resolve() for _, path in named)
        if (twice := next((p for p, count in paths.items() if count > 1), None)) is not None:
            raise UsageError(f"expected each run folder once, got folder='{twice}' twice")
        manifests = [read_manifest(path) for _, path in named]
        warnings = _check_alike(named, manifests, may_differ, force=force)
        loaded = [
            _load(label, path, manifest, lenient=lenient, workers=workers)
            for (label, path), manifest in zip(named, manifests, strict=True)
        ]
        return _joined([run for run, _ in loaded], [columns for _, columns in loaded], warnings)

    def __len__(self) -> int:
        return len(self.data["seed"])

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes there are episodes of, in the usual order."""
        return tuple(MODES[place] for place in np.unique(self.data["mode"]))

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds there are episodes of."""
        return tuple(np.unique(self.data["seed"]).tolist())

    @property
    def present(self) -> tuple[str, ...]:
        """The systems there are episodes of, in the study's order."""
        return tuple(self.systems[place] for place in np.unique(self.data["system"]))

    def column(self, name: str) -> Array:
        """Return a column.

        Args:
            name: one of `data`, or an entry of a table: ``met.timeout``, ``moves.auth_error.retry``, ``adopted.stale``;
                a table's name alone gives the whole of it.

        Raises:
            UnknownNameError: there is none of that name.
        """
        table, *path = name.split(".")
        values = self.data.get(table)
        tables = _TABLES.get(table, ())
        if values is not None and len(path) in (0, len(tables)):
            for names, entry in zip(tables, path, strict=False):
                if entry not in names:
                    raise UnknownNameError(table, entry, names)
                values = values[:, names.index(entry)]
            return values
        raise UnknownNameError("column", name, self.data)

    def select(self, **wanted: Any) -> Study:
        """Return the episodes whose columns have the wanted values.

        Args:
            **wanted: column to value, or to a collection of values of which one will do. Names stand for
                places: ``system="retry"``, ``mode=Mode.INJECT``, ``effective=("s1", "s2")``, ``realised=None``.

        Raises:
            UnknownNameError: a column or a name that there is not.
        """
        mask = np.ones(len(self), dtype=bool)
        for name, value in wanted.items():
            several = isinstance(value, Collection) and not isinstance(value, str)
            values = list(value) if several else [value]
            mask &= np.isin(self.column(name), [self._place(name, one) for one in values])
        return self.filter(mask)

    def filter(self, mask: ArrayLike) -> Study:
        """Return the episodes for which a mask, as long as the columns, is true."""
        chosen = np.asarray(mask, dtype=bool)
        data = {name: values[chosen] for name, values in self.data.items()}
        return Study(self.runs, self.systems, self.benchmarks, self.tasks, self.intents, data, self.warnings)

    def sample(self, value: str, per: str | None = None) -> Sample:
        """Return a column as a sample for statistics.

        Args:
            value: the column.
            per: the column to divide by, for ratios of counts (``recoveries`` per ``failures``).
        """
        weight = {} if per is None else {"weight": self.column(per)}
        return Sample(self.column("task"), self.column("seed"), self.column(value), **weight)

    def _place(self, column: str, value: Any) -> Any:
        names: Sequence[Any] | None = _CODED.get(column)
        if column in ("system", "benchmark", "intent"):
            names = {"system": self.systems, "benchmark": self.benchmarks, "intent": self.intents}[column]
        if names is None or isinstance(value, int):
            return value
        if value is None:
            return -1
        if value not in names:
            raise UnknownNameError(column, str(value), names)
        return list(names).index(value)


def _named(folder: Path | str) -> tuple[str, Path]:
    """Return the label and the path of ``NAME=PATH``, or of a path alone."""
    text = str(folder)
    label, equals, path = text.partition("=")
    if equals and label and "/" not in label and not Path(text).exists():
        return label, Path(path)
    return "", Path(text)


def _check_alike(
    named: Sequence[tuple[str, Path]],
    manifests: Sequence[Mapping[str, Any]],
    may_differ: Collection[str],
    *,
    force: bool,
) -> list[str]:
    """Refuse unlike runs; return warnings about what may mislead."""
    warnings = []
    for place, (_, path) in enumerate(named):
        for before in range(place):
            unlike = differences(manifests[before], manifests[place], may_differ)
            if unlike:
                text = (
                    f"'{named[before][1]}' and '{path}' are unlike runs: {'; '.join(map(str, unlike))} differ"
                )
                if not force:
                    raise UsageError(f"{text}; --force sets them side by side all the same")
                warnings.append(text)
    versions = {str(m["spec"].get("versions", {}).get("bench2robust")) for m in manifests}
    if len(versions) > 1:
        warnings.append(f"made by different versions of bench2robust: {', '.join(sorted(versions))}")
    if len({m.get("format") for m in manifests}) > 1:
        warnings.append("one is an older folder, which does not say all of what it ran on")
    seeds = [tuple(m["spec"].get("seeds", ())) for m in manifests]
    if len(set(map(frozenset, seeds))) > 1:
        shown = ", ".join(dict.fromkeys(",".join(map(str, each)) for each in seeds))
        warnings.append(f"the runs have different seeds ({shown}): their differences are less sure")
    return warnings


def _load(
    label: str, path: Path, manifest: Mapping[str, Any], *, lenient: bool, workers: int | None
) -> tuple[LoadedRun, Columns]:
    facts = read_facts(path) or _facts_of_benchmark(path, manifest)
    columns = read_columns(path, facts, lenient=lenient, workers=workers)
    if not len(columns):
        raise FolderError(f"expected episodes in '{path}', got none; finish the run first")
    warnings = []
    if columns.damaged:
        more = f" and {len(columns.damaged) - 1} more" if len(columns.damaged) > 1 else ""
        warnings.append(f"left out: {columns.damaged[0]}{more}")
    lost = len(read_lost(path))
    missing = manifest["episodes"] - len(columns) - len(columns.damaged) - lost
    if lost:
        warnings.append(f"'{path}': {lost:,} episodes lost to the endpoint are not counted")
    if missing > 0:
        warnings.append(f"'{path}': {missing:,} of {manifest['episodes']:,} episodes are missing")
    return LoadedRun(path, label, manifest, facts, len(columns), tuple(warnings)), columns


def _facts_of_benchmark(path: Path, manifest: Mapping[str, Any]) -> RunFacts:
    """Return the facts of a folder that does not hold them, from its benchmark."""
    spec = manifest["spec"]
    version = spec.get("versions", {}).get("benchmark")
    try:
        benchmark = registry.load(spec.get("benchmark", ""))
    except B2RError as error:
        raise FolderError(
            f"'{path}' was made by an older version, without the facts to measure it by, and its benchmark "
            f"cannot be loaded ({error})"
        ) from error
    if benchmark.version != version:
        raise FolderError(
            f"'{path}' was made by an older version, without the facts to measure it by, on version={version!r} of "
            f"its benchmark; version {benchmark.version!r} is installed: run it again"
        )
    wanted = set(spec.get("tasks", ()))
    tasks = [task for task in benchmark.tasks() if task.id in wanted]
    return RunFacts.of(benchmark.tools(alternatives=True), domain_of(benchmark), tasks)


def _joined(runs: Sequence[LoadedRun], columns: Sequence[Columns], warnings: Sequence[str]) -> Study:
    """Set runs side by side."""
    names = _system_names(runs, columns)
    systems = tuple(dict.fromkeys(name for each in names for name in each))
    benchmarks = tuple(dict.fromkeys(str(run.manifest["spec"]["benchmark"]) for run in runs))
    intents: dict[str, int] = {"": 0}
    tasks: dict[tuple[str, str], int] = {}
    parts: list[dict[str, Array]] = []
    for place, (run, part, called) in enumerate(zip(runs, columns, names, strict=True)):
        benchmark = str(run.manifest["spec"]["benchmark"])
        task = np.array([tasks.setdefault((benchmark, t), len(tasks)) for t in part.tasks], np.int64)
        said = [run.facts.intents.get(t, "") for t in part.tasks]
        intent = np.array([intents.setdefault(i, len(intents)) for i in said], np.int16)
        system = np.array([systems.index(name) for name in called], np.int16)
        own = part.data
        parts.append(
            {
                **own,
                "task": task[own["task"]],
                "intent": intent[own["task"]],
                "system": system[own["agent"]],
                "run": np.full(len(part), place, np.int16),
                "benchmark": np.full(len(part), benchmarks.index(benchmark), np.int16),
            }
        )
    data = {name: np.concatenate([p[name] for p in parts]) for name in parts[0] if name != "agent"}
    said_of_runs = [warning for run in runs for warning in run.warnings]
    known = [
        replace(run, systems=dict(zip(part.agents, called, strict=True)))
        for run, part, called in zip(runs, columns, names, strict=True)
    ]
    return Study(
        tuple(known), systems, benchmarks, tuple(tasks), tuple(intents), data, (*warnings, *said_of_runs)
    )


def _system_names(runs: Sequence[LoadedRun], columns: Sequence[Columns]) -> list[list[str]]:
    """Return what each agent of each run is called.

    Runs that hold different episodes of an agent, with the same memory, hold one system; where two hold the same
    episode they are two systems, told apart by the folders' names.
    """
    plain = [
        [_plain_name(run, agent, len(c.agents)) for agent in c.agents]
        for run, c in zip(runs, columns, strict=True)
    ]
    owners: dict[str, list[frozenset[Any]]] = {}
    for run, called in zip(runs, plain, strict=True):
        spec = run.manifest["spec"]
        cells = frozenset(product((spec["benchmark"],), spec["modes"], spec["seeds"]))
        for name in called:
            owners.setdefault(name, []).append(cells)
    clashing = {
        name
        for name, held in owners.items()
        if any(not one.isdisjoint(other) for one, other in combinations(held, 2))
    }
    short = _short_names([run.folder for run in runs])
    return [
        [f"{name} @ {short[place]}" if name in clashing else name for name in called]
        for place, called in enumerate(plain)
    ]


def _plain_name(run: LoadedRun, agent: str, agents: int) -> str:
    name = agent.removeprefix("chat:") + _memory(run.manifest["spec"].get("memory"))
    if not run.label:
        return name
    return run.label if agents == 1 else f"{run.label}: {name}"


def _memory(setting: Any) -> str:
    """Return how an agent with a memory differs in name from one without."""
    if not isinstance(setting, Mapping) or setting.get("variant") in (None, "none"):
        return ""
    usual = {"variant": "full", "delivery": "block", "update": "fixed"}
    said = [str(setting[key]) for key, value in usual.items() if setting.get(key, value) != value]
    return " + BTM" + (f" ({', '.join(said)})" if said else "")


def _short_names(folders: Sequence[Path]) -> list[str]:
    """Return the shortest ends of some paths that differ."""
    resolved = [folder.resolve() for folder in folders]
    depth = 1
    while len({p.parts[-depth:] for p in resolved}) < len(set(resolved)):
        depth += 1
    return ["/".join(p.parts[-depth:]) for p in resolved]
