"""``b2r run`` with a memory: one line for what cannot be, and a folder that needs nothing else to go on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench2robust.cli.main import exit_code
from bench2robust.core.noise import NoiseType
from bench2robust.evaluation.runner import MEMORY
from bench2robust.evaluation.store import MANIFEST
from bench2robust.memory.beliefs import Belief, Beliefs
from bench2robust.memory.memory import Memory

RUN = ("run", "--benchmark", "toy-library", "--agents", "reader", "--seeds", "1", "--workers", "1")
KNOWN = Memory("library", Beliefs({("get_loans", NoiseType.TIMEOUT): Belief(3, 1)}))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    KNOWN.save("known.json")
    return tmp_path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"domain": "retail"}, "expected a memory of domain='library', got domain='retail'"),
        ({"schema": 9}, "bad.json: expected schema version 1, got schema=9"),
        (
            {"errors": {"get_loan": {"timeout": [1, 0]}}},
            "unknown tool in the memory='get_loan'; did you mean",
        ),
        ({"errors": {"get_loans": {"timeout": [1, -1]}}}, "at least 0, got failures=-1"),
        ({"errors": {"get_loans": {"timeout": [float("nan"), 1]}}}, "at least 0, got successes=nan"),
        (
            {"errors": {"get_loans": {"timeot": [1, 1]}}},
            "unknown error type='timeot'; did you mean 'timeout'",
        ),
    ],
)
def test_a_memory_that_does_not_fit(here, capsys, change, message):
    Path("bad.json").write_text(json.dumps({**KNOWN.to_dict(), **change}))
    assert exit_code((*RUN, "--memory", "bad.json", "--out", "run")) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert (said.err.count("\n"), said.out) == (1, "")
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--memory", "none.json"),
            "none.json: expected a file that can be read (No such file or directory)",
        ),
        (("--memory-variant", "shuffled"), "got memory=None; give --memory FILE, or what needs none:"),
        (
            ("--memory", "known.json", "--memory-variant", "fool"),
            "unknown memory-variant='fool'; did you mean",
        ),
        (
            ("--memory", "known.json", "--delivery", "mail"),
            "unknown delivery='mail'; known: block, note, both",
        ),
        (("--memory", "known.json", "--wave", "4"), "expected update='online' beside wave=4; leave one out"),
        (("--update", "online", "--wave", "0"), "expected a number of episodes of at least 1, got wave=0"),
    ],
)
def test_options_that_cannot_be(here, capsys, options, message):
    assert exit_code((*RUN, *options, "--out", "run")) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert not Path("run").exists()


def test_a_run_goes_on_without_its_memorys_file(here, capsys):
    command = (*RUN, "--memory", "known.json", "--delivery", "both", "--update", "online", "--out", "run")
    assert exit_code(command) == 0
    first = capsys.readouterr().out
    assert Memory.load(f"run/{MEMORY}") == KNOWN
    told = json.loads(Path("run", MANIFEST).read_text())["spec"]["memory"]
    assert (told["variant"], told["delivery"], told["update"], told["wave"]) == ("full", "both", "online", 16)
    assert told["start"] == KNOWN.fingerprint
    Path("known.json").unlink()
    assert exit_code(command) == 0
    assert capsys.readouterr().out == first


def test_a_transcript_shows_the_notes(here, capsys):
    assert (
        exit_code(
            (*RUN, "--memory-variant", "static", "--delivery", "note", "--modes", "inject", "--out", "run")
        )
        == 0
    )
    capsys.readouterr()
    shown = []
    for line in range(1, 8):
        assert exit_code(("show", "run", str(line))) == 0
        shown.append(capsys.readouterr().out)
    assert any("and a note" in text and "P(episode recovery | " in text for text in shown)
