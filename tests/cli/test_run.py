"""``b2r run`` in a process of its own: from the command to the table, and back to where it stopped."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from bench2robust.cli.main import exit_code
from bench2robust.cli.running import _Bar, _Lines, read_order
from bench2robust.evaluation import RunSpec, Status, run
from bench2robust.evaluation.store import EPISODES, FACTS, MANIFEST, SUMMARY

GOLDEN = Path(__file__).parents[1] / "golden"
SMALL = (
    "run",
    "--benchmark",
    "toy-library",
    "--agents",
    "naive,strategic",
    "--seeds",
    "3",
    "--mix",
    "20/50/30",
)
LONG = ("run", "--benchmark", "toy-library", "--seeds", "60")
LONG_SPEC = RunSpec("toy-library", seeds=tuple(range(60)))


def content(folder):
    return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def test_from_the_command_to_the_table(b2r, tmp_path):
    done = b2r(*SMALL, "--out", "run", cwd=tmp_path)
    assert done.returncode == 0
    announced, where = done.stderr.splitlines()
    assert announced.startswith("168 episodes (2 agents × 4 modes × 3 seeds × 7 tasks), about ")
    assert where == "run folder: run"
    assert done.stdout == (GOLDEN / "toy_table.txt").read_text(encoding="utf-8")
    assert sorted(content(tmp_path / "run")) == sorted([MANIFEST, FACTS, EPISODES, SUMMARY])


def test_the_table_of_a_folder_is_the_table_of_the_run(b2r, tmp_path):
    made = b2r(*SMALL, "--out", "run", "--json", cwd=tmp_path)
    assert b2r("table", "run", cwd=tmp_path).stdout == (GOLDEN / "toy_table.txt").read_text(encoding="utf-8")
    assert b2r("table", "run", "--json", cwd=tmp_path).stdout == made.stdout
    assert json.loads(made.stdout) == json.loads((tmp_path / "run" / SUMMARY).read_text())


def test_repeated_without_a_folder_it_finds_its_own(b2r, tmp_path):
    first = b2r(*SMALL, cwd=tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("toy-library-")
    fingerprint = json.loads((folder / MANIFEST).read_text())["fingerprint"]
    assert folder.name == f"toy-library-{fingerprint[:8]}"
    before = content(folder)
    again = b2r(*SMALL, cwd=tmp_path)
    assert again.stdout == first.stdout
    assert again.stderr.splitlines()[0].endswith(", 0 still missing: nothing to do")
    assert content(folder) == before


def test_a_dry_run_writes_nothing(b2r, tmp_path):
    done = b2r(*SMALL, "--dry-run", cwd=tmp_path)
    assert done.stdout.startswith("168 episodes (2 agents × 4 modes × 3 seeds × 7 tasks), about ")
    told = json.loads(b2r(*SMALL, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert told["episodes"] == 168
    assert told["seconds"] > 0
    assert list(tmp_path.iterdir()) == []


def test_toml_and_options_make_the_same_run_and_options_win(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'benchmark = "toy-library"\nagents = ["naive", "strategic"]\nseeds = 3\nmix = "20/50/30"\nout = "there"\n'
    )
    options = {"benchmark": "toy-library", "agents": "naive,strategic", "seeds": "3", "mix": "20/50/30"}
    by_file, by_options = read_order(file, {}), read_order(None, options)
    assert by_file.schedule.fingerprint == by_options.schedule.fingerprint
    assert by_file.out == Path("there")
    won = read_order(file, {"seeds": "4", "out": Path("here")})
    assert won.spec.seeds == (0, 1, 2, 3)
    assert won.out == Path("here")


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_the_bytes_depend_on_neither_processes_nor_hash_seed(b2r, tmp_path, hash_seed):
    run(RunSpec("toy-library", seeds=(0, 1)), tmp_path / "one", workers=1)
    b2r("run", "--benchmark", "toy-library", "--seeds", "2", "--out", "four", "--workers", "4",
        cwd=tmp_path, PYTHONHASHSEED=hash_seed)  # fmt: skip
    assert content(tmp_path / "four") == content(tmp_path / "one")


def test_two_runs_on_one_folder(b2r, start_b2r, tmp_path):
    first = start_b2r(*LONG, "--out", str(tmp_path / "run"))
    wait_for(tmp_path / "run" / EPISODES, 1)
    first.send_signal(signal.SIGSTOP)  # however fast it is, it is still at it when the second one comes
    try:
        assert first.poll() is None, "the first run ended too early for this test to say anything"
        second = b2r(*LONG, "--out", str(tmp_path / "run"))
    finally:
        first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert second.stderr == (
        f"error: another run is writing to folder='{tmp_path / 'run'}'; wait for it, or choose another\n"
    )
    assert first.wait(60) == 0


def test_another_run_in_the_folder(b2r, tmp_path):
    b2r(*SMALL, "--out", "run", cwd=tmp_path)
    before = content(tmp_path / "run")
    done = b2r(*SMALL, "--out", "run", "--budget", "4", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: folder='run' holds another run: injection.limits.budget (5 there, 4 here) differ"
    )
    assert done.stderr.count("\n") == 1
    assert content(tmp_path / "run") == before


def wait_for(file, size, process=None):
    """Wait until a file has so many bytes."""
    end = time.monotonic() + 60
    while not (file.exists() and file.stat().st_size >= size):
        assert time.monotonic() < end, f"{file} never reached {size} bytes"
        if process is not None and process.poll() is not None:
            return
        time.sleep(0.001)


def gone(group):
    """Wait until no process of a group is left."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    run(LONG_SPEC, folder, workers=2)
    return content(folder)


