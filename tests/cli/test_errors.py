"""A user's mistake is one line on stderr, exit code 2, and leaves nothing behind."""

from __future__ import annotations

import sys

import pytest

from bench2robust.cli.main import exit_code
from bench2robust.evaluation import registry

RUN = ("run", "--benchmark", "toy-library")
FILES = {
    "blocked": "",
    "unknown_tool.toml": "[default]\nclean = 1.0\n[tools.get_loan]\nclean = 1.0\n",
    "sum.toml": "[default]\nclean = 0.5\ntimeout = 0.4\n",
    "negative.json": '{"default": {"clean": 1.5, "timeout": -0.5}}',
    "no.toml": "benchmark =",
    "word.toml": 'benchmark = "toy-library"\nagnets = ["naive"]\n',
    "out.toml": 'benchmark = "toy-library"\nout = 3\n',
    "workers.toml": 'benchmark = "toy-library"\nworkers = "two"\n',
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stand in a folder that holds some files, and must hold nothing else afterwards."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    yield tmp_path
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == FILES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "expected a benchmark, got none; give --benchmark, such as --benchmark tau2-retail"),
        (("run", "--benchmark", "toy-libary"), "unknown benchmark='toy-libary'; did you mean 'toy-library'"),
        ((*RUN, "--agents", "strategc"), "unknown agent='strategc'; did you mean 'strategic'"),
        ((*RUN, "--modes", "inject-alt"), "unknown mode='inject-alt'; did you mean 'inject_alt'"),
        ((*RUN, "--tasks", "0-8"), "unknown task='8'; known: 0, 1, 2, 3, 4, 5, 6"),
        (
            (*RUN, "--seeds", "none"),
            "expected a count such as 5, or a list such as 3,7 or 10-14, got seeds='none'",
        ),
        ((*RUN, "--seeds", "3,3"), "expected each once, got seeds='3,3'"),
        ((*RUN, "--profile", "unknown_tool.toml"), "unknown tool='get_loan'; did you mean 'get_loans'"),
        ((*RUN, "--profile", "sum.toml"), "that sum to 1, got sum=0.9"),
        ((*RUN, "--profile", "negative.json"), "expected a probability of at least 0, got timeout=-0.5"),
        ((*RUN, "--profile", "harsh"), "unknown profile='harsh'; known: severe, moderate, mild, none"),
        ((*RUN, "--clean-probability", "1.2"), "expected a clean probability between 0 and 1, got p=1.2"),
        ((*RUN, "--max-consecutive", "0"), "expected an integer of at least 1, got max_consecutive=0"),
        ((*RUN, "--budget", "-1"), "expected an integer of at least 0, got budget=-1"),
        ((*RUN, "--mix", "50/60/0"), "expected shares that sum to 100, got mix=50/60/0"),
        ((*RUN, "--block", "secondary"), "unknown block='secondary'"),
        ((*RUN, "--effects", "requests"), "unknown effects='requests'; did you mean 'request'"),
        ((*RUN, "--max-steps", "0"), "expected an integer of at least 1, got max-steps=0"),
        ((*RUN, "--workers", "0"), "expected at least 1, got workers=0"),
        ((*RUN, "--out", "blocked/run"), "expected a folder that can be written, got out='blocked/run'"),
        ((*RUN, "--out", "blocked"), "expected a folder that can be written, got out='blocked'"),
        (("run", "--config", "nowhere.toml"), "expected a file that can be read, got file='nowhere.toml'"),
        (("run", "--config", "no.toml"), "expected TOML in file='no.toml'"),
        (("run", "--config", "word.toml"), "unknown setting='agnets'; did you mean 'agents'"),
        (("run", "--config", "out.toml"), "expected a folder, got out=3"),
        (("run", "--config", "workers.toml"), "expected an integer, got workers='two'"),
        ((*RUN, "--budget", "many"), "--budget"),
        ((*RUN, "--agnets", "naive"), "--agents"),
        ((*RUN, "--zzz"), "No such option: --zzz; see `b2r run --help`"),
        (("rum",), "'run'"),
        (("tasks", "lst"), "'list'"),
        (("table",), "RUN..."),
        (("tasks", "list"), "--benchmark"),
        (("table", "."), "expected a run folder, found no manifest.json in path='.'"),
        (("show", ".", "3"), "expected a run folder"),
        (("setup", "tau"), "unknown wheel='tau'; did you mean 'tau2'?"),
        (("tasks", "certify", "--benchmark", "tau2-retial"), "did you mean 'tau2-retail'"),
    ],
)
def test_one_line_exit_code_2_nothing_written(here, capsys, arguments, message):
    assert exit_code(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    "arguments", [("run", "--benchmark", "tau2-retail"), ("tasks", "list", "--benchmark", "tau2-retail")]
)
def test_without_tau2_it_says_how_to_get_it(here, capsys, monkeypatch, arguments):
    from bench2robust.benchmarks import tau2

    monkeypatch.setitem(sys.modules, "tau2", None)  # as where it is not installed
    registry._load.cache_clear()
    tau2.retail.cache_clear()
    assert exit_code(arguments) == 2
    registry._load.cache_clear()
    err = capsys.readouterr().err
    assert err == "error: expected τ²-bench, found no package name='tau2'; run `b2r setup tau2`\n"


def test_the_thing_under_test_breaking_is_exit_code_1(tmp_path, capsys):
    def explode() -> None:
        raise ZeroDivisionError("boom")

    at = registry.load("toy-mishaps").at
    at["call"] = explode
    arguments = ["run", "--benchmark", "toy-mishaps", "--modes", "clean", "--out", str(tmp_path / "run")]
    assert exit_code(arguments) == 1
    at.clear()
    announced, error = capsys.readouterr().err.splitlines()
    assert announced.startswith("175 episodes")
    assert error.startswith(
        "error: episode='3:naive:clean:0': the environment broke on tool='find_member_by_card'"
    )


def test_a_mistake_of_ours_is_not_dressed_up(tmp_path, monkeypatch):
    monkeypatch.setattr("bench2robust.evaluation.episode.judge", None)
    with pytest.raises(RuntimeError, match=r"episode='0:naive:clean:0': TypeError"):
        exit_code([*RUN, "--modes", "clean", "--out", str(tmp_path / "run")])
