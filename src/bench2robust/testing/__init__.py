"""For authors of benchmarks: is mine one that the rest of this package can rely on?

>>> from bench2robust.testing import check_benchmark
>>> report = check_benchmark("helpdesk", tasks=["0-4"])
>>> report.passed
True

`print(report)` lists what was checked, and under each check that fails a line for each task. In a test of
your own: ``assert report.passed, str(report)``.

Three attributes that a benchmark may have, beside what the port asks for, are for this check: ``id_pattern``, a
regular expression of what its ids look like; ``exceptions``, task id to the reason why nobody can honestly
pass the task; and ``by_assertions``, True where a verdict looks at what has to hold instead of at all of
gold's world. Exceptions are listed in the report, and not judged by `tasks` and `certificates`. Where verdicts
are assertions, `wrong` asks that some write is missed, elsewhere every write without which gold ends in another
state. States are compared by what environments hold, or by their ``changes()`` (anything comparable by its
contents), which an environment needs that keeps a log of its writes, a cache of what was read, or copies of what it
has not changed. What no check sees is listed in docs/tutorials/write-your-own-benchmark.md.
"""

from __future__ import annotations

from .check import CHECKS, check_benchmark, sample
from .report import Check, Failure, Report

__all__ = ["CHECKS", "Check", "Failure", "Report", "check_benchmark", "sample"]
