"""The estimate that a run prints before it starts is of the right size."""

from __future__ import annotations

from time import perf_counter

from bench2robust.core.episode import Mode
from bench2robust.evaluation import RunSpec, Schedule, forecast


def schedule() -> Schedule:
    return Schedule(RunSpec("helpdesk", ("retry", "strategic"), (Mode.CLEAN, Mode.INJECT), (0,)))


def test_the_estimate_is_near_what_playing_takes():
    """Within a factor of four either way: a busy machine moves both, not their ratio, by more."""
    episodes = schedule()
    episodes.prepare()
    estimate = forecast(episodes, 1)
    start = perf_counter()
    for place in range(len(episodes)):
        episodes.play(place)
    took = perf_counter() - start
    assert took / 4 < estimate < took * 4


def test_two_workers_take_half_of_the_time_and_no_more_than_there_are_processors_count(monkeypatch):
    monkeypatch.setattr("bench2robust.evaluation.runner.usable_cpus", lambda: 2)
    one = min(forecast(schedule(), 1) for _ in range(3))
    two = min(forecast(schedule(), 2) for _ in range(3))
    many = min(forecast(schedule(), 500) for _ in range(3))
    assert 1.3 < one / two < 3.2
    assert 1.3 < one / many < 3.2
