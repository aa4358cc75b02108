"""Sweeps: which severities, one resumable folder, and a killed one that ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.errors import FolderError, SpecError
from bench2robust.evaluation import Budget, Means
from bench2robust.evaluation.series import FILE, Series, play, run_folders
from bench2robust.evaluation.spec import RunSpec
from bench2robust.evaluation.sweep import (
    PAPER_CLEAN,
    PAPER_LIMITS,
    Grid,
    name_of,
    read_limits,
    read_probabilities,
    sweep,
)
from bench2robust.injection import Limits

SETTINGS = {"benchmark": "toy-library", "agents": "naive", "modes": "inject", "seeds": 1}


def test_the_papers_grid_is_its_table():
    points = Grid(PAPER_CLEAN, PAPER_LIMITS).points(0.6, Limits(5, 2))
    assert [name_of(*point) for point in points] == [
        "p0.60-b5-k2",
        "p0.80-b5-k2",
        "p0.90-b5-k2",
        "p0.95-b5-k2",
        "p0.60-b3-k1",
        "p0.60-b7-k3",
    ]
    assert len(Grid(PAPER_CLEAN, PAPER_LIMITS, cross=True).points(0.6, Limits(5, 2))) == 12


probabilities = st.lists(st.integers(0, 1000).map(lambda n: n / 1000), max_size=4, unique=True)
bounds = st.lists(
    st.builds(Limits, st.none() | st.integers(0, 9), st.none() | st.integers(1, 9)), max_size=4, unique=True
)


@settings(deadline=None)
@given(probabilities, bounds, st.booleans())
def test_every_point_has_a_folder_of_its_own(clean, limits, cross):
    points = Grid(tuple(clean), tuple(limits), cross).points(0.6, Limits())
    assert len({name_of(*point) for point in points}) == len(points) >= 1
    assert {p for p, _ in points} >= set(clean)
    assert {bound for _, bound in points} >= set(limits)


def test_texts_are_read():
    assert read_probabilities(".6,.8") == (0.6, 0.8)
    assert read_limits("3:1,none:2") == (Limits(3, 1), Limits(None, 2))
    for read, text in ((read_probabilities, "a"), (read_limits, "3"), (read_limits, "3:1:2")):
        with pytest.raises(SpecError, match="expected"):
            read(text)
    with pytest.raises(SpecError, match="clean-prob=2"):
        Grid((2.0,))
    with pytest.raises(SpecError, match="each value once"):
        Grid((0.6, 0.6))


def test_each_point_is_a_run_of_that_severity():
    series = sweep(SETTINGS, Grid((0.9,), (Limits(3, 1),)))
    specs = list(series.runs.values())
    assert [spec.injection.profile.default["clean"] for spec in specs] == [0.9, 0.6]
    assert [spec.injection.limits for spec in specs] == [Limits(5, 2), Limits(3, 1)]


def test_a_sweep_is_repeated_and_grows_but_never_changes(tmp_path):
    play(sweep(SETTINGS, Grid((0.6,))), tmp_path / "s")
    before = (tmp_path / "s/p0.60-b5-k2/episodes.jsonl").read_bytes()
    play(sweep(SETTINGS, Grid((0.6, 0.9))), tmp_path / "s")
    assert [path.name for path in run_folders([tmp_path / "s"])] == ["p0.60-b5-k2", "p0.90-b5-k2"]
    assert (tmp_path / "s/p0.60-b5-k2/episodes.jsonl").read_bytes() == before
    with pytest.raises(FolderError, match=r"its run 'p0.60-b5-k2' has other settings"):
        play(sweep({**SETTINGS, "seeds": 2}, Grid((0.6,))), tmp_path / "s")
    with pytest.raises(FolderError, match="holds another plan: 'sweep' there, 'table1' here"):
        play(Series("table1", {"a": RunSpec.from_settings(SETTINGS)}), tmp_path / "s")


def test_folders_that_are_something_else_are_left_alone(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(FolderError, match="expected an empty folder or one of a series"):
        play(sweep(SETTINGS, Grid((0.6,))), tmp_path)
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(FolderError, match="expected the plan of a series"):
        run_folders([tmp_path])
    (tmp_path / FILE).write_text(json.dumps({"format": 1, "kind": "sweep", "runs": {"a": "x"}}))
    with pytest.raises(FolderError, match="expected runs with episodes"):
        run_folders([tmp_path])
    with pytest.raises(SpecError, match="at least one run"):
        Series("sweep", {})


def test_a_budget_is_for_the_whole_sweep(tmp_path, monkeypatch):
    from bench2robust.evaluation import series as module

    clock = iter([0.0, 0.0, 7200.0])
    monkeypatch.setattr(module, "monotonic", lambda: next(clock))
    played = play(sweep(SETTINGS, Grid((0.6, 0.9))), tmp_path / "s", Means(budget=Budget(hours=1.0)))
    assert played.stopped == "max-hours=1 is used up"
    assert len(played.runs) == 1


@pytest.mark.slow
def test_a_killed_sweep_goes_on_to_the_same_bytes(start_b2r, b2r, tmp_path):
    plan = ("--clean-prob", ".6,.9", "--benchmark", "toy-library", "--agents", "naive,retry", "--seeds", "60")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert b2r("sweep", *plan, "--workers", "1", "--out", str(whole)).returncode == 0
    process = start_b2r("sweep", *plan, "--workers", "1", "--out", str(killed))
    last = killed / "p0.90-b5-k2/episodes.jsonl"
    deadline = time.monotonic() + 60
    while not (last.exists() and last.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    names = [path.relative_to(whole) for path in sorted(whole.rglob("*.json*"))]
    assert b2r("sweep", *plan, "--workers", "1", "--out", str(killed)).returncode == 0
    assert all((whole / name).read_bytes() == (killed / name).read_bytes() for name in names)
    assert {str(name) for name in names} >= {FILE, "p0.90-b5-k2/summary.json"}
