"""τ²-bench retail with the strategic policy behind a real endpoint: episode by episode what it is in process."""

from __future__ import annotations

import json

import pytest

from bench2robust.agents.chat.spec import ChatSpec
from bench2robust.core.episode import Mode
from bench2robust.evaluation import Means, Models, RunSpec, run
from bench2robust.evaluation.store import EPISODES

pytest.importorskip("openai")
pytestmark = pytest.mark.tau2
AGENT = "chat:strategic"


def played(folder):
    """Return everything about a run's episodes but who played them and what it took."""
    lines = (folder / EPISODES).read_bytes().splitlines()
    episodes = [json.loads(line) for line in lines]
    return [{key: e[key] for key in e.keys() - {"id", "agent", "usage"}} for e in episodes]


def compare(url, folder, tasks, concurrencies, benchmark="tau2-retail"):
    modes = (Mode.CLEAN, Mode.INJECT, Mode.INJECT_ALT)
    models = Models({AGENT: ChatSpec("strategic", base_url=url)})
    served = RunSpec(benchmark, agents=(AGENT,), modes=modes, seeds=(0,), tasks=tasks, models=models)
    here = RunSpec(benchmark, agents=("strategic",), modes=modes, seeds=(0,), tasks=tasks)
    run(here, folder / "here", workers=1)
    expected = played(folder / "here")
    lines = set()
    for concurrency in concurrencies:
        run(served, folder / str(concurrency), means=Means(concurrency=concurrency))
        assert played(folder / str(concurrency)) == expected
        lines.add((folder / str(concurrency) / EPISODES).read_bytes())
    assert len(lines) == 1
    return len(expected)


def test_a_few_tasks(serve_policy, tmp_path):
    assert compare(serve_policy("tau2-retail"), tmp_path, ("0-5",), (1, 16)) == 18


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["tau2-airline", "helpdesk"])
def test_other_benchmarks(serve_policy, tmp_path, benchmark):
    assert compare(serve_policy(benchmark), tmp_path, ("0-9",), (16,), benchmark) == 30


@pytest.mark.slow
def test_every_task_in_three_modes_at_any_concurrency(serve_policy, tmp_path):
    assert compare(serve_policy("tau2-retail"), tmp_path, ("all",), (1, 16, 64)) == 342
