"""Charts: where values are drawn, and that titles are text."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.evaluation.report.charts import (
    Mark,
    Point,
    Series,
    counting_axis,
    percent_axis,
    plane,
    stack,
    track,
)

SHARES = st.floats(0, 1)


def numbers(svg, pattern):
    return [float(n) for n in re.findall(pattern, svg)]


@given(value=SHARES, ends=st.tuples(SHARES, SHARES))
def test_a_mark_is_drawn_at_its_value_over_its_interval(value, ends):
    low, high = sorted(ends)
    svg = str(track([Mark(value, low, high, "clean")]))
    assert numbers(svg, r'cx="([\d.]+)%"') == [pytest.approx(100 * value, abs=0.006)]
    (found,) = re.findall(
        r'x1="([\d.]+)%" x2="([\d.]+)%" y1="12" y2="12" class="range"', svg.replace("12.0", "12")
    )
    assert tuple(map(float, found)) == (
        pytest.approx(100 * low, abs=0.006),
        pytest.approx(100 * high, abs=0.006),
    )


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=6))
def test_the_parts_of_a_bar_follow_each_other_and_fill_it(weights):
    shares = [weight / sum(weights) for weight in weights]
    svg = str(stack([("retry", share, "retry") for share in shares]))
    starts = numbers(svg, r'<rect class="bar" x="([\d.]+)%"')
    widths = numbers(svg, r'width="([\d.]+)%"')
    for start, width, following in zip(starts, widths, [*starts[1:], 100], strict=True):
        assert start + width == pytest.approx(following, abs=0.3)


@given(st.lists(st.floats(0.001, 1e7), min_size=1))
def test_an_axis_holds_every_value_with_a_few_round_ticks(values):
    axis = counting_axis(values, "steps")
    assert all(0 <= axis.share(value) <= 1 for value in values)
    assert 2 <= len(axis.ticks) <= 8


def test_a_title_is_text_and_a_chart_is_well_formed():
    attack = '"><script>alert(1)</script>'
    series = [Series(attack, (Point(0.2, 0.4, 0.3, 0.5, attack, attack),), "s0")]
    for svg in (
        track([Mark(0.5, 0.4, 0.6, "clean", attack)]),
        stack([("retry", 1.0, attack)]),
        plane(series, percent_axis(attack), percent_axis(attack)),
    ):
        assert "<script>" not in svg
        ElementTree.fromstring(str(svg))


def test_names_at_the_ends_of_lines_do_not_cover_each_other():
    series = [Series(f"n{i}", (Point(0, 0.5), Point(1, 0.5 + i / 1000)), f"s{i}") for i in range(5)]
    svg = str(plane(series, percent_axis("x"), percent_axis("y")))
    heights = sorted(numbers(svg, r'class="name" x="[\d.]+%" dx="10" y="([\d.]+)"'))
    assert all(b - a >= 14.9 for a, b in itertools.pairwise(heights))
