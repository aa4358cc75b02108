"""Synthetic episodes whose every measure can be worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench2robust.core.domain import Domain, EquivalenceClass, Side
from bench2robust.core.episode import (
    Action,
    Assignment,
    End,
    Escalation,
    Message,
    Outcome,
    Role,
    Scenario,
    Score,
    Trajectory,
    Usage,
)
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import CallRecord, CorruptedField, ToolCall, ToolKind, ToolResponse
from bench2robust.measures import RunFacts

N = NoiseType
ORDER = EquivalenceClass("order", (Side("full", ("get_order",)), Side("parts", ("list_orders", "get_items"))))
KINDS = {
    "get_order": ToolKind.READ,
    "list_orders": ToolKind.READ,
    "get_items": ToolKind.READ,
    "get_user": ToolKind.READ,
    "calculate": ToolKind.UTILITY,
    "cancel_order": ToolKind.WRITE,
    "exchange_items": ToolKind.WRITE,
    "hand_over": ToolKind.ESCALATION,
}
GOLD = (
    Action(ToolCall("get_order", {"id": 7})),
    Action(ToolCall("cancel_order", {"id": 7, "reason": "late"})),
    Action(ToolCall("exchange_items", {"old": [1, 2], "new": [10, 20]})),
)
FACTS = RunFacts(KINDS, Domain("shop", classes=(ORDER,)), {"t": GOLD})


@dataclass
class Result:
    """What `measures.Judged` asks for."""

    assignment: Assignment
    outcome: Outcome
    usage: Usage | None = None
    user_usage: Usage | None = None
    task: str = "t"


@dataclass
class Episode:
    result: Result
    trajectory: Trajectory


@dataclass
class Script:
    """Writes an episode down, action by action."""

    messages: list[Message] = field(default_factory=list)
    records: list[CallRecord] = field(default_factory=list)

    def hears(self, text):
        self.messages.append(Message(Role.USER, text))
        return self

    def says(self, text):
        self.messages.append(Message(Role.ASSISTANT, text))
        return self

    def calls(
        self,
        tool,
        arguments=None,
        *,
        text="ok",
        noise=N.CLEAN,
        blocked=False,
        refused=False,
        fields=(),
        executed=True,
        aside="",
    ):
        """Call a tool; `text` is what the real tool answers, `fields` are (path, true, delivered)."""
        true = ToolResponse(text, refused) if executed and not blocked else None
        failed = blocked or noise.observable
        delivered = ToolResponse("HTTP 500", error=True) if failed else (true or ToolResponse(text))
        corrupted = tuple(CorruptedField(*f) for f in fields)
        for _, was, now in fields:
            delivered = ToolResponse(delivered.text.replace(str(was), str(now)))
        index = len(self.records)
        call = ToolCall(tool, arguments or {})
        drawn = None if blocked else noise
        self.records.append(
            CallRecord(index, call, 0, true, delivered, drawn, noise, blocked, None, corrupted)
        )
        self.messages.append(Message(Role.ASSISTANT, aside, index))
        self.messages.append(Message(Role.TOOL, delivered.text, index))
        return self

    def trajectory(self, ended=End.DONE):
        steps = sum(m.role is Role.ASSISTANT for m in self.messages)
        return Trajectory(self.messages, self.records, steps, ended)

    def episode(
        self,
        *,
        passed=True,
        scenario=Scenario.S1,
        assigned=None,
        escalation=Escalation.NONE,
        ended=End.DONE,
        **result,
    ):
        trajectory = self.trajectory(ended)
        blocked = sum(r.blocked for r in self.records)
        landed = sum(r.landed for r in self.records)
        outcome = Outcome(Score(passed), escalation, trajectory.steps, len(self.records), landed, blocked, 0)
        return Episode(Result(Assignment(assigned or scenario, scenario), outcome, **result), trajectory)
