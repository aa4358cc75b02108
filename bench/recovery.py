"""What knowing and verifying are worth: `bayes` against `strategic`, each with and without verification, paired.

Same tasks, same seeds, same draws. Differences are means over task and seed with 95 % intervals (bootstrap
over tasks). The reward is the paper's Eq. 2 without its partial term; in S3 a handover counts what a pass
would have.

    python -m bench.recovery helpdesk tau2-retail
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from bench2robust.agents.worth import efficiency, repetition
from bench2robust.core.episode import Escalation, Mode, Scenario
from bench2robust.evaluation import RunSpec
from bench2robust.evaluation.lines import Episode
from bench2robust.evaluation.schedule import Schedule
from bench2robust.evaluation.statistics import Sample, paired
from bench2robust.injection import Mix, ScenarioSpec
from bench2robust.measures.adoption import adopted
from bench2robust.measures.moves import most_repeated
from bench2robust.measures.writes import count_writes

AGENTS = ("strategic", "bayes", "strategic-verified", "bayes-verified")
PAIRS = (
    ("strategic", "bayes"),
    ("strategic", "strategic-verified"),
    ("bayes", "bayes-verified"),
)
MIXES = ("40/60/0", "30/45/25")
MEASURES = ("pass", "reward", "wrong writes", "adopted", "calls", "abstained in S3", "premature")


def reward(episode: Episode) -> float:
    """Return Eq. 2 without its partial term, and with the worth of abstaining in S3."""
    outcome, escalation = episode.result.outcome, episode.result.outcome.escalation
    if not (outcome.score.passed or escalation is Escalation.ABSTAIN):
        return 0.0
    return efficiency(outcome.steps) * repetition(most_repeated(episode.trajectory.records))


def play(benchmark: str, mode: Mode, mix: str, agents: Sequence[str] = AGENTS, seeds: int = 5):
    """Return, for each agent, a row of `MEASURES` an episode, in the order seed by seed, task by task."""
    spec = RunSpec(
        benchmark,
        agents=tuple(agents),
        modes=(mode,),
        seeds=tuple(range(seeds)),
        scenarios=ScenarioSpec(Mix.parse(mix)),
    )
    schedule = Schedule(spec)
    kinds = {tool.name: tool.kind for tool in schedule.benchmark.tools(alternatives=True)}
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in agents}
    for place in range(len(schedule)):
        episode = schedule.play(place)
        result, records = episode.result, episode.trajectory.records
        writes = count_writes(records, kinds, schedule.task(place).gold)
        escalation = result.outcome.escalation
        rows[result.agent].append(
            (
                result.outcome.score.passed,
                reward(episode),
                writes.wrong + writes.duplicate,
                sum(adopted(episode.trajectory, kinds)),
                len(records),
                np.nan
                if result.assignment.effective is not Scenario.S3
                else escalation is Escalation.ABSTAIN,
                escalation is Escalation.PREMATURE,
            )
        )
    return {name: np.array(found, dtype=float) for name, found in rows.items()}, len(schedule.tasks)


def sample(values: np.ndarray, tasks: int) -> Sample:
    """Return the values of one measure as a sample; those that do not apply are left out."""
    index = np.arange(len(values))
    there = ~np.isnan(values)
    return Sample(index[there] % tasks, index[there] // tasks, values[there])


def show(benchmark: str, mode: Mode, mix: str) -> None:
    """Print the means of every agent, and the paired differences."""
    rows, tasks = play(benchmark, mode, mix)
    episodes = len(rows[AGENTS[0]])
    where = f"`{mode}`, mix {mix}" if mode is Mode.INJECT_ALT else f"`{mode}`"
    print(f"\n**{benchmark}**, {where}, {episodes} episodes an agent\n")
    shown = [m for m in range(len(MEASURES)) if not np.isnan(rows[AGENTS[0]][:, m]).all()]
    print("| | " + " | ".join(MEASURES[m] for m in shown) + " |\n|---|" + "---|" * len(shown))
    for name in AGENTS:
        print(f"| {name} | " + " | ".join(f"{np.nanmean(rows[name][:, m]):.3f}" for m in shown) + " |")
    for a, b in PAIRS:
        cells = []
        for m in shown:
            d = paired(sample(rows[a][:, m], tasks), sample(rows[b][:, m], tasks))
            cells.append(f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]")
        print(f"| {b} − {a} | " + " | ".join(cells) + " |")


def main(benchmarks: Sequence[str]) -> None:
    """Print a table for each benchmark, mode and mix."""
    for benchmark in benchmarks:
        show(benchmark, Mode.INJECT, MIXES[0])
        for mix in MIXES:
            show(benchmark, Mode.INJECT_ALT, mix)


if __name__ == "__main__":
    main(sys.argv[1:] or ("helpdesk",))
