"""What a report says first: its title, a few sentences, and the setting."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from markupsafe import Markup

from bench2robust.core.episode import Mode, Scenario
from bench2robust.evaluation.statistics import Difference, Estimate, paired
from bench2robust.evaluation.study import Study
from bench2robust.measures import ERRORS

from .part import MINUS, MODE_NAMES, MODE_PHRASES, Shown, eligible, interval, met, passable, percent, rate
from .parts import ERROR_NAMES, best
from .trends import Severity

_FEW = 30
"""Episodes below which nothing is said."""


def title(study: Study, shown: Shown) -> str:
    """Return the report's title."""
    names = [shown.names[s] for s in shown.systems]
    who = names[0] if len(names) == 1 else f"{len(names)} systems"
    verb = "copes" if len(names) == 1 else "cope"
    where = study.benchmarks[0] if len(study.benchmarks) == 1 else f"{len(study.benchmarks)} benchmarks"
    return f"How {who} {verb} with failing tools on {where}"


def lead(shown: Shown) -> str:
    """Return the sentence below the title."""
    study = shown.study
    tasks = len({*study.column("task").tolist()})
    return (
        f"{len(study):,} episodes: {_count(len(shown.systems), 'system')}, {_count(len(shown.modes), 'mode')} ({'; '.join(MODE_NAMES[m] for m in shown.modes)}), "
        f"{_count(len(study.seeds), 'seed')}, {_count(tasks, 'task')}."
    )


def findings(shown: Shown) -> list[Markup]:
    """Return up to four sentences that the numbers bear out."""
    mode = shown.hardest
    if mode is None:
        return []
    return list(_findings(shown, mode))[:4]


def _findings(shown: Shown, mode: Mode) -> Iterator[Markup]:
    ranked = best(shown, mode)
    if not ranked:
        return
    (first, top), (last, bottom) = ranked[0], ranked[-1]
    said = Markup("<b>{}</b> passes <b>{} %</b> of episodes {} ({})").format(
        shown.names[first], percent(top.mean), MODE_PHRASES[mode], interval(top)
    )
    if first != last:
        said += Markup(", <b>{}</b> <b>{} %</b> ({})").format(
            shown.names[last], percent(bottom.mean), interval(bottom)
        )
    yield said + "."
    if (costs := _costs(shown, mode)) is not None:
        yield costs
    if (switching := _switching(shown)) is not None:
        yield switching
    errors = [
        (found, error)
        for error in ERRORS
        if (found := rate(met(passable(shown.study.select(system=first, mode=mode)), error)))
        and found.n >= _FEW
    ]
    if errors:
        worst, error = min(errors, key=lambda each: each[0].mean)
        yield Markup(
            "What <b>{}</b> finds hardest is a <b>{}</b>: it passes {} % of the passable episodes that met one ({})."
        ).format(shown.names[first], ERROR_NAMES[error], percent(worst.mean), interval(worst))


def _costs(shown: Shown, mode: Mode) -> Markup | None:
    """Return who loses least and most against tools that work."""
    if Mode.CLEAN not in shown.modes:
        return None
    found = []
    for system in shown.rivals:
        own = shown.study.select(system=system)
        loss = paired(own.select(mode=mode).sample("passed"), own.select(mode=Mode.CLEAN).sample("passed"))
        if isfinite(loss.mean):
            found.append((loss, system))
    if not found:
        return None
    found.sort(key=lambda each: each[0].mean)
    (small, least), (large, most) = found[0], found[-1]
    said = Markup("Failing tools cost <b>{}</b> <b>{} points</b> ({})").format(
        shown.names[most], percent(large.mean), _interval(large)
    )
    if most != least:
        said += Markup(", and <b>{}</b> {} ({})").format(
            shown.names[least], percent(small.mean), _interval(small)
        )
    return said + "."


def _switching(shown: Shown) -> Markup | None:
    """Return whom it costs most that a switch is needed."""
    worst: tuple[float, str, Estimate, Estimate] | None = None
    for system in shown.rivals:
        own = shown.study.select(system=system)
        retry, switch = (rate(eligible(own, scenario)) for scenario in (Scenario.S1, Scenario.S2))
        if retry is None or switch is None or min(retry.n, switch.n) < _FEW:
            continue
        if worst is None or retry.mean - switch.mean > worst[0]:
            worst = (retry.mean - switch.mean, system, retry, switch)
    if worst is None or worst[0] <= 0:
        return None
    _, system, retry, switch = worst
    return Markup(
        "Needing a switch is where <b>{}</b> loses most: it passes {} % where a retry is enough (S1), {} % where one "
        "way is blocked (S2)."
    ).format(shown.names[system], percent(retry.mean), percent(switch.mean))


def _interval(loss: Difference) -> str:
    return f"{percent(loss.low)} to {percent(loss.high)}".replace("-", MINUS)


def setting(study: Study, shown: Shown) -> list[tuple[str, str]]:
    """Return what the runs were, as names and values."""
    runs = study.runs
    spec = runs[0].manifest["spec"]
    rows = [
        ("Benchmarks", ", ".join(study.benchmarks)),
        ("Seeds", ", ".join(map(str, study.seeds))),
        ("Injection", "; ".join(dict.fromkeys(str(Severity.of(run)) for run in runs))),
    ]
    if Mode.INJECT_ALT in shown.modes:
        mix = spec["scenarios"].get("mix")
        rows.append(("Mix S1/S2/S3", _mix(mix)))
    rows.append(("Runs", ", ".join(run.folder.name for run in runs)))
    return rows


def _mix(mix: object) -> str:
    values = (
        list(mix.values()) if isinstance(mix, dict) else list(mix) if isinstance(mix, list | tuple) else [mix]
    )
    return "/".join(f"{100 * v:.0f}" if isinstance(v, float) and v <= 1 else str(v) for v in values)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
