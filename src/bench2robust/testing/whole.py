"""Checks of a benchmark as a whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from bench2robust.core import schema
from bench2robust.core.tools import ToolKind

from .subject import Subject

_NO_ID: Final = re.compile(r"[,/\\\s]|^all$|^\d+-\d+$|^\.+$")
"""Ids that mean something else on the command line or in a path, or end there."""
_ENOUGH: Final = 10
"""Tasks that are enough to say something of all."""


def tools(subject: Subject) -> Iterator[str]:
    """Check the tools and the two policy texts."""
    for name in _twice(tool.name for tool in subject.tools):
        yield f"expected each tool once, got tool={name!r} twice"
    for tool in subject.tools:
        yield from (f"tool={tool.name!r}: {fault}" for fault in schema.faults(tool.parameters))
        if not tool.description:
            yield f"tool={tool.name!r}: expected a description, got none"
    standard = [tool.name for tool in subject.benchmark.tools(alternatives=False)]
    expected = [tool.name for tool in subject.tools if not tool.alternative]
    if Counter(standard) != Counter(expected):
        odd = sorted(set(standard) ^ set(expected))
        yield f"expected tools(False) to be those that are not alternative, got a difference in {', '.join(odd)}"
    if ToolKind.ESCALATION not in subject.kinds.values():
        yield "expected a tool of kind escalation, got none: nobody could give up honestly"
    for alternatives in (False, True):
        if not subject.benchmark.policy(alternatives).strip():
            yield f"expected a policy text, got an empty one for alternatives={alternatives}"
    if not subject.benchmark.version:
        yield "expected a version, got an empty one"
    own = subject.benchmark
    asked = [
        (own.version, own.policy(alternatives=True), repr(own.tools(alternatives=True))) for _ in range(3)
    ]
    for place, what in enumerate(("version", "policy", "tools")):
        if len({answers[place] for answers in asked}) > 1:
            yield f"expected the same {what} whenever asked, got several"


def domain(subject: Subject) -> Iterator[str]:
    """Check that what the domain file names exists, and that its needs are complete."""
    facts = subject.domain
    named = {
        "exempt": facts.exempt,
        "needs": facts.needs,
        "granularity": facts.granularity,
        "responses": facts.fields,
        **{f"classes.{cls.name}": sorted(cls.tools) for cls in facts.classes},
    }
    for key, found in named.items():
        for name in found:
            if name not in subject.kinds:
                yield f"{key}: expected tools of the benchmark, got {name!r}"
    for tool in subject.tools:
        if tool.kind is ToolKind.ESCALATION and tool.name not in facts.exempt:
            yield f"exempt: expected the escalation tool {tool.name!r} to be in it"
        if tool.kind is ToolKind.WRITE and facts.classes and tool.name not in facts.needs:
            yield f"needs: expected every write, {tool.name!r} is missing (one that needs nothing has [])"
    for name in facts.needs:
        if subject.kinds.get(name, ToolKind.WRITE) is not ToolKind.WRITE:
            yield f"needs: expected writes, got {name!r}, which is of kind {subject.kinds[name]}"


def tasks(subject: Subject) -> Iterator[str]:
    """Check that there are tasks, in one order, and that their ids can be used."""
    listed = [task.id for task in subject.benchmark.tasks()]
    if not listed:
        yield "expected tasks, got none"
    if any([task.id for task in subject.benchmark.tasks()] != listed for _ in range(3)):
        yield "expected the same tasks in the same order whenever asked, got several orders"
    for name in _twice(listed):
        yield f"expected each task id once, got id={name!r} twice"
    known = set(listed)
    for name in listed:
        if not name or not name.isprintable() or _NO_ID.search(name):
            yield f"expected task ids without commas, slashes and spaces that are no range, got id={name!r}"
        for place in (found.start() for found in re.finditer(":", name)):
            if name[:place] in known:
                yield f"expected no id that is another one and a colon, got id={name!r} beside {name[:place]!r}"


def verdicts(subject: Subject) -> Iterator[str]:
    """Check that there is something to fail: a benchmark that whoever does nothing passes judges nothing."""
    if len(subject.tasks) < min(len(subject.benchmark.tasks()), _ENOUGH) or not subject.tasks:
        return
    if all(subject.passes(task, "idle") for task in subject.tasks):
        yield f"doing nothing passes every one of {len(subject.tasks)} tasks"


def _twice(items: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(items).items() if count > 1]
