"""Certificates of the toy library, and what they promise."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import toy_library

from bench2robust import agents
from bench2robust.core.episode import Action, Escalation, Mode, Scenario, Score
from bench2robust.core.tools import ToolCall
from bench2robust.evaluation import Job, certify, certify_task, load, run_episode
from bench2robust.evaluation.episode import domain_of
from bench2robust.injection import Block, InjectionSpec, Mix, NoiseProfile, ScenarioSpec, assign

LIBRARY = load("toy-library")
TASKS = {task.id: task for task in LIBRARY.tasks()}
DOMAIN = domain_of(LIBRARY)
QUIET = InjectionSpec(NoiseProfile.empty())
FOUND = certify("toy-library")


def test_every_task_has_a_certificate_and_every_ineligible_one_a_reason():
    assert list(FOUND) == list(TASKS)
    for eligibility in FOUND.values():
        assert eligibility.s2 is ("s2" not in eligibility.reasons)
        assert bool(eligibility.s3) is ("s3" not in eligibility.reasons)


def test_sides_that_count():
    assert FOUND["0"].sides == {"identity": ("card", "name"), "loan": ("list", "search")}
    assert FOUND["1"].sides == {"identity": ("card",), "loan": ("list", "search")}  # this user says no name
    assert FOUND["3"].sides == {"identity": ("card", "name")}  # no loan is needed
    assert FOUND["0"].primary == {"identity": "card", "loan": "list"}


def test_classes_that_can_be_made_impossible():
    assert FOUND["0"].s3 == ("identity", "loan")
    assert FOUND["3"].s3 == ("identity",)
    assert FOUND["2"].s3 == ()  # nothing is changed
    assert FOUND["6"].s3 == ()  # the only gold write genuinely errors


@pytest.mark.parametrize(
    ("task", "key", "reason"),
    [
        ("1", "identity", "by itself only card is enough"),
        ("3", "loan", "the reference agent passes without it"),
        ("4", "s2", "the reference agent passes without identity, loan"),
        ("2", "s3", "the gold changes nothing"),
        ("6", "s3", "the gold changes nothing"),
    ],
)
def test_reasons(task, key, reason):
    assert FOUND[task].reasons[key] == reason


def test_a_task_that_the_reference_agent_cannot_do_is_not_eligible_for_s2(monkeypatch):
    monkeypatch.setitem(TASKS["5"].data, "renew", ["Dune"])  # the plan forgets the second loan
    found = certify_task(LIBRARY, TASKS["5"])
    assert not found.s2
    assert found.reasons["s2"] == "the reference agent fails with nothing blocked (database)"
    assert found.s3  # impossible is still impossible


def test_a_write_that_changes_nothing_in_the_end_makes_no_s3(monkeypatch):
    monkeypatch.setitem(toy_library.MEMBERS["m2"], "email", "gauss@example.org")  # it is so already
    found = certify_task(LIBRARY, TASKS["3"])
    assert found.s3 == ()
    assert found.reasons["s3"] == "the task can be passed without the writes that S3 blocks"


def test_a_class_that_blind_writes_do_without_makes_no_s3():
    """Here the loans are not looked at: with them out of reach, the e-mail alone passes."""

    class Unread(toy_library.Desk):
        def score(self, trajectory):
            email = self.members["m2"]["email"] == "gauss@example.org"
            return Score(email)

    class Lenient(toy_library.Library):
        def open(self, task, *, alternatives=True):
            return Unread(task, alternatives=alternatives)

    renew = Action(ToolCall("renew_loan", {"loan_id": "L3"}))
    task = replace(TASKS["3"], gold=(*TASKS["3"].gold, renew))
    assert certify_task(Lenient(), task).s3 == ("identity",)


def play(agent, task, assignment, mode=Mode.INJECT_ALT):
    return run_episode(
        LIBRARY, agents.create(agent), Job(TASKS[task], mode, 0, assignment, QUIET, 200)
    ).result.outcome


@pytest.mark.parametrize("block", Block)
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("task", TASKS)
def test_what_is_promised_holds(task, seed, block):
    """S1 and S2: the omniscient agent passes. S3: nobody does, and it abstains."""
    of = partial(assign, seed, task, eligibility=FOUND[task], domain=DOMAIN)
    for mix in (Mix(100, 0, 0), Mix(0, 100, 0)):
        assert play("omniscient", task, of(ScenarioSpec(mix, block))).score.passed
    impossible = of(ScenarioSpec(Mix(0, 0, 100), block))
    if impossible.effective is Scenario.S3:
        for agent in ("adversary", "idle", *agents.REFERENCE):
            assert not play(agent, task, impossible).score.passed
        assert play("omniscient", task, impossible).escalation is Escalation.ABSTAIN
    else:
        assert not FOUND[task].s3


def test_a_certificate_is_established_once():
    assert certify("toy-library") is FOUND
