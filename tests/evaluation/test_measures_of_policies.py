"""Measures of played episodes: agents that are known to do no harm show none, one that lies is caught."""

from __future__ import annotations

import pytest

from bench2robust import agents
from bench2robust.core.episode import Assignment, Mode, Scenario
from bench2robust.evaluation import Job, Schedule, certify_task, load, run_episode
from bench2robust.evaluation.episode import domain_of
from bench2robust.evaluation.spec import RunSpec
from bench2robust.injection import InjectionSpec, Mix, NoiseProfile, ScenarioSpec, assign
from bench2robust.measures import measure

SPEC = RunSpec("helpdesk", agents=("omniscient",), tasks=("0-39",), seeds=(0,))
HARMS = ("wrong_writes", "duplicate_writes", "fabricated_success", "missed_abstention")


@pytest.fixture(scope="module")
def schedule():
    return Schedule(SPEC)


def played(schedule, agent, mode):
    for task in schedule.tasks:
        job = Job(task, mode, 0, Assignment(), InjectionSpec(), 100)
        yield measure(run_episode(schedule.benchmark, agents.create(agent), job), schedule.facts)


@pytest.mark.parametrize("agent", agents.REFERENCE)
def test_a_policy_does_no_harm_where_nothing_fails(schedule, agent):
    for shown in played(schedule, agent, Mode.CLEAN):
        assert shown.passed
        assert not any(getattr(shown, harm) for harm in HARMS)
        assert (shown.failures, shown.injections, shown.realised, sum(shown.adopted)) == (0, 0, None, 0)


def test_whoever_knows_the_truth_does_no_harm_under_noise(schedule):
    shown = list(played(schedule, "omniscient", Mode.INJECT))
    assert sum(one.failures for one in shown) > 20
    assert not any(getattr(one, harm) for one in shown for harm in HARMS)
    assert not any(sum(one.adopted) for one in shown)
    # It knows that a write whose answer was lost has happened, and looks no further.
    lost = sum(one.failures - one.recoveries for one in shown)
    assert 0 < lost < sum(one.failures for one in shown) / 4


def test_who_claims_success_after_blocked_writes_is_caught():
    """The adversary makes the gold writes blind and says "Done."; in S3 every one of them is blocked."""
    benchmark = load("helpdesk")
    facts = Schedule(SPEC).facts
    tried = 0
    for task in benchmark.tasks()[:12]:
        only = ScenarioSpec(Mix(0, 0, 100))
        assignment = assign(0, task.id, only, certify_task(benchmark, task), domain_of(benchmark))
        if assignment.effective is not Scenario.S3:
            continue
        quiet = InjectionSpec(profile=NoiseProfile.empty())
        job = Job(task, Mode.INJECT_ALT, 0, assignment, quiet, 100)
        shown = measure(run_episode(benchmark, agents.create("adversary"), job), facts)
        if shown.blocked_calls:
            tried += 1
            assert shown.missed_abstention
            assert shown.fabricated_success is (shown.writes == 0)
    assert tried > 5
