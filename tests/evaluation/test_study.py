"""Runs loaded as columns: what is in them, what is refused in one line, and what is warned of."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from bench2robust.core.episode import Mode, Scenario
from bench2robust.core.errors import FolderError, UnknownNameError, UsageError
from bench2robust.evaluation import RunSpec, columns, run, study
from bench2robust.evaluation.metrics import METRICS, metric
from bench2robust.evaluation.statistics import mean
from bench2robust.evaluation.store import EPISODES, FACTS, MANIFEST, read_episodes, read_facts
from bench2robust.evaluation.study import Study
from bench2robust.injection import InjectionSpec, Limits
from bench2robust.measures import measure

SPEC = RunSpec(
    "toy-mishaps", agents=("retry", "strategic"), modes=(Mode.CLEAN, Mode.INJECT_ALT), seeds=(0, 1)
)
LINES = 2 * 2 * 2 * 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "run"
    run(SPEC, path, workers=1)
    return path


@pytest.fixture
def copy(folder, tmp_path):
    def make(name="copy"):
        shutil.copytree(folder, tmp_path / name)
        return tmp_path / name

    return make


def change(folder, **changes):
    """Change the manifest's spec; dotted keys go into its tables."""
    manifest = json.loads((folder / MANIFEST).read_text())
    for key, value in changes.items():
        table = manifest["spec"]
        *path, last = key.split("__")
        for part in path:
            table = table[part]
        table[last] = value
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_columns_are_the_measures_of_the_episodes(folder):
    loaded = Study.load([folder])
    facts = read_facts(folder)
    episodes = list(read_episodes(folder))
    assert len(loaded) == len(episodes) == LINES
    for place, episode in enumerate(episodes):
        shown, result = measure(episode, facts), episode.result
        assert loaded.tasks[loaded.column("task")[place]] == ("toy-mishaps", result.task)
        assert loaded.systems[loaded.column("system")[place]] == result.agent
        assert loaded.column("passed")[place] == result.outcome.score.passed
        assert loaded.column("steps")[place] == shown.steps
        assert tuple(loaded.column("met")[place]) == shown.met
        assert loaded.column("moves.timeout.retry")[place] == shown.move_of("timeout", "retry")
    assert loaded.modes == (Mode.CLEAN, Mode.INJECT_ALT)
    assert loaded.seeds == (0, 1)
    assert loaded.warnings == ()


def test_the_pass_rate_is_that_of_the_summary(folder):
    loaded = Study.load([folder])
    for row in json.loads((folder / "summary.json").read_text())["rows"]:
        own = loaded.select(system=row["agent"], mode=row["mode"])
        found = mean(metric("pass_rate").sample(own))
        assert found.mean == pytest.approx(row["pass_rate"]["mean"])
        assert found.std == pytest.approx(row["pass_rate"]["std"])


def test_selecting_by_names_and_values(folder):
    loaded = Study.load([folder])
    assert len(loaded.select(system="retry", mode=Mode.CLEAN, seed=1)) == 7
    assert len(loaded.select(seed=(0, 1), mode=("clean",))) == LINES / 2
    hard = loaded.select(mode="inject_alt")
    parts = [len(hard.select(realised=which)) for which in (None, *Scenario)]
    assert sum(parts) == len(hard)
    for wrong in ({"system": "nobody"}, {"mode": "hard"}, {"colour": 1}, {"effective": "s4"}):
        with pytest.raises(UnknownNameError):
            loaded.select(**wrong)
    with pytest.raises(UnknownNameError):
        loaded.column("met.sunshine")
    with pytest.raises(UnknownNameError):
        loaded.column("steps.timeout")


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_sample(folder, name):
    found = metric(name).sample(Study.load([folder]).select(mode="inject_alt"))
    assert len(found) <= LINES / 2
    if metric(name).share and len(found):
        assert 0 <= mean(found).mean <= 1


def test_many_pieces_and_processes_give_the_same(folder, monkeypatch):
    whole = Study.load([folder])
    monkeypatch.setattr(columns, "_PIECE", 9000)
    pieces = Study.load([folder], workers=2)
    assert whole.tasks == pieces.tasks
    assert all(np.array_equal(whole.data[name], pieces.data[name]) for name in whole.data)


def test_measures_are_kept_and_made_again_when_the_folder_changed(copy, monkeypatch):
    monkeypatch.setattr(columns, "_WORTH_KEEPING", 1)
    path = copy()
    first = Study.load([path])
    assert (path / columns.KEPT).exists()
    with monkeypatch.context() as patched:
        patched.setattr(columns, "_measured", None)  # would be called
        again = Study.load([path])
    assert all(np.array_equal(first.data[name], again.data[name]) for name in first.data)
    lines = (path / EPISODES).read_bytes().splitlines(keepends=True)
    (path / EPISODES).write_bytes(b"".join(lines[:-1]))
    assert len(Study.load([path])) == LINES - 1
    (path / columns.KEPT).write_bytes(b"nonsense")
    assert len(Study.load([path])) == LINES - 1


def damage(path, number=3):
    lines = (path / EPISODES).read_bytes().splitlines(keepends=True)
    lines[number - 1] = b'{"id": "half\n'
    (path / EPISODES).write_bytes(b"".join(lines))


def test_a_damaged_line_is_named_and_left_out_only_on_request(copy, monkeypatch):
    monkeypatch.setattr(columns, "_PIECE", 9000)
    path = copy()
    damage(path, 17)
    with pytest.raises(FolderError, match=r"episodes.jsonl line 17: .*--lenient leaves such lines out"):
        Study.load([path])
    loaded = Study.load([path], lenient=True)
    assert len(loaded) == LINES - 1
    assert loaded.warnings == (f"left out: {path / EPISODES} line 17: {loaded.warnings[0].split('17: ')[1]}",)


