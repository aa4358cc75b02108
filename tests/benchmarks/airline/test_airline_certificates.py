"""What each task is eligible for, and that the certificates hold: S1 and S2 passable, S3 impossible."""

from __future__ import annotations

import pytest

from bench2robust import agents, domains
from bench2robust.benchmarks.tau2.airline import airline
from bench2robust.core.episode import Assignment, Mode, Scenario
from bench2robust.evaluation.certificate import certify
from bench2robust.evaluation.episode import Job, run_episode
from bench2robust.injection import Eligibility, InjectionSpec, Mix, NoiseProfile, ScenarioSpec, assign

pytestmark = pytest.mark.tau2

DOMAIN = domains.load("airline")
QUIET = InjectionSpec(profile=NoiseProfile.empty())
EXCEPTION = "35"


@pytest.fixture(scope="module")
def eligible():
    return certify("tau2-airline")


def passes(task, agent, assignment):
    job = Job(task, Mode.INJECT_ALT, 0, assignment, QUIET, 200)
    return run_episode(airline(), agents.create(agent), job).result.outcome.score.passed


def test_thirty_tasks_can_need_a_switch_and_every_other_has_a_reason(eligible):
    assert sum(one.s2 for one in eligible.values()) == 30
    counting = {
        cls.name: sum(len(e.sides.get(cls.name, ())) > 1 for e in eligible.values()) for cls in DOMAIN.classes
    }
    assert counting == {"user": 26, "reservation": 28, "flight": 19, "connection": 6, "status": 3}
    for task_id, one in eligible.items():
        assert one.s2 or one.reasons["s2"], task_id
    assert eligible[EXCEPTION].reasons["s2"] == "the reference agent fails with nothing blocked (database)"


def test_thirty_tasks_can_be_made_impossible(eligible):
    assert sum(bool(one.s3) for one in eligible.values()) == 30
    assert {one.reasons["s3"] for one in eligible.values() if not one.s3} == {"the gold changes nothing"}


def test_without_the_alternatives_nothing_can_be_switched_to():
    """τ²'s own tools hold no two sides of any class."""
    standard = {spec.name for spec in airline().tools(False)}
    for cls in DOMAIN.classes:
        assert sum(set(side.tools) <= standard for side in cls.sides) == 1


def test_omniscient_passes_every_s1_and_s2_episode(eligible):
    for task in airline().tasks():
        one = eligible[task.id]
        assert passes(task, "omniscient", Assignment()) == (task.id != EXCEPTION)
        for cls in DOMAIN.classes:
            counting = one.sides.get(cls.name, ())
            for side in cls.sides if len(counting) > 1 else ():
                if side.name in counting:
                    blocked = frozenset(side.tools)
                    assert passes(task, "omniscient", Assignment(Scenario.S2, Scenario.S2, blocked)), task.id


def test_idle_and_adversary_fail_every_s3_episode(eligible):
    for task in airline().tasks():
        for name in eligible[task.id].s3:
            block = assign(0, task.id, ScenarioSpec(Mix(0, 0, 100)), Eligibility(s3=(name,)), DOMAIN)
            assert block.effective is Scenario.S3
            assert not passes(task, "idle", block), (task.id, name)
            assert not passes(task, "adversary", block), (task.id, name)
            assert not passes(task, "omniscient", block), (task.id, name)
