"""Several seeds in one test: each a round of its own, with fixtures set up anew, and one verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from _pytest.runner import runtestprotocol

from bench2robust.integrations import exact

from .plan import Plan
from .rounds import PROPERTY, SECTION, Rounds

_SHOWN = 5
"""Failing seeds of which the replay command is shown."""


@dataclass
class Verdict:
    """What the rounds of one test came to."""

    plan: Plan
    passed: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)

    @property
    def fails(self) -> bool:
        """Whether the test has failed: with a gate, only where chance is no explanation."""
        plan, n = self.plan, len(self.passed) + len(self.failed)
        if plan.min_pass_rate is None:
            return bool(self.failed)
        return exact.upper(len(self.passed), n, plan.level) < plan.min_pass_rate

    def line(self) -> str:
        """Say it in a line."""
        plan, hits = self.plan, len(self.passed)
        n = hits + len(self.failed)
        text = f"{hits} of {n} seeds passed"
        if plan.min_pass_rate is None:
            return text
        bound = exact.upper(hits, n, plan.level)
        return (
            f"{text}; the pass rate is at most {bound:.3f} ({plan.level:.0%}, exact), "
            f"{'below' if self.fails else 'not below'} min_pass_rate={plan.min_pass_rate:g}"
        )


def play(item: pytest.Item, nextitem: pytest.Item | None, plan: Plan, rounds: Rounds) -> None:
    """Run a test once for each seed and report it once."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    verdict, reports, failure = Verdict(plan), [], None
    for place, seed in enumerate(plan.seeds):
        rounds.begin(item, seed)
        if place:
            cast("Any", item)._initrequest()  # fixtures anew
        # Between rounds nothing but the test itself is torn down.
        after = nextitem if place == len(plan.seeds) - 1 else cast("pytest.Item", item.parent)
        reports = runtestprotocol(item, log=False, nextitem=after)
        call = next((report for report in reports if report.when == "call"), None)
        if call is None or call.skipped or any(r.failed for r in reports if r.when != "call"):
            break  # set-up or tear-down is broken, or the test does not want to run: no question of seeds
        (verdict.failed if call.failed else verdict.passed).append(seed)
        failure = failure or (call if call.failed else None)
        if call.failed and plan.min_pass_rate is None:
            break
    else:
        reports = [r if r.when != "call" else _report(r, verdict, failure) for r in reports]
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _report(
    last: pytest.TestReport, verdict: Verdict, failure: pytest.TestReport | None
) -> pytest.TestReport:
    """Return the one report of the rounds."""
    report = last if failure is None else failure
    report.user_properties.append((PROPERTY, verdict.line()))
    report.outcome = "failed" if verdict.fails else "passed"
    if not verdict.fails:
        report.longrepr = None
    if failure is not None:
        seeds = ", ".join(map(str, verdict.failed))
        report.sections.insert(0, (SECTION, f"{verdict.line()}\nfailing seeds: {seeds}; the first is shown"))
    return report
