"""A run, its report, and a browser to look at reports with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bench2robust.evaluation.report import report
from bench2robust.evaluation.study import Study

from .making import HOSTILE, copied, noise, play


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return play(tmp_path_factory.mktemp("runs") / "desk")


@pytest.fixture(scope="session")
def study(folder):
    return Study.load([folder])


@pytest.fixture(scope="session")
def made(study):
    return report(study)


@pytest.fixture(scope="session")
def page(made, tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(made.html, encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def hostile(folder, tmp_path_factory):
    """A run in which every text that a model or tool writes is an attack."""
    lines = []
    for line in (folder / "episodes.jsonl").read_text().splitlines():
        data = json.loads(line)
        data["messages"] = [
            [kind, HOSTILE] if kind in ("user", "assistant") else [kind, *rest, HOSTILE][:3]
            for kind, *rest in data["messages"]
        ]
        for call in data["calls"]:
            call["arguments"] = {HOSTILE: HOSTILE}
            call["delivered"] = json.dumps({HOSTILE: [HOSTILE]}) if call["ordinal"] else HOSTILE
            if "corrupted" in call:
                call["corrupted"] = [{"path": HOSTILE, "true": HOSTILE, "delivered": HOSTILE}]
        data["outcome"]["parts"] = {HOSTILE: True}
        lines.append(json.dumps(data))
    return copied(folder, tmp_path_factory.mktemp("hostile") / "run", lines)


@pytest.fixture(scope="session")
def crowded(folder, tmp_path_factory):
    """A run whose texts do not compress: more than a megabyte."""
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    for place, line in enumerate(lines):
        data = json.loads(line)
        data["messages"].append(["assistant", noise(place)])
        lines[place] = json.dumps(data)
    return copied(folder, tmp_path_factory.mktemp("crowded") / "run", lines)


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium of the system; tests that need it are skipped where it is missing."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine (apt-get install --no-install-recommends chromium)")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, headless=True)
        yield chromium
        chromium.close()