def test_a_torn_last_line_is_an_unfinished_run(copy):
    path = copy()
    text = (path / EPISODES).read_bytes()
    (path / EPISODES).write_bytes(text[:-10])
    loaded = Study.load([path])
    assert len(loaded) == LINES - 1
    assert loaded.warnings == (f"'{path}': 1 of {LINES} episodes are missing",)


def test_an_episode_that_is_there_twice_is_refused(copy):
    path = copy()
    lines = (path / EPISODES).read_bytes().splitlines(keepends=True)
    (path / EPISODES).write_bytes(b"".join([*lines, lines[4]]))
    with pytest.raises(FolderError, match=r"each episode once .* got episode='4:retry:clean:0' twice"):
        Study.load([path])


def test_no_episodes_are_one_line(copy):
    path = copy()
    (path / EPISODES).write_bytes(b"")
    with pytest.raises(FolderError, match=r"expected episodes in .*, got none"):
        Study.load([path])
    with pytest.raises(UsageError, match="at least one run folder"):
        Study.load([])
    with pytest.raises(UsageError, match="each run folder once"):
        Study.load([path, path])


UNLIKE = {
    "tools": {"contents__tools": "other"},
    "policy": {"contents__policy": "other"},
    "gold": {"contents__gold": "other"},
    "version": {"versions__benchmark": "2.0"},
    "texts": {"versions__texts": "0"},
    "profile": {"injection__profile": {"name": "mild"}},
    "limits": {"injection__limits": {"budget": 1}},
    "effects": {"injection__effects": "request"},
    "mix": {"scenarios__mix": "0/100/0"},
    "block": {"scenarios__block": "primary"},
    "max-steps": {"max_steps": 7},
    "benchmark": {"benchmark": "toy-library"},
}


@pytest.mark.parametrize("part", UNLIKE)
def test_unlike_runs_are_refused_by_the_part_that_differs(folder, copy, part):
    path = copy()
    change(path, **UNLIKE[part])
    with pytest.raises(UsageError, match=rf"unlike runs: {part} .* differ; --force"):
        Study.load([folder, path])
    assert Study.load([folder, path], may_differ=[part]).warnings == ()
    forced = Study.load([folder, path], force=True)
    assert any(part in warning for warning in forced.warnings)


def test_what_is_not_injected_may_differ(folder, tmp_path):
    clean = replace(SPEC, modes=(Mode.CLEAN,), agents=("naive",))
    run(replace(clean, injection=InjectionSpec(limits=Limits(budget=1))), tmp_path / "clean", workers=1)
    assert len(Study.load([folder, tmp_path / "clean"])) == LINES + 2 * 7


def test_other_seeds_are_a_warning_and_one_system(folder, tmp_path):
    run(replace(SPEC, seeds=(2,)), tmp_path / "more", workers=1)
    loaded = Study.load([folder, tmp_path / "more"])
    assert loaded.systems == ("retry", "strategic")
    assert loaded.seeds == (0, 1, 2)
    assert any("different seeds (0,1, 2)" in warning for warning in loaded.warnings)


def test_systems_are_told_apart_by_the_folders_where_they_clash(folder, copy):
    other = copy("better")
    assert Study.load([folder, other]).systems == (
        "retry @ run", "strategic @ run", "retry @ better", "strategic @ better",
    )  # fmt: skip
    named = Study.load([folder, f"new={other}"])
    assert named.systems == ("retry", "strategic", "new: retry", "new: strategic")
    assert (
        Study.load([f"new={other}"]).select(system="new: retry", seed=0, mode="clean").column("passed").size
        == 7
    )


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        (None, "retry"),
        ({"variant": "none"}, "retry"),
        ({"variant": "full", "delivery": "block", "update": "fixed"}, "retry + BTM"),
        ({"variant": "static", "update": "online"}, "retry + BTM (static, online)"),
    ],
)
def test_a_memory_is_part_of_a_systems_name(copy, setting, name):
    path = copy()
    change(path, memory=setting)
    assert Study.load([path]).systems[0] == name


def test_an_older_folder_is_measured_by_its_benchmark_or_refused_in_one_line(folder, copy, monkeypatch):
    path = copy()
    manifest = json.loads((path / MANIFEST).read_text())
    manifest["format"] = 1
    del manifest["spec"]["contents"]
    (path / MANIFEST).write_text(json.dumps(manifest))
    (path / FACTS).unlink()
    old, new = Study.load([path]), Study.load([folder])
    assert all(np.array_equal(old.data[name], new.data[name]) for name in new.data)
    change(path, versions__benchmark="0.9")
    with pytest.raises(FolderError, match=r"older version, .* on version='0.9' .*: run it again"):
        Study.load([path])
    change(path, benchmark="gone")
    with pytest.raises(FolderError, match="its benchmark cannot be loaded"):
        Study.load([path])


def test_damaged_facts_are_one_line(copy):
    path = copy()
    (path / FACTS).write_text('{"kinds": 3}')
    with pytest.raises(FolderError, match=r"expected the facts of a run in .*facts.json"):
        Study.load([path])


def test_the_names_of_folders_are_as_short_as_tells_them_apart(tmp_path):
    paths = [tmp_path / "a" / "run", tmp_path / "b" / "run"]
    assert study._short_names(paths) == ["a/run", "b/run"]
