"""The same plan on a Ray cluster of this machine: the same files, also when a worker is killed."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from bench2robust.agents.chat.spec import ChatSpec
from bench2robust.core.errors import NotInstalledError, SpecError
from bench2robust.evaluation import Means, Models, RunSpec, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]
AGENT = "chat:strategic"
PLUGIN = str(Path(__file__).parents[1] / "plugin")


@pytest.fixture(autouse=True)
def findable(monkeypatch):
    """Let workers find the toy benchmark, and Ray start without the network."""
    pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", PLUGIN)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def players():
    """Return the process ids of the workers that are alive."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"ray::Player" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def kill_one_at(done, killed):
    def watch(status):
        if status.done >= done and not killed:
            killed.append(players()[0])
            os.kill(killed[0], signal.SIGKILL)

    return watch


def test_one_of_two_workers_is_killed(tmp_path):
    spec, killed = RunSpec("toy-library", seeds=tuple(range(12))), []
    run(spec, tmp_path / "local", workers=2)
    means = Means(workers=2, executor="ray")
    assert run(spec, tmp_path / "ray", means=means, watch=kill_one_at(300, killed)).complete
    assert killed
    assert content(tmp_path / "ray") == content(tmp_path / "local")


def test_one_of_two_workers_is_killed_while_it_waits_for_a_model(serve_policy, tmp_path):
    served = ChatSpec("strategic", base_url=serve_policy())
    spec = RunSpec("toy-library", agents=("naive", AGENT), seeds=(0, 1, 2), models=Models({AGENT: served}))
    killed = []
    run(spec, tmp_path / "local")
    means = Means(workers=2, concurrency=8, executor="ray")
    assert run(spec, tmp_path / "ray", means=means, watch=kill_one_at(110, killed)).complete
    assert killed
    assert content(tmp_path / "ray") == content(tmp_path / "local")


def test_a_run_goes_on_elsewhere(tmp_path):
    """Begun on a cluster, stopped, finished here."""
    spec = RunSpec("toy-library", seeds=(0, 1, 2, 3))

    def stop(status):
        if status.done > 200:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path / "run", means=Means(workers=2, executor="ray"), watch=stop)
    run(spec, tmp_path / "run", workers=2)
    run(spec, tmp_path / "local", workers=2)
    assert content(tmp_path / "run") == content(tmp_path / "local")


def test_what_cannot_be(tmp_path, monkeypatch):
    spec = RunSpec("toy-library", agents=("naive",), seeds=(0,))
    served = Models({AGENT: ChatSpec("gpt", base_url="http://127.0.0.1:9/v1")})
    with pytest.raises(Exception, match=r"base-url='http://127.0.0.1:9/v1', got no answer"):
        run(
            replace(spec, agents=(AGENT,), models=served),
            tmp_path / "url",
            means=Means(workers=1, executor="ray"),
        )
    with pytest.raises(SpecError, match="expected a Ray cluster, got executor="):
        run(spec, tmp_path / "address", means=Means(executor="ray://127.0.0.1:1"))
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(NotInstalledError, match=r"pip install 'bench2robust\[ray\]'"):
        run(spec, tmp_path / "none", means=Means(executor="ray"))
