"""What tables say, counted again by hand from the lines of a run; and what they refuse."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from statistics import mean, stdev

import pytest

from bench2robust.core.episode import Mode
from bench2robust.core.errors import FolderError, UnknownNameError, UsageError
from bench2robust.evaluation import RunSpec, run
from bench2robust.evaluation.tables.catalogue import build
from bench2robust.evaluation.tables.gap import slice_of
from bench2robust.evaluation.tables.systems import Options

RUNS = Path(__file__).parent / "runs"
PLAIN = RUNS / "plain"


@pytest.fixture(scope="module")
def lines():
    return [json.loads(line) for line in (PLAIN / "episodes.jsonl").read_text().splitlines()]


def row_of(table, name, section=None):
    rows = [r for r in table.rows if r.cells[0].value == name and section in (None, r.section)]
    return dict(zip([c.title for c in table.columns], rows[0].cells, strict=True))


def test_pass_rates_are_means_over_seeds_with_their_spread(lines):
    table = build("main", [PLAIN])
    for title, mode in {"Clean": "clean", "Inj w/o Alt": "inject", "Inj w/ Alt": "inject_alt"}.items():
        per_seed = [
            mean(
                line["outcome"]["passed"]
                for line in lines
                if (line["agent"], line["mode"], line["seed"]) == ("strategic", mode, seed)
            )
            for seed in (0, 1)
        ]
        cell = row_of(table, "strategic")[title]
        assert cell.value == pytest.approx(100 * mean(per_seed))
        assert cell.std == pytest.approx(100 * stdev(per_seed))
        assert cell.low <= cell.value <= cell.high


def test_strategy_counts_by_what_was_played_and_by_what_was_met(lines):
    table = build("strategy", [PLAIN])
    assigned, realised = (section for section, _ in table.sections)
    own = [line for line in lines if (line["agent"], line["mode"]) == ("naive", "inject_alt")]
    s2 = [line for line in own if line["assignment"]["effective"] == "s2"]
    cell = row_of(table, "naive", assigned)["Task Success (%): S2 Switch"]
    assert (cell.n, cell.value) == (
        len(s2),
        pytest.approx(100 * mean(line["outcome"]["passed"] for line in s2)),
    )
    met = [line for line in s2 if any(call.get("blocked") for call in line["calls"])]
    cell = row_of(table, "naive", realised)["Task Success (%): S2 Switch"]
    assert cell.n == len(met) < len(s2)
    premature = [line["outcome"]["escalation"] == "premature" for line in s2]
    assert row_of(table, "naive", assigned)["Premature Escalation (%) ↓: S2"].value == pytest.approx(
        100 * mean(premature)
    )


def test_error_types_are_those_that_were_met(lines):
    table = build("errors", [PLAIN])
    met = [
        line
        for line in lines
        if (line["agent"], line["mode"]) == ("naive", "inject")
        and any(call.get("noise") == "timeout" for call in line["calls"])
    ]
    row = row_of(table, "timeout")
    assert row["Pass Rate (%): naive"].n == len(met)
    assert row["Pass Rate (%): naive"].value == pytest.approx(
        100 * mean(line["outcome"]["passed"] for line in met)
    )
    assert row["Δ: strategic"].value == pytest.approx(
        row["Pass Rate (%): strategic"].value - row["Pass Rate (%): naive"].value
    )
    assert "blocked" not in [r.cells[0].value for r in table.rows]
    with_blocks = build("errors", [PLAIN], Options(mode=Mode.INJECT_ALT))
    assert row_of(with_blocks, "blocked")["Pass Rate (%): naive"].n > 0


def test_the_base_comes_first_and_training_is_what_one_says():
    table = build("errors", [PLAIN], Options(base="strategic"))
    assert [c.name for c in table.columns[1:3]] == ["strategic", "naive"]
    table = build("main", [PLAIN], Options(trained=frozenset({"naive"})))
    assert [row.cells[1].value for row in table.rows] == [True, False]


def test_the_gap_is_by_benchmark_and_intent():
    assert slice_of("airline-3i", "general-3", "general") == ("Airline-3I-shaped", "general")
    assert slice_of("tau2-telecom", "x", "") == ("τ²-bench", "telecom")
    table = build("gap", [PLAIN])
    cells = [row_of(table, "naive", section)["toy-library: all (7)"] for section, _ in table.sections]
    assert cells[2].value == pytest.approx(cells[1].value - cells[0].value)
    assert cells[2].low <= cells[2].value <= cells[2].high


def test_two_memories_of_one_variant_are_two_rows(tmp_path):
    shutil.copytree(RUNS / "full", tmp_path / "again")
    table = build("btm", [RUNS / "full", tmp_path / "again"])
    assert [row.cells[0].value for row in table.rows] == [
        "Full BTM, True @ full",
        "Full BTM, True @ again",
    ]


def test_a_setting_beside_both_axes_is_shown_too():
    runs = [RUNS / "sweep" / name for name in ("p0.90-b5-k2", "p0.60-b3-k1")]
    table = build("severity", runs)
    assert [(row.section, row.cells[0].value) for row in table.rows] == [
        ("Others", "P(clean)=0.60, B=3, K_max=1"),
        ("Others", "P(clean)=0.90, B=5, K_max=2"),
    ]


@pytest.mark.parametrize(
    ("name", "folders", "complaint"),
    [
        (
            "main",
            ["base"],
            "expected modes clean, inject, inject_alt for table='main', got inject; run --modes",
        ),
        ("strategy", ["full"], "expected modes inject_alt for table='strategy', got inject"),
        ("btm", ["plain"], "expected runs with a memory for table='btm', got none"),
        ("severity", ["plain"], "expected runs of at least two severities for table='severity', got one"),
        ("transfer", ["sweep"], "are unlike runs: profile"),
        ("main", ["plain", "plain"], "expected each run folder once"),
        ("main", ["nowhere"], "expected a run folder, found no manifest.json"),
    ],
)
def test_what_cannot_be_is_one_line(name, folders, complaint):
    with pytest.raises(UsageError) as error:
        build(name, [RUNS / folder for folder in folders])
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_table_or_system_is_suggested():
    with pytest.raises(UnknownNameError, match="did you mean 'severity'"):
        build("severty", [PLAIN])
    with pytest.raises(UnknownNameError, match="did you mean 'strategic'"):
        build("main", [PLAIN], Options(base="strategc"))


def test_no_episodes_are_no_table(tmp_path):
    for name in ("manifest.json", "facts.json"):
        shutil.copy(PLAIN / name, tmp_path)
    (tmp_path / "episodes.jsonl").touch()
    with pytest.raises(FolderError, match="expected episodes in"):
        build("main", [tmp_path])


def test_a_damaged_line_is_named_and_left_out_only_when_asked(tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(PLAIN, folder)
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    lines[3] = lines[3][:40]
    (folder / "episodes.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(FolderError, match="line 4"):
        build("main", [folder])
    table = build("main", [folder], Options(lenient=True))
    assert any("line 4" in note for note in table.notes)


def test_runs_of_different_plans_need_force(tmp_path):
    spec = RunSpec("toy-library", agents=("retry",), modes=(Mode.INJECT,), seeds=(0,), max_steps=9)
    run(spec, tmp_path / "short", workers=1)
    with pytest.raises(UsageError, match="max-steps"):
        build("errors", [PLAIN, tmp_path / "short"])
    table = build("errors", [PLAIN, tmp_path / "short"], Options(force=True))
    assert any("unlike runs" in note for note in table.notes)
    assert any("different seeds" in note for note in table.notes)
