"""What a part of the report is made of, and how numbers are written in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Final

from markupsafe import Markup

from bench2robust.core.episode import Mode, Scenario
from bench2robust.evaluation.statistics import Difference, Estimate, mean
from bench2robust.evaluation.study import Study

from .charts import Mark

MODE_NAMES: Final = {
    Mode.CLEAN: "clean",
    Mode.CLEAN_ALT: "clean, with alternatives",
    Mode.INJECT: "injected",
    Mode.INJECT_ALT: "injected, with alternatives",
}
MODE_PHRASES: Final = {
    Mode.CLEAN: "when tools work",
    Mode.CLEAN_ALT: "when tools work and alternatives exist",
    Mode.INJECT: "when tools fail",
    Mode.INJECT_ALT: "when tools fail and alternatives exist",
}
CEILING: Final = "omniscient"
"""The reference policy that knows what is blocked and what is true: a ceiling, no competitor."""
MINUS: Final = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the report."""

    id: str
    short: str
    """In the menu."""
    title: str
    says: str
    blocks: tuple[Markup, ...]
    key: tuple[tuple[str, str], ...] = ()
    square: bool = False
    note: str = ""
    wide: bool = True
    """Whether blocks stand below each other."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A study and how its systems are shown."""

    study: Study
    systems: tuple[str, ...]
    names: dict[str, str]
    """What each system is called here."""

    @classmethod
    def of(cls, study: Study) -> Shown:
        """Return a study; the run's name is left away where systems are told apart without it."""
        systems = study.present
        plain = {name: name.split(" @ ")[0] for name in systems}
        alone = {name: list(plain.values()).count(plain[name]) == 1 for name in systems}
        return cls(study, systems, {name: plain[name] if alone[name] else name for name in systems})

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes there are episodes of."""
        return self.study.modes

    @property
    def hardest(self) -> Mode | None:
        """The mode that is looked at first: with alternatives, if there is one; None where none injects."""
        return next((m for m in (Mode.INJECT_ALT, Mode.INJECT) if m in self.modes), None)

    @property
    def rivals(self) -> tuple[str, ...]:
        """The systems without the ceiling, where there are others."""
        return tuple(s for s in self.systems if self.names[s] != CEILING) or self.systems

    def style(self, system: str) -> str:
        """Return the class that colours a system."""
        return f"s{self.systems.index(system) % 8}"

    def key(self) -> tuple[tuple[str, str], ...]:
        """Return the systems with their colours."""
        return tuple((self.style(system), self.names[system]) for system in self.systems)


def rate(study: Study, column: str = "passed", per: str | None = None) -> Estimate | None:
    """Return the mean of a column; None where there are no episodes, or nothing to divide by."""
    if not len(study):
        return None
    sample = study.sample(column, per)
    if per is not None and not sample.weight.any():
        return None
    found = mean(sample)
    return None if isnan(found.mean) else found


def eligible(study: Study, scenario: str) -> Study:
    """Return the episodes that were given a scenario, and could be played as it."""
    chosen = study.select(mode=Mode.INJECT_ALT, assigned=scenario)
    return chosen.filter(chosen.column("assigned") == chosen.column("effective"))


def passable(study: Study) -> Study:
    """Return the episodes that can be passed: all but S3."""
    return study.filter(study.column("effective") != list(Scenario).index(Scenario.S3))


def met(study: Study, error: str) -> Study:
    """Return the episodes that met an error."""
    return study.filter(study.column(f"met.{error}") > 0)


def percent(value: float) -> str:
    """Return a share in percent, with one digit."""
    return f"{100 * value:.1f}"


def interval(estimate: Estimate) -> str:
    """Return the 95 % interval in percent."""
    return f"{percent(estimate.low)}–{percent(estimate.high)}"


def points(difference: Difference) -> str:
    """Return a difference in points of percent, with its sign."""
    return signed(100 * difference.mean)


def signed(value: float) -> str:
    """Return a number with one digit and its sign."""
    text = f"{abs(value):.1f}"
    return text if text == "0.0" else f"{MINUS if value < 0 else '+'}{text}"


def points_interval(difference: Difference) -> str:
    """Return the 95 % interval of a difference in points of percent."""
    return f"{signed(100 * difference.low)} to {signed(100 * difference.high)}"


def marked(estimate: Estimate, style: str, name: str, *, hollow: bool = False) -> Mark:
    """Return an estimate as a mark in a row."""
    title = f"{name}: {percent(estimate.mean)} % ({interval(estimate)}, {estimate.n:,} episodes)"
    return Mark(estimate.mean, estimate.low, estimate.high, style, title, hollow)


def number(estimate: Estimate | None) -> Markup:
    """Return an estimate as the content of a cell: the rate and its interval."""
    if estimate is None:
        return Markup('<span class="none">–</span>')
    written = percent(estimate.mean), interval(estimate)
    return Markup('<span class="num">{}</span> <span class="ci">{}</span>').format(*written)


def table(
    head: Sequence[object], rows: Iterable[Sequence[object]], *, style: str = "", caption: str = ""
) -> Markup:
    """Return a table; the first cell of each row is its header. Cells may bring their own ``td``."""
    top = Markup("").join(Markup('<th scope="col">{}</th>').format(cell) for cell in head)
    body = []
    for first, *cells in rows:
        inner = Markup("").join(
            cell
            if isinstance(cell, Markup) and cell.startswith("<td")
            else Markup("<td>{}</td>").format(cell)
            for cell in cells
        )
        body.append(Markup('<tr><th scope="row">{}</th>{}</tr>').format(first, inner))
    titled = Markup("<caption>{}</caption>").format(caption) if caption else Markup("")
    return Markup(
        '<div class="scroll" tabindex="0" role="group" aria-label="{}"><table class="{}">{}'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(caption or "Table", style, titled, top, Markup("").join(body))


def heated(estimate: Estimate | None) -> Markup:
    """Return a cell that is tinted by its value."""
    if estimate is None:
        return Markup('<td class="none">–</td>')
    return Markup('<td style="--v:{}">{}</td>').format(f"{estimate.mean:.3f}", number(estimate))


def drawn(svg: Markup) -> Markup:
    """Return a drawing as a cell."""
    return Markup('<td class="track">{}</td>').format(svg)
