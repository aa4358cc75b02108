"""P(blocked) against the truth, behind the real injector."""

import pytest

from bench2robust import domains
from bench2robust.benchmarks.helpdesk.tools import TOOLS
from bench2robust.core.noise import NOISE_TYPES
from bench2robust.core.randomness import Draws
from bench2robust.core.reading import read
from bench2robust.core.tools import ToolCall, ToolResponse
from bench2robust.injection import Eligibility, InjectionSpec, Injector, Mix, ScenarioSpec, assign
from bench2robust.memory.beliefs import Beliefs, Counts
from bench2robust.memory.filter import ScenarioFilter
from bench2robust.memory.knowledge import Knowledge

DOMAIN = domains.load("helpdesk")
ANSWERS = {
    "get_tickets": '{"t1": {"topic": "vpn", "state": "open", "priority": 8}, "t2": {"topic": "mail", "state": "solved", "priority": 5}}',
    "get_status": '{"state": "waiting", "priority": 8}',
    "list_models": '{"m1": {"price": 30, "stock": 4}, "m2": {"price": 41, "stock": 9}}',
    "find_cheapest": '{"model": "m1", "price": 30, "stock": 4}',
    "set_priority": '{"ticket": "t1", "state": "open", "priority": 9}',
    "order_model": '{"model": "m1", "price": 30}',
}
CALLED = ("find_user_by_login", "find_user_by_badge", "find_ticket", *ANSWERS)
POPULATION = (
    Eligibility({"identity": ("login", "badge"), "ticket": ("list", "search")}, s3=("identity", "ticket")),
    Eligibility({"stock": ("list", "search"), "ticket": ("list",)}, s3=("identity", "stock")),
    Eligibility(),
)
MIX = ScenarioSpec(Mix(30, 45, 25))
SPEC = InjectionSpec()


def predictions(knowledge, episodes):
    """One P(blocked) an episode, with the truth: of the tool that failed, right after the k-th failure.

    So every prediction is of the kind that a policy has to act on, and the moment is a stopping time: it does
    not depend on what comes later, as "the last failure" would. k is 1, 2 or 3; the caller picks tools at random and,
    like any agent, is drawn to one that has just failed. An episode with fewer failures says nothing.
    """
    for n in range(episodes):
        draws = Draws("calibration", n)
        eligibility = draws.choice(POPULATION)
        blocked = assign(n, "task", MIX, eligibility, DOMAIN).blocked
        injector = Injector(SPEC, n, "task", domain=DOMAIN, tools=TOOLS, blocked=blocked)
        it = ScenarioFilter(knowledge, TOOLS)
        tool, left = draws.choice(CALLED), 1 + draws.index(3)
        for _ in range(12):
            seen = injector.call(ToolCall(tool), lambda call: ToolResponse(ANSWERS.get(call.name, "u1")))
            it.observe(tool, seen)
            failed = read(seen).noise is not None
            left -= failed
            if not left:
                yield it.blocked(tool), tool in blocked
                break
            if not failed or draws.uniform() < 0.6:
                tool = draws.choice(CALLED)
        assert it.surprises == 0


def calibration_error(pairs):
    """Expected calibration error over ten bins, and the share of predictions that are not near 0 or 1."""
    bins = {}
    for p, truth in pairs:
        bins.setdefault(min(9, int(10 * p)), []).append((p, truth))
    error = sum(abs(sum(p - truth for p, truth in found)) for found in bins.values()) / len(pairs)
    return error, sum(0.05 < p < 0.95 for p, _ in pairs) / len(pairs)


TOLD = Knowledge(DOMAIN, SPEC, MIX, population=POPULATION)


@pytest.mark.slow
def test_the_probability_of_a_block_is_calibrated():
    """10^4 episodes, fixed seeds.

    Truths drawn from the predictions themselves give an error of 0.005 ± 0.0015: 0.03 is passed by chance
    less than once in 10^9. The filter gives 0.006.
    """
    pairs = list(predictions(TOLD, 10_000))
    error, open_questions = calibration_error(pairs)
    assert error < 0.03
    assert open_questions > 0.1


def test_it_is_calibrated_on_fewer_episodes_too():
    """1000 episodes, fixed seeds; by chance alone 0.014 ± 0.0045, so a false alarm in fewer than one of 10^9."""
    assert calibration_error(list(predictions(TOLD, 1000)))[0] < 0.05


def test_a_profile_learned_from_beliefs_is_calibrated_too():
    """As above, but neither rates nor limits are told, only how often each error was met."""
    met = {noise: round(1000 * SPEC.profile.default[noise]) for noise in NOISE_TYPES}
    seen = [
        Counts(frozenset({("get_tickets", noise)}), passed=True) for noise, n in met.items() for _ in range(n)
    ]
    told = Knowledge(DOMAIN, None, MIX, Beliefs().updated(*seen), POPULATION)
    assert calibration_error(list(predictions(told, 1000)))[0] < 0.06
