"""``b2r memory``: from runs to a file, shown and merged; a mistake is one line."""

from __future__ import annotations

import json

import pytest

from bench2robust.cli.main import exit_code
from bench2robust.core.noise import NoiseType
from bench2robust.memory import Belief, Beliefs, Counts, Memory, Source, keep

RETAIL = Memory(
    "retail",
    Beliefs(
        {
            ("get_order_details", NoiseType.TIMEOUT): Belief(3, 0),
            ("calculate", NoiseType.FACTUAL): Belief(0.5, 1.25),
        },
        {("get_order_details", "get_orders_for_user"): Belief(1200, 300)},
    ),
    (Source("r1", "tau2-retail", "split", ("strategic",), ("inject", "inject_alt"), (0,), 1500, "0.1.0"),),
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs of the toy library: one of a single agent, one of two."""
    folder = tmp_path_factory.mktemp("runs")
    common = ("--benchmark", "toy-library", "--modes", "inject_alt", "--workers", "1")
    for name, agents, seeds in (("one", "strategic", "2"), ("two", "strategic,naive", "3,4")):
        out = str(folder / name)
        assert exit_code(["run", *common, "--agents", agents, "--seeds", seeds, "--out", out]) == 0
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch, runs):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).symlink_to(runs / name)
    return tmp_path


def call(capsys, *arguments):
    """Return what the command prints; it must go well."""
    capsys.readouterr()
    code = exit_code(["memory", *map(str, arguments)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


def test_from_runs_to_one_memory(here, capsys):
    said = call(capsys, "estimate", "one", "-o", "one.json")
    assert said.startswith("one.json: library, 14 episodes; of strategic in inject_alt; ")
    call(capsys, "estimate", "two", "--agents", "naive", "--out", "naive.json", "--json")
    call(capsys, "estimate", "two", "--agents", "strategic", "-o", "two.json")
    call(capsys, "merge", "one.json", "two.json", "-o", "both.json")
    call(capsys, "estimate", "one", "two", "--agents", "strategic", "-o", "at_once.json")
    assert Memory.load("both.json") == Memory.load("at_once.json")
    assert Memory.load("both.json").episodes == 28
    assert (here / "both.json").read_bytes() == (here / "at_once.json").read_bytes()
    assert Memory.load("naive.json").sources[0].agents == ("naive",)


def test_pooling_and_half_life_are_the_files(here, capsys):
    call(capsys, "estimate", "one", "-o", "m.json", "--pool", "4", "--half-life", "1000")
    assert Memory.load("m.json").beliefs.pooling == 4
    assert Memory.load("m.json").half_life == 1000
    assert "pooled with 4 episodes; half-life 1000 episodes" in call(capsys, "show", "m.json")
    call(capsys, "estimate", "two", "--agents", "all", "-o", "n.json")
    assert exit_code(["memory", "merge", "m.json", "n.json", "-o", "both.json"]) == 2
    call(capsys, "merge", "m.json", "n.json", "-o", "both.json", "--pool", "2", "--half-life", "50")
    both = Memory.load("both.json")
    assert (both.beliefs.pooling, both.half_life) == (2, 50)


def test_the_table(tmp_path, capsys):
    RETAIL.save(tmp_path / "m.json")
    said = call(capsys, "show", tmp_path / "m.json")
    assert said.splitlines()[:6] == [
        "retail, 1,500 episodes; of strategic in inject, inject_alt; 2 of tools and errors, 1 of switches",
        "",
        "tool               met                    episodes  recovered   mean  90 % interval",
        "calculate          factual_error              1.75        0.5  0.400    0.069–0.797",
        "get_order_details  timeout                       3          3  0.800    0.473–0.987",
        "get_order_details  → get_orders_for_user     1,500      1,200  0.800    0.782–0.816",
    ]
    assert "What an agent reads (full, about " in said
    assert said.rstrip().endswith("</tool_reliability>")


def test_the_block_alone_in_every_variant(tmp_path, capsys):
    RETAIL.save(tmp_path / "m.json")
    for variant in ("full", "static", "dynamic", "shuffled"):
        said = call(capsys, "show", tmp_path / "m.json", "--block", "--variant", variant)
        assert said.startswith("<tool_reliability>\n")
        assert said.endswith("</tool_reliability>\n")
    assert call(capsys, "show", tmp_path / "m.json", "--block", "--variant", "none").strip() == ""


def test_as_json(tmp_path, capsys):
    RETAIL.save(tmp_path / "m.json")
    data = json.loads(call(capsys, "show", tmp_path / "m.json", "--json"))
    assert data["domain"] == "retail"
    assert data["fingerprint"] == RETAIL.fingerprint
    row = data["errors"][1]
    low, high = Belief(3, 0).interval(0.90)
    assert row == {
        "tool": "get_order_details",
        "error": "timeout",
        "successes": 3,
        "failures": 0,
        "mean": 0.8,
        "low": low,
        "high": high,
    }
    assert data["switches"][0]["target"] == "get_orders_for_user"
    assert data["sources"][0]["run"] == "r1"
    assert data["block"].startswith("<tool_reliability>")


def test_a_store_is_shown_and_merged_too(tmp_path, capsys):
    met = Counts(frozenset({("get_order_details", NoiseType.TIMEOUT)}), passed=True)
    with keep(tmp_path / "live.db", "retail") as live:
        live.update(met)
    RETAIL.save(tmp_path / "m.json")
    assert call(capsys, "show", tmp_path / "live.db").startswith("retail, 1 episodes; 1 of tools and errors")
    call(capsys, "merge", tmp_path / "m.json", tmp_path / "live.db", "-o", tmp_path / "both.json")
    assert Memory.load(tmp_path / "both.json").beliefs.of("get_order_details", "timeout") == Belief(4, 0)


def test_a_domain_of_ones_own(here, capsys):
    call(capsys, "estimate", "one", "-o", "m.json")
    found = call(capsys, "show", "m.json", "--block")
    assert "get_loans:" in found, "the benchmark of its runs knows the domain"
    Memory("library", Memory.load("m.json").beliefs).save("bare.json")
    assert "What an agent reads" not in call(capsys, "show", "bare.json")
    from bench2robust.evaluation import load

    assert call(capsys, "show", "bare.json", "--block", "--domain", load("toy-library").domain) == found


GOOD = RETAIL.to_dict()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("estimate", "one"), "Missing option '-o'"),
        (
            ("estimate", "none", "-o", "m.json"),
            "expected a run folder, found no manifest.json in path='none'",
        ),
        (
            ("estimate", "two", "-o", "m.json"),
            "expected the episodes of one agent, got agents='naive,strategic'",
        ),
        (("estimate", "one", "one", "-o", "m.json"), "expected each run once"),
        (("estimate", "one", "-o", "m.json", "--agents", "strategc"), "did you mean 'strategic'?"),
        (
            ("estimate", "one", "-o", "m.json", "--modes", "injct"),
            "unknown mode='injct'; did you mean 'inject'",
        ),
        (("estimate", "one", "-o", "m.json", "--modes", "clean"), "unknown mode of these runs='clean'"),
        (
            ("estimate", "one", "-o", "m.json", "--half-life", "0"),
            "expected a half-life in episodes, above 0",
        ),
        (("estimate", "one", "-o", "m.json", "--pool", "-1"), "expected a pooling strength of at least 0"),
        (("estimate", "one", "-o", "no/m.json"), "no/m.json: expected a file that can be written"),
        (("show", "none.json"), "none.json: expected a file that can be read (No such file or directory)"),
        (("show", "broken.json"), "broken.json: expected JSON"),
        (("show", "nan.json"), "nan.json: calculate.stale: expected a number of episodes of at least 0, got"),
        (("show", "negative.json"), "got failures=-1"),
        (("show", "version.json"), "version.json: expected schema version 1, got schema=2"),
        (
            ("show", "tool.json"),
            "unknown tool in the memory='get_ordr_details'; did you mean 'get_order_details'",
        ),
        (
            ("show", "retail.json", "--domain", "airline"),
            "expected a memory of domain='airline', got domain='retail'",
        ),
        (("show", "retail.json", "--variant", "ful"), "unknown variant='ful'; did you mean 'full'"),
        (("show", "foreign.json", "--block"), "got domain='music'; give its file with --domain"),
        (("merge", "retail.json", "foreign.json", "-o", "m.json"), "expected memories of one domain"),
        (("merge", "retail.json", "retail.json", "-o", "m.json"), "expected each episode once, got run='r1'"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(here, capsys, arguments, message):
    files = {
        "broken.json": '{"schema": 1,',
        "nan.json": json.dumps(GOOD | {"errors": {"calculate": {"stale": [float("nan"), 1]}}}),
        "negative.json": json.dumps(GOOD | {"errors": {"calculate": {"stale": [1, -1]}}}),
        "version.json": json.dumps(GOOD | {"schema": 2}),
        "tool.json": json.dumps(GOOD | {"errors": {"get_ordr_details": {"stale": [1, 1]}}}),
        "retail.json": json.dumps(GOOD),
        "foreign.json": json.dumps(GOOD | {"domain": "music", "sources": []}),
    }
    for name, text in files.items():
        (here / name).write_text(text)
    there = sorted(path.name for path in here.iterdir())
    capsys.readouterr()
    assert exit_code(["memory", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert sorted(path.name for path in here.iterdir()) == there
