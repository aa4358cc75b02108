"""Plays tasks in another process, one that ends when it takes too long and when this one ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from tempfile import TemporaryFile
from typing import IO, Final

from . import elsewhere
from .report import Failure
from .subject import Skip, Subject

_PRINTS: Final = "from bench2robust.testing.process import write_prints; write_prints()"
_AT_LEAST: Final = 60.0
"""Seconds that another process may take for anything: it starts, imports, and may have to make the tasks."""
_TIMES: Final = 20.0
"""How many times as long as here it may take."""


def process(subject: Subject) -> Iterator[Failure]:
    """Check that another process, with other hashes, plays the same."""
    address = elsewhere.address(subject.benchmark)
    start = time.monotonic()
    here = subject.prints()
    limit = _AT_LEAST + _TIMES * (time.monotonic() - start)
    question = json.dumps([address, [task.id for task in subject.tasks]])
    with TemporaryFile() as answer, TemporaryFile() as errors:
        code = _run(question, answer, errors, limit)
        last = _text(errors).strip().rsplit("\n", 1)[-1]
        text = _text(answer)
    if code == elsewhere.LOST:
        raise Skip(f"another process cannot get at the benchmark: {last}")
    if code != 0:
        why = f"made no end in {limit:.0f} s, and was stopped" if code is None else f"broke: {last}"
        yield Failure("", f"the other process {why}")
        return
    there = json.loads(text)
    for task, digest in here.items():
        if there.get(task) != digest:
            what = "bytes" if task else "tasks, tools, policy or version"
            yield Failure(task, f"another process does not get the same {what}")


def _run(question: str, answer: IO[bytes], errors: IO[bytes], limit: float) -> int | None:
    """Run `write_prints` elsewhere; returns its exit code, None where it had to be stopped."""
    child = subprocess.Popen(
        [sys.executable, "-c", _PRINTS],
        stdin=subprocess.PIPE,
        stdout=answer,
        stderr=errors,
        env={
            **os.environ,
            elsewhere.DEPTH: str(elsewhere.depth + 1),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONHASHSEED": "77",
        },
        start_new_session=True,  # so that whatever it starts can be ended with it
    )
    assert child.stdin is not None
    try:
        with suppress(BrokenPipeError):  # it broke before it had read
            child.stdin.write(question.encode() + b"\n")
            child.stdin.flush()
        return child.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL) if hasattr(os, "killpg") else child.kill()
    child.wait()
    assert child.stdin is not None
    with suppress(OSError):
        child.stdin.close()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def write_prints() -> None:
    """Write the digests of the tasks that standard input names, for `process`; ends when that ends."""
    address, ids = json.loads(sys.stdin.readline())
    line = sys.stdin.fileno()
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (for as long as this process lives)
    threading.Thread(target=_end_with, args=(line,), daemon=True).start()
    with redirect_stdout(sys.stderr):  # an author's module may print
        benchmark = elsewhere.find(address)
        known = {task.id: task for task in benchmark.tasks()}
        found = Subject(benchmark, [known[id_] for id_ in ids if id_ in known]).prints()
    json.dump(found, sys.stdout)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # whatever threads an author's module has started


def _end_with(line: int) -> None:
    """Wait until nobody holds the other end of a pipe, and end this process."""
    os.read(line, 1)
    os._exit(1)
