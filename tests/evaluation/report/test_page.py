"""The page: what it says, that it needs nothing else, and that no text can become markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from bench2robust.core.episode import Mode, Scenario
from bench2robust.core.errors import FolderError, SpecError
from bench2robust.core.noise import NoiseType
from bench2robust.evaluation.report import Shown, Wishes, report
from bench2robust.evaluation.report.findings import findings
from bench2robust.evaluation.report.part import eligible, percent, rate
from bench2robust.evaluation.statistics import mean, paired
from bench2robust.evaluation.study import Study
from bench2robust.memory import Belief, Beliefs, Memory

from .making import HOSTILE, copied, play, unpacked


class Page(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def test_the_page_asks_for_nothing_from_anywhere(made):
    page = Page(made.html)
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form action")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", made.html)
    (policy,) = [a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_equal_runs_give_equal_files(made, study):
    assert report(study).html == made.html


def test_the_numbers_are_those_of_the_study(made, study):
    page = Page(made.html).text
    for system in study.systems:
        for mode in study.modes:
            found = mean(study.select(system=system, mode=mode).sample("passed"))
            assert (
                f"{100 * found.mean:.1f} {100 * found.std:.1f} {100 * found.low:.1f}–{100 * found.high:.1f}"
                in page
            )
        gap = paired(
            study.select(system=system, mode=Mode.CLEAN).sample("passed"),
            study.select(system=system, mode=Mode.INJECT).sample("passed"),
        )
        assert f"{100 * gap.mean:+.1f}".replace("-", "−") in page


def test_scenario_columns_count_assigned_and_playable_episodes(study):
    for scenario in (Scenario.S1, Scenario.S2, Scenario.S3):
        part = eligible(study, scenario)
        scenarios = list(Scenario)
        assert len(part)
        assert set(part.column("assigned").tolist()) == {scenarios.index(scenario)}
        assert set(part.column("effective").tolist()) == {scenarios.index(scenario)}
        assert set(part.column("mode").tolist()) == {list(Mode).index(Mode.INJECT_ALT)}


def test_findings_say_who_is_best_with_its_rate(study):
    first = findings(Shown.of(study))[0]
    best = max(study.systems, key=lambda s: rate(study.select(system=s, mode=Mode.INJECT_ALT)).mean)
    assert first.startswith(
        f"<b>{best}</b> passes <b>{percent(rate(study.select(system=best, mode='inject_alt')).mean)} %"
    )


def test_every_episode_is_listed(made, study):
    columns = unpacked(made.html, "b2r-index")["columns"]
    assert {len(values) for values in columns.values()} == {len(study)}
    assert made.kept == made.episodes == len(study)
    assert f"All {len(study):,} episodes are here" in Page(made.html).text


def test_a_file_that_must_be_small_says_what_it_leaves_out(crowded, study):
    found = report(Study.load([crowded]), Wishes(megabytes=1.0))
    assert found.size <= 1_000_000
    assert 0 < found.kept < found.episodes == len(study)
    text = Page(found.html).text
    assert f"All {found.episodes:,} episodes are listed; {found.kept:,} of them carry a timeline" in text
    assert "where systems disagree" in text


def test_no_text_becomes_markup(hostile, made):
    found = report(Study.load([f"<script>hacked()={hostile}"]))
    page = Page(found.html)
    assert HOSTILE not in found.html
    usual = [tag for tag, _ in Page(made.html).elements]
    for tag in ("script", "img", "iframe"):
        assert [t for t, _ in page.elements].count(tag) == usual.count(tag)
    assert "<script>hacked()" in page.text


def test_a_run_of_one_clean_mode_has_a_report_of_what_it_shows(tmp_path):
    folder = play(tmp_path / "clean", modes=(Mode.CLEAN,), agents=("retry",), seeds=(0,), tasks=("0", "1"))
    found = report(Study.load([folder]))
    page = Page(found.html)
    ids = {a.get("id") for _, a in page.elements}
    assert {"summary", "gallery", "explore", "about"} <= ids
    assert ids.isdisjoint({"gap", "strategies", "errors", "severity", "cost", "calibration"})
    assert found.stories == ()
    assert page.text.count("No pair of episodes fits") == 3


def test_severity_curves_appear_where_severities_differ(tmp_path):
    from bench2robust.evaluation.report import MAY_DIFFER, Severity
    from bench2robust.injection import InjectionSpec, NoiseProfile

    few = {"agents": ("naive", "strategic"), "tasks": tuple(map(str, range(8)))}
    mild = InjectionSpec(NoiseProfile.severe().with_clean_probability(0.9))
    folders = [play(tmp_path / "severe", **few), play(tmp_path / "mild", **few, injection=mild)]
    study = Study.load(folders, may_differ=MAY_DIFFER)
    found = report(study)
    assert sorted({Severity.of(run).failing for run in study.runs}) == [0.1, 0.4]
    text = Page(found.html).text
    assert "How fast it breaks" in text
    assert "The other parts show the runs with P(noise) 0.40" in text
    assert "severe" not in {word for word in text.split("Retry, switch, or abstain")[1][:400].split()}
    assert found.episodes == len(study)


def test_beliefs_of_a_memory_are_held_against_the_runs(study):
    errors = {(t, NoiseType.TIMEOUT): Belief(9, 0) for t in study.runs[0].facts.kinds}
    told = report(study, Wishes(Memory("helpdesk", Beliefs(errors))))
    assert "from the memory that was given" in told.html
    assert "90.9" in Page(told.html).text.split("How far beliefs are off")[1][:200]
    assert "learned on one half of the tasks" in report(study).html


def test_a_memory_of_something_else_is_warned_of(study):
    told = report(study, Wishes(Memory("other", Beliefs({("no_tool", NoiseType.TIMEOUT): Belief(9, 0)}))))
    assert told.warnings == ("the memory has no belief about anything that went wrong in these runs",)


def test_damaged_lines_are_an_error_unless_lenient(folder, tmp_path):
    lines = (folder / "episodes.jsonl").read_text().splitlines()
    lines[3] = '{"id": "broken"'
    broken = copied(folder, tmp_path / "broken", lines)
    with pytest.raises(FolderError, match="line 4"):
        Study.load([broken])
    found = report(Study.load([broken], lenient=True), Wishes(lenient=True))
    assert found.episodes == len(lines) - 1
    assert any("line 4" in warning for warning in found.warnings)
    assert "Read with care" in Page(found.html).text


@pytest.mark.parametrize("size", [0, 0.5, float("nan")])
def test_a_size_that_cannot_be(size):
    with pytest.raises(SpecError, match="megabyte"):
        Wishes(megabytes=size)
