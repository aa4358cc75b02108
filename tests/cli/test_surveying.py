"""`b2r tasks stats` and `b2r tasks check`: what they print, and their exit codes."""

from __future__ import annotations

import json
import re

import pytest

from bench2robust.cli.main import exit_code

PLUGIN = """
from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark
from bench2robust.core.errors import NotInstalledError

def lonely():
    raise NotInstalledError("lonely needs its wheel: run `b2r setup lonely`")

class Bad(HelpdeskBenchmark):
    name = "bad"

    def policy(self, alternatives):
        return " "

def bad():
    return Bad(3)
"""


@pytest.fixture(autouse=True, scope="module")
def plugins(tmp_path_factory):
    """Two benchmarks more: one whose wheel is missing, one without a policy text."""
    folder = tmp_path_factory.mktemp("plugins")
    info = folder / "surveyed-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: surveyed\nVersion: 1.0\n")
    points = "lonely = surveyed:lonely\nbad = surveyed:bad\n"
    (info / "entry_points.txt").write_text(f"[bench2robust.benchmarks]\n{points}")
    (folder / "surveyed.py").write_text(PLUGIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield


def test_stats_are_a_row_for_each_benchmark(capsys):
    assert exit_code(["tasks", "stats", "--benchmark", "toy-library", "--benchmark", "helpdesk"]) == 0
    assert capsys.readouterr().out == (
        "benchmark    tasks   tools  gold calls  S2-eligible  S3-eligible\n"
        "toy-library      7   6 + 1         1.3            5            4\n"
        "helpdesk       200  10 + 3         4.5          191          178\n"
    )


def test_a_benchmark_whose_wheel_is_missing_is_a_row_that_says_so(capsys):
    assert exit_code(["tasks", "stats", "--benchmark", "lonely", "--benchmark", "toy-library"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[1].split(maxsplit=6) == ["lonely", *"–" * 5, "lonely needs its wheel: run `b2r setup lonely`"]
    assert rows[2].startswith("toy-library")


def test_stats_show_what_they_are_at_on_a_terminal_and_nothing_in_a_pipe(capsys, monkeypatch):
    arguments = ["tasks", "stats", "--benchmark", "toy-library"]
    exit_code(arguments)
    quiet = capsys.readouterr()
    assert quiet.err == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    exit_code(arguments)
    shown = capsys.readouterr()
    assert "1 of 1: toy-library" in shown.err
    assert shown.out == quiet.out


def test_stats_as_json(capsys):
    assert exit_code(["tasks", "stats", "--json", "--benchmark", "lonely", "--benchmark", "toy-library"]) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"benchmark": "lonely", "missing": "lonely needs its wheel: run `b2r setup lonely`"},
        {
            "benchmark": "toy-library",
            "tasks": 7,
            "standard": 6,
            "alternative": 1,
            "gold_calls": pytest.approx(9 / 7),
            "s2": 5,
            "s3": 4,
        },
    ]


def test_a_check_that_holds_exits_with_0(capsys):
    assert exit_code(["tasks", "check", "--benchmark", "toy-library"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("toy-library: 7 tasks, everything holds\n")
    assert "FAIL" not in out


def test_a_check_that_fails_exits_with_1_and_says_what(capsys):
    assert exit_code(["tasks", "check", "--benchmark", "bad", "--tasks", "0,1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("FAIL  tools")
    assert lines[1:3] == [
        f"        expected a policy text, got an empty one for alternatives={given}"
        for given in (False, True)
    ]
    assert re.fullmatch(r"bad: 2 tasks, 1 of \d+ checks fail", lines[-1])


def test_a_check_as_json(capsys):
    assert exit_code(["tasks", "check", "--benchmark", "bad", "--tasks", "2", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["benchmark"], report["tasks"], report["passed"]) == ("bad", 1, False)
    assert [check["name"] for check in report["checks"] if not check["passed"]] == ["tools"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("stats", "--benchmark", "helpdesc"),
        ("check", "--benchmark", "helpdesc"),
        ("check", "--benchmark", "helpdesk", "--tasks", "x"),
        ("check", "--benchmark", "lonely"),
        ("check",),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, capsys):
    assert exit_code(["tasks", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
