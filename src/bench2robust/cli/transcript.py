"""``b2r show``: an episode as people read it, the truth beside what the agent saw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer
from rich.text import Text

from bench2robust.core.episode import Outcome, Role, Scenario
from bench2robust.core.tools import CallRecord
from bench2robust.evaluation import Episode
from bench2robust.evaluation.lines import encode

from .printing import console

_MOST = 320
"""Characters of one response that are shown."""
_WITHHELD = {
    "budget": "the episode's budget was spent",
    "consecutive": "the tool's consecutive limit was reached",
    "not_landed": "there was nothing to corrupt",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a transcript: a label, a text, and how it is shown on a terminal."""

    label: str
    text: str
    style: str = ""


def print_episode(episode: Episode, *, as_json: bool) -> None:
    """Print one episode."""
    if as_json:
        typer.echo(encode(episode).decode(), nl=False)
        return
    screen = console()
    for line in transcript(episode):
        label = f"{line.label:<12}" if line.label else ""
        screen.print(Text(f"{label}{line.text}".rstrip(), style=line.style))


def transcript(episode: Episode) -> Iterator[Line]:
    """Return the lines of an episode's transcript."""
    yield from _head(episode)
    records = episode.trajectory.records
    for message in episode.trajectory.messages:
        if message.role is Role.TOOL:
            continue
        yield Line("", "")
        if message.record is None:
            first, *more = message.text.splitlines() or [""]
            yield Line(str(message.role), first, "bold")
            yield from (Line(" ", text, "bold") for text in more)
        else:
            yield from _call(records[message.record])


def shorten(text: str, most: int = _MOST) -> str:
    """Return a text in at most about `most` characters; JSON stays readable: its long parts are cut.

    >>> shorten('{"a": [1, 2, 3, 4, 5], "b": "' + "x" * 80 + '"}', 60)
    '{"a": [1, 2, "… 3 more"], "b": "xxxxxxxxxxxxxxxxxxxxxxx…"}'
    """
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict | list):
        for items, letters, depth in ((6, 60, 6), (3, 40, 5), (2, 24, 4), (2, 24, 2)):
            line = json.dumps(_cut(value, items, letters, depth), ensure_ascii=False)
            if len(line) <= most:
                return line
    return f"{line[:most]}… ({len(text):,} characters)"


def _cut(value: Any, items: int, letters: int, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= letters else value[: letters - 1] + "…"
    if isinstance(value, list | dict) and value and not depth:
        return "…"
    if isinstance(value, list):
        cut = [_cut(item, items, letters, depth - 1) for item in value[:items]]
        return cut if len(value) <= items else [*cut, f"… {len(value) - items} more"]
    if isinstance(value, dict):
        kept = list(value.items())[: 2 * items]
        cut_ = {key: _cut(item, items, letters, depth - 1) for key, item in kept}
        return cut_ if len(value) <= 2 * items else {**cut_, "…": f"{len(value) - 2 * items} more"}
    return value


def _head(episode: Episode) -> Iterator[Line]:
    result, outcome = episode.result, episode.result.outcome
    parts = ", ".join(f"{name} {'yes' if good else 'no'}" for name, good in outcome.score.parts.items())
    passed = "passed" if outcome.score.passed else "failed"
    yield Line("episode", result.id, "bold")
    yield Line(
        "outcome", f"{passed} ({parts})" if parts else passed, "green" if outcome.score.passed else "red"
    )
    yield Line("scenario", _scenario(episode))
    yield Line(
        "ended", f"{episode.trajectory.ended} after {outcome.steps} steps; escalation: {outcome.escalation}"
    )
    yield Line("calls", _counts(outcome))


def _scenario(episode: Episode) -> str:
    assignment = episode.result.assignment
    if assignment.assigned is not assignment.effective:
        return f"{assignment.effective} ({assignment.assigned} was drawn; the task is not eligible for it)"
    if assignment.effective is Scenario.S1:
        return str(assignment.effective)
    side = f", side {assignment.side}" if assignment.side else ""
    return f"{assignment.effective}: class {assignment.equivalence}{side}, blocked {', '.join(sorted(assignment.blocked))}"


def _counts(outcome: Outcome) -> str:
    text = f"{outcome.calls}, {outcome.injections} injected, {outcome.blocked_calls} blocked"
    return f"{text}, {outcome.blind_repeats} blind repeats" if outcome.blind_repeats else text


def _call(record: CallRecord) -> Iterator[Line]:
    arguments = ", ".join(
        f"{key}={json.dumps(value, ensure_ascii=False, default=str)}"
        for key, value in record.call.arguments.items()
    )
    yield Line(f"call {record.index}", f"{record.call.name}({arguments})", "cyan")
    if not record.injected:
        yield Line("  own error" if record.genuine_error else "  answer", shorten(record.delivered.text))
        if record.withheld:
            why = _WITHHELD.get(record.withheld, record.withheld)
            yield Line("  drawn", f"{record.drawn}, not delivered: {why}", "dim")
        return
    yield Line("  BLOCKED" if record.blocked else "  INJECTED", _injection(record), "bold red")
    yield Line("  agent saw", shorten(record.delivered.text), "red")
    if record.true is not None:
        yield Line("  truth", shorten(record.true.text), "green")
    for change in record.corrupted:
        true, delivered = (
            shorten(json.dumps(v, ensure_ascii=False)) for v in (change.true, change.delivered)
        )
        yield Line("  changed", f"{change.path}: {true} → {delivered}", "green")


def _injection(record: CallRecord) -> str:
    if record.blocked:
        return "the tool was not executed"
    if record.true is None:
        return f"{record.noise}: the tool was not executed"
    if record.answer_lost:
        return f"{record.noise}: the tool was executed, its answer was lost"
    if record.genuine_error:
        return f"{record.noise}: the tool was executed and answered with an error of its own"
    return f"{record.noise}: the answer was changed"
