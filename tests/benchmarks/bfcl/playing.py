"""Agents that follow BFCL's ground truth and meet failures in one fixed way, played by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench2robust.core.episode import Message, Role, Score, Trajectory
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import CallRecord, ToolCall, ToolResponse

DOWN = ToolResponse("HTTP 503 Service Unavailable", error=True)
LOST = ToolResponse("Error: request timed out after 30s", error=True)


@dataclass
class Hand:
    """Plays one episode: what is executed and what is delivered are chosen call by call."""

    environment: object
    trajectory: Trajectory = field(default_factory=Trajectory)

    def __post_init__(self):
        self.talker = self.environment.user()
        self.hear(None)

    def hear(self, said):
        words = self.talker.reply(said)
        if words is not None:
            self.trajectory.messages.append(Message(Role.USER, words))

    def say(self, text="Done."):
        self.trajectory.messages.append(Message(Role.ASSISTANT, text))
        self.hear(text)

    def call(self, call: ToolCall, *, delivered: ToolResponse | None = None, executed: bool = True):
        true = self.environment.call(call) if executed else None
        answer = delivered or true
        noise = NoiseType.CLEAN if delivered is None else NoiseType.SERVER_ERROR
        index = len(self.trajectory.records)
        self.trajectory.records.append(CallRecord(index, call, 0, true, answer, None, noise))
        self.trajectory.messages += [
            Message(Role.ASSISTANT, record=index),
            Message(Role.TOOL, answer.text, index),
        ]
        return answer

    def score(self) -> Score:
        return self.environment.score(self.trajectory)


def corrupted(response: ToolResponse) -> ToolResponse:
    return ToolResponse(response.text + " (corrupted)")


def clean(hand, step):
    hand.call(step.call)


def retried(hand, step):
    hand.call(step.call, delivered=DOWN, executed=False)
    hand.call(step.call)


def writes_down(hand, step):
    if step.reads:
        hand.call(step.call)
    else:
        hand.call(step.call, delivered=DOWN, executed=False)


def reads_down(hand, step):
    if step.reads:
        hand.call(step.call, delivered=DOWN, executed=False)
    else:
        hand.call(step.call)


def writes_lost_and_repeated(hand, step):
    if not step.reads:
        hand.call(step.call, delivered=LOST)
    hand.call(step.call)


def writes_lost(hand, step):
    hand.call(step.call, delivered=None if step.reads else LOST)


def reads_corrupted(hand, step):
    if step.reads:
        hand.call(step.call, delivered=corrupted(ToolResponse(step.text)))
    else:
        hand.call(step.call)


def reads_corrupted_and_read_again(hand, step):
    reads_corrupted(hand, step)
    if step.reads:
        hand.call(step.call)


def play(benchmark, task, agent=clean) -> Hand:
    """Follow the ground truth, turn by turn, as an agent does that meets failures its own way."""
    hand = Hand(benchmark.open(task))
    for turn in benchmark.truth(task).turns:
        for step in turn.steps:
            agent(hand, step)
        hand.say()
    return hand
