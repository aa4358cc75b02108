"""``b2r show``: an episode as people read it, the truth beside what the agent saw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import typer
from rich.text import Text

from bench2robust.core.episode import Outcome, Role, Scenario
from bench2robust.core.tools import CallRecord, ToolCall
from bench2robust.evaluation import Episode
from bench2robust.evaluation.lines import encode

from .printing import console

_MOST = 420
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
        if message.call is not None:
            yield Line("user does", _written(message.call), "magenta")
            yield Line("  answer", *shorten(message.text))
        elif message.record is None:
            first, *more = message.text.splitlines() or [""]
            yield Line(str(message.role), first, "bold")
            yield from (Line(" ", text, "bold") for text in more)
        else:
            if message.text:
                yield Line("aside", " ".join(message.text.split()), "dim")
            yield from _call(records[message.record])


def shorten(*texts: str, most: int = _MOST) -> list[str]:
    """Return texts in about `most` characters each, all cut alike, so that they can be compared.

    JSON keeps its outline: what lies deepest is cut first, then what is long.

    >>> shorten('{"a": [1, 2, 3, 4, 5], "b": "' + "x" * 80 + '"}', most=60)
    ['{"a": [1, 2, "… 3 more"], "b": "xxxxxxxxxxxxxxxxxxxxxxx…"}']
    """
    lines = [" ".join(text.split()) for text in texts]
    values = [_parsed(text) for text in texts]
    for cut in _CUTS:
        if max(map(len, lines), default=0) <= most:
            break
        lines = [_cut_line(line, value, cut) for line, value in zip(lines, values, strict=True)]
    return [line if len(line) <= most else f"{line[:most]}… ({len(line):,} characters)" for line in lines]


def _cut_line(line: str, value: Any, cut: _Cut) -> str:
    if not isinstance(value, dict | list):
        return line
    return json.dumps(cut.of(value), ensure_ascii=False)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class _Cut:
    """How much of a JSON value is shown."""

    items: int
    """Of a list."""
    letters: int
    """Of a string."""
    depth: int
    """Levels of lists and objects."""

    def of(self, value: Any, level: int = 0) -> Any:
        """Return the value, cut."""
        if isinstance(value, str):
            return value if len(value) <= self.letters else value[: self.letters - 1] + "…"
        if not isinstance(value, list | dict) or not value:
            return value
        if level == self.depth:
            return f"… {len(value)} items" if isinstance(value, list) else f"… {len(value)} keys"
        if isinstance(value, dict):
            return {key: self.of(item, level + 1) for key, item in value.items()}
        cut = [self.of(item, level + 1) for item in value[: self.items]]
        return cut if len(value) <= self.items else [*cut, f"… {len(value) - self.items} more"]


_CUTS: Final = (_Cut(6, 60, 6), _Cut(3, 40, 3), _Cut(2, 24, 2), _Cut(1, 24, 1))


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


def _written(call: ToolCall) -> str:
    arguments = ", ".join(
        f"{key}={json.dumps(value, ensure_ascii=False, default=str)}" for key, value in call.arguments.items()
    )
    return f"{call.name}({arguments})"


def _call(record: CallRecord) -> Iterator[Line]:
    yield Line(f"call {record.index}", _written(record.call), "cyan")
    if not record.injected:
        yield Line("  own error" if record.genuine_error else "  answer", *shorten(record.delivered.text))
        if record.withheld:
            why = _WITHHELD.get(record.withheld, record.withheld)
            yield Line("  drawn", f"{record.drawn}, not delivered: {why}", "dim")
        if record.note:
            yield Line("  and a note", *shorten(record.note))
        return
    yield Line("  BLOCKED" if record.blocked else "  INJECTED", _injection(record), "bold red")
    seen, *truth = shorten(record.delivered.text, *([record.true.text] if record.true else []))
    yield Line("  agent saw", seen, "red")
    if record.note:
        yield Line("  and a note", *shorten(record.note))
    yield from (Line("  truth", text, "green") for text in truth)
    for change in record.corrupted:
        true, delivered = shorten(
            *(json.dumps(v, ensure_ascii=False) for v in (change.true, change.delivered)), most=160
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
