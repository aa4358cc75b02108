"""The report: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from bench2robust import __version__
from bench2robust.core.errors import SpecError
from bench2robust.evaluation.lines import Episode
from bench2robust.evaluation.store import read_episodes
from bench2robust.evaluation.study import LoadedRun, Study
from bench2robust.memory import Memory

from .explorer import Explorer, Packed, Player, Subject
from .findings import findings, lead, setting, title
from .gallery import Performance, Pick, Story, Strategy, performed, pick
from .part import Part, Shown
from .parts import errors, gap, strategy, summary
from .telling import INSIGHTS, TITLES, opening, told, where
from .timeline import LONGEST
from .trends import Recoveries, Severity, calibration, cost, reference, severities, severity_curves

MEGABYTE: Final = 1_000_000
MAY_DIFFER: Final = ("benchmark", "profile", "limits")
"""In what the runs of a report may differ: the parts that it shows side by side."""
LEAST: Final = 1
"""Megabytes below which the page itself would not fit."""
_UNHEARD: Final = "the memory has no belief about anything that went wrong in these runs"
_SCRIPTS: Final = ("data.js", "timeline.js", "explorer.js", "page.js")
_SLACK: Final = 4000
"""Characters by which the page may grow when the final counts are written into it."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """How a report is made.

    Raises:
        SpecError: a size in which not even the page fits.
    """

    memory: Memory | None = None
    """Whose beliefs are held against the runs; without one, beliefs are learned from half of the tasks."""
    megabytes: float = 15.0
    """The file's greatest size; timelines that do not fit are left out, and the report says which."""
    lenient: bool = False
    """Whether damaged lines are left out."""

    def __post_init__(self) -> None:
        if not self.megabytes >= LEAST:
            raise SpecError(f"expected at least {LEAST} megabyte, got max-size={self.megabytes!r}")


@dataclass(frozen=True, slots=True)
class Report:
    """A report, and what is in it."""

    html: str
    episodes: int
    kept: int
    """Episodes with a timeline."""
    stories: tuple[Story, ...]
    warnings: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.html.encode())


def report(study: Study, wishes: Wishes | None = None, watch: Callable[[int], None] | None = None) -> Report:
    """Return the report of a study; equal studies give equal files.

    Args:
        study: the runs.
        wishes: how it is made.
        watch: is told how many episodes have been read.

    Raises:
        FolderError: a run folder has changed or has a damaged line.
    """
    wishes = wishes or Wishes()
    by_severity = severities(study)
    shown = Shown.of(by_severity[reference(by_severity)])
    picks = pick(shown)
    read = _Reading(study, shown, picks)
    read.all(wishes, watch)
    found, beliefs = performed(picks, read.wanted), calibration(shown, read.recoveries, wishes.memory)
    parts = [
        summary(shown),
        gap(shown),
        strategy(shown),
        errors(shown),
        severity_curves(study),
        cost(shown),
        beliefs,
    ]
    unheard = wishes.memory is not None and beliefs is None
    page = _Page(
        study, shown, [part for part in parts if part], found, findings(shown), (_UNHEARD,) if unheard else ()
    )
    room = int(wishes.megabytes * MEGABYTE) - len(page.html(None).encode()) - _SLACK
    packed = read.explorer.pack(room, {story.group for story in found})
    return Report(page.html(packed), packed.episodes, packed.kept, tuple(found), page.warnings)


class _Reading:
    """Reads every episode once: for the explorer, the beliefs, and the stories.

    Args:
        study: the runs.
        shown: the part of the study that is not only explored.
        picks: the stories, whose episodes are kept whole.
    """

    def __init__(self, study: Study, shown: Shown, picks: Sequence[Pick]) -> None:
        agents = {name: (agent, str(r.folder)) for r in study.runs for agent, name in r.systems.items()}
        self.study, self.shown = study, shown
        self.explorer = Explorer([Player(name, *agents[name]) for name in study.systems])
        self.recoveries = Recoveries()
        self.wanted: dict[tuple[Path, str], Episode] = {}
        self._places = {role.place for one in picks for role in (one.good, one.weak)}
        self._systems = {name: place for place, name in enumerate(study.systems)}
        self._tasks = {task: place for place, task in enumerate(study.tasks)}

    def all(self, wishes: Wishes, watch: Callable[[int], None] | None) -> None:
        """Read the episodes of every run."""
        number = 0
        for run in self.study.runs:
            for episode in read_episodes(run.folder, lenient=wishes.lenient):
                self._see(run, episode)
                number += 1
                if watch is not None and number % 500 == 0:
                    watch(number)

    def _see(self, run: LoadedRun, episode: Episode) -> None:
        result, benchmark = episode.result, str(run.manifest["spec"]["benchmark"])
        system = run.systems[result.agent]
        subject = Subject(benchmark, result.task, run.facts.intents.get(result.task, ""))
        self.explorer.add(self._systems[system], subject, episode)
        if (run.folder, result.id) in self._places:
            self.wanted[run.folder, result.id] = episode
        if system in self.shown.names and result.mode.injected:
            task, passed = self._tasks[benchmark, result.task], result.outcome.score.passed
            self.recoveries.add(system, task, episode.trajectory, run.facts.domain, passed=passed)


