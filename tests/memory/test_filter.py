"""The scenario filter: a brute-force enumeration on small cases, what must hold always, and calibration."""

from collections import defaultdict
from dataclasses import dataclass, replace
from math import fsum

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bench2robust.core.domain import Domain, EquivalenceClass, FieldRules, Side
from bench2robust.core.episode import Scenario
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import ToolKind, ToolResponse, ToolSpec
from bench2robust.injection import (
    Block,
    Eligibility,
    InjectionSpec,
    Limits,
    Mix,
    NoiseProfile,
    ScenarioSpec,
    assign,
)
from bench2robust.memory.filter import ScenarioFilter
from bench2robust.memory.knowledge import Knowledge
from bench2robust.memory.prior import everything, law

TIMEOUT = "Error: request timed out after 30s"
AUTH = ("HTTP 401 Unauthorized", "HTTP 403 Forbidden")
RECORD = '{"price": 40}'
"""What `a` and `b` answer: only a factual error can land on it."""

TOOLS = (
    ToolSpec("a", "", {}),
    ToolSpec("b", "", {}),
    ToolSpec("w", "", {}, ToolKind.WRITE),
    ToolSpec("u", "", {}, ToolKind.UTILITY),
    ToolSpec("leave", "", {}, ToolKind.ESCALATION),
)
DOMAIN = Domain(
    "small",
    classes=(EquivalenceClass("thing", (Side("one", ("a",)), Side("two", ("b",)))),),
    needs={"w": ("thing",)},
    fields={"a": FieldRules(numeric=("price",)), "b": FieldRules(numeric=("price",))},
    exempt=frozenset({"leave"}),
)
THETA = {
    NoiseType.TIMEOUT: 0.2,
    NoiseType.AUTH_ERROR: 0.15,
    NoiseType.FACTUAL: 0.25,
    NoiseType.CLEAN: 0.4,
}
PROFILE = NoiseProfile(THETA)
MIX = ScenarioSpec(Mix(30, 45, 25))


PAPERS = Limits()


def knowing(limits=PAPERS, profile=PROFILE, scenarios=MIX, **more):
    return Knowledge(DOMAIN, InjectionSpec(profile, limits), scenarios, **more)


def response(text):
    return ToolResponse(text, error=text != RECORD)


# ── brute force ────────────────────────────────────────────────────────────────────────────────
DRAWS = [
    ((NoiseType.TIMEOUT, TIMEOUT), 0.2),
    *(((NoiseType.AUTH_ERROR, text), 0.075) for text in AUTH),
    ((NoiseType.FACTUAL, RECORD), 0.25),
    ((NoiseType.CLEAN, RECORD), 0.4),
]


@dataclass
class World:
    """One possible past: a direct transcription of the injector's rules."""

    p: float
    blocked: frozenset
    answers: tuple
    """The text of each blocked tool."""
    used: int = 0
    row: tuple = ()

    def deliveries(self, tool, limits):
        """Every text that a call may deliver, with the worlds it leads to."""
        if tool in self.blocked:
            yield dict(self.answers)[tool], self
            return
        row = dict(self.row)
        for (noise, text), p in DRAWS:
            lands = noise is not NoiseType.CLEAN and (noise is not NoiseType.FACTUAL or tool in ("a", "b"))
            full = limits.budget is not None and self.used >= limits.budget
            long = limits.max_consecutive is not None and row.get(tool, 0) >= limits.max_consecutive
            if lands and not full and not long:
                after = {**row, tool: row.get(tool, 0) + 1}
                yield text, replace(self, p=self.p * p, used=self.used + 1, row=tuple(after.items()))
            else:
                yield RECORD, replace(self, p=self.p * p, row=tuple({**row, tool: 0}.items()))


def pasts(history, limits, prior):
    """Every past that a history may have."""
    worlds = []
    for where, p in prior.items():
        each = [World(p, where.blocked, ())]
        for tool in sorted(where.blocked):
            # Of the two types of a block only auth_error is in the profile.
            each = [replace(w, p=w.p / 2, answers=(*w.answers, (tool, text))) for w in each for text in AUTH]
        worlds += each
    for tool, text in history:
        worlds = [after for w in worlds for seen, after in w.deliveries(tool, limits) if seen == text]
    return worlds


def enumerated(history, limits, prior):
    """The posterior over what is blocked, None where the history cannot be."""
    worlds = pasts(history, limits, prior)
    total = fsum(w.p for w in worlds)
    posterior = defaultdict(float)
    for w in worlds:
        posterior[w.blocked] += w.p / total
    return posterior if total else None


