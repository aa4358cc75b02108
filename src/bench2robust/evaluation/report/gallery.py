"""Three episodes as in the paper's Appendix K, each beside a weaker system on the same task, seed and draws.

The rules, so that nobody picks what suits them. The *good* episode is of the best system that has one, by pass rate
under injection with alternatives (the ceiling policy stays out); the *weak* one of a system with a lower rate:

- *retry*: nothing is blocked, a failing call was made again, no switch, passed; the weak one failed.
- *switch*: one side is blocked, the next move after a failure was a switch, passed; the weak one failed.
- *abstain*: nothing can work; the good one wrote nothing wrong, retried and switched, and then handed over. The weak one
  kept acting, best of all with a wrong write, or else handed over without trying.

Among those, the weakest system first, then the shortest good episode, then task and seed in order. No task is shown twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from bench2robust.core.episode import Mode, Scenario
from bench2robust.evaluation.lines import Episode, episode_id
from bench2robust.evaluation.store import read_episodes
from bench2robust.evaluation.study import LoadedRun, Study
from bench2robust.measures import MOVES, VISIBLE, Move, RunFacts

from .part import Shown, rate


class Strategy(StrEnum):
    """The right thing to do in a story."""

    RETRY = "retry"
    SWITCH = "switch"
    ABSTAIN = "abstain"


@dataclass(frozen=True, slots=True)
class Role:
    """Which episode is to be shown."""

    system: str
    """What the system is called here."""
    known_as: str
    """What the system is called in the study."""
    run: LoadedRun
    id: str
    """The episode's, in its run."""

    @property
    def place(self) -> tuple[Path, str]:
        """Where the episode is: run folder and id."""
        return self.run.folder, self.id


@dataclass(frozen=True, slots=True)
class Pick:
    """A story before its episodes are read."""

    strategy: Strategy
    good: Role
    weak: Role


@dataclass(frozen=True, slots=True)
class Performance:
    """An episode of a story."""

    role: Role
    episode: Episode

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return str(self.role.run.manifest["spec"]["benchmark"])

    @property
    def facts(self) -> RunFacts:
        """The facts of the episode's run."""
        return self.role.run.facts

    @property
    def name(self) -> str:
        """What the explorer calls the episode (``Data.name`` in data.js)."""
        result = self.episode.result
        return "~".join((self.benchmark, result.task, result.mode, str(result.seed), self.role.known_as))


@dataclass(frozen=True, slots=True)
class Story:
    """A strategy that works, beside a system that lacks it."""

    strategy: Strategy
    good: Performance
    weak: Performance

    @property
    def group(self) -> tuple[str, str, str, int]:
        """Benchmark, task, mode and seed."""
        result = self.good.episode.result
        return self.good.benchmark, result.task, str(result.mode), result.seed


def stories(shown: Shown) -> list[Story]:
    """Return up to three stories, in the order of `Strategy`; one that no episode fits is left out."""
    picks = pick(shown)
    wanted = {role.place for one in picks for role in (one.good, one.weak)}
    episodes = {
        (run.folder, episode.result.id): episode
        for run in shown.study.runs
        for episode in read_episodes(run.folder, lenient=True)
        if (run.folder, episode.result.id) in wanted
    }
    return performed(picks, episodes)


def performed(picks: Sequence[Pick], episodes: Mapping[tuple[Path, str], Episode]) -> list[Story]:
    """Return the stories of picks, given the episode at each `Role.place`."""
    return [
        Story(one.strategy, *(Performance(role, episodes[role.place]) for role in (one.good, one.weak)))
        for one in picks
    ]


