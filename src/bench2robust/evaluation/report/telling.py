"""Stories told: what happened in an episode in a few sentences, and the gallery as Markdown."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Final

from bench2robust.core.episode import Escalation, Role
from bench2robust.core.noise import NOISE_TYPES
from bench2robust.core.tools import CallRecord
from bench2robust.evaluation.study import Study
from bench2robust.measures import Move, failed_visibly, move

from .gallery import Performance, Story, Strategy
from .parts import ERROR_NAMES

TITLES: Final = {
    Strategy.RETRY: "Retry: a failure that passes",
    Strategy.SWITCH: "Switch: a tool that stays broken",
    Strategy.ABSTAIN: "Abstain: a task that cannot be done",
}
INSIGHTS: Final = {
    Strategy.RETRY: "Most failures are gone at the next call. Whoever takes the first one for the end gives up what was in reach.",
    Strategy.SWITCH: "A tool that fails again and again is not waited for: the same facts are there behind another tool.",
    Strategy.ABSTAIN: "Handing over is right only here, and only after the retry and the other way have failed; an episode "
    "like this one cannot be passed, so the verdict on it is whether the agent stopped in time and left nothing wrong behind.",
}
_MOST: Final = 3
"""Failures that are told one by one."""
_WIDTH: Final = 110
_SAID: Final = {
    Move.RETRY: "it makes the same call again",
    Move.SWITCH: "it switches to {then}",
    Move.ABSTAIN: "it hands over to a human",
    Move.OTHER: "it goes on with {then}",
}


def told(played: Performance) -> str:
    """Return what a system did about the failures it met, and how the episode ended."""
    records = played.episode.trajectory.records
    failures = [n for n, record in enumerate(records) if failed_visibly(record)]
    said = [_failure(played, records, n) for n in failures[:_MOST]]
    if len(failures) > _MOST:
        said.append(f"{len(failures) - _MOST} more failures follow.")
    silent = [record for record in records if record.noise.silent]
    if silent:
        said.append(
            f"{silent[0].call.name} returns false values ({ERROR_NAMES[silent[0].noise]}), which look valid."
        )
    return f"{len(records)} calls. {' '.join(said)} {ending(played)}"


def ending(played: Performance) -> str:
    """Return the verdict on an episode."""
    outcome = played.episode.result.outcome
    if outcome.escalation is Escalation.ABSTAIN:
        if _tried(played):
            return "It abstained: nothing could have worked."
        return "Nothing could have worked, but it could not know: it had tried nothing else."
    if outcome.score.passed:
        return "Passed."
    if outcome.escalation is Escalation.PREMATURE:
        return "Failed: it handed over although a way was left."
    return f"Failed: the episode ended ({played.episode.trajectory.ended.replace('_', ' ')}) with the task not done."


def _tried(played: Performance) -> bool:
    """Whether a failure was answered by anything but handing over."""
    records = played.episode.trajectory.records
    steps = itertools.pairwise(records)
    moves = {move(played.facts, a.call.name, b.call.name) for a, b in steps if failed_visibly(a)}
    return not moves <= {Move.ABSTAIN}


def opening(played: Performance) -> str:
    """Return the user's first words."""
    first = next((m.text for m in played.episode.trajectory.messages if m.role is Role.USER), "")
    return _cut(" ".join(first.split()), 400)


def where(story: Story) -> str:
    """Return where the story is from."""
    benchmark, task, mode, seed = story.group
    return f"{benchmark}, task {task}, {mode}, seed {seed}"


def _failure(played: Performance, records: Sequence[CallRecord], number: int) -> str:
    record = records[number]
    then = records[number + 1].call.name if number + 1 < len(records) else None
    what = "is blocked and answers" if record.blocked else "comes back with"
    next_ = _SAID[move(played.facts, record.call.name, then)] if then else "it calls nothing more"
    return f"Call {number + 1}, {record.call.name}, {what} “{_cut(record.delivered.text, 70)}”; {next_.format(then=then)}."


def played_by(study: Study) -> Iterator[str]:
    """Return the command that played each run, as far as its usual options go."""
    for run in study.runs:
        spec = run.manifest["spec"]
        options = {
            "benchmark": spec["benchmark"],
            "agents": ",".join(spec["agents"]),
            "modes": ",".join(spec["modes"]),
            "seeds": ",".join(map(str, spec["seeds"])),
            "mix": spec["scenarios"]["mix"],
            "out": run.folder,
        }
        yield " ".join(["b2r run", *(f"--{name} {value}" for name, value in options.items())])


def markdown(stories: Sequence[Story], commands: Sequence[str]) -> str:
    """Return the gallery as a page of Markdown.

    Args:
        stories: what to tell.
        commands: what makes the page.
    """
    lines = [
        "# Gallery",
        "",
        "Three episodes as in the paper's Appendix K, each beside a weaker system on the same task, seed and draws. They "
        "are chosen by rule from real runs (`evaluation/report/gallery.py` states the rules) and written by",
        "",
        "```sh",
        *commands,
        "```",
        "",
        "*Delivered* is what the agent saw. Where something was injected, *truth* is what the tool really answered, or that "
        "it did not run.",
    ]
    for story in stories:
        lines += ["", f"## {TITLES[story.strategy]}", "", f"{where(story)}", ""]
        lines += [f"> {_plain(opening(story.good))}", ""]
        for played in (story.good, story.weak):
            lines += [f"**{_plain(played.role.system)}**, {_plain(told(played))}", "", *_table(played), ""]
        lines += [INSIGHTS[story.strategy]]
    return "\n".join(lines) + "\n"


def _table(played: Performance) -> Iterator[str]:
    yield "| | call | met | delivered | truth |"
    yield "|---|---|---|---|---|"
    for number, record in enumerate(played.episode.trajectory.records, start=1):
        call = f"{record.call.name}({', '.join(f'{k}={json.dumps(v)}' for k, v in record.call.arguments.items())})"
        met = (
            "blocked" if record.blocked else ERROR_NAMES[record.noise] if record.noise in NOISE_TYPES else ""
        )
        cells = (call, met, *_delivered(record))
        yield f"| {number} | " + " | ".join(_plain(cell) for cell in cells) + " |"


def _delivered(record: CallRecord) -> tuple[str, str]:
    """Return what was delivered and, where it differs, the truth; of corrupted fields, the first."""
    if record.corrupted:
        first = record.corrupted[0]
        more = f" (and {len(record.corrupted) - 1} more)" if len(record.corrupted) > 1 else ""
        return tuple(  # type: ignore[return-value]
            _cut(f"{first.path}: {json.dumps(value, ensure_ascii=False)}", _WIDTH - len(more)) + more
            for value in (first.delivered, first.true)
        )
    truth = ""
    if record.injected:
        truth = "did not run" if record.true is None else record.true.text
    return _cut(record.delivered.text, _WIDTH), _cut(truth, _WIDTH)


def _cut(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _plain(text: str) -> str:
    """Return a text so that Markdown and HTML take it as it is."""
    for sign in "\\`*_|<>[]#&":
        text = text.replace(
            sign, f"\\{sign}" if sign not in "<>&" else {"<": "&lt;", ">": "&gt;", "&": "&amp;"}[sign]
        )
    return text
