"""`b2r report` as a command."""

from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from bench2robust.evaluation import RunSpec, run
    from bench2robust.injection import Mix, ScenarioSpec

    path = tmp_path_factory.mktemp("report") / "desk"
    spec = RunSpec(
        "helpdesk",
        agents=("naive", "strategic"),
        seeds=(0, 1),
        tasks=tuple(map(str, range(12))),
        scenarios=ScenarioSpec(Mix(40, 40, 20)),
    )
    run(spec, path)
    return path


def test_it_writes_into_the_run_and_says_what(b2r, folder):
    done = b2r("report", str(folder))
    assert done.returncode == 0, done.stderr
    made = (folder / "report.html").read_bytes()
    assert (
        done.stdout == f"{folder}/report.html: {len(made) / 1e6:.1f} MB, 192 episodes, all with timelines\n"
    )
    assert b2r("table", str(folder)).returncode == 0, "the folder is still a run folder"


def test_json_file_and_gallery(b2r, folder, tmp_path):
    out, gallery = tmp_path / "r.html", tmp_path / "gallery.md"
    done = b2r("report", str(folder), "-o", str(out), "--gallery", str(gallery), "--json")
    found = json.loads(done.stdout)
    assert found["file"] == str(out)
    assert found["bytes"] == out.stat().st_size
    assert found["timelines"] == found["episodes"] == 192
    assert gallery.read_text().count("\n## ") == len(found["stories"])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere"], "expected a run folder"),
        (["{}", "-o", "no/such/folder/r.html"], "expected a file that can be written"),
        (["{}", "--max-size", "0.1"], "expected at least 1 megabyte"),
        (["{}", "{}"], "once"),
        (["{}", "--memory", "nowhere.json"], "nowhere.json"),
    ],
)
def test_a_mistake_is_one_line(b2r, folder, tmp_path, arguments, complaint):
    done = b2r("report", *(argument.format(folder) for argument in arguments), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
