"""A reference policy as a model: from the messages of a request to what the policy does next.

Nothing is kept between requests. The task is known by the user's first message, and the policy plays the
conversation again: what it did is compared with what the messages say it did, and what was answered is
handed back to it. So any request can be answered by any process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench2robust import agents
from bench2robust.core.episode import Task
from bench2robust.core.errors import SpecError, UsageError
from bench2robust.core.ports import Agent, Benchmark, Briefing, Play, Utterance
from bench2robust.core.reading import classify, parse
from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec
from bench2robust.memory.block import OPENING as BLOCK
from bench2robust.memory.notes import split

STOP: Final = "###STOP###"
"""What ends the talk, in the words of the prompts that agents and users are given."""
_IDLE: Final = 3
"""Times in a row that the served user has nothing to add before it ends the talk."""


class ForeignConversation(UsageError):
    """The messages are not those of a conversation that this policy could have had."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The user's words."""

    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A tool's answer, as the text that a model reads."""

    text: str


Turn = ToolCall | Utterance | Heard | Answered
"""One thing that has happened, in the order of the messages."""


class Replay:
    """Answers for one policy on one benchmark.

    Args:
        benchmark: whose tasks it can play.
        policy: the policy's name.

    Raises:
        UnknownNameError: nobody knows the policy.
        SpecError: the policy needs to know the truth, which no message tells.
    """

    def __init__(self, benchmark: Benchmark, policy: str) -> None:
        self.agent: Agent = agents.create(policy)
        if self.agent.omniscient:
            raise SpecError(f"expected a policy that goes by what it is told, got policy={policy!r}")
        self._benchmark = benchmark
        self._by_opening: dict[str, list[Task]] = {}
        for task in benchmark.tasks():
            openings = {task.instructions, *([task.script.opening] if task.script else ())}
            for opening in openings:
                self._by_opening.setdefault(opening.strip(), []).append(task)

    @property
    def alike(self) -> int:
        """How many tasks begin with the same words as another; of those, the first that fits is played."""
        return len({task.id for tasks in self._by_opening.values() if len(tasks) > 1 for task in tasks})

    def next(
        self, turns: Sequence[Turn], tools: Sequence[ToolSpec], prompt: str = ""
    ) -> ToolCall | Utterance:
        """Return what the policy does after some turns.

        Args:
            turns: everything from the user's first message on.
            tools: the tools on offer.
            prompt: the system prompt, in which the block of a tool memory may be.

        Raises:
            ForeignConversation: the user wants something that is no task, or the policy would not have
                done what it has done.
        """
        if not turns or not isinstance(turns[0], Heard):
            raise ForeignConversation("expected the user to speak first")
        opening = turns[0].text
        problem = f"expected the words of a task of {self._benchmark.name}, got {_short(opening)!r}"
        for task in self._by_opening.get(opening.strip(), ()):
            briefing = Briefing(
                task, tools, "", opening, self._benchmark.plan(task), memory=prompt if BLOCK in prompt else ""
            )
            play = self.agent.play(briefing)
            try:
                return _follow(play, turns[1:])
            except ForeignConversation as error:
                problem = str(error)
            finally:
                play.close()
        raise ForeignConversation(problem)


class ServedUser:
    """The scripted user as a model, for agents that talk to a simulated one.

    Args:
        benchmark: whose tasks it can play.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._tasks = benchmark.tasks()

    def next(self, prompt: str, turns: Sequence[Turn]) -> Utterance:
        """Return what the user says after some turns, in which the assistant is the one who is heard.

        Raises:
            ForeignConversation: the prompt holds the instructions of no task.
        """
        task = next((task for task in self._tasks if task.instructions.strip() in prompt), None)
        if task is None:
            raise ForeignConversation("expected the instructions of a task in the prompt, got none")
        user = agents.Scripted.of(task)
        words, idle = user.reply(None) or "", 0
        for turn in [turn for turn in turns if isinstance(turn, Heard)][1:]:
            words = user.reply(turn.text) or ""
            idle = idle + 1 if words == agents.NOTHING_TO_ADD else 0
            if idle >= _IDLE or "Goodbye" in turn.text:
                return Utterance(STOP, last=True)
        return Utterance(words)


def _follow(play: Play, turns: Sequence[Turn]) -> ToolCall | Utterance:
    """Play until the turns are used up; returns what comes next."""
    try:
        action = next(play)
        for turn in turns:
            if isinstance(turn, Heard | Answered):
                action = play.send(_reply(action, turn))
            elif not _same(action, turn):
                raise ForeignConversation(
                    f"expected {_described(action)} of this policy, got {_described(turn)}"
                )
    except StopIteration:
        return Utterance("", last=True)  # it had ended the talk before
    return action


def _reply(action: ToolCall | Utterance, turn: Heard | Answered) -> ToolResponse | str:
    if isinstance(action, ToolCall) is not isinstance(turn, Answered):
        expected = "a tool's answer" if isinstance(action, ToolCall) else "the user's words"
        raise ForeignConversation(
            f"expected {expected} after {_described(action)}, got {_short(turn.text)!r}"
        )
    if isinstance(turn, Heard):
        return turn.text
    text, note = split(turn.text)
    return ToolResponse(text, looks_failed(text), note)


def looks_failed(text: str) -> bool:
    """Whether a tool's answer reads like an error; a tool message does not say it otherwise."""
    if text.startswith("Error"):
        return True
    return classify(text) is not None and not isinstance(parse(text), dict | list)


def _same(action: ToolCall | Utterance, turn: Turn) -> bool:
    if isinstance(action, ToolCall):
        if not isinstance(turn, ToolCall) or action.name != turn.name:
            return False
        return action.arguments == turn.arguments or _plain(action.arguments) == turn.arguments
    return isinstance(turn, Utterance) and action.text.strip() == turn.text.strip()


def _plain(arguments: Mapping[str, Any]) -> Any:
    """Return arguments as they are after a way through JSON."""
    return json.loads(json.dumps(arguments))


def _described(turn: Turn) -> str:
    return (
        f"the call {_short(turn.signature())}"
        if isinstance(turn, ToolCall)
        else f"the text {_short(turn.text)!r}"
    )


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
