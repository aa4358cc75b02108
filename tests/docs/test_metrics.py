"""docs/metrics.md lists every metric, with the definition that the code has."""

from __future__ import annotations

import re
from pathlib import Path

from bench2robust.evaluation.metrics import METRICS

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def row(metric):
    """Return a metric's row; families that differ in an error or a move share one."""
    name, definition = metric.name, metric.definition
    if metric.met:
        name, definition = "pass_rate_ERROR", definition.replace(metric.met, "ERROR")
    elif "_after_" in name:
        move, error = name.split("_after_")
        definition = definition.replace(f"by {error}", "by ERROR").replace(f"was: {move}", "was: MOVE")
        name = "MOVE_after_ERROR"
    return f"| `{name}` | {definition} |"


def test_the_list_is_the_codes():
    listed = re.findall(r"^\| `.*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == list(dict.fromkeys(map(row, METRICS.values())))
