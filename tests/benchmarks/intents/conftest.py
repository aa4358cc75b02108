"""A small generated set, made once, and how its tasks are played."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

SMALL = {"general": 24, "ambiguous": 24, "changing": 16, "infeasible": 20}


def play(benchmark, task, agent="strategic", mode="clean"):
    """One uninjected episode."""
    from bench2robust import agents
    from bench2robust.core.episode import Assignment, Mode
    from bench2robust.evaluation import Job, run_episode
    from bench2robust.injection import InjectionSpec

    who = agents.create(agent) if isinstance(agent, str) else agent
    return run_episode(benchmark, who, Job(task, Mode(mode), 0, Assignment(), InjectionSpec(), 100))


@pytest.fixture(scope="session")
def retail_set():
    """Records, tasks by intent, and a benchmark of them."""
    from bench2robust.benchmarks.intents.domains import RETAIL, as_tasks, benchmark_of, generated
    from bench2robust.benchmarks.intents.generate import Counts

    records = generated(RETAIL, Counts(**SMALL), 0)
    tasks = as_tasks(records)
    by_intent = {intent: [t for t in tasks if t.data["intent"] == intent] for intent in SMALL}
    benchmark = benchmark_of(RETAIL, "retail-3i", lambda: tasks)
    return SimpleNamespace(records=records, tasks=tasks, by_intent=by_intent, benchmark=benchmark)