@pytest.mark.parametrize("workers", [1, 2])
def test_killed_at_random_moments_and_resumed_it_ends_as_if_undisturbed(
    start_b2r, tmp_path, undisturbed, workers
):
    """SIGKILL, at times that nobody chose, until a run gets through."""
    out = tmp_path / "run"
    whole = len(undisturbed[EPISODES])
    kills, reached = 0, 0
    for share in (0.02, 0.2, 0.35, 0.6, 0.8, 0.97):
        process = start_b2r(*LONG, "--out", str(out), "--workers", str(workers))
        wait_for(out / EPISODES, max(reached + 1, int(share * whole)), process)
        if process.poll() is None:
            process.kill()
            kills += process.wait() == -signal.SIGKILL
        assert gone(process.pid), "a worker outlived its parent"
        left = (out / EPISODES).read_bytes()
        reached = left.rfind(b"\n") + 1
        assert undisturbed[EPISODES].startswith(left), "what was left is not the beginning of the run"
    assert kills >= 4
    assert start_b2r(*LONG, "--out", str(out), "--workers", str(workers)).wait(60) == 0
    assert content(out) == undisturbed


def test_killed_before_it_wrote_anything(start_b2r, tmp_path, undisturbed):
    """At every stage of starting up."""
    out = tmp_path / "run"
    for delay in (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3):
        process = start_b2r(*LONG, "--out", str(out))
        time.sleep(delay)
        process.kill()
        process.wait()
        assert gone(process.pid)
    assert start_b2r(*LONG, "--out", str(out)).wait(60) == 0
    assert content(out) == undisturbed


def test_interrupted_it_says_how_to_go_on(start_b2r, tmp_path, undisturbed):
    out = tmp_path / "run"
    process = start_b2r(*LONG, "--out", str(out))
    wait_for(out / EPISODES, 50_000)
    os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does: parent and workers get it
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.splitlines()[-1] == f"interrupted; repeat the command to go on (episodes so far are in {out})"
    assert "Traceback" not in err
    assert gone(process.pid)
    assert start_b2r(*LONG, "--out", str(out)).wait(60) == 0
    assert content(out) == undisturbed


def status(done, passed):
    return Status(episodes=700, resumed=100, done=done, passed=passed, seconds=95)


def test_where_there_is_no_terminal_a_line_now_and_then(capsys):
    clock = iter([50.0, 52.0, 60.0, 61.0, 71.0])
    lines = _Lines(read_order(None, {"benchmark": "toy-library", "workers": 2}), lambda: next(clock))
    for done, passed in ((100, 70), (101, 71), (200, 150), (201, 151), (400, 300)):
        lines.update(status(done, passed))
    lines.stop()
    assert capsys.readouterr().err.splitlines() == [
        "700 episodes (5 agents × 4 modes × 5 seeds × 7 tasks), 600 still missing, about 1 min 35 s with 2 workers",
        "200 of 700 episodes, 75.0 % passed, about 50 s left",
        "400 of 700 episodes, 75.0 % passed, about 21 s left",
    ]


def test_on_a_terminal_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    bar = _Bar(read_order(None, {"benchmark": "toy-library", "workers": 2}))
    for done, passed in ((100, 70), (101, 71), (700, 630)):
        bar.update(status(done, passed))
    bar.stop()
    err = capsys.readouterr().err
    assert "700/700" in err
    assert "90.0 % passed" in err


def test_json_is_all_there_is_on_stdout(b2r, tmp_path):
    done = b2r(*SMALL, "--json", "--out", "run", cwd=tmp_path)
    assert {row["agent"] for row in json.loads(done.stdout)["rows"]} == {"naive", "strategic"}


def test_an_unfinished_run_says_so(capsys, tmp_path):
    def stop(status):
        if status.done == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(RunSpec("toy-library"), tmp_path, workers=1, watch=stop)
    assert exit_code(["table", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("30 of 700 episodes; repeat the command to finish the run\n")
