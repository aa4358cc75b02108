"""Checks of single tasks. Each yields what does not hold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from bench2robust import agents
from bench2robust.core import schema
from bench2robust.core.episode import Assignment, Mode, Scenario, Score, Task
from bench2robust.core.tools import ToolCall, ToolKind
from bench2robust.evaluation import Episode
from bench2robust.evaluation.lines import decode, encode
from bench2robust.injection import Eligibility, InjectionSpec, Mix, ScenarioSpec, assign

from .ends import near_misses
from .state import State, texts
from .subject import NO_TOOL, GoldReplay, Skip, Subject
from .together import answers, calls_of

_ONLY_S3: Final = ScenarioSpec(Mix(0, 0, 100))
_READS: Final = 25
"""How often one read is made in a row."""


def fits(subject: Subject, task: Task) -> Iterator[str]:
    """Check the user's words, and the gold calls against the schemas."""
    if not task.instructions.strip():
        yield "expected instructions, got none"
    schemas = {tool.name: tool.parameters for tool in subject.tools}
    for action in task.gold:
        call = action.call
        if action.by_user or task.id in subject.exceptions:
            continue
        if call.name not in schemas:
            yield f"gold calls tool={call.name!r}, which is not among the tools"
            continue
        for misfit in schema.misfits(dict(call.arguments), schemas[call.name]):
            yield f"gold call of {call.name}: {misfit}"


def gold(subject: Subject, task: Task) -> Iterator[str]:
    """Check that the reference solution passes."""
    score = subject.play(task, GoldReplay()).result.outcome.score
    if not score.passed:
        yield f"the gold calls fail ({_failed(score)})"


def wrong(subject: Subject, task: Task) -> Iterator[str]:
    """Check that what is not done is seen: all of it, the writes, one write, what has to be told."""
    writes = subject.writes(task)
    if writes or task.tell:
        if subject.passes(task, "idle"):
            yield "doing nothing passes"
        if task.tell and subject.passes(task, GoldReplay(silent=True)):
            yield "gold passes without telling the user anything"
    if writes:
        if subject.passes(task, GoldReplay(frozenset(writes))):
            yield "gold passes without its writes"
        passing = [place for place in writes if subject.passes(task, GoldReplay(frozenset((place,))))]
        # Assertions look at what matters: a write may be a means that another way, or nothing, replaces.
        if getattr(subject.benchmark, "by_assertions", False):
            if len(passing) == len(writes):
                yield "gold passes whichever of its writes is left out"
            return
        for place in passing:
            if subject.matters(task, place):
                yield f"gold passes without its write {task.gold[place].call.signature()}"


def errors(subject: Subject, task: Task) -> Iterator[str]:
    """Check that a call that cannot be is answered with an error, and changes nothing."""
    environment = subject.benchmark.open(task)
    needing = [tool for tool in subject.tools if tool.parameters.get("required")]
    wrong_calls = [ToolCall(NO_TOOL), *(ToolCall(tool.name) for tool in needing)]
    for call in wrong_calls:
        if not environment.call(call).error:
            yield f"expected an error for {call.signature()}, got an answer"
    standard = subject.benchmark.open(task, alternatives=False)
    for tool in subject.tools:
        if tool.alternative and not standard.call(ToolCall(tool.name)).error:
            yield f"expected an error for the alternative {tool.name} without alternatives, got an answer"
    fresh = subject.benchmark.open(task)
    if answers(environment, task) != answers(fresh, task):
        yield "wrong calls change what the right ones get"
    yield from _traces(subject, task, [*wrong_calls, *(call for _, call in near_misses(subject, task))])


def _traces(subject: Subject, task: Task, calls: Sequence[ToolCall]) -> Iterator[str]:
    """Yield the calls that are answered with an error and change the world none the less."""
    environment = subject.benchmark.open(task)
    failing = [call for call in calls if environment.call(call).error]
    if not _trace(subject, task, failing):  # looking at a world is slow: all at once, and mostly that is it
        return
    for call in failing:
        if seen := _trace(subject, task, [call]):
            yield f"an error, and a change of the world (its {', '.join(sorted(seen))}), for {call.signature()}"


def _trace(subject: Subject, task: Task, calls: Sequence[ToolCall]) -> set[str]:
    """Return what calls that are answered with errors change in the world."""
    environment = subject.benchmark.open(task)
    before = State.of(environment)
    failed = [environment.call(call).error for call in calls]
    return State.of(environment).differing(before) - subject.bookkeeping(task) if all(failed) else set()


