"""The report in a browser: nothing is fetched, nothing breaks, everything can be reached, and it looks as it should.

Screenshots of the main views go to ``$B2R_SCREENSHOTS`` (or the test's own folder) for people to look at.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import perf_counter

import pytest

from bench2robust.core.episode import Mode
from bench2robust.evaluation.report import Wishes, report
from bench2robust.evaluation.store import read_episodes
from bench2robust.evaluation.study import Study

from .making import AGENTS, play, unpacked

READY = "html[data-ready]"
VIEWS = {
    "light": (1280, "light"),
    "dark": (1280, "dark"),
    "phone": (360, "light"),
    "phone-dark": (360, "dark"),
}


class Visit:
    """A page that is looked at: what it asked for and complained of is kept."""

    def __init__(self, browser, file, fragment="", width=1280, scheme="light"):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.file = file
        start = perf_counter()
        self.page.goto(file.as_uri() + fragment)
        self.page.wait_for_selector(READY, state="attached")
        self.seconds = perf_counter() - start

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()

    @property
    def hash(self):
        return self.page.evaluate("decodeURIComponent(location.hash)")

    def selected(self):
        return self.page.locator('[role=option][aria-selected="true"] .task').inner_text()

    def until(self, holds):
        """Wait until something holds; the page's policy lets no test put a waiting script into it."""
        end = perf_counter() + 20
        while not holds():
            assert perf_counter() < end, "waited for too long"
            self.page.wait_for_timeout(20)

    def check(self):
        assert [url.split("#")[0] for url in self.requests] == [self.file.as_uri()]
        assert self.complaints == []


@pytest.fixture
def visit(browser, page):
    opened = []

    def open_(fragment="", file=page, **settings):
        opened.append(Visit(browser, file, fragment, **settings))
        return opened[-1]

    yield open_
    for one in opened:
        one.context.close()


@pytest.mark.parametrize("view", VIEWS)
def test_the_main_views_fit_and_ask_for_nothing(view, visit, tmp_path):
    width, scheme = VIEWS[view]
    shots = Path(os.environ.get("B2R_SCREENSHOTS", tmp_path))
    shots.mkdir(parents=True, exist_ok=True)
    one = visit(width=width, scheme=scheme)
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    one.page.screenshot(path=shots / f"report-{view}.png", full_page=True)
    one.page.locator("#explore").scroll_into_view_if_needed()
    one.page.locator("[role=option]").nth(3).click()
    one.page.wait_for_selector("#explore .timeline")
    one.page.screenshot(path=shots / f"explorer-{view}.png")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    one.check()
    assert all((shots / f"{name}-{view}.png").stat().st_size > 20_000 for name in ("report", "explorer"))


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_no_serious_fault(view, visit):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    width, scheme = VIEWS[view]
    one = visit(width=width, scheme=scheme)
    one.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    one.page.keyboard.press("j")
    one.page.wait_for_selector("#explore .timeline")
    one.page.keyboard.press("c")
    one.page.wait_for_selector("#explore .pair")
    found = axe.run(one.page).response["violations"]
    grave = [(v["id"], v["nodes"][0]["html"][:160]) for v in found if v["impact"] in ("serious", "critical")]
    assert grave == []


def test_filters_count_what_the_study_counts(visit, study):
    one = visit("#explore")
    count = one.page.locator('[data-part="count"]')

    def expect(number, **wanted):
        part = study.select(**wanted)
        assert len(part) == number or number is None
        rate = f", {100 * part.column('passed').mean():.1f} % passed" if len(part) else ""
        assert count.inner_text() == f"{len(part):,} of {len(study):,} episodes{rate}"

    expect(len(study))
    one.page.select_option("[name=system]", "retry")
    expect(None, system="retry")
    one.page.select_option("[name=mode]", "inject_alt")
    expect(None, system="retry", mode="inject_alt")
    one.page.select_option("[name=scenario]", "s2")
    expect(None, system="retry", mode="inject_alt", effective="s2")
    one.page.select_option("[name=outcome]", "failed")
    expect(None, system="retry", mode="inject_alt", effective="s2", passed=False)
    assert "system=retry&mode=inject_alt&outcome=failed&scenario=s2" in one.hash
    one.page.get_by_role("button", name="Clear").click()
    one.until(lambda: count.inner_text().startswith(f"{len(study):,} of"))
    one.page.select_option("[name=noise]", "stale")
    hit = study.filter(study.column("met.stale") > 0)
    assert count.inner_text().startswith(f"{len(hit):,} of ")
    one.page.get_by_role("button", name="Clear").click()
    one.page.fill("[name=q]", "59")
    one.until(lambda: count.inner_text().startswith(f"{len(study) // 60:,} of"))
    one.page.fill("[name=q]", "no such task")
    assert one.page.locator(".empty").inner_text() == "No episode fits. Loosen a filter."
    one.check()


