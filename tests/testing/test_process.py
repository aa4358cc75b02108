"""The other process of a check: one, however a module checks itself, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from bench2robust.testing import check_benchmark, elsewhere, process

SELF_CHECKING = """
import os
from pathlib import Path
from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark
from bench2robust.testing import check_benchmark

with open(Path(__file__).parent / "imports", "a") as log:
    print(os.environ.get("BENCH2ROBUST_CHECK_DEPTH", "0"), file=log)

class Own(HelpdeskBenchmark):
    name = "own"

report = check_benchmark(Own(2), checks=["process"])
print(report)
assert report.passed
"""
HANGING = """
import os, time
from pathlib import Path
from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark

class Hanging(HelpdeskBenchmark):
    def tasks(self):
        if os.environ.get("BENCH2ROBUST_CHECK_DEPTH"):
            draft = Path(__file__).parent / "draft"
            draft.write_text(str(os.getpid()))
            draft.rename(Path(__file__).parent / "pid")
            time.sleep(600)
        return super().tasks()
"""


def python(folder, code):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "code",
    [
        "import own",
        "from own_package import own",
        "import outer",
    ],
)
def test_a_module_that_checks_itself_starts_one_process(tmp_path, code):
    """Imported here and there; a module of a package; one whose class comes from what checks itself."""
    package = tmp_path / "own_package"
    package.mkdir()
    for folder in (tmp_path, package):
        (folder / "own.py").write_text(SELF_CHECKING)
    (package / "__init__.py").touch()
    outer = "from own import Own, check_benchmark\nclass Outer(Own): pass\nprint(check_benchmark(Outer(2)))\n"
    (tmp_path / "outer.py").write_text(outer)
    done = python(tmp_path, code)
    assert done.returncode == 0, done.stderr
    assert "ok    process" in done.stdout
    log = (package if "package" in code else tmp_path) / "imports"
    depths = log.read_text().split()
    assert depths.count("0") == 1
    assert set(depths) <= {"0", "1"}
    assert len(depths) == (3 if "outer" in code else 2)


def test_a_check_in_the_process_of_a_check_looks_at_nothing(monkeypatch):
    monkeypatch.setattr(elsewhere, "depth", 1)
    report = check_benchmark("helpdesk")
    assert (report.benchmark, report.tasks, report.checks, report.passed) == ("helpdesk", 0, (), True)
    assert str(report) == "helpdesk: 0 tasks, everything holds"


def gone(pid):
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_a_process_that_makes_no_end_is_stopped(tmp_path, monkeypatch):
    (tmp_path / "hanging.py").write_text(HANGING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(process, "_AT_LEAST", 4.0)
    monkeypatch.setattr(process, "_TIMES", 0.0)
    from hanging import Hanging

    (found,) = check_benchmark(Hanging(2), checks=["process"]).checks
    assert [str(failure) for failure in found.failures] == [
        "the other process made no end in 4 s, and was stopped"
    ]
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_process_ends_with_the_one_that_checks(tmp_path):
    (tmp_path / "hanging.py").write_text(HANGING)
    code = "from hanging import *; from bench2robust.testing import *; check_benchmark(Hanging(2), checks=['process'])"
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)}
    ) as checking:
        for _ in range(200):
            if (tmp_path / "pid").exists():
                break
            time.sleep(0.1)
        child = int((tmp_path / "pid").read_text())
        checking.send_signal(signal.SIGKILL)
    assert gone(child)
