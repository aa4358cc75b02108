"""One delivered text does not tell a block from noise (exact distributions: `test_texts`)."""

import math
import re
from collections import Counter

import pytest
from scipy.special import chdtrc

from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import ToolCall
from bench2robust.injection import InjectionSpec, Injector, Limits, NoiseProfile, texts

from .shop import DOMAIN, TOOLS, execute

N = 10_000
SEVERE = NoiseProfile.severe()
UNEVEN = NoiseProfile({NoiseType.AUTH_ERROR: 0.1, NoiseType.SCHEMA_DRIFT: 0.3, NoiseType.CLEAN: 0.6})


def first_answers(name, profile, *, blocked):
    """Return N first answers of a tool in different episodes: blocked, or auth_error and schema_drift noise."""
    found, task = [], 0
    while len(found) < N:
        blocks = frozenset({name}) if blocked else frozenset()
        i = Injector(
            InjectionSpec(profile, Limits.unlimited()),
            1,
            f"{blocked} {task}",
            domain=DOMAIN,
            tools=TOOLS,
            blocked=blocks,
        )
        i.call(ToolCall(name), execute)
        (r,) = i.drain()
        if r.blocked or r.noise in texts.BLOCK_TYPES:
            found.append(r.delivered)
        task += 1
    return found


def rejecting_only(profile, name):
    """The profile given that the type is one a block imitates: the same proportions, found sooner."""
    weights = {noise: profile.for_tool(name)[noise] for noise in texts.BLOCK_TYPES}
    return NoiseProfile({noise: w / sum(weights.values()) for noise, w in weights.items()})


@pytest.mark.parametrize("profile", [SEVERE, UNEVEN])
@pytest.mark.parametrize("name", ["get_order", "cancel_order", "list_types"])
def test_answers_have_one_distribution(name, profile):
    """Two-sample chi-square on whole texts, 10^4 each; false alarms: 1 in 10^5 for each of six cases."""
    block = Counter(first_answers(name, profile, blocked=True))
    noise = Counter(first_answers(name, rejecting_only(profile, name), blocked=False))
    assert block.keys() == noise.keys()
    statistic = math.fsum((block[t] - noise[t]) ** 2 / (block[t] + noise[t]) for t in block)
    assert chdtrc(len(block) - 1, statistic) > 1e-5


def accuracy(block, noise):
    """Train naive Bayes on the words of the first half of both, return its accuracy on the second."""

    def features(text):
        return [text, *re.findall(r"\w+", text)]

    half, classes = len(block) // 2, {1: block, 0: noise}
    counts = {k: Counter(f for t in seen[:half] for f in features(t)) for k, seen in classes.items()}
    size = len(counts[0] | counts[1])

    def score(k, text):
        return sum(math.log((counts[k][f] + 1) / (counts[k].total() + size)) for f in features(text))

    right = [
        (score(1, text) > score(0, text)) == (k == 1) for k, seen in classes.items() for text in seen[half:]
    ]
    return sum(right) / len(right)


def test_a_classifier_on_one_text_is_at_chance():
    """10^4 unseen texts: 0.5 ± 4 σ (σ = 0.005); false alarms: 1 in 16,000."""
    block = [r.text for r in first_answers("get_order", SEVERE, blocked=True)]
    noise = [r.text for r in first_answers("get_order", rejecting_only(SEVERE, "get_order"), blocked=False)]
    assert abs(accuracy(block, noise) - 0.5) < 0.02


def test_the_classifier_finds_a_leak():
    """The test above can fail: one word more in a tenth of the texts is found."""
    noise = [r.text for r in first_answers("get_order", rejecting_only(SEVERE, "get_order"), blocked=False)]
    leaky = [f"{text} (persistent)" if n % 10 == 0 else text for n, text in enumerate(noise)]
    assert accuracy(leaky, noise) > 0.52
