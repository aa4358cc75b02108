"""What a conformance check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that does not hold."""

    task: str
    """The task's id; empty where it is about the benchmark as a whole."""
    problem: str

    def __str__(self) -> str:
        problem = " ".join(self.problem.split())
        return f"task={self.task!r}: {problem}" if self.task else problem


@dataclass(frozen=True, slots=True)
class Check:
    """One check and what it found."""

    name: str
    about: str
    """What should hold."""
    failures: tuple[Failure, ...] = ()
    skipped: str = ""
    """Why it was not made; empty when it was."""

    @property
    def passed(self) -> bool:
        """Whether nothing was found (a check that was not made has found nothing)."""
        return not self.failures


@dataclass(frozen=True, slots=True)
class Report:
    """Every check of one benchmark."""

    benchmark: str
    tasks: int
    """How many tasks were looked at."""
    checks: tuple[Check, ...]
    exceptions: tuple[Failure, ...] = ()
    """The tasks that the benchmark says nobody can honestly pass, and why."""

    @property
    def passed(self) -> bool:
        """Whether everything holds."""
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        width = max((len(check.name) for check in self.checks), default=0)
        lines = []
        for check in self.checks:
            verdict = "skip" if check.skipped else "ok" if check.passed else "FAIL"
            note = f" (skipped: {check.skipped})" if check.skipped else ""
            lines.append(f"{verdict:<4}  {check.name.ljust(width)}  {check.about}{note}")
            lines += [f"        {failure}" for failure in check.failures]
        lines += [f"excepted: {exception}" for exception in self.exceptions]
        failed = sum(not check.passed for check in self.checks)
        verdict = f"{failed} of {len(self.checks)} checks fail" if failed else "everything holds"
        return "\n".join([*lines, f"{self.benchmark}: {self.tasks} tasks, {verdict}"])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "benchmark": self.benchmark,
            "tasks": self.tasks,
            "passed": self.passed,
            "exceptions": {exception.task: exception.problem for exception in self.exceptions},
            "checks": [
                {
                    "name": check.name,
                    "about": check.about,
                    "passed": check.passed,
                    "skipped": check.skipped,
                    "failures": [{"task": f.task, "problem": f.problem} for f in check.failures],
                }
                for check in self.checks
            ],
        }
