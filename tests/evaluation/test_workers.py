"""Several processes give what one gives, and whatever goes wrong in one of them is said, not waited for."""

from __future__ import annotations

import multiprocessing
import os

import pytest

from bench2robust.core.errors import AgentError, BenchmarkError, SpecError, SubjectError
from bench2robust.evaluation import RunSpec, Schedule, forecast, load_run, run
from bench2robust.evaluation.store import EPISODES
from bench2robust.evaluation.workers import play_all

SPEC = RunSpec("toy-library", seeds=(0, 1, 2))
BAD = 137
BAD_ID = Schedule(SPEC).id(BAD)


@pytest.fixture(scope="module")
def undisturbed():
    return [played.line for played in play_all(Schedule(SPEC), 0, 1)]


@pytest.fixture
def at_bad_place(monkeypatch):
    """Make the episode at one place do something else."""
    play = Schedule.play

    def install(what):
        def maybe(self, place):
            return what() if place == BAD else play(self, place)

        monkeypatch.setattr(Schedule, "play", maybe)

    return install


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_any_number_of_workers_gives_the_same_lines_in_the_same_order(undisturbed, workers):
    assert [played.line for played in play_all(Schedule(SPEC), 0, workers)] == undisturbed


@pytest.mark.parametrize("start", [1, 333, 419, 420])
def test_a_run_is_taken_up_anywhere(undisturbed, start):
    assert [played.line for played in play_all(Schedule(SPEC), start, 2)] == undisturbed[start:]


def test_the_same_in_any_order_of_tasks(undisturbed):
    """Each task alone, last first: every episode is the same."""
    lines = {}
    for task in reversed(Schedule(SPEC).tasks):
        alone = Schedule(RunSpec("toy-library", seeds=(2, 0, 1), tasks=(task.id,)))
        lines |= {alone.id(played.place): played.line for played in play_all(alone, 0, 1)}
    assert [lines[name] for name in Schedule(SPEC).ids()] == undisturbed


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("family", [AgentError, BenchmarkError])
def test_a_broken_episode_is_named_and_those_before_it_are_kept(
    tmp_path, at_bad_place, undisturbed, workers, family
):
    def fail():
        raise family("it broke")

    at_bad_place(fail)
    with pytest.raises(family, match=f"^episode='{BAD_ID}': it broke$"):
        run(SPEC, tmp_path, workers=workers)
    assert (tmp_path / EPISODES).read_bytes() == b"".join(undisturbed[:BAD])
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_mistake_of_ours_keeps_its_traceback(tmp_path, at_bad_place, workers):
    at_bad_place(lambda: {}["missing"])
    with pytest.raises(RuntimeError, match=f"episode='{BAD_ID}': KeyError: 'missing'") as caught:
        run(SPEC, tmp_path, workers=workers)
    assert 'at_bad_place(lambda: {}["missing"])' in caught.value.__notes__[0]


def test_other_errors_on_purpose_become_the_subjects(tmp_path, at_bad_place):
    def fail():
        raise SpecError("cannot be")

    at_bad_place(fail)
    with pytest.raises(SubjectError, match=f"episode='{BAD_ID}': cannot be"):
        run(SPEC, tmp_path, workers=2)


def test_a_worker_that_dies_is_an_error_naming_the_episode(tmp_path, at_bad_place, undisturbed):
    at_bad_place(lambda: os._exit(7))
    with pytest.raises(SubjectError, match=rf"episode='{BAD_ID}': its worker died \(exit code 7\)"):
        run(SPEC, tmp_path, workers=2)
    assert (tmp_path / EPISODES).read_bytes() == b"".join(undisturbed[:BAD])
    assert not multiprocessing.active_children()


def test_after_an_interruption_the_run_goes_on(tmp_path, undisturbed):
    def interrupt(status):
        if status.done == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(SPEC, tmp_path, workers=2, watch=interrupt)
    assert not multiprocessing.active_children()
    assert (tmp_path / EPISODES).read_bytes() == b"".join(undisturbed[:100])
    run(SPEC, tmp_path, workers=2)
    assert (tmp_path / EPISODES).read_bytes() == b"".join(undisturbed)


def test_progress_is_told_from_the_start_to_the_end(tmp_path):
    seen = []
    run(SPEC, tmp_path, workers=2, watch=seen.append)
    assert [status.done for status in seen] == list(range(421))
    assert {(status.episodes, status.resumed) for status in seen} == {(420, 0)}
    assert seen[0].seconds > 0
    assert seen[-1].passed == sum(
        count.passed for row in load_run(tmp_path).rows for count in row.scenarios.values()
    )


def test_a_forecast_is_of_what_is_left():
    schedule = Schedule(SPEC)
    assert forecast(schedule, 1, len(schedule)) == 0
    assert 0 < forecast(schedule, 1, len(schedule) - 1) < 0.2
    assert forecast(schedule, 1) > 0


@pytest.mark.parametrize("workers", [0, -3])
def test_a_number_of_workers_that_cannot_be(tmp_path, workers):
    with pytest.raises(SpecError, match=f"workers={workers}"):
        run(SPEC, tmp_path / "run", workers=workers)
    assert not (tmp_path / "run").exists()