def again(subject: Subject, task: Task) -> Iterator[str]:
    """Check that an episode is a function of what is done, and a verdict one of an episode."""
    for agent, mode in ((GoldReplay(), Mode.CLEAN), (agents.create("strategic"), Mode.INJECT_ALT)):
        first, second = (subject.play(task, agent, mode, injection=InjectionSpec()) for _ in range(2))
        if encode(first) != encode(second):
            yield f"two episodes of {agent.name} differ"
    episode, environment = subject.replay(task, GoldReplay())
    if environment.score(episode.trajectory) != episode.result.outcome.score:
        yield "a second verdict on the same end is another one"


def reads(subject: Subject, task: Task) -> Iterator[str]:
    """Check that a read gets the same answer however often it is made, and changes nothing."""
    kept = subject.bookkeeping(task)
    looking = [call for call in calls_of(task) if subject.kinds.get(call.name) is ToolKind.READ]
    for call in {call.signature(): call for call in looking}.values():
        environment = subject.benchmark.open(task)
        world = State.of(environment)
        got = [environment.call(call) for _ in range(_READS)]
        if any(answer != got[0] for answer in got):
            yield f"the answer to {call.signature()} changes though nothing has happened"
        if not got[0].error and (seen := State.of(environment).differing(world) - kept):
            yield (
                f"{call.name}, of kind read, changes the world (its {', '.join(sorted(seen))}; an environment that "
                "keeps what it has read needs changes())"
            )


def lines(subject: Subject, task: Task) -> Iterator[str]:
    """Check that an episode survives being written: texts are texts, arguments are JSON."""
    episodes: list[Episode] = [subject.play(task, GoldReplay())]
    episodes.append(subject.play(task, "strategic", Mode.INJECT_ALT, injection=InjectionSpec()))
    for episode in episodes:
        for record in episode.trajectory.records:
            if not isinstance(record.delivered.text, str):
                yield f"expected a text from {record.call.name}, got {record.delivered.text!r}"
        if decode(encode(episode)) != episode:
            yield f"an episode of {episode.result.agent} is not read back as it was"


def clean(subject: Subject, task: Task) -> Iterator[str]:
    """Check the reference policies where nothing fails."""
    for mode in (Mode.CLEAN, Mode.CLEAN_ALT):
        if not subject.passes(task, "omniscient", mode):
            continue
        for policy in agents.REFERENCE:
            score = subject.play(task, policy, mode).result.outcome.score
            if not score.passed:
                yield f"agent={policy!r} fails in {mode} what omniscient passes ({_failed(score)})"


def certified(subject: Subject, task: Task) -> Iterator[str]:
    """Check that S1 and S2 are passable."""
    if task.id in subject.exceptions:
        return
    if not subject.passes(task, "omniscient", Mode.INJECT_ALT):
        yield f"omniscient fails in S1: {subject.certificate(task).reasons.get('s2', 'no reason given')}"
        return
    for cls in subject.domain.classes:
        counting = subject.certificate(task).sides.get(cls.name, ())
        for side in cls.sides if len(counting) >= 2 else ():
            if side.name in counting:
                blocked = frozenset(side.tools) - subject.domain.exempt
                block = Assignment(Scenario.S2, Scenario.S2, blocked, cls.name, side.name)
                if not subject.passes(task, "omniscient", Mode.INJECT_ALT, block):
                    yield f"omniscient fails in S2 with {cls.name} by {side.name} blocked"


def impossible(subject: Subject, task: Task) -> Iterator[str]:
    """Check that with a class and its writes blocked nobody passes: not the idle, not the blind, not the wise."""
    for name in subject.certificate(task).s3:
        block = assign(0, task.id, _ONLY_S3, Eligibility(s3=(name,)), subject.domain)
        for agent in ("idle", "adversary", *agents.REFERENCE):
            if subject.passes(task, agent, Mode.INJECT_ALT, block):
                yield f"agent={agent!r} passes in S3 with {name} blocked"


def ids(subject: Subject, task: Task) -> Iterator[str]:
    """Check a plan against what the benchmark says its ids look like (`id_pattern`, a regular expression)."""
    pattern = getattr(subject.benchmark, "id_pattern", None)
    if pattern is None:
        raise Skip("the benchmark has no id_pattern that says what its ids look like")
    words = [task.instructions]
    if task.script is not None:
        words += [task.script.opening, *task.script.turns, *(answer.text for answer in task.script.answers)]
    said = set(re.findall(pattern, " ".join(words)))
    for goal in subject.benchmark.plan(task).goals:
        for text in texts(goal):
            for found in re.findall(pattern, text):
                if found not in said:
                    yield f"the plan holds {found!r}, which the user does not say"


def _failed(score: Score) -> str:
    return ", ".join(name for name, passed in score.parts.items() if not passed) or "no part says why"
