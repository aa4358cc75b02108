"""Recovery on helpdesk, by what the policies know and verify. Keyed draws, so no false alarms: always the same."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from bench2robust.core.episode import Mode, Scenario
from bench2robust.core.noise import SILENT
from bench2robust.evaluation import RunSpec
from bench2robust.evaluation.schedule import Schedule
from bench2robust.evaluation.statistics import Sample, paired
from bench2robust.injection import Mix, ScenarioSpec
from bench2robust.measures.facts import RunFacts
from bench2robust.measures.measure import measure

pytestmark = pytest.mark.slow
SEEDS = 3


@cache
def played(agent):
    """Every episode of an agent with noise, measured, as columns; a row a task, a column a seed."""
    spec = RunSpec(
        "helpdesk",
        agents=(agent,),
        modes=(Mode.INJECT, Mode.INJECT_ALT),
        seeds=tuple(range(SEEDS)),
        scenarios=ScenarioSpec(Mix(30, 45, 25)),
    )
    schedule = Schedule(spec)
    facts: RunFacts = schedule.facts
    rows = [measure(schedule.play(place), facts) for place in range(len(schedule))]

    def column(value):
        # Modes side by side: they are two more seeds of the same task.
        return np.array([float(value(row)) for row in rows]).reshape(2 * SEEDS, -1).T

    return SimpleNamespace(
        passed=column(lambda row: row.passed),
        wrong=column(lambda row: row.wrong_writes + row.duplicate_writes),
        adopted=column(lambda row: sum(row.adopted)),
        misled=[sum(_failed_after(row, noise) for row in rows) for noise in SILENT],
        calls=column(lambda row: row.calls),
        premature=column(lambda row: row.premature),
        missed=column(lambda row: row.missed_abstention),
    )


def _failed_after(row, noise):
    """Whether an episode that could be passed was not, and a corruption of a type had been delivered.

    `adopted` sees a false value that is passed on; this also sees a write that was left out or chosen by it.
    """
    return not row.passed and row.effective is not Scenario.S3 and row.met_of(noise) > 0


def gap(a, b):
    return paired(Sample.of(a), Sample.of(b))


@pytest.mark.parametrize("name", ["strategic", "bayes"])
def test_verification_halves_adoption_at_least(name):
    plain, verified = played(name), played(f"{name}-verified")
    assert 2 * verified.adopted.sum() <= plain.adopted.sum()
    assert gap(plain.adopted, verified.adopted).high < 0
    assert all(0 < before >= 2 * after for before, after in zip(plain.misled, verified.misled, strict=True))
    assert 2 * verified.wrong.sum() <= plain.wrong.sum()
    assert gap(plain.wrong, verified.wrong).high < 0
    assert gap(plain.passed, verified.passed).low > 0
    assert gap(plain.calls, verified.calls).low > 0, "it is paid for in calls"


def test_bayes_does_no_worse_than_strategic_in_fewer_calls():
    strategic, bayes = played("strategic"), played("bayes")
    assert gap(strategic.passed, bayes.passed).low > -0.005
    assert gap(strategic.wrong, bayes.wrong).high < 0
    assert gap(strategic.calls, bayes.calls).high < 0
    assert bayes.premature.sum() == bayes.missed.sum() == 0


def test_with_both_nothing_wrong_is_written():
    both = played("bayes-verified")
    assert both.wrong.mean() < 0.002
    assert both.premature.sum() == both.missed.sum() == 0
