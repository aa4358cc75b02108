"""``b2r table NAME``, ``sweep``, ``recommend`` and ``reproduce`` as commands."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from bench2robust.cli.main import exit_code
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.evaluation.reproduce import (
    PROTOCOLS,
    beliefs_of,
    blank,
    deviations,
    evaluation_of,
    protocol,
)
from bench2robust.evaluation.tables import Table

RUNS = Path(__file__).parents[1] / "evaluation/tables/runs"
PLAIN = str(RUNS / "plain")


def outcome(capsys, *words):
    code = exit_code([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_table_on_the_screen_and_in_files(capsys, tmp_path):
    code, out, _ = outcome(capsys, "table", "main", PLAIN, "--intervals")
    assert code == 0
    assert "Effectiveness (toy-library, 7 tasks, 2 seeds)" in out
    assert "[" in out
    for ending in ("md", "tex", "csv", "txt"):
        file = tmp_path / f"t.{ending}"
        assert outcome(capsys, "table", "main", PLAIN, "-o", file)[0] == 0
        assert "naive" in file.read_text()
    code, out, _ = outcome(capsys, "table", "main", PLAIN, "--json", "--paper")
    assert Table.from_dict(json.loads(out)).rows[2].source == "Table 1, row 1"


def test_a_run_can_be_called_something(capsys):
    _, out, _ = outcome(capsys, "table", "btm", RUNS / "base", f"mine={RUNS / 'full'}", "--format", "csv")
    assert '"",' not in out
    assert "Full BTM, True" in out
    _, out, _ = outcome(capsys, "table", "errors", f"mine={RUNS / 'full'}", "--format", "csv")
    assert "Pass Rate (%): mine" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("table", "main"), "error: expected run folders after table='main', got none"),
        (("table", "mian", PLAIN), "error: unknown table='mian'; did you mean 'main'?"),
        (("table", PLAIN, "--paper"), "error: expected a table's name before the run"),
        (("table", "main", PLAIN, "--format", "doc"), "error: unknown format='doc'"),
        (("table", "main", PLAIN, "-o", "t.doc"), "error: unknown ending of an output file='.doc'"),
        (("table", "gap", PLAIN, "--mode", "clean"), "error: unknown injected mode='clean'"),
        (("table", "main", PLAIN, "--base", "nobody"), "error: unknown system='nobody'"),
        (("sweep", "--seeds", "1"), "error: expected a benchmark, got none"),
        (("sweep", "--benchmark", "toy-library", "--clean-prob", "x"), "error: expected probabilities"),
        (("sweep", "--benchmark", "toy-library", "--limits", "3"), "error: expected BUDGET:CONSECUTIVE"),
        (("sweep", "--benchmark", "toy-library", "--seed", "1"), "error: No such option"),
        (("recommend", "--clean-prob", "2"), "error: expected a probability between 0 and 1"),
        (("recommend", "--alternatives", "maybe"), "error: unknown alternatives='maybe'"),
        (("recommend", "--runs", "nowhere"), "error: expected a run folder"),
        (("reproduce", "table2", "--agent", "naive"), "error: unknown table to reproduce='table2'"),
        (("reproduce", "table1"), "error: expected an agent for table1, got none"),
        (("reproduce", "table1", "--agent", "naive", "--benchmark", "x"), "error: expected no --benchmark"),
        (("reproduce", "reference", "--agent", "naive"), "error: expected no --agent"),
    ],
)
def test_mistakes_are_one_line(capsys, words, complaint):
    code, out, err = outcome(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(complaint)
    assert err.count("\n") == 1


def test_a_sweep_from_the_command_line(capsys, tmp_path):
    sweep = (
        "sweep",
        "--benchmark",
        "toy-library",
        "--agents",
        "naive,retry",
        "--seeds",
        "2",
        "--clean-prob",
        ".6,.9",
    )
    code, out, _ = outcome(capsys, *sweep, "--out", tmp_path / "s", "--dry-run", "--json")
    assert (code, json.loads(out)["episodes"]) == (0, 2 * 2 * 2 * 7)
    assert not (tmp_path / "s").exists()
    code, out, err = outcome(capsys, *sweep, "--out", tmp_path / "s")
    assert code == 0
    assert "Vary P(clean); B=5, K_max=2" in out
    assert "run 2 of 2: p0.90-b5-k2" in err
    assert outcome(capsys, "table", "severity", tmp_path / "s")[1] == out


def test_a_recommendation_is_a_profile_that_runs(capsys, tmp_path):
    profile = tmp_path / "p.toml"
    code, out, _ = outcome(
        capsys, "recommend", "--runs", PLAIN, "--clean-prob", ".6", "--alternatives", "yes", "-o", profile
    )
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("deploy ")
    assert all(line.startswith("warning: ") for line in lines[3:])
    assert tomllib.loads(profile.read_text())["recommendation"]["from"] == "runs"
    run = ("run", "--config", profile, "--benchmark", "toy-library", "--seeds", "1", "--out", tmp_path / "r")
    assert outcome(capsys, *run)[0] == 0
    code, out, _ = outcome(capsys, "recommend", "--json")
    assert json.loads(out)["prior"] is True


def test_protocols_are_the_papers():
    one, fourteen = protocol("table1"), protocol("table14")
    assert (one.settings["modes"], one.settings["seeds"]) == (("clean", "inject", "inject_alt"), 5)
    assert fourteen.settings == {"modes": ("inject",), "seeds": [42]}
    assert set(PROTOCOLS) == {"table1", "table3", "table5", "table7", "table14"}
    with pytest.raises(UnknownNameError):
        protocol("table4")


def test_what_is_not_as_in_the_paper_is_said():
    assert deviations(protocol("table1"), {"agents": ["chat:m"], "seeds": 1}) == (
        "seeds=1",
        "3I-shaped tasks in place of Retail-3I and Airline-3I, whose files are not public",
    )
    assert "reference policies in place of a model" in deviations(protocol("table14"), {"agents": ["naive"]})


@pytest.mark.tau2
def test_the_runs_of_a_protocol():
    wanted = protocol("table1")
    series = evaluation_of(
        "table1", wanted, {"agents": ["naive"]}, {"combined-retail": blank("combined-retail")}
    )
    assert list(series.runs) == ["base", "btm"]
    assert {len(spec.tasks) for spec in series.runs.values()} == {402}
    rollouts = beliefs_of(wanted, {"agents": ["naive"], "seeds": 5}).runs["combined-retail"]
    assert (len(rollouts.tasks), rollouts.seeds) == (937, (1000, 1001, 1002))
    assert set(rollouts.tasks).isdisjoint(series.runs["base"].tasks)
    with pytest.raises(UsageError, match="held out"):
        beliefs_of(wanted, {"agents": ["naive"]}, series.runs["base"].tasks[0])
    with pytest.raises(UsageError, match="expected one agent"):
        beliefs_of(wanted, {"agents": ["naive", "retry"]})


@pytest.mark.tau2
@pytest.mark.slow
def test_table_1_of_an_endpoint_beside_the_papers(capsys, serve_policy, tmp_path):
    url = serve_policy("combined-retail")
    words = (
        "reproduce", "table1", "--agent", "chat:strategic", "--base-url", url, "--out", tmp_path / "t",
        "--tasks", "changing-3,changing-5", "--seeds", "1", "--belief-tasks", "0-2", "--max-steps", "100",
    )  # fmt: skip
    code, out, err = outcome(capsys, *words)
    assert code == 0, err
    assert "strategic + BTM" in out
    assert "the paper's Table 1" in out
    assert "not as in the paper: " in err
    before = (tmp_path / "t/runs/btm/episodes.jsonl").read_bytes()
    assert outcome(capsys, *words)[0] == 0
    assert (tmp_path / "t/runs/btm/episodes.jsonl").read_bytes() == before
