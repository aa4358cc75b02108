"""The page with sliders: what it answers, and in a browser, by keyboard and at phone width."""

from __future__ import annotations

import json
import threading
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from bench2robust.core.errors import UsageError
from bench2robust.evaluation.recommend import Advisor, Conditions, Question, from_paper
from bench2robust.serving.advisor import address, open_page

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def advisor():
    return Advisor(from_paper())


@pytest.fixture(scope="module")
def url(advisor):
    with open_page(advisor, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield address(server)
        server.shutdown()
        thread.join()


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_answer_is_the_commands(url, advisor):
    status, body = get(f"{url}answer?clean-prob=0.6&kmax=2&alternatives=yes")
    expected = advisor.answer(Question(Conditions(0.6, 2, 5, alternatives=True)))
    assert (status, json.loads(body)) == (200, json.loads(json.dumps(expected.to_dict())))


def test_the_profile_is_toml(url):
    status, body = get(f"{url}profile.toml?clean-prob=0.8&kmax=1")
    profile = tomllib.loads(body)
    assert (status, profile["clean-probability"], profile["budget"]) == (200, 0.8, 3)


@pytest.mark.parametrize("query", ["clean-prob=2", "kmax=x", "kmax=0", "max-tokens=1"])
def test_a_wrong_question_is_answered_with_what_is_wrong(url, query):
    status, body = get(f"{url}answer?{query}")
    assert status == 400
    assert json.loads(body)["error"].startswith("expected ")


def test_nothing_else_is_served(url):
    assert get(f"{url}../secrets")[0] == 404


def test_a_port_that_is_taken_is_one_line(url, advisor):
    port = int(url.rsplit(":", 1)[1].strip("/"))
    with pytest.raises(UsageError, match=f"expected a free port, got port={port}"):
        open_page(advisor, port)


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    if not CHROMIUM.exists():
        pytest.skip("needs chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.slow
def test_the_page_by_keyboard(url, browser):
    page = browser.new_page()
    requests, problems = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(url)
    page.locator("#what", has_text="deploy RL+BTM").wait_for()
    assert page.locator("#options tr").count() == 4
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "clean-prob"
    page.keyboard.press("End")
    page.locator("#what", has_text="deploy no help").wait_for()
    assert page.locator("#o-clean").text_content() == "1.00"
    page.keyboard.press("Home")
    page.wait_for_selector(".warning")
    assert "outside the measured range" in page.locator("#warnings").text_content()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.locator("#what", has_text=", alternatives").wait_for()
    page.locator("#max-tokens").fill("5")
    page.locator("#what", has_text="expected a limit").wait_for()
    assert "alternatives=yes" in page.locator("#profile").get_attribute("href")
    assert all(request.startswith(url) for request in requests)
    # The one refusal that was asked for is all that the browser complains about.
    assert all("400" in problem for problem in problems)
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_at_phone_width(url, browser, scheme, tmp_path):
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    page.goto(url)
    page.locator("#options tr").nth(3).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shot = tmp_path / f"{scheme}.png"
    page.screenshot(path=str(shot), full_page=True)
    assert shot.stat().st_size > 10_000
    page.close()