def test_systems_disagree_shows_the_groups_that_differ(visit, study):
    groups = {}
    for key in zip(*(study.column(c).tolist() for c in ("task", "mode", "seed", "passed")), strict=True):
        groups.setdefault(key[:3], []).append(key[3])
    expected = sum(len(seen) for seen in groups.values() if len(set(seen)) == 2)
    one = visit("#explore")
    one.page.check("[name=differ]")
    assert one.page.locator('[data-part="count"]').inner_text().startswith(f"{expected:,} of ")


def test_it_can_be_used_with_keys_alone(visit):
    one = visit("#explore")
    keys = one.page.keyboard
    keys.press("j")
    one.page.wait_for_selector("#explore .timeline")
    assert one.hash.endswith("e=helpdesk~0~clean~0~naive")
    keys.press("j")
    one.until(lambda: one.hash.endswith("~retry"))
    keys.press("k")
    one.until(lambda: one.hash.endswith("~naive"))
    keys.press("/")
    assert one.page.evaluate("document.activeElement.name") == "q"
    keys.type("1j")
    assert one.page.input_value("[name=q]") == "1j", "letters are letters in the search"
    keys.press("Backspace")
    keys.press("Enter")
    assert one.page.evaluate("document.activeElement.getAttribute('role')") == "listbox"
    keys.press("ArrowDown")
    one.until(lambda: "q=1" in one.hash)
    assert "1" in one.selected()
    keys.press("End")
    keys.press("ArrowUp")
    keys.press("Enter")
    one.until(lambda: one.page.evaluate("document.activeElement.className") == "episode-title")
    keys.press("c")
    one.page.wait_for_selector("#explore .pair")
    assert len(one.page.locator("#explore .episode").all()) == 2
    keys.press("Escape")
    one.page.wait_for_selector("#explore .single")
    keys.press("Escape")
    assert one.page.evaluate("document.activeElement.getAttribute('role')") == "listbox"
    ring = one.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid", "focus can be seen"
    keys.press("/")
    keys.press("Escape")
    assert one.page.input_value("[name=q]") == ""
    assert one.page.evaluate("document.activeElement.getAttribute('role')") == "listbox"
    keys.press("?")
    assert one.page.locator("#keys").is_visible()
    keys.press("Escape")
    assert not one.page.locator("#keys").is_visible()
    one.check()


def test_single_letter_keys_can_be_turned_off(visit):
    one = visit("#explore")
    one.page.keyboard.press("?")
    one.page.uncheck("#single-keys")
    one.page.get_by_role("button", name="Close").click()
    one.page.locator("h1").click()
    one.page.keyboard.press("j")
    assert one.page.locator("[role=option][aria-selected=true]").count() == 0


def test_a_link_leads_to_two_systems_side_by_side(visit):
    link = "#explore?mode=inject_alt&e=helpdesk~7~inject_alt~1~strategic&vs=helpdesk~7~inject_alt~1~naive"
    one = visit(link)
    one.page.wait_for_selector("#explore .pair")
    heads = [head.inner_text() for head in one.page.locator("#explore .episode-title").all()]
    assert heads == ["strategic", "naive"]
    assert one.page.input_value("[name=mode]") == "inject_alt"
    one.check()