def pick(shown: Shown) -> list[Pick]:
    """Return which episodes tell each story."""
    study = shown.study
    rates = {
        s: found.mean for s in shown.rivals if (found := rate(study.select(system=s, mode=Mode.INJECT_ALT)))
    }
    ranked = sorted(rates, key=lambda s: -rates[s])
    rows = _Rows(study)
    picks = []
    for strategy in Strategy:
        for place, good in enumerate(ranked):
            weaker = [s for s in ranked[place + 1 :] if rates[s] < rates[good]]
            if pair := rows.best(strategy, good, weaker[::-1]):
                picks.append(Pick(strategy, *(_role(shown, row) for row in pair)))
                rows.leave_out(pair[0])
                break
    return picks


def _role(shown: Shown, row: int) -> Role:
    study, data = shown.study, shown.study.data
    run, system = study.runs[int(data["run"][row])], study.systems[int(data["system"][row])]
    agent = next(agent for agent, name in run.systems.items() if name == system)
    task, mode = study.tasks[int(data["task"][row])][1], tuple(Mode)[int(data["mode"][row])]
    return Role(shown.names[system], system, run, episode_id(task, agent, mode, int(data["seed"][row])))


class _Rows:
    """The rows of a study under injection with alternatives, and which fit a story."""

    def __init__(self, study: Study) -> None:
        self.study = study
        column = study.column
        moves = np.asarray(study.data["moves"]).reshape(len(study), len(VISIBLE), len(MOVES)).sum(axis=1)
        self.moves = {move: moves[:, MOVES.index(move)] for move in Move}
        scenarios = list(Scenario)
        played = np.where(column("assigned") == column("effective"), column("effective"), -1)
        self.played = {s: (played == scenarios.index(s)) & self._mode(Mode.INJECT_ALT) for s in Scenario}
        self.key = list(zip(column("task").tolist(), column("seed").tolist(), strict=True))

    def _mode(self, mode: Mode) -> Any:
        return self.study.column("mode") == list(Mode).index(mode)

    def leave_out(self, row: int) -> None:
        """Show the task of a row no more."""
        others = self.study.column("task") != self.study.column("task")[row]
        self.played = {scenario: mask & others for scenario, mask in self.played.items()}

    def best(self, strategy: Strategy, good: str, weaker: list[str]) -> tuple[int, int] | None:
        """Return the rows of the good and the weak episode; None where there are none."""
        systems, column = self.study.systems, self.study.column
        fits = self._good(strategy) & (column("system") == systems.index(good))
        ours = {self.key[row]: int(row) for row in np.flatnonzero(fits)}
        for wanted in self._weak(strategy):
            for system in weaker:
                rows = np.flatnonzero(wanted & (column("system") == systems.index(system)))
                pairs = [(ours[self.key[row]], int(row)) for row in rows if self.key[row] in ours]
                if pairs:
                    return min(pairs, key=lambda p: (int(column("calls")[p[0]]), self.key[p[0]]))
        return None

    def _good(self, strategy: Strategy) -> Any:
        column, moves = self.study.column, self.moves
        quiet = (moves[Move.ABSTAIN] == 0) & column("passed")
        retried, switched = moves[Move.RETRY] > 0, moves[Move.SWITCH] > 0
        if strategy is Strategy.RETRY:
            return self.played[Scenario.S1] & quiet & retried & ~switched
        if strategy is Strategy.SWITCH:
            return self.played[Scenario.S2] & quiet & switched & (column("blocked_calls") > 0)
        done = column("correct_abstention") & (column("wrong_writes") == 0)
        return self.played[Scenario.S3] & done & retried & switched

    def _weak(self, strategy: Strategy) -> Iterator[Any]:
        """Return what the weak episode may be, what shows most first."""
        column = self.study.column
        if strategy is not Strategy.ABSTAIN:
            scenario = Scenario.S1 if strategy is Strategy.RETRY else Scenario.S2
            yield (
                self.played[scenario]
                & ~column("passed")
                & (column("injections") + column("blocked_calls") > 0)
            )
            return
        impossible = self.played[Scenario.S3]
        yield impossible & (column("wrong_writes") > 0)
        yield impossible & column("missed_abstention")
        yield impossible & (self.moves[Move.RETRY] + self.moves[Move.SWITCH] == 0)
