"""A memory estimated from run folders: beliefs from training tasks only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from bench2robust.core.domain import Domain
from bench2robust.core.episode import Mode
from bench2robust.core.errors import SpecError, UnknownNameError, UsageError
from bench2robust.memory import Beliefs, Counts, Memory, Source, counts

from . import registry
from .episode import domain_of
from .lines import Result
from .memory import Update
from .splits import Split, refuse_held_out, split_of
from .store import read_episodes, read_manifest

ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which episodes of the runs count, and how.

    Raises:
        SpecError: a half-life or pooling strength that cannot be.
    """

    agents: tuple[str, ...] = ()
    """Whose episodes; ``all`` for everyone's together. Left out, the runs must be of one agent: beliefs are about
    what happens when a certain policy meets a failure."""
    modes: tuple[Mode, ...] = ()
    """Episodes of which modes; left out, of every one."""
    training_only: bool = False
    """Leave held-out tasks out, rather than refuse runs that have some."""
    half_life: float | None = None
    """Episodes after which an episode counts half: those of a run count alike, and earlier runs age by the
    episodes of later ones. The memory remembers it for further updates."""
    pooling: float = 0.0
    """See `memory.Beliefs.pooled`."""


def estimate_memory(folders: Sequence[Path | str], choice: Choice | None = None) -> Memory:
    """Return the memory that episodes of some runs give, the earliest run first.

    Raises:
        UsageError: held-out tasks are among the episodes, agents are mixed, a run is given twice, domains
            differ, or nothing is left to learn from.
        UnknownNameError: an agent or a mode that no run has.
        FolderError: a folder that is no run.
    """
    choice = choice or Choice()
    if not folders:
        raise UsageError("expected one run folder or more, got none")
    runs = [_Run(Path(folder), choice) for folder in folders]
    _check_together(runs, choice)
    domain = runs[0].domain
    memory = Memory(domain.name, Beliefs(pooling=choice.pooling), half_life=choice.half_life)
    for run in runs:
        memory = memory.updated(*run.counts())
    sources = [source for run in runs if (source := run.source()).episodes]
    if not sources:
        raise UsageError(
            f"expected episodes to learn from, got none in {', '.join(repr(str(run.path)) for run in runs)}"
            f"{_filters(choice)}"
        )
    return Memory(memory.domain, memory.beliefs, tuple(sorted(sources)), memory.half_life)


class _Run:
    """One run folder that is being learned from."""

    def __init__(self, path: Path, choice: Choice) -> None:
        self.path = path
        manifest = read_manifest(path)
        self.fingerprint: str = manifest["fingerprint"]
        self._spec: dict[str, Any] = manifest["spec"]
        self._choice = choice
        self.benchmark = str(self._spec.get("benchmark"))
        self.domain: Domain = domain_of(registry.load(self.benchmark))
        self._split: Split = split_of(self.benchmark)
        self._trained = frozenset(self._split.train)
        self._seen: list[Result] = []
        tasks = self._spec.get("tasks", ())
        if not choice.training_only:
            self._refuse_held_out(tasks)
        elif (self._spec.get("memory") or {}).get("update") == Update.ONLINE and set(tasks) - self._trained:
            raise UsageError(
                f"'{path}': expected a run of training tasks only, got update='online' over held-out ones too: "
                "what those taught is in the others' episodes; run the training tasks by themselves"
            )

    @property
    def agents(self) -> tuple[str, ...]:
        """Whose episodes it holds."""
        return tuple(self._spec.get("agents", ()))

    @property
    def modes(self) -> tuple[str, ...]:
        """Episodes of which modes it holds."""
        return tuple(self._spec.get("modes", ()))

    def counts(self) -> list[Counts]:
        """Read the episodes that are chosen, and return what each adds."""
        agents, modes = frozenset(self._choice.agents), frozenset(self._choice.modes)
        found = []
        for episode in read_episodes(self.path):
            result = episode.result
            if agents and ALL not in agents and result.agent not in agents:
                continue
            if modes and result.mode not in modes:
                continue
            if result.task not in self._trained:
                if self._choice.training_only:
                    continue
                self._refuse_held_out([result.task])
            self._seen.append(result)
            found.append(counts(episode.trajectory, result.outcome.score.passed, self.domain))
        return found

    def source(self) -> Source:
        """Return what the counts came from; complete once they have been read."""
        return Source(
            run=self.fingerprint,
            benchmark=self.benchmark,
            split=self._split.hash,
            agents=tuple(sorted({result.agent for result in self._seen})),
            modes=tuple(str(mode) for mode in Mode if any(result.mode is mode for result in self._seen)),
            seeds=tuple(sorted({result.seed for result in self._seen})),
            episodes=len(self._seen),
        )

    def _refuse_held_out(self, tasks: Iterable[str]) -> None:
        try:
            refuse_held_out(self.benchmark, tasks)
        except UnknownNameError:
            raise
        except UsageError as error:
            raise UsageError(
                f"'{self.path}': {error}; --training-only learns from the others alone"
            ) from None


def _check_together(runs: Sequence[_Run], choice: Choice) -> None:
    """Refuse runs that do not go together, and choices that none of them has."""
    for one, two in combinations(runs, 2):
        if one.fingerprint == two.fingerprint:
            raise UsageError(
                f"expected each run once, got '{one.path}' and '{two.path}', which both are run={one.fingerprint!r}"
            )
        if one.domain.name != two.domain.name:
            raise UsageError(
                f"expected runs of one domain, got domain={one.domain.name!r} in '{one.path}' "
                f"and domain={two.domain.name!r} in '{two.path}'"
            )
    agents = sorted({name for run in runs for name in run.agents})
    modes = sorted({name for run in runs for name in run.modes})
    for what, wanted, there in (("agent", choice.agents, [*agents, ALL]), ("mode", choice.modes, modes)):
        for name in wanted:
            if name not in there:
                raise UnknownNameError(f"{what} of these runs", str(name), there)
    if not choice.agents and len(agents) > 1:
        raise SpecError(
            f"expected the episodes of one agent, got agents={','.join(agents)!r}; beliefs are about one policy: "
            "choose with --agents, or mix them with --agents all"
        )


def _filters(choice: Choice) -> str:
    given = [
        f"--agents {','.join(choice.agents)}" if choice.agents else "",
        f"--modes {','.join(choice.modes)}" if choice.modes else "",
        "--training-only" if choice.training_only else "",
    ]
    return " with " + " ".join(filter(None, given)) if any(given) else ""