def test_a_timeline_shows_truth_beside_what_was_delivered(visit, folder, study):
    episode = next(e for e in read_episodes(folder) if any(len(r.corrupted) for r in e.trajectory.records))
    result, records = episode.result, episode.trajectory.records
    one = visit(f"#explore?e=helpdesk~{result.task}~{result.mode}~{result.seed}~{result.agent}")
    one.page.wait_for_selector("#explore .timeline")
    assert one.page.locator("#explore .step.calls").count() == len(records)
    corrupted = next(r for r in records if r.corrupted)
    step = one.page.locator("#explore .step.silent").first
    assert corrupted.call.name in step.inner_text()
    row = step.locator(".fields tbody tr").first
    seen, true = (
        json.dumps(v, ensure_ascii=False)
        for v in (corrupted.corrupted[0].delivered, corrupted.corrupted[0].true)
    )
    assert row.locator("mark.false").inner_text() in (seen, seen[:119] + "…")
    assert row.locator("mark.true").inner_text() in (true, true[:119] + "…")
    assert step.locator(".delivered mark.false").count() > 0
    lost = next((e for e in read_episodes(folder) if any(r.blocked for r in e.trajectory.records)), None)
    result = lost.result
    other = visit(f"#explore?e=helpdesk~{result.task}~{result.mode}~{result.seed}~{result.agent}")
    other.page.wait_for_selector("#explore .step.blocked")
    assert "The tool did not run." in other.page.locator("#explore .step.blocked").first.inner_text()


def test_the_theme_can_be_chosen(visit):
    one = visit()
    ground = "getComputedStyle(document.body).backgroundColor"
    light = one.page.evaluate(ground)
    button = one.page.locator("#theme")
    assert button.inner_text() == "Theme: auto"
    button.click()
    assert one.page.evaluate(ground) == light
    button.click()
    assert button.inner_text() == "Theme: dark"
    assert one.page.evaluate(ground) != light
    assert visit(scheme="dark").page.evaluate(ground) == one.page.evaluate(ground)


def test_the_examples_show_both_episodes(visit, made):
    one = visit()
    one.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    shown = [head.inner_text() for head in one.page.locator("#gallery .episode-title").all()]
    assert shown == [role.role.system for s in made.stories for role in (s.good, s.weak)]


def test_hostile_texts_stay_texts(visit, hostile, tmp_path):
    found = report(Study.load([f"<script>hacked()={hostile}"]))
    file = tmp_path / "hostile.html"
    file.write_text(found.html, encoding="utf-8")
    one = visit("#explore", file=file)
    for _ in range(6):
        one.page.keyboard.press("j")
        one.page.wait_for_selector("#explore .timeline")
        one.page.keyboard.press("c")
        one.page.wait_for_selector("#explore .pair")
    assert one.page.evaluate("window.hacked") is None
    assert one.page.locator("img").count() == 0
    assert "<script>window.hacked=1</script>" in one.page.locator("#explore .episode").first.inner_text()
    one.check()


def test_an_episode_without_its_timeline_says_how_to_see_it(visit, crowded, tmp_path):
    found = report(Study.load([crowded]), Wishes(megabytes=1.0))
    index = unpacked(found.html, "b2r-index")
    at = index["columns"]["piece"].index(-1)
    task, mode, seed, system = (index["columns"][name][at] for name in ("task", "mode", "seed", "system"))
    key = (index["tasks"][task][1], index["modes"][mode], seed, index["systems"][system][0])
    file = tmp_path / "short.html"
    file.write_text(found.html, encoding="utf-8")
    one = visit("#explore?e=helpdesk~{}~{}~{}~{}".format(*key), file=file)
    one.page.wait_for_selector("#explore .left-out")
    command = one.page.locator("#explore .response").inner_text()
    assert command == f"b2r show {crowded} {key[0]}:{key[3]}:{key[1]}:{key[2]}"
    one.check()


@pytest.mark.slow
def test_25_000_episodes_make_a_small_file_that_opens_quickly(visit, tmp_path):
    agents, modes = (*AGENTS, "omniscient"), tuple(Mode)
    folder = play(tmp_path / "many", agents=agents, modes=modes, seeds=tuple(range(7)), tasks=("0-179",))
    found = report(Study.load([folder]))
    assert found.episodes == found.kept == 25_200
    assert found.size < 15_000_000
    file = tmp_path / "many.html"
    file.write_text(found.html, encoding="utf-8")
    visits = [visit("#explore", file=file) for _ in range(3)]
    assert min(one.seconds for one in visits) < 3.0
    one = visits[-1]
    assert one.page.locator("[role=option]").count() < 60, "only rows in view are drawn"
    start = perf_counter()
    one.page.select_option("[name=outcome]", "failed")
    one.page.keyboard.press("Tab")
    assert perf_counter() - start < 2.0
    one.page.locator("[role=listbox]").focus()
    one.page.keyboard.press("End")
    one.page.wait_for_selector("#explore .timeline")
    assert one.selected() == "179"
    one.check()
