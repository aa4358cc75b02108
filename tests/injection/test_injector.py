import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.domain import Domain, FieldRules
from bench2robust.core.errors import AgentError
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse, ToolSpec
from bench2robust.injection import Effects, InjectionSpec, Injector, Limits, NoiseProfile, texts

from .shop import DOMAIN, ORDER, ORDER_TEXT, TOOLS, execute, never

CLEAN = NoiseType.CLEAN
REJECTING = (NoiseType.RATE_LIMIT, NoiseType.AUTH_ERROR, NoiseType.SCHEMA_DRIFT)
NAMES = [tool.name for tool in TOOLS]


def always(noise):
    return NoiseProfile({noise: 1.0})


def injector(
    profile=None, limits=None, effects=Effects.OBSERVATION, *, seed=0, task="t", blocked=frozenset()
):
    spec = InjectionSpec(profile or NoiseProfile.severe(), limits or Limits.unlimited(), effects)
    return Injector(spec, seed, task, domain=DOMAIN, tools=TOOLS, blocked=blocked)


def play(i, names, run=execute):
    """Return the records of calls of the tools named, in order."""
    for name in names:
        i.call(ToolCall(name), run)
    return i.drain()


weights = st.lists(st.integers(0, 5), min_size=10, max_size=10).filter(any)
distributions = weights.map(lambda w: dict(zip(NoiseType, (x / sum(w) for x in w), strict=True)))
profiles = st.builds(
    NoiseProfile, distributions, st.dictionaries(st.sampled_from(NAMES), distributions, max_size=3)
)
limits = st.builds(Limits, st.none() | st.integers(0, 6), st.none() | st.integers(1, 3))
sequences = st.lists(st.sampled_from([*NAMES, "unknown_tool"]), max_size=40)
effects = st.sampled_from(Effects)


# What one call does


@pytest.mark.parametrize("noise", NOISE_TYPES)
def test_each_type_reaches_the_agent_and_the_record(noise):
    i = injector(always(noise))
    response = i.call(ToolCall("get_order", {"order_id": "#W1"}), execute)
    (r,) = i.records
    assert r.delivered is response
    assert (r.noise, r.drawn, r.withheld, r.blocked, r.index, r.ordinal) == (noise, noise, None, False, 0, 0)
    assert r.call == ToolCall("get_order", {"order_id": "#W1"})
    assert r.true == ToolResponse(ORDER_TEXT)
    assert response.text != ORDER_TEXT
    assert response.error == noise.observable
    assert bool(r.corrupted) == noise.silent
    if noise.observable and noise is not NoiseType.MALFORMED:
        assert response.text in texts.variants(noise, texts.field_names(TOOLS[0], ORDER))


@pytest.mark.parametrize("noise", [n for n in NOISE_TYPES if n.silent])
@pytest.mark.parametrize("tool", ["find_user", "rename_user", "list_types"])
def test_a_fault_that_cannot_land_is_delivered_clean_and_costs_nothing(noise, tool):
    i = injector(always(noise), Limits(1, 1))
    for r in play(i, [tool] * 3):
        assert (r.drawn, r.noise, r.withheld, r.landed) == (noise, CLEAN, "not_landed", False)
        assert r.delivered is r.true
    (r,) = play(i, ["get_order"])
    assert r.landed


@pytest.mark.parametrize("noise", [n for n in NOISE_TYPES if n.silent])
def test_a_genuine_error_is_never_corrupted_silently(noise):
    error = ToolResponse(ORDER_TEXT, error=True)
    (r,) = play(injector(always(noise)), ["get_order"], lambda call: error)
    assert r.delivered is error
    assert r.withheld == "not_landed"


def test_a_fault_that_cannot_land_resets_the_consecutive_count():
    stale = injector(always(NoiseType.STALE), Limits(None, 1))
    pending = ToolResponse(ORDER_TEXT.replace("delivered", "pending"))
    answers = [execute(ToolCall("get_order")), pending, execute(ToolCall("get_order"))]
    for answer in answers:
        stale.call(ToolCall("get_order"), lambda call, answer=answer: answer)
    assert [r.withheld for r in stale.records] == [None, "consecutive", None]
    stale = injector(always(NoiseType.STALE), Limits(None, 2))
    for answer in (answers[0], pending, answers[0], answers[0], answers[0]):
        stale.call(ToolCall("get_order"), lambda call, answer=answer: answer)
    assert [r.withheld for r in stale.records] == [None, "not_landed", None, None, "consecutive"]


@pytest.mark.parametrize("noise", [n for n in NOISE_TYPES if n.observable])
def test_an_observable_fault_lands_on_a_genuine_error_too(noise):
    (r,) = play(injector(always(noise)), ["rename_user"])
    assert r.landed
    assert r.genuine_error
    assert not r.answer_lost
    assert "User not found" not in r.delivered.text


