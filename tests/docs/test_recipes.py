"""Every ``b2r run`` of the how-tos on models runs, made small, against a policy that is served."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("openai")
DOCS = Path(__file__).parents[2] / "docs" / "how-to"


def recipes(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    return [line for line in blocks.splitlines() if line.startswith("b2r run ")]


def made_small(recipe, url):
    """Return the command with the served models in place of the real ones, one task and one seed."""
    words = [re.sub(r"^chat:.*", "chat:strategic", word) for word in shlex.split(recipe)[1:]]
    if "--user" in words and words[words.index("--user") + 1].startswith("chat:"):
        words[words.index("--user") + 1] = "chat:user"
    for option in ("--base-url", "--user-base-url"):
        if option in words:
            words[words.index(option) + 1] = url
    small = ["--base-url", url] if "--base-url" not in words else []
    return [*words, *small, "--seeds", "1", "--modes", "inject"]


def test_there_are_recipes():
    assert len(recipes("run-a-model.md")) >= 10


@pytest.mark.tau2
@pytest.mark.slow
def test_every_recipe_for_a_model(serve_policy, b2r, tmp_path):
    """Tapes are recorded before they are replayed, so the recipes run in the order of the page."""
    urls = {name: serve_policy(name) for name in ("tau2-retail", "helpdesk")}
    for recipe in recipes("run-a-model.md"):
        name = shlex.split(recipe)[shlex.split(recipe).index("--benchmark") + 1]
        done = b2r(*made_small(recipe, urls[name]), "--tasks", "0", cwd=tmp_path, LITELLM_KEY="key")
        assert done.returncode == 0, f"{recipe}\n{done.stderr}"
    assert (tmp_path / "runs/recorded/episodes.jsonl").read_bytes() == (
        tmp_path / "runs/replayed/episodes.jsonl"
    ).read_bytes()


def test_the_file_of_the_page_is_one_that_can_be_read(tmp_path):
    from bench2robust.cli.running import read_order

    text = (DOCS / "run-a-model.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "run.toml"
    file.write_text(block.replace("tau2-retail", "toy-library"), encoding="utf-8")
    order = read_order(file, {})
    assert order.spec.models.of("chat:gpt-4.1-mini").prices.prompt == 0.40
    assert order.means.concurrency == 32
