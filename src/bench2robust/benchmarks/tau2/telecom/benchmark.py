"""τ²-bench telecom as a benchmark: 114 tasks, 13 tools for the agent, 30 for the user, two alternatives."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from bench2robust.benchmarks.tau2.provider import status, telecom_code, telecom_data
from bench2robust.core.episode import Action, Answer, Script, Task
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolCall, ToolKind, ToolSpec

from .alternatives import ALTERNATIVES, AddedTools
from .environment import TelecomEnvironment, Toolbox
from .plan import compile_plan
from .world import Start, prepare

_ESCALATION = "transfer_to_human_agents"
_KINDS = {"read": ToolKind.READ, "write": ToolKind.WRITE}
"""τ²'s tool types that carry over."""
_CUES = (("refuel",), ("pay",))
"""What a question can be about that the user has something to say on, beside the reason for the call."""


class TelecomBenchmark:
    """τ²-bench telecom. Everything is loaded on first use and shared by the process."""

    name = "tau2-telecom"
    domain = "telecom"
    id_pattern = r"\b[BCDLP]\d{4,}\b"
    """What the ids of bills, customers, devices, lines and plans look like."""
    by_assertions = True
    """For the conformance check: most tasks are judged by what holds at the end, not by gold's whole world."""
    max_errors = 10
    """τ²'s own cap (`core.ports.ErrorCap`)."""

    def __init__(self) -> None:
        self._plans: dict[str, tuple[Task, Plan]] = {}
        self._starts: dict[str, tuple[Task, Start]] = {}

    @cached_property
    def version(self) -> str:
        """Distribution and version of the installed τ²."""
        found = status()
        return f"{found.distribution} {found.version}"

    def tasks(self) -> Sequence[Task]:
        """Return the 114 tasks of τ²'s split ``base``, in file order."""
        return self._tasks

    def tools(self, alternatives: bool) -> Sequence[ToolSpec]:  # noqa: FBT001
        """Return the agent's 13 tools of τ²; with `alternatives` our two as well. The user's are the user's."""
        return [spec for spec in self._specs if alternatives or not spec.alternative]

    def policy(self, alternatives: bool) -> str:  # noqa: FBT001
        """Return τ²'s policy with its manual; with `alternatives` the addendum that names the two tools."""
        return self._policies[alternatives]

    def open(self, task: Task, *, alternatives: bool = True) -> TelecomEnvironment:
        """Return a fresh environment for one episode of the task, which need not be one of `tasks`.

        Raises:
            BenchmarkError: the task cannot be prepared or judged (`world.prepare`).
        """
        return TelecomEnvironment(task, self._start(task), self._toolbox, alternatives=alternatives)

    def plan(self, task: Task) -> Plan:
        """Return the compiled reference solution of the task (compiled once)."""
        known = self._plans.get(task.id)
        if known is None or known[0] is not task:
            known = self._plans[task.id] = task, compile_plan(task)
        return known[1]

    def _start(self, task: Task) -> Start:
        known = self._starts.get(task.id)
        if known is None or (known[0] is not task and known[0] != task):
            known = self._starts[task.id] = task, prepare(telecom_code(), telecom_data(), task)
        return known[1]

    @cached_property
    def _policies(self) -> tuple[str, str]:
        text = telecom_data().policy
        return text, f"{text.rstrip()}\n\n{addendum()}"

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        return tuple(task_of(raw) for raw in telecom_data().tasks)

    @cached_property
    def _specs(self) -> tuple[ToolSpec, ...]:
        return tuple(self._describe())

    @cached_property
    def _toolbox(self) -> Toolbox:
        code = telecom_code()
        agent, user = code.tools(None), code.user_tools(None)
        reads = [n for kit in (agent, user) for n in kit.tools if kit.tool_type(n).value == "read"]
        return Toolbox(
            standard=frozenset(agent.tools),
            phone={name: tuple(inspect.signature(tool).parameters) for name, tool in user.tools.items()},
            phone_specs=tuple(
                _spec(code.describe(tool), _kind(user, name)) for name, tool in user.tools.items()
            ),
            reads=frozenset((*reads, _ESCALATION, *ALTERNATIVES)),
        )

    def _describe(self) -> Iterator[ToolSpec]:
        code = telecom_code()
        toolkit, added = code.tools(None), AddedTools(None)
        for name, method in toolkit.tools.items():
            kind = _kind(toolkit, name)
            yield _spec(code.describe(method), ToolKind.ESCALATION if name == _ESCALATION else kind)
        for name in ALTERNATIVES:
            yield _spec(code.describe(getattr(added, name)), ToolKind.READ, alternative=True)


@cache
def addendum() -> str:
    """Return the policy addendum of the modes with alternatives."""
    return files(__package__).joinpath("addendum.md").read_text(encoding="utf-8").rstrip("\n")


def _kind(toolkit: Any, name: str) -> ToolKind:
    return _KINDS.get(toolkit.tool_type(name).value, ToolKind.UTILITY)


def _spec(tool: Any, kind: ToolKind, *, alternative: bool = False) -> ToolSpec:
    function = tool.openai_schema["function"]
    return ToolSpec(function["name"], function["description"], function["parameters"], kind, alternative)


def task_of(raw: Mapping[str, Any]) -> Task:
    """Read a task in τ²'s form."""
    words = raw["user_scenario"]["instructions"]
    return Task(
        id=str(raw["id"]),
        instructions="\n".join(
            text for text in (*_said_at_once(words), words.get("task_instructions")) if text
        ),
        gold=tuple(
            Action(ToolCall(a["name"], a["arguments"]), a.get("requestor") == "user")
            for a in raw["evaluation_criteria"]["actions"] or ()
        ),
        data=raw,
        script=Script(" ".join(_said_at_once(words)), tuple(_answers(words))),
    )


def _said_at_once(words: Mapping[str, str | None]) -> list[str]:
    return [text for key in ("reason_for_call", "known_info") if (text := words.get(key))]


def _answers(words: Mapping[str, str | None]) -> Iterator[Answer]:
    """Give what the user says when asked: the sentences of the instructions that are about it."""
    sentences = re.split(r"(?<=[.!?])\s+", words.get("task_instructions") or "")
    for cues in _CUES:
        about = [s for s in sentences if any(re.search(rf"\b{cue}", s.lower()) for cue in cues)]
        if about:
            yield Answer(cues, " ".join(about))
