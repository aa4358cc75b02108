"""What each task is eligible for, and why not; the domain file against the tools there are."""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib.resources import files

import pytest

from bench2robust.core.episode import Assignment, Mode, Scenario
from bench2robust.core.tools import ToolKind
from bench2robust.domains import load
from bench2robust.evaluation.certificate import certify_task
from bench2robust.injection import ScenarioSpec, assign
from bench2robust.injection.scenario import Mix

from .playing import play

pytestmark = pytest.mark.tau2


@pytest.fixture(scope="module")
def certificates(bench):
    return {task.id: certify_task(bench, task) for task in bench.tasks()}


def test_counts(certificates):
    sides = Counter((name, side) for e in certificates.values() for name, s in e.sides.items() for side in s)
    assert sides == {
        ("identity", "by_phone"): 94,
        ("identity", "by_line"): 94,
        ("line", "get_details_by_id"): 71,
        ("line", "get_line_by_phone"): 71,
        ("plan", "get_details_by_id"): 50,
        ("plan", "list_plans"): 50,
        ("bills", "get_bills_for_customer"): 6,
        ("bills", "get_details_by_id"): 6,
    }
    assert Counter(name for e in certificates.values() for name in e.s3) == {
        "identity": 71,
        "line": 71,
        "plan": 50,
        "bills": 6,
    }


def test_reasons(bench, certificates):
    """What a human has to solve needs no read; what only the phone needs, no write."""
    for task in bench.tasks():
        names, reasons = {a.call.name for a in task.gold}, certificates[task.id].reasons
        assert ("s2" in reasons) == ("transfer_to_human_agents" in names), task.id
        writes = not names.isdisjoint(load("telecom").needs)
        assert reasons.get("s3") == (None if writes else "the gold changes nothing"), task.id


def test_every_s2_is_passed_and_no_s3(bench, certificates):
    """By every side of every class: the ceiling passes S2; nobody passes S3."""
    domain = load("telecom")
    for task in bench.tasks()[::3]:
        eligible = certificates[task.id]
        for name, counting in eligible.sides.items():
            for side in domain.equivalence(name).sides:
                if side.name not in counting or len(counting) < 2:
                    continue
                block = Assignment(Scenario.S2, Scenario.S2, frozenset(side.tools), name, side.name)
                played = play(bench, task, "omniscient", mode=Mode.INJECT_ALT, assignment=block)
                assert played.result.outcome.score.passed, (task.id, name, side.name)
        if eligible.s3:
            block = assign(0, task.id, ScenarioSpec(Mix(0, 0, 100)), eligible, domain)
            assert block.effective is Scenario.S3
            for agent in ("omniscient", "adversary", "idle"):
                played = play(bench, task, agent, mode=Mode.INJECT_ALT, assignment=block)
                assert not played.result.outcome.score.passed, (task.id, agent)


def test_the_adversary_is_no_straw_man(bench):
    """With nothing blocked, making gold's writes blind and asking the user for the rest passes."""
    for task in bench.tasks()[::4]:
        if "transfer_to_human_agents" in {a.call.name for a in task.gold}:
            continue
        assert play(bench, task, "adversary", mode=Mode.INJECT_ALT).result.outcome.score.passed, task.id


def test_the_domain_file_names_the_tools_there_are(bench):
    data = tomllib.loads(files("bench2robust.domains").joinpath("telecom.toml").read_text(encoding="utf-8"))
    specs = bench.tools(True)
    assert sorted(data["tools"]["standard"]) == sorted(s.name for s in specs if not s.alternative)
    assert sorted(data["tools"]["alternative"]) == sorted(s.name for s in specs if s.alternative)
    assert set(data["needs"]) == {s.name for s in specs if s.kind is ToolKind.WRITE}
    assert set(data["granularity"]) == {s.name for s in specs if s.kind is ToolKind.READ}