@dataclass(frozen=True, slots=True)
class _Page:
    study: Study
    shown: Shown
    parts: list[Part]
    stories: list[Story]
    findings: list[Markup]
    said: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of any number should know."""
        profiles: dict[Severity, set[str]] = {}
        for run in self.study.runs:
            profiles.setdefault(Severity.of(run), set()).add(json.dumps(run.parts["profile"], sort_keys=True))
        mixed = any(len(several) > 1 for several in profiles.values())
        more = ("runs with the same P(noise) have different noise profiles",) if mixed else ()
        return (*self.study.warnings, *more, *self.said)

    def html(self, packed: Packed | None) -> str:
        """Return the page; without data it is as long as with it, but for the data."""
        script = "\n".join(_asset(name) for name in _SCRIPTS)
        told_of = [self._story(story) for story in self.stories]
        missing = [s for s in Strategy if s not in {story.strategy for story in self.stories}]
        return _render(
            version=__version__,
            css=Markup(_asset("report.css")),
            script=Markup(script),
            script_hash=base64.b64encode(sha256(script.encode()).digest()).decode(),
            payload=Markup("\n").join(_payload(packed)) if packed else "",
            page={
                "title": title(self.study, self.shown),
                "lead": lead(self.shown),
                "findings": self.findings,
                "warnings": self.warnings,
                "setting": setting(self.study, self.shown),
                "parts": self.parts,
                "stories": told_of,
                "missing_stories": [
                    f"No pair of episodes fits “{TITLES[s].lower()}”: {_WHY[s]}." for s in missing
                ],
                "episodes": f"{len(self.study):,}",
                "about": _about(packed),
                "sources": ", ".join(
                    f"{r.folder.name} ({r.manifest['fingerprint']})" for r in self.study.runs
                ),
            },
        )

    def _story(self, story: Story) -> dict[str, str]:
        return {
            "strategy": str(story.strategy),
            "title": TITLES[story.strategy],
            "task": f"{where(story)}. “{opening(story.good)}”",
            "good": _headed(story.good),
            "weak": _headed(story.weak),
            "insight": INSIGHTS[story.strategy],
            "shows": story.good.name,
            "beside": story.weak.name,
        }


def _headed(played: Performance) -> Markup:
    return Markup("<b>{}</b>, {}").format(played.role.system, told(played))


_WHY: Final = {
    Strategy.RETRY: "in inject_alt no system retried and passed where a weaker one failed",
    Strategy.SWITCH: "in inject_alt no system switched and passed in S2 where a weaker one failed",
    Strategy.ABSTAIN: "S3 (a third share in --mix) was not played, or no system retried, switched and then handed over "
    "where a weaker one did not",
}


def _about(packed: Packed | None) -> list[str]:
    """Return what the file holds and leaves out, and how numbers are made."""
    kept, episodes, cut = (packed.kept, packed.episodes, packed.cut) if packed else (0, 0, 0)
    if kept == episodes:
        held = f"All {episodes:,} episodes are here with their timelines."
    else:
        held = (
            f"All {episodes:,} episodes are listed; {kept:,} of them carry a timeline, for the file has a greatest size "
            "(--max-size). Timelines are kept by task, seed and mode, for all systems together, in this order: the "
            "examples above; where systems disagree; where all fail under injection; where all fail; where something "
            "was injected; the rest; among equals, lower seeds first. Of an episode without one, the explorer gives "
            "the command that prints it."
        )
    shortened = f" {cut:,} texts longer than {LONGEST:,} characters are cut there, and say so." if cut else ""
    return [
        held + shortened,
        "Intervals are 95 %: a bootstrap that draws tasks again, each with its seeds; a rate of 0 or 100 % has Wilson’s. "
        "Differences are paired by task and seed: systems and modes meet the same draws, so much of the chance cancels.",
        "“Delivered” is what the agent saw, “the truth” what the tool really answered. A silent error (partial, stale, "
        "factual) looks like a valid answer; an observable one is an error message. A blocked tool fails for the whole "
        "episode and never runs. Graders look at the world as it really is.",
    ]


def _payload(packed: Packed) -> Iterable[Markup]:
    tag = Markup('<script type="application/octet-stream" id="{}">{}</script>')
    yield tag.format("b2r-index", Markup(packed.index))
    yield tag.format("b2r-shared", Markup(packed.shared))
    for number, piece in enumerate(packed.pieces):
        yield tag.format(f"b2r-piece-{number}", Markup(piece))


def _render(**values: Any) -> str:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return str(environment.from_string(_asset("report.html.j2")).render(**values))


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")
