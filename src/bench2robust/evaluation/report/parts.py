"""The parts of the report about rates: summary, gap, strategies, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from markupsafe import Markup

from bench2robust.core.episode import Mode, Scenario
from bench2robust.core.noise import SILENT
from bench2robust.evaluation.statistics import Estimate, paired
from bench2robust.evaluation.study import Study
from bench2robust.measures import BLOCKED, ERRORS, MOVES, VISIBLE

from .charts import scale, stack, track
from .part import (
    MODE_NAMES,
    Part,
    Shown,
    drawn,
    eligible,
    heated,
    interval,
    marked,
    met,
    number,
    passable,
    percent,
    points,
    points_interval,
    rate,
    table,
)

_SCALE: Final = drawn(scale())
ERROR_NAMES: Final = {
    "timeout": "timeout",
    "rate_limit": "rate limit",
    "server_error": "server error",
    "malformed_response": "malformed",
    "auth_error": "auth error",
    "schema_drift": "schema drift",
    "partial": "partial",
    "stale": "stale",
    "factual_error": "factual error",
    BLOCKED: "blocked tool",
}
_FEW: Final = 10
"""Fewer episodes than this are not drawn: the interval would fill the row."""


def summary(shown: Shown) -> Part:
    """Return pass rates by system and mode."""
    study, rows = shown.study, []
    for system in shown.systems:
        own = study.select(system=system)
        for place, mode in enumerate(shown.modes):
            estimate = rate(own.select(mode=mode))
            if estimate is None:
                continue
            svg = track([marked(estimate, mode, f"{shown.names[system]}, {MODE_NAMES[mode]}")])
            name = shown.names[system] if place == 0 else ""
            rows.append((name, _mode(mode), drawn(svg), *_spread(estimate)))
    head = ("System", "Mode", _SCALE, "Pass rate, %", "±", "95 % interval")
    return Part(
        id="summary",
        short="Summary",
        title="Who passes how much",
        says="A dot is the pass rate over all episodes, the bar its 95 % interval over tasks; "
        "± is the standard deviation between seeds.",
        blocks=(_table("drawn grouped", head, _grouped(rows), "Pass rate by system and mode"),),
        note=_impossible(study),
    )


def _impossible(study: Study) -> str:
    hard = study.select(mode=Mode.INJECT_ALT) if Mode.INJECT_ALT in study.modes else None
    share = 1 - len(passable(hard)) / len(hard) if hard else 0.0
    if not share:
        return ""
    return f"{percent(share)} % of the episodes with alternatives are impossible by design (S3): nobody can pass them."


def gap(shown: Shown) -> Part | None:
    """Return what injection costs, by benchmark and intent; None where nothing is compared."""
    injected = [m for m in shown.modes if m.injected]
    if Mode.CLEAN not in shown.modes or not injected:
        return None
    rows = []
    slices = list(_slices(shown.study))
    for title, part in slices:
        for place, system in enumerate(shown.systems):
            own = part.select(system=system)
            clean = rate(own.select(mode=Mode.CLEAN))
            rates = {m: found for m in injected if (found := rate(own.select(mode=m)))}
            if clean is None or not rates:
                continue
            marks = [marked(clean, Mode.CLEAN, "clean", hollow=True)]
            marks += [marked(found, mode, MODE_NAMES[mode]) for mode, found in rates.items()]
            costs = [_cost(own, mode) if mode in rates else _cell("–") for mode in injected]
            rows.append(
                (title if place == 0 else "", shown.names[system], drawn(track(marks, span=True)), *costs)
            )
    head = ("Tasks", "System", _SCALE, *(f"{MODE_NAMES[m]}, points" for m in injected))
    return Part(
        id="gap",
        short="Gap",
        title="What failing tools cost",
        says="The pass rate with tools that work (ring), and with tools that fail (dots). The difference is paired: "
        "the same tasks and seeds, in points of percent, with its 95 % interval.",
        blocks=(_table("drawn grouped gap", head, _grouped(rows), "Gap by benchmark and intent"),),
        key=tuple((str(m), MODE_NAMES[m]) for m in (Mode.CLEAN, *injected)),
    )


def strategy(shown: Shown) -> Part | None:
    """Return success by scenario; None where no run has scenarios."""
    if Mode.INJECT_ALT not in shown.modes:
        return None
    rows = []
    for system in shown.systems:
        own = shown.study.select(system=system)
        hard = own.select(mode=Mode.INJECT_ALT)
        impossible = eligible(own, Scenario.S3)
        rows.append(
            (
                shown.names[system],
                heated(rate(eligible(own, Scenario.S1))),
                heated(rate(eligible(own, Scenario.S2))),
                heated(rate(impossible, "correct_abstention")),
                _cell(number(rate(hard, "premature"))),
                _cell(number(rate(impossible, "missed_abstention"))),
                _cell(number(rate(hard, "fabricated_success"))),
            )
        )
    head = (
        "System",
        "S1 passed",
        "S2 passed",
        "S3 abstained",
        "Gave up too early",
        "Kept acting in S3",
        "False claim of success",
    )
    drawn_as = table(head, rows, style="heat", caption="Success by scenario, %")
    return Part(
        id="strategies",
        short="Strategies",
        title="Retry, switch, or abstain",
        says="In S1 a retry is enough, in S2 one way is blocked for good and another works, in S3 nothing works and "
        "handing over is right. Scenarios are drawn before the episode, so the columns are causal. "
        "Tasks that cannot be made S2 or S3 are left out of those columns.",
        blocks=(drawn_as,),
        note="Darker is higher. The last three columns are better when low; the first of them counts all scenarios.",
    )


def errors(shown: Shown) -> Part | None:
    """Return pass rates by error met, what was done next, and which false values were passed on."""
    mode = shown.hardest
    if mode is None:
        return None
    study = shown.study.select(mode=mode)
    blocks = [_by_error(shown, passable(study))]
    if (after := _moves(shown, study)) is not None:
        blocks.append(after)
    if (passed_on := _adopted(shown, study)) is not None:
        blocks.append(passed_on)
    return Part(
        id="errors",
        short="Errors",
        title="Which errors hurt, and what is done about them",
        says=f"Mode {MODE_NAMES[mode]}. An episode counts in the row of every error it met, so a row is not the "
        "effect of that error alone. Impossible episodes (S3) are left out of the first table.",
        blocks=tuple(blocks),
        key=shown.key(),
    )


def _by_error(shown: Shown, study: Study) -> Markup:
    rows = []
    for error in ERRORS:
        hit = met(study, error)
        found = [(s, rate(hit.select(system=s))) for s in shown.systems]
        marks = [
            marked(e, shown.style(s), f"{shown.names[s]}, {ERROR_NAMES[error]}")
            for s, e in found
            if e and e.n >= _FEW
        ]
        if marks:
            kind = "silent" if error in SILENT else "blocked" if error == BLOCKED else "visible"
            rows.append((ERROR_NAMES[error], kind, drawn(track(marks)), _cell(f"{len(hit):,} episodes")))
    return _table("drawn", ("Error met", "Kind", _SCALE, ""), _grouped(rows), "Pass rate by error met, %")


def _moves(shown: Shown, study: Study) -> Markup | None:
    rows = []
    for system in shown.systems:
        counts = (
            np.asarray(study.select(system=system).data["moves"])
            .sum(axis=0)
            .reshape(len(VISIBLE), len(MOVES))
            .sum(axis=0)
        )
        if counts.sum():
            shares = counts / counts.sum()
            bar = stack([(move, float(share), move) for move, share in zip(MOVES, shares, strict=True)])
            rows.append((shown.names[system], "", drawn(bar), _cell(f"{int(counts.sum()):,} failures")))
    if not rows:
        return None
    head = ("System", "", Markup("<td></td>"), "")
    return _table("drawn moves", head, _grouped(rows), "The next tool action after a visible failure")


def _adopted(shown: Shown, study: Study) -> Markup | None:
    rows = []
    for system in shown.systems:
        own = study.select(system=system)
        found = [rate(own, f"adopted.{error}", f"met.{error}") for error in SILENT]
        if any(found):
            rows.append((shown.names[system], *map(heated, found)))
    if not rows:
        return None
    head = ("System", *(ERROR_NAMES[error] for error in SILENT))
    return table(
        head, rows, style="heat", caption="Corrupted responses whose false value was used or told, %"
    )


def _slices(study: Study) -> Iterator[tuple[str, Study]]:
    """Return the study by benchmark, and by intent where a benchmark has several."""
    for benchmark in study.benchmarks:
        part = study.select(benchmark=benchmark)
        if not len(part):
            continue
        yield benchmark, part
        intents = [study.intents[place] for place in np.unique(part.column("intent"))]
        for intent in intents if len(intents) > 1 else ():
            yield f"{benchmark}: {intent or 'as in τ²'}", part.select(intent=intent)


def _cost(own: Study, mode: Mode) -> Markup:
    found = paired(own.select(mode=Mode.CLEAN).sample("passed"), own.select(mode=mode).sample("passed"))
    if np.isnan(found.mean):
        return _cell("–")
    written = points(found), points_interval(found)
    return Markup('<td class="{}"><span class="num">{}</span> <span class="ci">{}</span></td>').format(
        mode, *written
    )


def _cell(content: object) -> Markup:
    return Markup("<td>{}</td>").format(content)


def _mode(mode: Mode) -> Markup:
    return Markup('<td class="{} label">{}</td>').format(mode, MODE_NAMES[mode])


def _spread(estimate: Estimate) -> tuple[Markup, Markup, Markup]:
    std = "–" if estimate.std is None else percent(estimate.std)
    cell = Markup('<td class="{}">{}</td>')
    return _cell(percent(estimate.mean)), cell.format("ci std", std), cell.format("ci", interval(estimate))


def _grouped(rows: Sequence[Sequence[object]]) -> Markup:
    """Return rows; one that begins a group, whose first cell is not empty, gets a line above it."""
    body = []
    for first, second, *cells in rows:
        inner = Markup("").join(c if isinstance(c, Markup) else _cell(c) for c in cells)
        beside = second if isinstance(second, Markup) else Markup('<td class="label">{}</td>').format(second)
        head = Markup('<th scope="row">{}</th>').format(first) if first else Markup("<td></td>")
        body.append(
            Markup('<tr class="{}">{}{}{}</tr>').format("first" if first else "", head, beside, inner)
        )
    return Markup("").join(body)


def _table(style: str, head: tuple[object, ...], body: Markup, caption: str) -> Markup:
    titles = Markup("").join(
        cell
        if isinstance(cell, Markup)
        else Markup('<th scope="col">{}</th>').format(cell)
        if cell
        else Markup("<td></td>")
        for cell in head
    )
    return Markup(
        '<div class="scroll" tabindex="0" role="group" aria-label="{}"><table class="{}"><caption>{}</caption>'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    ).format(caption, style, caption, titles, body)


def best(shown: Shown, mode: Mode) -> list[tuple[str, Estimate]]:
    """Return the systems that compete, with their pass rates in a mode, the best first."""
    found = [(s, rate(shown.study.select(system=s, mode=mode))) for s in shown.rivals]
    return sorted(((s, e) for s, e in found if e), key=lambda each: -each[1].mean)
