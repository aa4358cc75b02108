"""What the pages on testing and fitting say is what the code says and prints."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from scipy.stats import binom

from bench2robust.injection import NoiseProfile
from bench2robust.integrations import exact
from bench2robust.integrations.checks import CHECKS

DOCS = Path(__file__).parents[2] / "docs"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_page_on_tests_lists_every_check():
    rows = re.findall(
        r"^\| `([a-z_]+)` \|", page("how-to/test-in-ci.md").partition("## Checks")[2], re.MULTILINE
    )
    assert rows == list(CHECKS)


def test_the_page_on_tests_says_what_gates_do():
    rows = re.findall(
        r"^\| (\d+) \| (\d+) \| (\d+) % \| (\d+) % \|$", page("how-to/test-in-ci.md"), re.MULTILINE
    )
    assert len(rows) == 6
    for row in rows:
        n, passes, at_80, at_70 = map(int, row)
        assert exact.upper(passes, n) < 0.9 <= exact.upper(passes + 1, n)
        assert round(100 * binom.cdf(passes, n, 0.8)) == at_80
        assert round(100 * binom.cdf(passes, n, 0.7)) == at_70


def test_the_page_on_fitting_shows_what_is_printed(b2r):
    done = b2r("profile", "fit", DOCS / "how-to" / "traces.jsonl")
    assert re.findall(r"```text\n(.*?)```", page("how-to/fit-a-profile.md"), re.DOTALL) == [done.stdout]


def test_the_profile_on_the_page_on_bursts_can_be_read():
    (text,) = re.findall(r"```toml\n(.*?)```", page("design/bursts.md"), re.DOTALL)
    profile = NoiseProfile.from_dict(tomllib.loads(text))
    assert profile.burst("other").length == 4
    assert profile.burst("search").length == 8
