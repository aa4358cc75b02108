"""``b2r run`` with models, on a policy that is served: the whole path, bad input, kills."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import pytest

from bench2robust.cli.main import exit_code
from bench2robust.cli.running import read_order
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.evaluation.journal import LOST, PART
from bench2robust.evaluation.store import EPISODES, FACTS, MANIFEST, SUMMARY

pytest.importorskip("openai")

AGENT = "chat:strategic"


def arguments(url, *more):
    return ("run", "--benchmark", "toy-library", "--agents", AGENT, "--base-url", url, "--seeds", "2", *more)


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_from_the_command_to_the_table(serve_policy, b2r, tmp_path):
    done = b2r(*arguments(serve_policy(), "--prices", "1/2", "--out", "run"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "56 episodes (1 agent × 4 modes × 2 seeds × 7 tasks), models with 16 episodes in flight",
        "run folder: run",
    ]
    headings, *rows = done.stdout.splitlines()
    assert headings.split()[:2] == ["agent", "mode"]
    assert re.search(r"injected +tokens +cost +S1", headings)
    assert len(rows) == 4
    assert all(row.startswith(AGENT) and "$0.00" in row for row in rows)
    row = json.loads((tmp_path / "run" / SUMMARY).read_text())["rows"][0]
    assert row["requests"] > 1
    assert row["tokens"] > 100


def test_toml_and_options_make_the_same_run(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'benchmark = "toy-library"\nagents = ["naive", "chat:a/b", "chat:c"]\nuser = "chat:d"\nseeds = 2\n'
        'base-url = "http://one:1/v1"\ntemperature = 0.5\nprices = "1/2"\nextra-body = {top_k = 20}\n'
        'concurrency = 4\nmax-cost = 3\nuser-base-url = "http://two:2/v1"\n[chat."a/b"]\ntemperature = 0.7\n'
    )
    options = {
        "benchmark": "toy-library", "agents": "naive,chat:a/b,chat:c", "user": "chat:d", "seeds": "2",
        "base-url": "http://one:1/v1", "temperature": 0.5, "prices": "1/2", "extra-body": '{"top_k": 20}',
    }  # fmt: skip
    order, by_options = read_order(file, {}), read_order(None, options)
    models = order.spec.models
    assert [models.of(name).temperature for name in ("chat:a/b", "chat:c")] == [0.7, 0.5]
    assert (models.of("chat:c").base_url, models.of_user().base_url) == ("http://one:1/v1", "http://two:2/v1")
    assert (order.means.concurrency, order.means.budget.cost, order.spec.max_steps) == (4, 3, 25)
    assert by_options.spec.models.of("chat:c") == models.of("chat:c")
    assert by_options.schedule.fingerprint != order.schedule.fingerprint
    alike = read_order(file, {"temperature": 0.5, "chat": {}})
    assert alike.schedule.fingerprint == by_options.schedule.fingerprint


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"concurrency": 0}, SpecError, "expected at least 1, got concurrency=0"),
        ({"concurrency": "many"}, SpecError, "expected an integer, got concurrency='many'"),
        ({"max-cost": -1.0}, SpecError, "expected more than 0, got max-cost=-1.0"),
        ({"executor": "slurm"}, UnknownNameError, "unknown executor='slurm'; known: local, ray, ray://HOST:PORT"),
        ({"base-url": "localhost:8000"}, SpecError, "got base-url='localhost:8000'"),
        ({"agents": "chat:"}, SpecError, "expected the name of a model"),
        ({"user": "chat:"}, SpecError, "expected the name of a model"),
        ({"user": "nobody"}, UnknownNameError, "unknown user='nobody'"),
        ({"prices": "cheap"}, SpecError, "expected two prices such as 0.15/0.60, got prices='cheap'"),
        ({"temperature": -1.0}, SpecError, "temperature=-1.0"),
        ({"text-tools": "maybe"}, UnknownNameError, "text-tools='maybe'"),
        ({"extra-body": "[1]"}, SpecError, "expected a JSON object, got extra-body"),
        ({"chat": {"other": {}}}, UnknownNameError, "unknown model='other'"),
        ({"chat": {"m": {"heat": 1}}}, UnknownNameError, "unknown setting of a model='heat'"),
        ({"agents": "naive"}, SpecError, "expected an agent that is a model, .* beside base-url="),
    ],
)  # fmt: skip
def test_settings_that_cannot_be(options, error, says):
    usual = {"benchmark": "toy-library", "agents": "chat:m", "base-url": "http://localhost:1/v1"}
    with pytest.raises(error, match=says) as caught:
        read_order(None, {**usual, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("served", "given", "says"),
    [
        ((), ("--base-url", "http://127.0.0.1:9/v1"), "got no answer"),
        (("--api-key", "right"), (), "wants an API key"),
        ((), ("--agents", "chat:gpt"), "unknown model='gpt'"),
        (("--tools", "none"), (), "does not take tools"),
        ((), ("--user", "chat:nobody"), "unknown model='nobody'"),
        ((), ("--concurrency", "0"), "expected at least 1, got concurrency=0"),
        ((), ("--base-url", "http://[::1/v1"), "expected an address such as"),
        ((), ("--base-url", "http://127.0.0.1:99999/v1"), "expected an address such as"),
        ((), ("--max-cost", "1"), "expected prices with max-cost"),
    ],
)
def test_bad_input_is_one_line(serve_policy, capsys, tmp_path, monkeypatch, served, given, says):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    url = serve_policy("toy-library", *served)
    assert exit_code([*arguments(url), "--out", str(tmp_path / "run"), *given]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ")
    assert says in error


def test_the_key_comes_from_the_variable_that_is_named(serve_policy, b2r, tmp_path):
    url = serve_policy("toy-library", "--api-key", "right")
    done = b2r(*arguments(url, "--api-key-env", "MY_KEY", "--out", "run"), cwd=tmp_path, MY_KEY="right")
    assert done.returncode == 0, done.stderr
    assert b"right" not in b"".join(content(tmp_path / "run").values())
    wrong = b2r(*arguments(url, "--api-key-env", "MY_KEY", "--out", "other"), cwd=tmp_path, MY_KEY="wrong")
    assert wrong.returncode == 2
    assert "refuses the API key in $MY_KEY" in wrong.stderr


def test_white_space_around_a_key_is_no_part_of_it_and_no_message_shows_a_key(serve_policy, b2r, tmp_path):
    url = serve_policy("toy-library", "--api-key", "right")
    done = b2r(*arguments(url, "--api-key-env", "MY_KEY", "--out", "run"), cwd=tmp_path, MY_KEY="right\r\n")
    assert done.returncode == 0, done.stderr
    for key in ("sec\nret-1", "secret-é"):
        done = b2r(*arguments(url, "--api-key-env", "MY_KEY", "--out", "other"), cwd=tmp_path, MY_KEY=key)
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1] == (
            "error: expected a key of printable ASCII characters in the variable MY_KEY, got others"
        )
        assert "ret-" not in done.stderr


def test_a_run_that_never_began_does_not_bind_its_folder(serve_policy, b2r, tmp_path):
    url = serve_policy()
    assert b2r(*arguments(url, "--agents", "chat:nobody", "--out", "run"), cwd=tmp_path).returncode == 2
    assert b2r(*arguments(url, "--out", "run"), cwd=tmp_path).returncode == 0


def test_a_folder_of_another_plan(serve_policy, b2r, tmp_path):
    url = serve_policy()
    b2r(*arguments(url, "--out", "run"), cwd=tmp_path)
    before = content(tmp_path / "run")
    done = b2r(*arguments(url, "--out", "run", "--temperature", "0.7"), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "error: folder='run' holds another run: models.chats.chat:strategic.temperature (0.0 there, 0.7 here) "
        "differ; choose another folder, or repeat its command\n"
    )
    assert content(tmp_path / "run") == before


def test_a_dry_run_samples_and_writes_nothing(serve_policy, b2r, tmp_path):
    done = b2r(*arguments(serve_policy(), "--prices", "1/2", "--dry-run"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    counted, models = done.stdout.splitlines()
    assert counted.startswith("56 episodes ")
    assert re.fullmatch(
        r"models: about [\d.]+k tokens, \$[\d.]+ and .* for 56 episodes \(from 4 that were played\)", models
    )
    assert list(tmp_path.iterdir()) == []


def test_a_tape_replaces_the_endpoint(serve_policy, b2r, tmp_path):
    """Record once; replayed with nobody at the address it is the same run."""
    recorded = b2r(*arguments(serve_policy(), "--record", "tape.jsonl", "--out", "first"), cwd=tmp_path)
    assert recorded.returncode == 0, recorded.stderr
    nobody = arguments("http://127.0.0.1:9/v1", "--replay", "tape.jsonl", "--concurrency", "3")
    replayed = b2r(*nobody, "--out", "second", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert content(tmp_path / "second") == content(tmp_path / "first")
    for given, says in (
        (("--replay", "none.jsonl"), "expected a tape to replay"),
        (("--record", "a", "--replay", "b"), "expected one tape on one machine"),
        (("--record", "a", "--executor", "ray"), "beside executor='ray'"),
    ):
        done = b2r(*arguments("http://127.0.0.1:9/v1", *given, "--out", "third"), cwd=tmp_path)
        assert done.returncode == 2
        assert says in done.stderr


def test_what_is_lost_is_in_the_footer_and_the_exit_code(serve_policy, b2r, tmp_path):
    url = serve_policy("toy-library", "--faults", "500=0.25")
    done = b2r(*arguments(url, "--attempts", "2", "--out", "run"), cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    *_, lost, unfinished = done.stdout.splitlines()
    count = int(
        re.match(r"(\d+) lost to the endpoint, not scored: .* \(model='strategic' did not answer", lost)[1]
    )
    assert unfinished == f"{56 - count} of 56 episodes; repeat the command to finish the run"
    assert b2r("table", "run", cwd=tmp_path).stdout == done.stdout
    assert len(json.loads(b2r("table", "run", "--json", cwd=tmp_path).stdout)["lost"]) == count
    again = b2r(*arguments(url, "--out", "run"), cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "lost" not in again.stdout
    assert sorted(content(tmp_path / "run")) == sorted([MANIFEST, FACTS, EPISODES, SUMMARY])


def test_a_budget_stops_with_its_own_exit_code(serve_policy, b2r, tmp_path):
    done = b2r(
        *arguments(serve_policy(), "--max-tokens", "9000", "--concurrency", "1", "--out", "run"), cwd=tmp_path
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        "stopped: max-tokens=9000 leaves no room for another episode; repeat the command with more to go on"
    )


def test_interrupted_it_finishes_what_is_in_flight(serve_policy, start_b2r, tmp_path):
    url = serve_policy("toy-library", "--faults", "slow=1", "--slow", "0.05")
    process = start_b2r(*arguments(url, "--out", str(tmp_path / "run"), "--concurrency", "8"))
    wait_for(tmp_path / "run" / PART, 1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert re.search(r"interrupted: finishing \d episodes? in flight; Ctrl-C again gives them up", err)
    assert err.splitlines()[-1].startswith("interrupted; repeat the command to go on")
    assert "Traceback" not in err


def wait_for(file, size, process=None):
    """Wait until a file has so many bytes, or the process has ended."""
    end = time.monotonic() + 60
    while not (file.exists() and file.stat().st_size >= size):
        if process is not None and process.poll() is not None:
            return
        assert time.monotonic() < end, f"{file} never reached {size} bytes"
        time.sleep(0.002)


@pytest.mark.slow
def test_killed_ten_times_and_resumed_it_ends_as_if_undisturbed(serve_policy, start_b2r, b2r, tmp_path):
    url, out = serve_policy(), tmp_path / "run"
    command = arguments(url, "--seeds", "9", "--concurrency", "16")
    assert b2r(*command, "--out", str(tmp_path / "whole")).returncode == 0
    whole = content(tmp_path / "whole")
    size, reached, kills = len(whole[EPISODES]), 0, 0
    for share in (0.0, 0.05, 0.15, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97):
        process = start_b2r(*command, "--out", str(out))
        wait_for(out / PART, max(reached + 1, int(share * size)), process)
        if process.poll() is None:
            process.kill()
            kills += process.wait() == -signal.SIGKILL
        if not (out / PART).exists():
            break
        left = (out / PART).read_bytes()
        reached = left.rfind(b"\n") + 1
        ids = [json.loads(line)["id"] for line in left.splitlines(keepends=True) if line.endswith(b"\n")]
        assert len(set(ids)) == len(ids), "an episode was played twice"
    assert kills >= 10
    assert start_b2r(*command, "--out", str(out)).wait(60) == 0
    assert content(out) == whole


def test_killed_while_the_episodes_are_put_in_their_places(serve_policy, b2r, tmp_path):
    """Every state in between: a beginning of the episodes in place, all of them still ahead."""
    command = arguments(serve_policy())
    assert b2r(*command, "--out", str(tmp_path / "whole")).returncode == 0
    whole = content(tmp_path / "whole")
    lines = whole[EPISODES].splitlines(keepends=True)
    for placed in (0, 1, 30, 55, 56):
        out = tmp_path / str(placed)
        out.mkdir()
        (out / MANIFEST).write_bytes(whole[MANIFEST])
        (out / PART).write_bytes(b"".join(reversed(lines)))
        (out / EPISODES).write_bytes(b"".join(lines[:placed]) + b'{"half')
        assert b2r(*command, "--out", str(out)).returncode == 0
        assert content(out) == whole
    assert not (tmp_path / "0" / LOST).exists()


def test_serving_bad_input_is_one_line(capsys):
    for given, says in (
        (("--policy", "strategc"), "unknown agent='strategc'; did you mean 'strategic'"),
        (
            ("--policy", "omniscient"),
            "expected a policy that goes by what it is told, got policy='omniscient'",
        ),
        (("--faults", "429=2"), "expected rates of 0 to 1"),
        (("--tools", "some"), "unknown tools='some'"),
        (("--context", "0"), "expected at least 1 token, got context=0"),
        (("--port", "99999"), "expected an address that is free"),
    ):
        assert exit_code(["serve-policy", "--benchmark", "toy-library", "--port", "0", *given]) == 2
        assert says in capsys.readouterr().err


def test_a_served_policy_stops_when_told(start_b2r):
    process = start_b2r("serve-policy", "--benchmark", "toy-library", "--port", "0")
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(10) == 0
