"""Charts as inline SVG that grows with its column: x in percent of the width, y in pixels.

Nothing is scaled, so letters and lines keep their size on a telephone and on a wide screen. Colours are CSS
classes, so charts follow the theme. Every text is escaped.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Final

from markupsafe import Markup

_TRACK: Final = 24
"""Pixels of a row's height."""
_OVER: Final = 3
"""Pixels by which gridlines reach into the next row."""
_SPREAD: Final = 14
"""Pixels of a row over which its marks are spread, so that equal values do not hide each other."""
_LABELLED: Final = 0.14
"""Share of a bar from which on a part is labelled in it."""
_PLANE: Final = 300
"""Pixels of a plane's height."""
QUARTERS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Mark:
    """A value in a row: a dot with its interval."""

    value: float
    low: float
    high: float
    style: str
    """Class, which gives the colour: a mode, ``s0`` …, a move."""
    title: str = ""
    """What it says when it is pointed at."""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A line through points, or points alone, in a plane."""

    name: str
    points: tuple[Point, ...]
    style: str
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Point:
    """A point in a plane, with the interval of its y."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    title: str = ""
    label: str = ""
    size: float = 4.5


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a plane: from, to, and where it is labelled."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    name: str
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 to 1."""
        if self.logarithmic:
            return (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return (value - self.low) / (self.high - self.low)


def percent_axis(name: str) -> Axis:
    """Return an axis from 0 to 100 %."""
    return Axis(0.0, 1.0, tuple((v, f"{100 * v:.0f}") for v in QUARTERS), name)


def counting_axis(values: Iterable[float], name: str) -> Axis:
    """Return an axis from 0 on that holds all values, with round ticks."""
    most = max((v for v in values if isfinite(v)), default=1.0) or 1.0
    size = 10 ** floor(log10(most))
    step = next(s * size for s in (0.2, 0.25, 0.5, 1, 2) if most / (s * size) <= 5.5)
    count = ceil(most * 1.04 / step)
    return Axis(0.0, count * step, tuple((i * step, f"{i * step:,.10g}") for i in range(count + 1)), name)


def scale() -> Markup:
    """Return the labels over a column of tracks from 0 to 100 %."""
    texts = [
        Markup('<text x="{}%" y="11" text-anchor="{}">{}</text>').format(
            _short(100 * at), "start" if at == 0 else "end" if at == 1 else "middle", f"{100 * at:.0f}"
        )
        for at in QUARTERS
    ]
    return Markup('<svg height="14" aria-hidden="true">{}</svg>').format(Markup("").join(texts))


def track(marks: Sequence[Mark], *, span: bool = False) -> Markup:
    """Return one row of values between 0 and 1.

    Args:
        marks: the values, drawn in order.
        span: join the lowest and the highest with a line.
    """
    middle = _TRACK / 2
    parts = [_line(_percent(at), _percent(at), -_OVER, _TRACK + _OVER, "gridline") for at in QUARTERS]
    if span and len(marks) > 1:
        values = [mark.value for mark in marks]
        line = _line(_percent(min(values)), _percent(max(values)), middle, middle, "span")
        parts.append(Markup('<g class="{}">{}</g>').format(marks[0].style, line))
    apart = min(5.0, _SPREAD / max(1, len(marks) - 1))
    for place, mark in enumerate(marks):
        height = middle + apart * (place - (len(marks) - 1) / 2)
        shape = _line(_percent(mark.low), _percent(mark.high), height, height, "range")
        dot = _circle(_percent(mark.value), height, 4.5, "hollow" if mark.hollow else "point")
        title = Markup("<title>{}</title>").format(mark.title)
        parts.append(Markup('<g class="{}">{}{}{}</g>').format(mark.style, title, shape, dot))
    return _svg(_TRACK, parts, "; ".join(mark.title for mark in marks))


def stack(shares: Sequence[tuple[str, float, str]]) -> Markup:
    """Return one bar of parts that add up to 1: class, share and what it is called."""
    parts, at = [], 0.0
    for style, share, name in shares:
        if share <= 0:
            continue
        text = f"{name} {100 * share:.0f} %"
        shape = Markup('<rect class="bar" x="{}" y="2" width="{}" height="{}"/>').format(
            _percent(at), _percent(max(0.0, share - 0.0025)), _TRACK - 4
        )
        label = Markup('<text x="{}" dx="6" y="{}">{}</text>').format(_percent(at), _TRACK / 2 + 4, name)
        shapes = shape + label if share >= _LABELLED else shape
        parts.append(Markup('<g class="{}"><title>{}</title>{}</g>').format(style, text, shapes))
        at += share
    return _svg(_TRACK, parts, ", ".join(f"{name} {100 * share:.0f} %" for _, share, name in shares))


def plane(series: Sequence[Series], x: Axis, y: Axis, *, ideal: bool = False, named: bool = True) -> Markup:
    """Return lines or points over two axes, each series named at its end.

    Args:
        series: what is drawn.
        x: the axis from left to right.
        y: the axis from bottom to top.
        ideal: draw the diagonal.
        named: write each series' name beside its last point.
    """
    parts = [*_frame(x, y)]
    if ideal:
        parts.append(_line("0%", "100%", _PLANE, 0, "ideal"))
    names = _apart([(s, _PLANE * (1 - y.share(s.points[-1].y))) for s in series if s.points]) if named else {}
    for one in series:
        shapes = list(_shapes(one, x, y))
        if one.points and named:
            end = _percent(x.share(one.points[-1].x))
            shapes.append(
                Markup('<text class="name" x="{}" dx="10" y="{}">{}</text>').format(
                    end, _short(names[one.name] + 4), one.name
                )
            )
        parts.append(Markup('<g class="{}">{}</g>').format(one.style, Markup("").join(shapes)))
    spoken = "; ".join(f"{s.name}: " + ", ".join(p.title for p in s.points) for s in series)
    drawn = _svg(_PLANE, parts, spoken)
    return Markup(
        '<figure><p class="axis-name">↑ {}</p><div class="{}">{}</div><p class="axis-name">→ {}</p></figure>'
    ).format(y.name, "plane named" if named else "plane", drawn, x.name)


def _frame(x: Axis, y: Axis) -> Iterable[Markup]:
    for value, text in y.ticks:
        at = _short(_PLANE * (1 - y.share(value)))
        yield _line("0%", "100%", at, at, "gridline")
        yield Markup('<text x="0" dx="-8" y="{}" dy="4" text-anchor="end">{}</text>').format(at, text)
    for value, text in x.ticks:
        at = _percent(x.share(value))
        yield _line(at, at, _PLANE, _PLANE + 5, "axis")
        yield Markup('<text x="{}" y="{}" text-anchor="middle">{}</text>').format(at, _PLANE + 20, text)
    yield _line("0%", "100%", _PLANE, _PLANE, "axis")


def _shapes(series: Series, x: Axis, y: Axis) -> Iterable[Markup]:
    places = [(_percent(x.share(p.x)), _short(_PLANE * (1 - y.share(p.y)))) for p in series.points]
    if series.joined:
        for (x1, y1), (x2, y2) in itertools.pairwise(places):
            yield _line(x1, x2, y1, y2, "path")
    for point, (at, height) in zip(series.points, places, strict=True):
        if point.low is not None and point.high is not None:
            low, high = (_short(_PLANE * (1 - y.share(v))) for v in (point.low, point.high))
            yield _line(at, at, low, high, "whisker")
        yield Markup("<g><title>{}</title>{}</g>").format(
            point.title, _circle(at, height, point.size, "point")
        )
        if point.label:
            yield Markup('<text x="{}" dx="9" y="{}" dy="4">{}</text>').format(at, height, point.label)


def _apart(places: Sequence[tuple[Series, float]], least: float = 15) -> dict[str, float]:
    """Return heights for names, moved so far apart that they can be read."""
    found: dict[str, float] = {}
    before = float("-inf")
    for series, height in sorted(places, key=lambda place: place[1]):
        before = max(height, before + least)
        found[series.name] = before
    return found


def _svg(height: int, parts: Iterable[Markup], spoken: str) -> Markup:
    return Markup('<svg height="{}" role="img" aria-label="{}">{}</svg>').format(
        height, spoken, Markup("").join(parts)
    )


def _line(x1: str, x2: str, y1: float | str, y2: float | str, style: str) -> Markup:
    return Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" class="{}"/>').format(x1, x2, y1, y2, style)


def _circle(x: str, y: float | str, size: float, style: str) -> Markup:
    return Markup('<circle cx="{}" cy="{}" r="{}" class="{}"/>').format(x, y, _short(size), style)


def _percent(share: float) -> str:
    return f"{_short(100 * min(1.0, max(0.0, share)))}%"


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
