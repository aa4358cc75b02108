"""Several processes give what one gives, and whatever goes wrong in one of them is said, not waited for."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bench2robust.core.episode import Mode
from bench2robust.core.errors import AgentError, BenchmarkError, SpecError, SubjectError
from bench2robust.evaluation import RunSpec, Schedule, forecast, load, load_run, run
from bench2robust.evaluation.store import EPISODES, RunFolder
from bench2robust.evaluation.workers import play_all

SPEC = RunSpec("toy-mishaps", seeds=(0, 1, 2))
BAD = 3
BAD_ID = "3:naive:clean:0"


@pytest.fixture(scope="module")
def undisturbed():
    return [played.line for played in play_all(Schedule(SPEC), range(len(Schedule(SPEC))), 1)]


@pytest.fixture
def mishap():
    """Make something happen in task 3; the first episode of it is the fourth of the run."""
    benchmark = load("toy-mishaps")

    def install(where, what):
        benchmark.at[where] = what

    yield install
    benchmark.at.clear()


@pytest.mark.parametrize("workers", [2, 3, 4])
def test_any_number_of_workers_gives_the_same_lines_in_the_same_order(undisturbed, workers):
    assert [
        played.line for played in play_all(Schedule(SPEC), range(len(Schedule(SPEC))), workers)
    ] == undisturbed


@pytest.mark.parametrize("start", [1, 333, 419, 420])
def test_a_run_is_taken_up_anywhere(undisturbed, start):
    assert [
        played.line for played in play_all(Schedule(SPEC), range(start, len(Schedule(SPEC))), 2)
    ] == undisturbed[start:]


def test_the_same_in_any_order_of_tasks(undisturbed):
    """Each task alone, last first: every episode is the same."""
    lines = {}
    for task in reversed(Schedule(SPEC).tasks):
        alone = Schedule(RunSpec("toy-mishaps", seeds=(2, 0, 1), tasks=(task.id,)))
        lines |= {alone.id(played.place): played.line for played in play_all(alone, range(len(alone)), 1)}
    assert [lines[name] for name in Schedule(SPEC).ids()] == undisturbed


def fail(error):
    def happen():
        raise error

    return happen


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("where", "error", "family", "message"),
    [
        (
            "call",
            ZeroDivisionError("boom"),
            BenchmarkError,
            "the environment broke on tool='find_member_by_card': ZeroDiv",
        ),
        ("open", KeyError("gone"), BenchmarkError, "benchmark='toy-mishaps' broke: KeyError: 'gone'"),
        ("plan", KeyError("gone"), BenchmarkError, "benchmark='toy-mishaps' broke: KeyError: 'gone'"),
        ("score", KeyError("gone"), BenchmarkError, "benchmark='toy-mishaps' broke: KeyError: 'gone'"),
        ("call", BenchmarkError("no data"), BenchmarkError, "no data"),
        ("decide", KeyError("gone"), AgentError, "agent='naive' broke: KeyError: 'gone'"),
        ("decide", SpecError("cannot be"), SubjectError, "cannot be"),
    ],
)
def test_a_broken_episode_is_named_and_those_before_it_are_kept(
    tmp_path, mishap, undisturbed, workers, where, error, family, message
):
    mishap(where, fail(error))
    with pytest.raises(family, match=f"^episode='{BAD_ID}': {message}") as caught:
        run(replace(SPEC, modes=(Mode.CLEAN,)), tmp_path, workers=workers)
    assert type(caught.value) is family
    assert (tmp_path / EPISODES).read_bytes() == b"".join(undisturbed[:BAD])
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_is_an_error_naming_the_episode(tmp_path, mishap, undisturbed):
    parent = os.getpid()
    mishap("call", lambda: None if os.getpid() == parent else os._exit(7))
    with pytest.raises(SubjectError, match=rf"^episode='{BAD_ID}': its worker died \(exit code 7\)"):
        run(SPEC, tmp_path, workers=2)
    assert (tmp_path / EPISODES).read_bytes() == b"".join(undisturbed[:BAD])
    assert not multiprocessing.active_children()


def test_workers_leave_an_interruption_to_their_parent(mishap, undisturbed):
    """Ctrl-C reaches every process of the group; only the parent acts on it."""
    parent = os.getpid()
    mishap("call", lambda: None if os.getpid() == parent else os.kill(os.getpid(), signal.SIGINT))
    assert [played.line for played in play_all(Schedule(SPEC), range(len(Schedule(SPEC))), 2)] == undisturbed


def test_no_worker_waits_for_another_when_their_parent_dies(tmp_path, mishap):
    """One lingers in an episode; the other has nobody to answer to and ends at once."""
    tester, lingering = os.getpid(), tmp_path / "lingering"

    def linger():
        if os.getppid() == tester:
            return
        (tmp_path / f"{os.getpid()}.pid").touch()
        if not lingering.exists():
            lingering.write_text(str(os.getpid()))
            time.sleep(5)

    mishap("open", linger)
    many = replace(SPEC, seeds=tuple(range(2000)))
    runner = multiprocessing.get_context("fork").Process(
        target=run, args=(many, tmp_path / "run"), kwargs={"workers": 2}
    )
    runner.start()
    while len(workers := [int(file.stem) for file in tmp_path.glob("*.pid")]) < 2:
        assert runner.is_alive()
        time.sleep(0.01)
    runner.kill()
    runner.join()
    (other,) = (worker for worker in workers if worker != int(lingering.read_text()))
    end = time.monotonic() + 2.5
    while Path(f"/proc/{other}").exists():
        assert time.monotonic() < end, "it is still there"
        time.sleep(0.01)


def test_a_worker_that_is_still_busy_when_its_parent_dies_does_not_keep_the_folder(tmp_path, mishap):
    busy, tester = tmp_path / "busy", os.getpid()

    def linger():
        if os.getppid() != tester:  # in a worker, not in the process that runs it
            busy.touch()
            time.sleep(3)

    mishap("call", linger)
    runner = multiprocessing.get_context("fork").Process(
        target=run, args=(SPEC, tmp_path / "run"), kwargs={"workers": 2}
    )
    runner.start()
    while not busy.exists():
        assert runner.is_alive()
        time.sleep(0.01)
    runner.kill()
    runner.join()
    with RunFolder(tmp_path / "run", Schedule(SPEC).manifest()) as folder:
        assert len(list(folder.resume(Schedule(SPEC).ids()))) <= BAD


@pytest.mark.parametrize("workers", [1, 2])
def test_a_mistake_of_ours_keeps_its_traceback(tmp_path, monkeypatch, workers):
    monkeypatch.setattr("bench2robust.evaluation.episode.judge", lambda *_: {}["missing"])
    with pytest.raises(RuntimeError, match=r"^episode='0:naive:clean:0': KeyError: 'missing'") as caught:
        run(replace(SPEC, modes=(Mode.CLEAN,)), tmp_path, workers=workers)
    assert 'lambda *_: {}["missing"]' in caught.value.__notes__[0]


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
    assert forecast(schedule, 1, ()) == 0
    assert 0 < forecast(schedule, 1, (len(schedule) - 1,)) < 0.2
    assert forecast(schedule, 1) > 0


@pytest.mark.parametrize("workers", [0, -3])
def test_a_number_of_workers_that_cannot_be(tmp_path, workers):
    with pytest.raises(SpecError, match=f"workers={workers}"):
        run(SPEC, tmp_path / "run", workers=workers)
    assert not (tmp_path / "run").exists()