def test_limits_withhold_and_say_why():
    i = injector(always(NoiseType.TIMEOUT), Limits(3, 2))
    found = play(i, ["get_order", "get_order", "get_order", "find_user", "get_order"])
    assert [r.withheld for r in found] == [None, None, "consecutive", None, "budget"]
    assert all(r.delivered is r.true for r in found if r.withheld)
    assert all(r.drawn is NoiseType.TIMEOUT for r in found)


@pytest.mark.parametrize("name", ["transfer", "clock"])
def test_exempt_tools_are_never_injected_and_never_blocked(name):
    i = injector(always(NoiseType.TIMEOUT), blocked=frozenset({name, "get_order"}))
    (r,) = play(i, [name])
    assert (r.drawn, r.noise, r.blocked) == (None, CLEAN, False)
    assert r.delivered is r.true
    assert i.blocked == {"get_order"}


def test_an_unknown_tool_is_executed_and_its_genuine_error_delivered():
    error = ToolResponse("Error: Tool 'get_ordr' not found.", error=True)
    (r,) = play(injector(always(NoiseType.TIMEOUT)), ["get_ordr"], lambda call: error)
    assert r.delivered is error
    assert r.genuine_error
    assert (r.drawn, r.noise, r.withheld) == (None, CLEAN, None)


def test_malformed_responses_show_nothing_of_a_genuine_error():
    for task in range(20):
        (r,) = play(injector(always(NoiseType.MALFORMED), task=str(task)), ["rename_user"])
        assert r.delivered.text == "Error: failed to parse tool response as JSON: unexpected end of input"


# Blocking


@pytest.mark.parametrize("effect", Effects)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("transfer", "clock")])
def test_a_blocked_call_never_executes_and_always_answers_the_same(name, effect):
    i = injector(effects=effect, blocked=frozenset({name}), limits=Limits(0, 1))
    found = play(i, [name] * 5, never)
    for r in found:
        assert (r.executed, r.blocked, r.drawn, r.noise, r.withheld) == (False, True, None, CLEAN, None)
        assert r.injected
        assert not r.landed
        assert r.delivered.error
    assert len({r.delivered.text for r in found}) == 1


def test_blocking_is_outside_both_limits():
    i = injector(always(NoiseType.TIMEOUT), Limits(2, 1), blocked=frozenset({"get_orders"}))
    play(i, ["get_orders"] * 10, never)
    assert [r.withheld for r in play(i, ["get_order", "find_user", "calculate"])] == [None, None, "budget"]


def test_the_block_text_is_keyed_by_seed_task_and_tool():
    def text(**key):
        return play(injector(blocked=frozenset({"get_order"}), **key), ["get_order"], never)[0].delivered.text

    assert text(seed=1, task="a") == text(seed=1, task="a")
    assert len({text(seed=s, task=t) for s in range(10) for t in "abcdef"}) == 12  # 2 auth, 2 × 5 fields


# effects = "request"


@pytest.mark.parametrize("noise", REJECTING)
def test_rejecting_types_do_not_execute(noise):
    (r,) = play(injector(always(noise), effects=Effects.REQUEST), ["cancel_order"], never)
    assert (r.executed, r.noise, r.answer_lost) == (False, noise, False)


@pytest.mark.parametrize("noise", [n for n in NOISE_TYPES if n not in REJECTING])
def test_the_other_types_execute_first(noise):
    (r,) = play(injector(always(noise), effects=Effects.REQUEST), ["cancel_order"])
    assert (r.executed, r.noise, r.answer_lost) == (True, noise, noise.observable)


def test_a_rejection_that_is_withheld_executes():
    i = injector(always(NoiseType.RATE_LIMIT), Limits(2, 1), effects=Effects.REQUEST)
    found = play(i, ["get_order", "get_order", "get_order", "get_order"])
    assert [r.executed for r in found] == [False, True, False, True]
    assert [r.withheld for r in found] == [None, "consecutive", None, "budget"]


@given(profiles, sequences, st.integers(0, 99))
def test_both_effects_deliver_the_same_with_limits_off(profile, names, seed):
    one, two = (play(injector(profile, effects=e, seed=seed), names) for e in Effects)
    assert [(r.delivered, r.drawn, r.noise) for r in one] == [(r.delivered, r.drawn, r.noise) for r in two]


# Draws


@given(profiles, sequences, st.integers(), st.text(max_size=5))
def test_the_number_drawn_is_that_of_the_key(profile, names, seed, task):
    for r in play(injector(profile, seed=seed, task=task), names):
        if r.drawn is not None:
            u = Draws(seed, task, "noise", r.call.name, r.ordinal).uniform()
            assert r.drawn is profile.table(r.call.name).at(u)


