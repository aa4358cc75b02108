"""Checks ends that differ from gold's: another value, or one more write. They have to fail."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from bench2robust.core import schema
from bench2robust.core.episode import Task
from bench2robust.core.tools import ToolCall

from .state import State, texts
from .subject import GoldReplay, Skip, Subject

_MOST: Final = 12
"""Calls of each kind that are tried in a task."""
_EACH: Final = 2
"""Values of one kind that are tried for an argument."""
_TEXTS: Final = 4000
"""Texts of a world that are looked through for values like an argument's."""


def ends(subject: Subject, task: Task) -> Iterator[str]:
    """Check that gold with another value in a write, or with one more write, fails where the end differs."""
    if getattr(subject.benchmark, "by_assertions", False):
        raise Skip("verdicts are assertions of what has to hold, so other ends may pass")
    gold, environment = subject.replay(task, GoldReplay())
    if not gold.result.outcome.score.passed or task.id in subject.exceptions:
        return
    right, kept = State.of(environment), subject.bookkeeping(task)
    near = list(near_misses(subject, task))
    strangers = subject.tasks[subject.tasks.index(task) - 1]
    more = [call for _, call in near]
    more += [
        strangers.gold[place].call for place in subject.writes(strangers) if not strangers.gold[place].by_user
    ]
    tries = [(GoldReplay(instead={place: call}), call, "in place of a write of gold") for place, call in near]
    tries += [(GoldReplay(more=(call,)), call, "after gold") for call in more]
    found: set[str] = set()
    for agent, call, where in tries:
        episode, environment = subject.replay(task, agent)
        refused = any(r.call == call and r.genuine_error for r in episode.trajectory.records)
        if where in found or refused or not episode.result.outcome.score.passed:
            continue
        if State.of(environment).differing(right) - kept:
            found.add(where)
            yield f"passes with {call.signature()} {where}, which leaves another world"


def near_misses(subject: Subject, task: Task) -> Iterator[tuple[int, ToolCall]]:
    """Yield gold writes with one value changed, and their places; at most `_MOST`, of every argument some."""
    schemas = {tool.name: tool.parameters for tool in subject.tools}
    world = list(islice(texts(subject.benchmark.open(task)), _TEXTS))
    queues: list[Iterator[tuple[int, ToolCall]]] = []
    for place in subject.writes(task):
        call = task.gold[place].call
        if task.gold[place].by_user or call.name not in schemas:
            continue
        for key in call.arguments:
            queues.append(_changed(place, call, key, _Source(subject, schemas[call.name], world)))
    yield from islice(_in_turns(queues), _MOST)


class _Source:
    """Where other values for an argument come from."""

    def __init__(self, subject: Subject, tool: Mapping[str, Any], world: Sequence[str]) -> None:
        self.subject, self.tool, self.world = subject, tool, world

    def fits(self, key: str, value: Any) -> bool:
        """Whether a value fits the argument's schema."""
        return not any(schema.misfits(value, self.tool.get("properties", {}).get(key, {}), self.tool, key))

    def others(self, call: ToolCall, key: str) -> Iterator[Any]:
        """Yield values of the same argument in gold calls of other tasks, and of the schema's enumeration."""
        yield from islice(self.tool.get("properties", {}).get(key, {}).get("enum", ()), 2 * _EACH)
        seen = (
            action.call.arguments[key]
            for task in self.subject.tasks
            for action in task.gold
            if action.call.name == call.name and key in action.call.arguments
        )
        yield from islice((value for value in seen if value != call.arguments[key]), _EACH)

    def like(self, text: str) -> Iterator[str]:
        """Yield texts of the world that look like one: letters for letters, digits for digits."""
        if shape := _shape(text):
            yield from islice(
                (t for t in dict.fromkeys(self.world) if t != text and _shape(t) == shape), _EACH
            )


def _changed(place: int, call: ToolCall, key: str, source: _Source) -> Iterator[tuple[int, ToolCall]]:
    old = call.arguments[key]
    tried: list[Any] = [old]
    for value in (*source.others(call, key), *_variants(old, source)):
        if value not in tried and source.fits(key, value):
            tried.append(value)
            yield place, ToolCall(call.name, {**call.arguments, key: value})


def _variants(value: Any, source: _Source) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str):
        yield from source.like(value)
        yield f"{value}x"
    elif isinstance(value, list | tuple):
        if len(value) > 1:
            yield list(value[:-1])
        for inner in islice(_variants(value[0], source), _EACH) if value else ():
            yield [inner, *value[1:]]
    elif isinstance(value, Mapping):
        for key, item in value.items():
            for inner in islice(_variants(item, source), 1):
                yield {**value, key: inner}


def _shape(text: str) -> str:
    """Return what an id looks like; empty for what is no id (a text without digits, or a long one)."""
    if len(text) > 40 or not any(letter.isdigit() for letter in text):
        return ""
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", text)))


def _in_turns(queues: list[Iterator[tuple[int, ToolCall]]]) -> Iterator[tuple[int, ToolCall]]:
    while queues:
        for queue in list(queues):
            item = next(queue, None)
            if item is None:
                queues.remove(queue)
            else:
                yield item
