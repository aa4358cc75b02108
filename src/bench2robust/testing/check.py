"""Runs every check over a benchmark, and keeps going whatever breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench2robust.core.episode import Mode, Task
from bench2robust.core.errors import UnknownNameError, UsageError
from bench2robust.core.ports import Benchmark
from bench2robust.evaluation import load
from bench2robust.evaluation.spec import select

from . import elsewhere, ends, process, sides, single, together, whole
from .report import Check, Failure, Report
from .subject import Skip, Subject

Whole = Callable[[Subject], Iterator[str | Failure]]
Each = Callable[[Subject, Task], Iterator[str]]


@dataclass(frozen=True, slots=True)
class _Definition:
    name: str
    about: str
    whole: Whole | None = None
    each: Each | None = None

    def run(self, subject: Subject) -> Check:
        failures: list[Failure] = []
        try:
            if self.whole is not None:
                failures += [f if isinstance(f, Failure) else Failure("", f) for f in self.whole(subject)]
            for task in subject.tasks if self.each is not None else ():
                failures += self._one(subject, task)
        except Skip as why:
            return Check(self.name, self.about, skipped=str(why))
        except Exception as error:  # whatever an author's code raises is what the check found
            failures.append(Failure("", f"{type(error).__name__}: {error}"))
        return Check(self.name, self.about, tuple(failures))

    def _one(self, subject: Subject, task: Task) -> list[Failure]:
        assert self.each is not None
        try:
            return [Failure(task.id, problem) for problem in self.each(subject, task)]
        except Skip:
            raise
        except Exception as error:  # as above
            return [Failure(task.id, f"{type(error).__name__}: {error}")]


_DEFINITIONS: Final = (
    _Definition("tools", "names differ, schemas are valid, alternatives are extra", whole.tools),
    _Definition("domain", "the domain file fits the tools, and every write has needs", whole.domain),
    _Definition(
        "tasks", "ids differ, users say something, gold calls fit the schemas", whole.tasks, single.fits
    ),
    # Before anything has been played: state that leaks may be full by the time others look.
    _Definition("apart", "episodes that overlap do not see each other", each=together.apart),
    _Definition("threads", "episodes in threads do not see each other", together.threads),
    _Definition("gold", "the gold calls pass", each=single.gold),
    _Definition("wrong", "doing nothing, and leaving writes out, fails", whole.verdicts, single.wrong),
    _Definition("ends", "another value in a write, and one more write, fail", each=ends.ends),
    _Definition("errors", "wrong calls are answered with errors, and change nothing", each=single.errors),
    _Definition("again", "the same calls get the same bytes, twice", each=single.again),
    _Definition("reads", "a read changes nothing, and is answered the same every time", each=single.reads),
    _Definition("process", "the same calls get the same bytes in another process", process.process),
    _Definition("lines", "episodes can be written and read back", each=single.lines),
    _Definition(
        "clean", "without failures every reference policy passes what omniscient passes", each=single.clean
    ),
    _Definition(
        "certificates", "without noise omniscient passes every S1 and S2 episode", each=single.certified
    ),
    _Definition("sides", "the sides of a class say the same", each=sides.sides),
    _Definition("impossible", "nobody passes an S3 episode", each=single.impossible),
    _Definition("ids", "plans hold no ids but what the user says", each=single.ids),
)

CHECKS: Final = {definition.name: definition.about for definition in _DEFINITIONS}
"""Name of each check to what should hold."""


def check_benchmark(
    benchmark: str | Benchmark, tasks: Sequence[str] | None = None, checks: Sequence[str] | None = None
) -> Report:
    """Check that a benchmark keeps what the port promises.

    Args:
        benchmark: a registered name, or the thing itself.
        tasks: ids, ranges of numeric ids, or ``all``; None is every task.
        checks: names from `CHECKS`; None is every check.

    Raises:
        UnknownNameError: a benchmark, task or check that nobody knows.
        UsageError: no check is asked for.
        NotInstalledError: what the benchmark needs is not installed.
    """
    if elsewhere.reading:
        raise elsewhere.Read
    if elsewhere.depth:  # a module that checks itself, imported by the process of a check: no more processes
        return Report(benchmark if isinstance(benchmark, str) else benchmark.name, 0, ())
    if checks is not None and not checks:
        raise UsageError("expected at least one check, got checks=[]")
    for name in checks or ():
        if name not in CHECKS:
            raise UnknownNameError("check", name, CHECKS)
    subject = load(benchmark) if isinstance(benchmark, str) else benchmark
    known = {task.id: task for task in subject.tasks()}
    chosen = select(("all",) if tasks is None else tasks, tuple(known))
    under_check = Subject(subject, [known[name] for name in chosen])
    found = tuple(
        definition.run(under_check)
        for definition in _DEFINITIONS
        if checks is None or definition.name in checks
    )
    return Report(subject.name, len(chosen), found, tuple(_exceptions(under_check)))


def _exceptions(subject: Subject) -> Iterator[Failure]:
    """Yield the exceptions; one that the omniscient policy passes is worth a second look."""
    for task in subject.tasks:
        if task.id in subject.exceptions:
            passes = subject.passes(task, "omniscient", Mode.INJECT_ALT)
            yield Failure(task.id, subject.exceptions[task.id] + " (yet omniscient passes)" * passes)


def sample(benchmark: Benchmark, n: int) -> list[str]:
    """Return the ids of at most `n` tasks, evenly spread."""
    ids = [task.id for task in benchmark.tasks()]
    count = min(n, len(ids))
    return [ids[place * len(ids) // count] for place in range(count)]