@given(sequences)
def test_draws_do_not_depend_on_limits_arguments_or_answers(names):
    tight, loose = injector(limits=Limits(0, 1)), injector()
    one = play(tight, names)
    for name in names:
        loose.call(ToolCall(name, {"x": name}), lambda call: ToolResponse("[]"))
    assert [r.drawn for r in one] == [r.drawn for r in loose.drain()]


# Limits, for any profile, any limits, any calls


@settings(max_examples=200)
@given(profiles, limits, sequences, effects, st.sets(st.sampled_from(NAMES), max_size=2), st.integers(0, 999))
def test_every_record_is_what_the_rules_say(profile, limit, names, effect, blocked, seed):
    """Replays the limits from the records alone: B and K_max are never exceeded, and never leave room unused."""
    i = injector(profile, limit, effect, seed=seed, blocked=frozenset(blocked))
    injected, row = 0, dict.fromkeys(names, 0)
    for index, r in enumerate(play(i, names)):
        name = r.call.name
        assert r.index == index
        assert r.ordinal == names[:index].count(name)
        full = limit.budget is not None and injected >= limit.budget
        enough = limit.max_consecutive is not None and row[name] >= limit.max_consecutive
        assert r.blocked == (name in i.blocked)
        assert (r.drawn is None) == (r.blocked or name in ("transfer", "clock", "unknown_tool"))
        if r.drawn in (None, CLEAN):
            assert (r.noise, r.withheld) == (CLEAN, None)
        elif full or enough:
            assert (r.noise, r.withheld) == (CLEAN, "budget" if full else "consecutive")
        elif r.withheld:
            assert (r.noise, r.withheld, r.drawn.silent) == (CLEAN, "not_landed", True)
        else:
            assert r.noise is r.drawn
        if not r.injected:
            assert r.delivered is r.true
        assert r.executed != (r.blocked or (effect is Effects.REQUEST and r.noise in REJECTING))
        injected += r.landed
        row[name] = row[name] + 1 if r.landed else 0
        assert limit.budget is None or injected <= limit.budget
        assert limit.max_consecutive is None or row[name] <= limit.max_consecutive


@given(sequences, st.integers(), effects)
def test_an_empty_profile_changes_nothing(names, seed, effect):
    for r in play(injector(NoiseProfile.empty(), seed=seed, effects=effect), names):
        assert r.delivered is r.true
        assert r.delivered == execute(r.call)
        assert not r.injected


# Records


def test_records_are_handed_over_once():
    i = injector()
    play_one = [i.call(ToolCall("get_order"), execute) for _ in range(3)]
    first = i.drain()
    assert [r.delivered for r in first] == play_one
    assert (i.records, i.drain()) == ([], [])
    assert i.last() is first[-1]
    i.call(ToolCall("get_order"), execute)
    assert [(r.index, r.ordinal) for r in i.drain()] == [(3, 3)]


def test_the_last_record_before_the_first_call():
    with pytest.raises(AgentError, match="expected a call before its record is asked for"):
        injector().last()


def test_what_the_environment_raises_passes_through_and_leaves_no_trace_but_the_ordinal():
    def broken(call):
        raise RuntimeError("the benchmark broke")

    i = injector(always(NoiseType.TIMEOUT), Limits(1, 1))
    with pytest.raises(RuntimeError, match="the benchmark broke"):
        i.call(ToolCall("get_order"), broken)
    assert i.records == []
    (r,) = play(i, ["get_order"])
    assert (r.index, r.ordinal, r.landed) == (0, 1, True)


def test_construction_does_no_work_per_tool():
    """A hundred times the stated bound (50 µs) at worst, so that a busy machine does not fail it."""
    many = [ToolSpec(f"tool {n}", "", {}, ToolKind.READ) for n in range(21)]
    domain = Domain("d", fields={tool.name: FieldRules() for tool in many})
    start = time.perf_counter()
    for _ in range(100):
        Injector(InjectionSpec(), 0, "t", domain=domain, tools=many)
    assert (time.perf_counter() - start) / 100 < 50e-4


def test_a_record_keeps_the_call_as_it_was_proposed():
    """Callers reuse argument objects and tools change them; the record must not follow."""
    shared = {"ids": [1], "name": "a"}
    injector = Injector(InjectionSpec(profile=NoiseProfile.empty()), 0, "task", domain=Domain("d"), tools=())

    def execute(call):
        call.arguments["ids"].append(2)
        return ToolResponse("ok")

    injector.call(ToolCall("write", shared), execute)
    shared["name"] = "b"
    assert injector.last().call.arguments == {"ids": [1], "name": "a"}
