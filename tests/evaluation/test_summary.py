"""The numbers of the table, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from bench2robust.core.episode import Assignment, Escalation, Mode, Outcome, Scenario, Score
from bench2robust.evaluation import Result, summarise
from bench2robust.evaluation.summary import to_dict


def result(
    seed,
    *,
    passed,
    agent="naive",
    mode=Mode.INJECT_ALT,
    assigned="s1",
    effective="s1",
    escalation="none",
    counts=(4, 3, 2, 1, 0),
):
    outcome = Outcome(Score(passed), Escalation(escalation), *counts)
    assignment = Assignment(Scenario(assigned), Scenario(effective))
    return Result("t", agent, mode, seed, assignment, outcome)


def test_a_rate_is_the_mean_over_seeds_with_their_sample_standard_deviation():
    passed = {0: (1, 1, 1, 0), 1: (1, 0, 0, 0), 2: (1, 1, 0, 0)}  # 0.75, 0.25, 0.5
    (row,) = summarise(result(seed, passed=bool(p)) for seed, all_ in passed.items() for p in all_)
    assert row.pass_rate.mean == pytest.approx(0.5)
    assert row.pass_rate.std == pytest.approx(0.25)
    assert row.pass_rate.per_seed == {0: 0.75, 1: 0.25, 2: 0.5}
    assert row.episodes == 12


def test_one_seed_has_no_spread():
    (row,) = summarise([result(3, passed=True)])
    assert (row.pass_rate.mean, row.pass_rate.std) == (1.0, None)


def test_escalations_by_verdict():
    verdicts = ["none", "premature", "premature", "abstain", "requested"]
    (row,) = summarise(result(0, passed=False, escalation=verdict) for verdict in verdicts)
    assert (row.escalation_rate, row.premature_rate, row.abstain_rate) == (0.8, 0.4, 0.2)


def test_means_and_totals():
    (row,) = summarise([result(0, passed=True), result(0, passed=True, counts=(6, 5, 0, 0, 3))])
    assert (row.steps, row.calls, row.injections, row.blocked_calls, row.blind_repeats) == (5, 4, 1, 0.5, 3)


def test_scenarios_are_counted_as_they_were_played():
    results = [
        result(0, passed=True),
        result(0, passed=True, assigned="s2", effective="s1"),
        result(0, passed=False, assigned="s2", effective="s2"),
        result(0, passed=True, assigned="s2", effective="s2"),
        result(0, passed=False, assigned="s3", effective="s3", escalation="abstain"),
        result(0, passed=False, assigned="s3", effective="s1"),
    ]
    (row,) = summarise(results)
    counts = {s.value: (c.episodes, c.passed, c.escalated) for s, c in row.scenarios.items()}
    assert counts == {"s1": (3, 2, 0), "s2": (2, 1, 0), "s3": (1, 0, 1)}
    assert row.ineligible == {Scenario.S2: 1, Scenario.S3: 1}
    assert row.scenarios[Scenario.S2].pass_rate == 0.5


def test_a_row_for_each_agent_and_mode_in_the_order_in_which_they_came():
    pairs = [("b", Mode.INJECT), ("a", Mode.CLEAN), ("b", Mode.INJECT), ("b", Mode.CLEAN)]
    rows = summarise(result(0, passed=True, agent=agent, mode=mode) for agent, mode in pairs)
    assert [(row.agent, row.mode, row.episodes) for row in rows] == [
        ("b", "inject", 2),
        ("a", "clean", 1),
        ("b", "clean", 1),
    ]


def test_nothing_gives_no_rows():
    assert summarise([]) == ()


def test_as_json_values():
    (row,) = to_dict(summarise([result(0, passed=True), result(1, passed=False, assigned="s2")]))
    assert row["pass_rate"] == {
        "mean": 0.5,
        "std": pytest.approx(0.7071067811865476),
        "per_seed": {"0": 1.0, "1": 0.0},
    }
    assert row["scenarios"] == {"s1": {"episodes": 2, "passed": 1, "pass_rate": 0.5, "escalated": 0}}
    assert row["ineligible"] == {"s2": 1}
    assert (row["agent"], row["mode"], row["steps"]) == ("naive", "inject_alt", 4)
