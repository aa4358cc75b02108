"""Episodes of one process share nothing that can change, and nothing random reaches agent or score."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bench2robust.core.episode import Mode, Trajectory
from bench2robust.core.tools import ToolCall
from bench2robust.evaluation.lines import encode
from bench2robust.injection import InjectionSpec

from .playing import play, replay

pytestmark = pytest.mark.tau2

WITHOUT_DRAFT = {"customer_id": "C1002", "line_id": "L1004", "gb_amount": 1.0}
"""Refueling this line makes τ² add a bill with a random id: its owner has no draft bill."""


def with_fault(bench, name):
    return next(task for task in bench.tasks() if name in task.id)


def test_a_new_bill_has_the_same_id_every_time(bench):
    def bills():
        environment = bench.open(bench.tasks()[0])
        environment.call(ToolCall("refuel_data", WITHOUT_DRAFT))
        return environment.call(ToolCall("get_bills_for_customer", {"customer_id": "C1002"})).text

    first = bills()
    assert first == bills()
    assert first.count("Draft") == 1


def test_a_new_bill_is_found_by_its_id(bench):
    environment = bench.open(bench.tasks()[0])
    environment.call(ToolCall("refuel_data", WITHOUT_DRAFT))
    environment.call(ToolCall("refuel_data", {**WITHOUT_DRAFT, "gb_amount": 0.5}))
    customer = next(c for c in environment._world.tools.db.customers if c.customer_id == "C1002")
    assert len(customer.bill_ids) == 3
    assert not environment.call(ToolCall("get_details_by_id", {"id": customer.bill_ids[-1]})).error
    other = bench.open(bench.tasks()[1])
    other.call(ToolCall("refuel_data", WITHOUT_DRAFT))
    names = [c.bill_ids[-1] for c in other._world.tools.db.customers if c.customer_id == "C1002"]
    assert names != customer.bill_ids[-1:]


def test_interleaved_episodes_are_those_played_alone(bench):
    tasks = bench.tasks()[::13]
    alone = [replay(bench, task, task.gold)[1] for task in tasks]
    worlds = [bench.open(task) for task in tasks]
    together = [[] for _ in tasks]
    for place in range(max(len(task.gold) for task in tasks)):
        for task, world, exchanges in zip(tasks, worlds, together, strict=True):
            for action in task.gold[place : place + 1]:
                answer = (world.act if action.by_user else world.call)(action.call)
                exchanges.append((action.call, action.by_user, answer.text))
    assert together == alone


def test_an_untouched_episode_is_not_changed_by_another(bench):
    task = with_fault(bench, "overdue_bill_suspension")
    before = bench.open(task)
    dumps = [kit.db.model_dump_json() for kit in (before._world.tools, before._world.user_tools)]
    replay(bench, task, task.gold)
    for world in (before, bench.open(task)):
        now = [kit.db.model_dump_json() for kit in (world._world.tools, world._world.user_tools)]
        assert now == dumps


def test_a_broken_vpn_stays_in_its_episode(bench):
    """τ² keeps it in a class attribute, for every later environment of the process."""
    task = with_fault(bench, "bad_vpn")
    broken = bench.open(task)
    assert "POOR" in broken.act(ToolCall("check_vpn_status")).text
    broken.act(ToolCall("disconnect_vpn"))
    broken.act(ToolCall("connect_vpn"))
    assert "POOR" in broken.act(ToolCall("check_vpn_status")).text  # as in τ², within the episode
    other = bench.open(next(t for t in bench.tasks() if "bad_vpn" not in t.id))
    other.act(ToolCall("connect_vpn"))
    assert "EXCELLENT" in other.act(ToolCall("check_vpn_status")).text


def test_acts_are_handed_over_once(bench):
    environment = bench.open(bench.tasks()[0])
    environment.act(ToolCall("check_sim_status"))
    assert [message.call.name for message in environment.acts()] == ["check_sim_status"]
    assert environment.acts() == []


def test_a_blocked_action_is_not_made(bench):
    """The trajectory is not what is scored: only what reached the tools counts."""
    task = next(t for t in bench.tasks() if t.gold[0].call.name == "transfer_to_human_agents")
    assert not bench.open(task).score(Trajectory.saying(["transfer_to_human_agents()"])).passed


PLAY = """
import hashlib
from bench2robust import agents
from bench2robust.benchmarks.tau2.telecom import telecom
from bench2robust.core.episode import Assignment, Mode
from bench2robust.evaluation.episode import Job, run_episode
from bench2robust.evaluation.lines import encode
from bench2robust.injection import InjectionSpec
bench, whole = telecom(), hashlib.sha256()
for task in bench.tasks()[::19]:
    job = Job(task, Mode.INJECT_ALT, 1, Assignment(), InjectionSpec(), 100)
    whole.update(encode(run_episode(bench, agents.create("strategic"), job)))
print(whole.hexdigest())
"""


def test_episodes_are_the_same_in_another_process_with_another_hash_seed(bench):
    import hashlib

    whole = hashlib.sha256()
    for task in reversed(bench.tasks()[::19]):  # another order, too
        play(bench, task, "strategic", mode=Mode.INJECT_ALT, injection=InjectionSpec(), seed=1)
    for task in bench.tasks()[::19]:
        played = play(bench, task, "strategic", mode=Mode.INJECT_ALT, injection=InjectionSpec(), seed=1)
        whole.update(encode(played))
    run = subprocess.run(
        [sys.executable, "-c", PLAY], env={"PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == whole.hexdigest()
