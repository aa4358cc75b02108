"""The estimate that a run prints before it starts: a sample's mean, times what is left, over the processors."""

from __future__ import annotations

import pytest

from bench2robust.core.episode import Mode
from bench2robust.evaluation import RunSpec, Schedule, forecast, runner


@pytest.fixture
def schedule(monkeypatch):
    """80 episodes, each of which takes a quarter of a second of a clock that only playing moves."""
    now = [100.0]

    def play(schedule, place):
        now[0] += 0.25

    monkeypatch.setattr(runner, "perf_counter", lambda: now[0])
    monkeypatch.setattr(runner, "play_one", play)
    monkeypatch.setattr(runner, "usable_cpus", lambda: 2)
    return Schedule(RunSpec("helpdesk", ("retry",), (Mode.CLEAN,), (0,), tuple(map(str, range(80)))))


@pytest.mark.parametrize(
    ("workers", "places", "seconds"),
    [(1, None, 20.0), (2, None, 10.0), (500, None, 10.0), (1, (7,), 0.25), (2, (7,), 0.25), (1, (), 0.0)],
)
def test_the_estimate(schedule, workers, places, seconds):
    assert forecast(schedule, workers, places) == pytest.approx(seconds)
