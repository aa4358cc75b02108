"""The report: run folders as one HTML file that opens offline, with every episode in it.

>>> from bench2robust.evaluation.report import report
>>> from bench2robust.evaluation.study import Study
>>> made = report(Study.load(["runs/first"]))  # doctest: +SKIP
>>> made.html, made.kept  # doctest: +SKIP
"""

from .gallery import Performance, Story, Strategy, stories
from .page import MAY_DIFFER, Report, Wishes, report
from .part import Shown
from .telling import markdown, played_by
from .trends import Severity, reference, severities

__all__ = [
    "MAY_DIFFER",
    "Performance",
    "Report",
    "Severity",
    "Shown",
    "Story",
    "Strategy",
    "Wishes",
    "markdown",
    "played_by",
    "reference",
    "report",
    "severities",
    "stories",
]
