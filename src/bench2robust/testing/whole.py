"""Checks of a benchmark as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from bench2robust.core import schema
from bench2robust.core.tools import ToolKind

from .subject import Subject


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
    """Check the ids of all tasks."""
    for name in _twice(task.id for task in subject.benchmark.tasks()):
        yield f"expected each task id once, got id={name!r} twice"
    for task in subject.benchmark.tasks():
        if not task.id or "," in task.id or task.id != task.id.strip():
            yield f"expected task ids without commas and outer spaces, got id={task.id!r}"


def _twice(items: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(items).items() if count > 1]
