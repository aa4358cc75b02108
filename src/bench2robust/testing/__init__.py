"""For authors of benchmarks: is mine one that the rest of this package can rely on?

>>> from bench2robust.testing import check_benchmark
>>> report = check_benchmark("helpdesk", tasks=["0-4"])
>>> report.passed
True

`print(report)` lists what was checked, and under each check that fails a line for each task. In a test of
your own: ``assert report.passed, str(report)``.
"""

from __future__ import annotations

from .check import CHECKS, check_benchmark, sample
from .report import Check, Failure, Report

__all__ = ["CHECKS", "Check", "Failure", "Report", "check_benchmark", "sample"]
