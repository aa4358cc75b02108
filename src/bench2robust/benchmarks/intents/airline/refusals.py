"""Airline wishes that the policy forbids: how a plan finds that they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench2robust.benchmarks.intents.records import EXTRAS
from bench2robust.benchmarks.tau2.airline.plan.choosing import find_trips, selects
from bench2robust.benchmarks.tau2.airline.plan.compiler import compile_plan
from bench2robust.benchmarks.tau2.airline.plan.draft import Draft
from bench2robust.benchmarks.tau2.airline.plan.goals import WishGoal
from bench2robust.benchmarks.tau2.airline.plan.policy import Refundable
from bench2robust.benchmarks.tau2.airline.plan.speech import Speech
from bench2robust.benchmarks.tau2.airline.plan.truth import Truth
from bench2robust.benchmarks.tau2.airline.plan.wishes import Cancel
from bench2robust.benchmarks.tau2.airline.plan.world import Known
from bench2robust.benchmarks.tau2.plan.compiler import escalate
from bench2robust.benchmarks.tau2.plan.draft import CannotCompile
from bench2robust.core.episode import Task
from bench2robust.core.plan import Decision, Done, Facts, Goal, Plan, Say
from bench2robust.core.tools import ToolCall, ToolResponse

RULES: Mapping[str, tuple[str, ...]] = {"not_refundable": ()}
"""Rule to the facts about it that a record has to hold."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A wish that comes to nothing by policy, which the user is then told. Misled, it is carried out."""

    wish: Goal

    def decide(self, facts: Facts, done: int) -> Decision:
        """Decide from the facts (see `core.plan`)."""
        if done:
            return Done()
        decision = self.wish.decide(facts, 0)
        if isinstance(decision, Done):
            return Say("I am sorry, I cannot cancel this reservation: the policy does not allow it.")
        return decision


def compile_refusal(db: dict[str, Any], task: Task, execute: Callable[[ToolCall], ToolResponse]) -> Plan:
    """Compile an infeasible task: the allowed wishes as usual, then the one that is to be refused."""
    extras = task.data[EXTRAS]
    usual = compile_plan(db, task, execute)
    allowed = tuple(goal for goal in usual.goals if not _denied(goal))
    user_id = str(extras["user_id"])
    draft = Draft(Speech(task.instructions), Truth(db, user_id), Known(user_id))
    trip = db["reservations"][extras["attempt"]["arguments"]["reservation_id"]]
    found = find_trips([trip], draft, selects([trip], draft))
    if found is None:
        raise CannotCompile("reservation_id")
    draft.note(found[1], "reservation_id")
    goal = Refusal(WishGoal(draft.known, Cancel(found[0], Refundable())))
    return Plan((*allowed, goal), escalate, (*usual.ungrounded, *draft.ungrounded), usual.notes)


def _denied(goal: Goal) -> bool:
    """Whether a goal of the usual compiler is a cancellation, which here is the refused one."""
    return isinstance(goal, WishGoal) and isinstance(goal.wish, Cancel)
