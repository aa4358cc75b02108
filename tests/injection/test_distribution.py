"""Statistics of what is drawn and delivered. Seeds are fixed; each docstring states the false-alarm rate."""

import math
from collections import Counter, defaultdict

import pytest
from scipy.special import chdtrc

from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.tools import ToolCall
from bench2robust.injection import InjectionSpec, Injector, Limits, NoiseProfile

from .shop import DOMAIN, TOOLS, execute

CLEAN = NoiseType.CLEAN
UNEVEN = NoiseProfile(
    tools={
        "find_user": {NoiseType.TIMEOUT: 0.5, NoiseType.PARTIAL: 0.3, CLEAN: 0.2},
        "get_order": {NoiseType.STALE: 0.25, NoiseType.AUTH_ERROR: 0.25, NoiseType.FACTUAL: 0.1, CLEAN: 0.4},
    }
)


def records(profile, limits, names, episodes):
    """Return the records of each of so many episodes of the same calls."""
    spec = InjectionSpec(profile, limits)
    for n in range(episodes):
        injector = Injector(spec, 11, f"task {n}", domain=DOMAIN, tools=TOOLS)
        for name in names:
            injector.call(ToolCall(name), execute)
        yield injector.drain()


def p_value(counts, probabilities, total):
    """Chi-square p-value of counts against probabilities; what cannot happen must not have happened.

    Outcomes expected fewer than ten times are counted as one, as the approximation needs.
    """
    assert {key for key, count in counts.items() if count} <= {k for k, p in probabilities.items() if p > 0}
    common = [k for k, p in probabilities.items() if p * total >= 10]
    pairs = [(counts[k], total * probabilities[k]) for k in common]
    rest = (total - sum(c for c, _ in pairs), total - math.fsum(e for _, e in pairs))
    if rest[1] >= 10:
        pairs.append(rest)
    return chdtrc(len(pairs) - 1, math.fsum((count - e) ** 2 / e for count, e in pairs))


@pytest.mark.parametrize("profile", [NoiseProfile.severe(), NoiseProfile.named("mild"), UNEVEN])
def test_drawn_types_fit_the_profile(profile):
    """10^5 calls, limits off, two tools: 2 chi-square tests at 1/20,000 each; false alarms: 1 in 10^4."""
    counts = defaultdict(Counter)
    for episode in records(profile, Limits.unlimited(), ["get_order", "find_user"] * 25, 2000):
        for r in episode:
            counts[r.call.name][r.drawn] += 1
    for name, counted in counts.items():
        assert counted.total() == 50_000
        assert p_value(counted, profile.for_tool(name), 50_000) > 1 / 20_000


def lands(name, noise):
    """Whether a fault can land on what the tool answers in `shop`: a bare id has nothing to corrupt."""
    return noise.observable or name == "get_order"


def enumerate_deliveries(profile, limits, names):
    """Return, for each call of an episode, the exact distribution of what is delivered.

    Dynamic programming over everything the future depends on: the budget used, and the noise
    injections in a row of each tool.
    """
    states = {(0, tuple((name, 0) for name in sorted(set(names)))): 1.0}
    delivered = []
    for name in names:
        now, following = Counter(), Counter()
        for (used, rows), weight in states.items():
            row = dict(rows)
            room = used < limits.budget and row[name] < limits.max_consecutive
            for noise, p in profile.for_tool(name).items():
                landed = noise is not CLEAN and room and lands(name, noise)
                now[noise if landed else CLEAN] += weight * p
                after = row | {name: row[name] + 1 if landed else 0}
                following[used + landed, tuple(sorted(after.items()))] += weight * p
        delivered.append(now)
        states = following
    return delivered, Counter(
        {used: math.fsum(w for (u, _), w in states.items() if u == used) for used, _ in states}
    )


@pytest.mark.parametrize("profile", [NoiseProfile.severe(), UNEVEN])
@pytest.mark.parametrize("limits", [Limits(5, 2), Limits(2, 1), Limits(3, 3)])
def test_delivered_types_fit_an_exact_enumeration(profile, limits):
    """10^4 episodes of 12 calls, and the injections per episode: 13 chi-square tests at 10^-5 each.

    False alarms: 1 in 7,000 for each of the six cases. Without limits the same counts are far off (below).
    """
    names = ["get_order", "find_user", "get_order", "get_order", "find_user", "get_order"] * 2
    expected, expected_total = enumerate_deliveries(profile, limits, names)
    counts, totals = [Counter() for _ in names], Counter()
    for episode in records(profile, limits, names, 10_000):
        for r in episode:
            counts[r.index][r.noise] += 1
        totals[sum(r.landed for r in episode)] += 1
    for counted, probabilities in zip(counts, expected, strict=True):
        assert p_value(counted, probabilities, 10_000) > 1e-5
    assert p_value(totals, expected_total, 10_000) > 1e-5


def test_the_enumeration_test_can_fail():
    """The limits matter in the episodes above: without them the chi-square test sees it at once."""
    names = ["get_order"] * 6
    expected, _ = enumerate_deliveries(NoiseProfile.severe(), Limits(2, 1), names)
    counted = Counter(
        episode[5].noise for episode in records(NoiseProfile.severe(), Limits.unlimited(), names, 2000)
    )
    assert p_value(counted, expected[5], 2000) < 1e-12


def test_a_budget_of_zero_delivers_nothing():
    assert not any(
        r.landed for e in records(NoiseProfile.severe(), Limits(0, 1), ["get_order"] * 5, 50) for r in e
    )


def test_the_enumeration_is_right_for_a_case_done_by_hand():
    profile = NoiseProfile({NoiseType.TIMEOUT: 0.5, CLEAN: 0.5})
    expected, total = enumerate_deliveries(profile, Limits(2, 1), ["find_user"] * 3)
    assert [p[NoiseType.TIMEOUT] for p in expected] == [0.5, 0.25, 0.375]
    assert total == {0: 0.125, 1: 0.625, 2: 0.25}


def test_the_default_profile_injects_what_the_paper_says():
    assert math.isclose(math.fsum(NoiseProfile.severe().default[noise] for noise in NOISE_TYPES), 0.4)
