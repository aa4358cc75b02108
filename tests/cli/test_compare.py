"""``b2r compare`` and ``b2r power``: what they print, and their exit codes."""

from __future__ import annotations

import json
import shutil

import pytest

from bench2robust.cli.main import exit_code
from bench2robust.core.episode import Mode
from bench2robust.evaluation import RunSpec, run

SPEC = RunSpec("toy-library", agents=("naive", "strategic"), seeds=tuple(range(6)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "old"
    run(SPEC, path, workers=1)
    return path


def call(capsys, *arguments):
    code = exit_code([str(a) for a in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_comparison_for_people(folder, capsys):
    code, out, err = call(
        capsys, "compare", folder, "--systems", "naive,strategic", "--modes", "clean,inject", "--effects"
    )
    assert code == 0
    head, first, second, *rest = out.splitlines()
    assert head.split()[:3] == ["from", "to", "mode"]
    assert first.startswith("naive  strategic  clean")
    assert second.startswith("naive  strategic  inject")
    assert any(line.startswith("pairing makes the intervals ") for line in rest)
    assert "what the modes do to naive" in rest
    assert "only 7 tasks: the interval is rough" in err


def test_a_comparison_for_programs(folder, capsys):
    code, out, _ = call(
        capsys,
        "compare",
        folder,
        "--systems",
        "naive,strategic",
        "--fail-if-worse",
        "0.02",
        "--effects",
        "--json",
    )
    data = json.loads(out)
    assert code == 0
    assert [row["mode"] for row in data["rows"]] == ["clean", "clean_alt", "inject", "inject_alt"]
    assert data["worse"] == []
    assert set(data["effects"]) == {"naive", "strategic"}


def test_a_run_beside_itself_is_not_worse(folder, tmp_path, capsys):
    shutil.copytree(folder, tmp_path / "new")
    code, _, err = call(capsys, "compare", folder, tmp_path / "new", "--fail-if-worse", "0.02")
    assert code == 0
    assert "not worse by more than 0.02" in err


def test_exit_code_1_when_the_second_is_worse(tmp_path, capsys):
    run(
        RunSpec("helpdesk", agents=("naive", "strategic"), modes=(Mode.INJECT,), seeds=(0,)), tmp_path / "run"
    )
    options = (tmp_path / "run", "--fail-if-worse", "0.02")
    code, _, err = call(capsys, "compare", *options, "--systems", "strategic,naive")
    assert code == 1
    assert "worse by more than 0.02: naive in inject" in err
    code, _, err = call(capsys, "compare", *options, "--systems", "naive,strategic", "--strict")
    assert code == 0
    assert "a loss of more than 0.02 is ruled out" in err


def test_too_few_tasks_to_be_sure_of_a_loss_are_said(folder, capsys):
    """Seven tasks in four modes: the smallest p-value there can be is 4 × 2 / 2⁷ = 0.0625."""
    options = ("compare", folder, "--systems", "strategic,naive", "--fail-if-worse", "0.02")
    code, _, err = call(capsys, *options)
    assert code == 0
    assert "7 tasks are too few for a loss to be more than chance" in err
    code, _, err = call(capsys, *options, "--modes", "clean", "--strict")
    assert code == 1
    assert "or not shown to be no worse: naive in clean" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("compare", "{run}", "{run}"), "error: expected each run folder once"),
        (("compare", "{run}", "--systems", "naive"), "error: expected two systems"),
        (("compare", "{run}", "--metric", "pas_rate"), "did you mean 'pass_rate'"),
        (("compare", "{run}", "--modes", "injekt"), "unknown mode='injekt'"),
        (("compare", "{run}", "--fail-if-worse", "-1"), "at least 0"),
        (("compare", "nowhere"), "expected a run folder"),
        (("power", "--difference", "5"), "difference=5.0"),
        (("power", "--pass-rate", "40"), "pass_rate=40.0"),
        (("power", "--runs", "nowhere"), "expected a run folder"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(folder, capsys, arguments, problem):
    code, out, err = call(capsys, *(a.format(run=folder) for a in arguments))
    assert code == 2
    assert out == ""
    (line,) = err.splitlines()
    assert problem in line


def test_damaged_lines_are_left_out_on_request(folder, tmp_path, capsys):
    path = tmp_path / "damaged"
    shutil.copytree(folder, path)
    lines = (path / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    lines[1] = b"nonsense\n"
    (path / "episodes.jsonl").write_bytes(b"".join(lines))
    code, _, err = call(capsys, "compare", path)
    assert (code, "line 2" in err, "--lenient" in err) == (2, True, True)
    code, _, err = call(capsys, "compare", path, "--lenient")
    assert code == 0
    assert "warning: left out:" in err


def test_power_from_a_prior_and_from_runs(folder, capsys):
    code, out, _ = call(capsys, "power", "--difference", "0.05")
    assert code == 0
    assert out.splitlines()[0].startswith(
        "to see a difference of 5 points 80 times in 100 (assumed: 40 % pass"
    )
    assert out.splitlines()[3].split() == ["1", "754", "1,507"]
    code, out, _ = call(capsys, "power", "--runs", folder, "--mode", "inject", "--json")
    data = json.loads(out)
    assert data["source"] == "estimated from naive and strategic in inject, 7 tasks × 6 seeds"
    assert data["rows"][0]["tasks"] > data["rows"][-1]["tasks"]
    assert data["rows"][0]["smallest"] > data["rows"][-1]["smallest"]
