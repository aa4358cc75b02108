"""Follows a plan on an environment that never fails: the proof that a generated task can be done.

The policies that recover from failures are in `bench2robust.agents`, which benchmarks do not know. Here
nothing fails, so the first route to each fact that the standard tools offer is enough.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

from bench2robust.core.errors import BenchmarkError
from bench2robust.core.plan import Act, Ask, Done, Fetch, Goal, Handover, Need, Plan, Say, Stuck
from bench2robust.core.ports import Environment
from bench2robust.core.tools import ToolCall

_MOST_DECISIONS = 200


class Dead(BenchmarkError):
    """The plan does not get through: the task is not valid."""


class Follower:
    """One pass through a plan.

    Args:
        environment: a fresh one.
        tools: the tools that may be used.
        answer: what the user says to a question.
    """

    def __init__(
        self, environment: Environment, tools: Collection[str], answer: Callable[[str], str | None]
    ) -> None:
        self._environment, self._tools, self._answer = environment, tools, answer
        self.facts: dict[str, Any] = {}
        self.calls: list[ToolCall] = []
        """Every call made, in order."""
        self.said: list[str] = []

    def follow(self, plan: Plan) -> None:
        """Pursue every goal.

        Raises:
            Dead: a goal does not get through.
        """
        for goal in plan.goals:
            if self._pursue(goal):
                return

    def _pursue(self, goal: Goal) -> bool:
        """Pursue a goal; returns whether it ends the conversation."""
        done = 0
        for _ in range(_MOST_DECISIONS):
            match goal.decide(self.facts, done):
                case Done():
                    return False
                case Handover(call):
                    self._call(call)
                    return True
                case Need(fetch):
                    self.facts[fetch.fact] = self._obtain(fetch)
                case Ask(fact, question):
                    self.said.append(question)
                    self.facts[fact] = self._answer(question) or ""
                case Say(text):
                    self.said.append(text)
                    done += 1
                case Act(call):
                    self._call(call)
                    done += 1
                case Stuck(reason):
                    raise Dead(f"the plan is stuck: {reason}")
        raise Dead(f"the plan makes no end after {_MOST_DECISIONS} decisions")

    def _obtain(self, fetch: Fetch) -> Any:
        for route in fetch.routes:
            if all(part.call.name in self._tools for part in route.parts):
                for part in route.parts:
                    if part.fact not in self.facts:
                        self.facts[part.fact] = self._call(part.call)
                value = route.build([self.facts[part.fact] for part in route.parts])
                if value is not None:
                    return value
        return None

    def _call(self, call: ToolCall) -> Any:
        response = self._environment.call(call)
        if response.error:
            raise Dead(f"{call.signature()} answers {response.text}")
        self.calls.append(call)
        try:
            return json.loads(response.text)
        except ValueError:  # a bare id
            return response.text
