"""The run folder: what it refuses, what it repairs, and that nothing is lost or done twice."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench2robust.core.episode import Mode
from bench2robust.core.errors import FolderError, UnknownNameError
from bench2robust.evaluation import RunSpec, Schedule, certify, load, load_run, run
from bench2robust.evaluation.store import EPISODES, FACTS, MANIFEST, SUMMARY, RunFolder

SPEC = RunSpec(
    "toy-mishaps", agents=("retry", "strategic"), modes=(Mode.CLEAN, Mode.INJECT_ALT), seeds=(0, 1)
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An undisturbed run."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(SPEC, folder, workers=1)
    return folder


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_folder_holds_manifest_episodes_and_summary(whole):
    assert sorted(content(whole)) == sorted([MANIFEST, FACTS, EPISODES, SUMMARY])
    manifest = json.loads((whole / MANIFEST).read_text())
    assert manifest["episodes"] == 2 * 2 * 2 * 7
    assert manifest["fingerprint"] == Schedule(SPEC).fingerprint
    assert manifest["spec"]["seeds"] == [0, 1]
    assert manifest["spec"]["tasks"] == ["0", "1", "2", "3", "4", "5", "6"]
    assert manifest["spec"]["versions"]["benchmark"] == "1.0"
    lines = (whole / EPISODES).read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(Schedule(SPEC).ids())
    assert json.loads((whole / SUMMARY).read_text())["fingerprint"] == manifest["fingerprint"]


def test_the_same_run_gives_the_same_bytes(whole, tmp_path):
    run(SPEC, tmp_path / "again", workers=1)
    assert content(tmp_path / "again") == content(whole)


@pytest.fixture
def opened():
    """The tasks whose environment is opened from now on, in order."""
    certify("toy-mishaps")
    found = load("toy-mishaps").opened
    found.clear()
    return found


def test_repeating_a_finished_run_plays_nothing(whole, opened):
    before = content(whole)
    assert run(SPEC, whole, workers=1).complete
    assert opened == []
    assert content(whole) == before


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_wherever_the_file_was_torn_the_run_ends_as_if_it_had_not_been(whole, tmp_path_factory, data):
    """Cut anywhere, in a line or between two; without a summary, and now and then without a manifest."""
    bytes_ = (whole / EPISODES).read_bytes()
    cut = data.draw(st.integers(0, len(bytes_)))
    folder = tmp_path_factory.mktemp("torn")
    (folder / EPISODES).write_bytes(bytes_[:cut])
    if cut or data.draw(st.booleans()):
        (folder / MANIFEST).write_bytes((whole / MANIFEST).read_bytes())
    run(SPEC, folder, workers=1)
    assert content(folder) == content(whole)


def test_what_is_there_is_not_played_again(whole, tmp_path, opened):
    lines = (whole / EPISODES).read_bytes().splitlines(keepends=True)
    (tmp_path / EPISODES).write_bytes(b"".join(lines[:40]) + lines[40][:25])
    (tmp_path / MANIFEST).write_bytes((whole / MANIFEST).read_bytes())
    run(SPEC, tmp_path, workers=1)
    assert opened == [json.loads(line)["task"] for line in lines[40:]]


def test_a_torn_last_line_is_not_read(whole, tmp_path):
    lines = (whole / EPISODES).read_bytes().splitlines(keepends=True)
    (tmp_path / EPISODES).write_bytes(b"".join(lines[:3]) + lines[3][:-1])
    (tmp_path / MANIFEST).write_bytes((whole / MANIFEST).read_bytes())
    unfinished = load_run(tmp_path)
    assert len(list(unfinished.episodes())) == 3
    assert not unfinished.complete
    assert load_run(whole).complete


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seeds": (0, 2)}, r"seeds \(\[0, 1\] there, \[0, 2\] here\)"),
        ({"agents": ("naive",), "max_steps": 9}, r"agents .*, max_steps \(100 there, 9 here\)"),
        ({"tasks": ("0",)}, "tasks .*"),
    ],
)
def test_a_folder_with_another_run_is_refused_and_left_alone(whole, change, named):
    before = content(whole)
    with pytest.raises(FolderError, match=f"holds another run: {named} differ"):
        run(replace(SPEC, **change), whole, workers=1)
    assert content(whole) == before


def test_another_version_is_another_run(whole, monkeypatch):
    monkeypatch.setattr("bench2robust.evaluation.schedule.__version__", "99")
    with pytest.raises(FolderError, match=r"holds another run: versions\.bench2robust .*99"):
        run(SPEC, whole, workers=1)


def test_a_folder_in_use_is_refused(tmp_path):
    manifest = Schedule(SPEC).manifest()
    with RunFolder(tmp_path, manifest):
        before = content(tmp_path)
        with pytest.raises(FolderError, match="another run is writing to folder="):
            run(SPEC, tmp_path, workers=1)
        assert content(tmp_path) == before
    run(SPEC, tmp_path, workers=1)


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("words")
    with pytest.raises(FolderError, match=r"holds 'thesis\.tex'; choose another"):
        run(SPEC, tmp_path, workers=1)
    assert list(content(tmp_path)) == ["thesis.tex"]


def test_a_folder_that_cannot_be_is_refused_before_anything_is_played(tmp_path, opened):
    (tmp_path / "file").write_text("")
    for below in ("file", "file/run"):
        with pytest.raises(FolderError, match=r"expected a folder that can be written, got out="):
            run(SPEC, tmp_path / below, workers=1)
    assert opened == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{}\n", r"line 3: not an episode \(KeyError: 'task'\); the file was changed"),
        (b"garbage\n", "line 3: Expecting value"),
    ],
)
def test_a_line_that_is_no_episode_is_named(whole, tmp_path, line, message):
    lines = (whole / EPISODES).read_bytes().splitlines(keepends=True)
    (tmp_path / EPISODES).write_bytes(lines[0] + lines[1] + line + lines[3])
    (tmp_path / MANIFEST).write_bytes((whole / MANIFEST).read_bytes())
    with pytest.raises(FolderError, match=message):
        run(SPEC, tmp_path, workers=1)
    with pytest.raises(FolderError, match=message):
        list(load_run(tmp_path).episodes())


def test_a_line_in_the_wrong_place_is_named(whole, tmp_path):
    lines = (whole / EPISODES).read_bytes().splitlines(keepends=True)
    (tmp_path / EPISODES).write_bytes(lines[0] + lines[2])
    (tmp_path / MANIFEST).write_bytes((whole / MANIFEST).read_bytes())
    with pytest.raises(
        FolderError, match=r"line 2: expected episode='1:retry:clean:0', got id='2:retry:clean:0'"
    ):
        run(SPEC, tmp_path, workers=1)


def test_more_lines_than_the_run_has(whole, tmp_path):
    everything = (whole / EPISODES).read_bytes()
    (tmp_path / EPISODES).write_bytes(everything + everything.splitlines(keepends=True)[0])
    (tmp_path / MANIFEST).write_bytes((whole / MANIFEST).read_bytes())
    with pytest.raises(FolderError, match="line 57: expected episode=None"):
        run(SPEC, tmp_path, workers=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected JSON in"),
        ("[]", "got format=None"),
        ('{"format": 99}', "expected format 2 in .*, got format=99"),
    ],
)
def test_a_manifest_that_is_none(tmp_path, text, message):
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(FolderError, match=message):
        load_run(tmp_path)


def test_a_folder_that_is_no_run(tmp_path):
    with pytest.raises(FolderError, match=r"expected a run folder, found no manifest\.json"):
        load_run(tmp_path)


def test_episodes_are_found_by_id_and_by_line(whole):
    found = load_run(whole)
    assert found.episode("1:retry:clean:0") == found.episode("2")
    with pytest.raises(
        UnknownNameError, match="unknown episode='1:retry:cleen:0'; did you mean '1:retry:clean:0'"
    ):
        found.episode("1:retry:cleen:0")
    with pytest.raises(UnknownNameError, match="unknown episode='0'"):
        found.episode("0")
