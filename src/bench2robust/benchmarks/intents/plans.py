"""Plans of 3I-shaped tasks: the domain's own compiler, behind the questions that the intent takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bench2robust.core.episode import Action, Task
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolCall, ToolResponse

from .asking import Question, ask_first, confirm_first
from .records import CHANGING, EXTRAS, INFEASIBLE, call_of

Compile = Callable[[dict[str, Any], Task, Callable[[ToolCall], ToolResponse]], Plan]


def compile_intent(usual: Compile, refusal: Compile) -> Compile:
    """Return a compiler of 3I-shaped tasks.

    Args:
        usual: the domain's compiler.
        refusal: compiles a task with a wish that the policy forbids.
    """

    def compile_task(db: dict[str, Any], task: Task, execute: Callable[[ToolCall], ToolResponse]) -> Plan:
        extras = task.data.get(EXTRAS) or {}
        if task.data.get("intent") == INFEASIBLE and "attempt" in extras:
            return refusal(db, task, execute)
        if task.script is None:
            return usual(db, task, execute)
        known = task.data["user_scenario"]["instructions"]["known_info"]
        answers = [Question(a["asks"], a["text"]) for a in extras["answers"]]
        said = " ".join(a.expected for a in answers)
        if task.data["intent"] != CHANGING:
            return ask_first(
                usual(db, replace(task, instructions=f"{task.script.opening} {said}"), execute), answers
            )
        first = replace(
            task, instructions=task.script.opening, gold=(Action(call_of(extras["abandoned"])),), tell=()
        )
        abandoned = usual(db, first, lambda call: ToolResponse("not executed"))
        final = usual(db, replace(task, instructions=f"{known} {said}"), execute)
        return confirm_first(abandoned, final, answers[0])

    return compile_task