CALLS = st.lists(
    st.tuples(st.sampled_from("abwu"), st.sampled_from([RECORD, TIMEOUT, *AUTH])), min_size=1, max_size=6
)
LIMITS = st.sampled_from(
    [Limits(), Limits(2, 1), Limits(3, None), Limits(None, 2), Limits(0, 2), Limits(1, 3)]
)


def after(history, knowledge):
    it = ScenarioFilter(knowledge, TOOLS)
    for tool, text in history:
        it.observe(tool, response(text))
    return it


@settings(max_examples=150, deadline=None)
@given(CALLS, LIMITS)
def test_it_equals_a_brute_force_enumeration(history, limits):
    knowledge = knowing(limits)
    expected = enumerated(history, limits, knowledge.prior)
    assume(expected is not None)
    it = after(history, knowledge)
    found = defaultdict(float)
    for where, p in it.posterior().items():
        found[where.blocked] += p
    assert it.surprises == 0
    for blocked in {*expected, *found}:
        assert found[blocked] == pytest.approx(expected[blocked], abs=1e-12)
    for tool in "abwu":
        assert it.blocked(tool) == pytest.approx(fsum(p for b, p in expected.items() if tool in b), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(CALLS, LIMITS, st.sampled_from("abwu"))
def test_the_outlook_is_what_brute_force_expects_of_the_next_call(history, limits, tool):
    knowledge = knowing(limits)
    so_far = fsum(w.p for w in pasts(history, limits, knowledge.prior))
    assume(so_far)
    answered = fsum(w.p for w in pasts([*history, (tool, RECORD)], limits, knowledge.prior))
    assert after(history, knowledge).outlook(tool).answers == pytest.approx(answered / so_far, abs=1e-12)


# ── what must hold always ──────────────────────────────────────────────────────────────────────
ANYTHING = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "w", "u", "leave", "nobody"]),
        st.sampled_from(
            [RECORD, TIMEOUT, *AUTH, "HTTP 500 Internal Server Error", '{"cut', "Error: no such thing"]
        ),
    ),
    max_size=25,
)


@given(ANYTHING, LIMITS, st.sampled_from([PROFILE, NoiseProfile.severe(), NoiseProfile.empty()]))
def test_a_posterior_sums_to_one_whatever_comes(history, limits, profile):
    it = after(history, knowing(limits, profile))
    assert fsum(it.posterior().values()) == pytest.approx(1.0)
    assert fsum(it.scenario(s) for s in Scenario) == pytest.approx(1.0)
    for tool in "abwu":
        outlook = it.outlook(tool)
        for p in (*outlook, outlook.answers):
            assert -1e-12 <= p <= 1.0 + 1e-12


@given(
    st.lists(st.tuples(st.sampled_from("bu"), st.sampled_from([RECORD, TIMEOUT])), max_size=6),
    st.integers(1, 4),
)
def test_one_failure_more_in_a_row_than_the_limit_proves_a_block(before, most):
    limits = Limits(None, most)
    assume(enumerated(before, limits, knowing(limits).prior) is not None)
    it = after(before, knowing(limits))
    for _ in range(most):
        it.observe("a", response(AUTH[0]))
        assert it.blocked("a") < 1.0 or it.scenario(Scenario.S1) == 0.0
    it.observe("a", response(AUTH[0]))
    assert it.surprises or it.blocked("a") == 1.0


def test_a_failure_after_the_budget_is_spent_proves_a_block():
    it = after([("u", TIMEOUT), ("w", TIMEOUT)], knowing(Limits(2, 2)))
    assert 0.0 < it.blocked("a") < 0.5
    it.observe("a", response(AUTH[0]))
    assert it.blocked("a") == 1.0


def test_silent_corruptions_use_the_budget_too():
    """With one fault in all, an answer that may have been corrupted makes a later failure more of a block."""
    history = [("b", RECORD), ("a", AUTH[0])]
    incorruptible = Knowledge(replace(DOMAIN, fields={}), InjectionSpec(PROFILE, Limits(1, 2)), MIX)
    assert (
        after(history, knowing(Limits(1, 2))).blocked("a") > after(history, incorruptible).blocked("a") > 0.0
    )


@given(CALLS, LIMITS)
def test_the_same_failure_again_never_makes_a_block_less_likely(history, limits):
    assume(enumerated(history, limits, knowing(limits).prior) is not None)
    it = after(history, knowing(limits))
    it.observe("a", response(AUTH[0]))
    assume(it.surprises == 0)
    before = it.blocked("a")
    it.observe("a", response(AUTH[0]))
    assert it.surprises or it.blocked("a") >= before - 1e-12


@given(CALLS, LIMITS, st.sampled_from("abw"))
def test_an_answer_proves_that_a_tool_is_not_blocked(history, limits, tool):
    it = after([*history, (tool, RECORD)], knowing(limits))
    assert it.surprises or it.blocked(tool) == 0.0


@pytest.mark.parametrize("text", [TIMEOUT, '{"cut', "HTTP 500 Internal Server Error"])
def test_a_text_that_no_block_shows_proves_that_a_tool_is_not_blocked(text):
    it = after([("a", text)], knowing(profile=NoiseProfile.severe()))
    assert it.blocked("a") == 0.0


def test_two_texts_prove_that_a_tool_is_not_blocked():
    assert after([("a", AUTH[0]), ("a", AUTH[0])], knowing()).blocked("a") > 0.9
    assert after([("a", AUTH[0]), ("a", AUTH[1])], knowing()).blocked("a") == 0.0


def test_a_genuine_error_is_no_failure():
    it = after([("a", "Error: no such thing")], knowing())
    assert it.blocked("a") == 0.0
    assert it.observe("a", response("Error: no such thing")) == 0.0


def test_a_text_that_is_not_ours_counts_by_its_kind():
    foreign = ScenarioFilter(knowing(profile=NoiseProfile.severe()), TOOLS)
    for _ in range(2):
        foreign.observe("a", ToolResponse("permission denied for this endpoint", error=True))
    assert foreign.blocked("a") > 0.5


def test_exempt_and_unknown_tools_show_nothing():
    it = after([("leave", AUTH[0])] * 5 + [("nobody", AUTH[0])] * 5, knowing())
    assert it.posterior() == ScenarioFilter(knowing(), TOOLS).posterior()
    assert it.outlook("leave").answers == it.outlook("nobody").answers == 1.0


def test_what_cannot_be_leaves_the_posterior_alone_and_is_counted():
    it = after([("u", TIMEOUT)], knowing(Limits(0, 2)))
    assert it.surprises == 1
    assert it.posterior() == ScenarioFilter(knowing(Limits(0, 2)), TOOLS).posterior()


def test_it_says_how_likely_an_answer_is_corrupted():
    """A draw is clean with 0.4 and factual with 0.25; the two failures are out once an answer is there."""
    it = ScenarioFilter(knowing(scenarios=ScenarioSpec(Mix(100, 0, 0))), TOOLS)
    assert it.observe("a", response(RECORD)) == pytest.approx(0.25 / 0.65)
    assert it.observe("u", response(RECORD)) == 0.0
    assert it.outlook("a").corrupts == pytest.approx(0.25 / 0.65)


# ── the prior ──────────────────────────────────────────────────────────────────────────────────
ELIGIBLE = [
    Eligibility({"thing": ("one", "two")}, {"thing": "one"}, ("thing",)),
    Eligibility({"thing": ("one",)}, {"thing": "one"}, ("thing",)),
    Eligibility(),
]


@pytest.mark.parametrize("block", list(Block))
@pytest.mark.parametrize("eligibility", ELIGIBLE)
def test_the_law_is_what_assign_draws(block, eligibility):
    """4000 keyed assignments, each share within 5 standard errors: fewer than one false alarm in 10^5."""
    spec = ScenarioSpec(Mix(30, 45, 25), block)
    n = 4000
    drawn = defaultdict(int)
    for seed in range(n):
        found = assign(seed, "task", spec, eligibility, DOMAIN)
        drawn[replace(found, assigned=found.effective)] += 1
    expected = dict(law(spec, eligibility, DOMAIN))
    assert fsum(expected.values()) == pytest.approx(1.0)
    assert {where for where, p in expected.items() if p} >= set(drawn)
    for where, p in expected.items():
        assert abs(drawn[where] / n - p) <= 5 * (p * (1 - p) / n) ** 0.5 + 1e-12


def test_a_population_is_averaged_and_none_is_taken_to_be_eligible_for_everything():
    few = knowing(population=tuple(ELIGIBLE)).prior
    assert few[next(w for w in few if w.effective is Scenario.S1)] == pytest.approx((0.3 + 0.75 + 1.0) / 3)
    assert knowing().prior == dict(law(MIX, everything(DOMAIN), DOMAIN))
    even = Knowledge(DOMAIN).prior
    assert even[next(w for w in even if w.effective is Scenario.S1)] == pytest.approx(0.34)
