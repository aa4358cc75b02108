"""What holds for every policy under any faults."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.agents import INFORMED, NAMES, REFERENCE, create
from bench2robust.core.noise import OBSERVABLE, SILENT
from bench2robust.core.reading import classify
from bench2robust.injection import InjectionSpec, Injector

from .toy import (
    ALTERNATIVES,
    BRIEFING,
    DOMAIN,
    KNOWLEDGE,
    READS,
    STANDARD,
    TOOLS,
    Cancel,
    Episode,
    TellStreet,
    TellTotal,
    named,
    run,
    with_plan,
)

FAILING = (*READS, *ALTERNATIVES, "cancel")
PLANS = st.sampled_from(
    [
        with_plan(Cancel(), TellTotal()),
        with_plan(TellStreet(), Cancel(verify=False), TellTotal()),
        with_plan(TellTotal("bob@shop.org"), TellStreet("bob@shop.org"), Cancel("bob@shop.org")),
    ]
)
NOISE = st.sampled_from([None, None, *OBSERVABLE, *SILENT])
FAULTS = st.dictionaries(st.sampled_from(FAILING), st.lists(NOISE, max_size=12))
BLOCKED = st.sets(st.sampled_from(FAILING), max_size=3)
EVERY = st.sampled_from((*REFERENCE, *INFORMED))
BLIND = st.sampled_from([name for name in NAMES if not create(name).omniscient])


@given(EVERY, FAULTS, BLOCKED, PLANS)
def test_every_play_ends_soon(name, faults, blocked, plan):
    faulted = sum(len(noises) for noises in faults.values())
    episode = run(name, faults, blocked, plan)
    assert episode.moves == [] or episode.moves[-1] in ("bye", "hand_over")
    assert len(episode.moves) <= 60 + 2 * faulted


@given(EVERY, st.dictionaries(st.sampled_from(FAILING), st.sampled_from([*OBSERVABLE, *SILENT])), PLANS)
def test_every_play_ends_when_tools_never_recover(name, noises, plan):
    run(name, {tool: [noise] * 2000 for tool, noise in noises.items()}, (), plan)


def three_in_a_row(episode):
    """The tools that have failed three times in a row at any time, as seen from the delivered texts."""
    streak, proven = dict.fromkeys(FAILING, 0), set()
    for record in episode.records[:-1]:
        delivered, tool = record.delivered, record.call.name
        streak[tool] = streak[tool] + 1 if delivered.error and classify(delivered.text) else 0
        if streak[tool] == 3:
            proven.add(tool)
    return proven


@given(FAULTS, BLOCKED, PLANS)
def test_strategic_escalates_only_when_every_route_has_failed_three_times_in_a_row(faults, blocked, plan):
    episode = run("strategic", faults, blocked, plan)
    if episode.moves[-1] != "hand_over":
        return
    proven = three_in_a_row(episode)
    no_user = {"find_by_email", "find_by_name"} <= proven
    no_order = "get_order" in proven and bool({"list_orders", "check_items"} & proven)
    no_street = {"get_order", "list_orders"} <= proven
    assert no_user or no_order or no_street or "cancel" in proven


@given(FAULTS, BLOCKED, PLANS)
def test_strategic_never_calls_a_tool_again_that_has_failed_three_times_in_a_row(faults, blocked, plan):
    streak = dict.fromkeys([tool.name for tool in TOOLS], 0)
    for record in run("strategic", faults, blocked, plan).records:
        tool, delivered = record.call.name, record.delivered
        assert streak[tool] < 3
        streak[tool] = streak[tool] + 1 if delivered.error and classify(delivered.text) else 0


def within(most, noises):
    """Heal every noise that would be more than `most` in a row."""
    kept, row = [], 0
    for noise in noises:
        row = row + 1 if noise and row < most else 0
        kept.append(noise if row else None)
    return kept


@given(FAULTS)
def test_omniscient_gets_through_whatever_the_limits_allow(faults):
    assert run("omniscient", {tool: within(2, noises) for tool, noises in faults.items()}).fulfilled


@given(FAULTS, st.sampled_from(["find_by_email", "find_by_name", "get_order", "list_orders", "check_items"]))
def test_omniscient_gets_through_with_one_side_blocked(faults, blocked):
    assert run("omniscient", faults, {blocked}).fulfilled


@given(st.dictionaries(st.sampled_from(FAILING), st.lists(st.sampled_from([None, *OBSERVABLE]), max_size=12)))
def test_strategic_gets_through_observable_noise_within_the_limits(faults):
    assert run("strategic", {tool: within(2, noises) for tool, noises in faults.items()}).fulfilled


class Forbidden:
    def __getattr__(self, name):
        raise AssertionError(f"asked the oracle for {name}")


@given(BLIND, FAULTS, BLOCKED)
def test_a_policy_sees_nothing_but_the_delivered_texts(name, faults, blocked):
    """The same texts without the shop behind them, and an oracle that may not be asked: the same moves."""
    seen = run(name, faults, blocked)
    play, moves = create(name, KNOWLEDGE).play(replace(BRIEFING, oracle=Forbidden())), []
    try:
        for answer in [None, *seen.delivered]:
            moves.append(named(play.send(answer)))
    except StopIteration:
        pass
    assert moves == seen.moves


# ── with the real injector ─────────────────────────────────────────────────────────────────────


@dataclass
class Injected(Episode):
    """An episode of the toy shop behind the real injector."""

    injector: Injector = None

    def call(self, call):
        return self.injector.call(call, self.shop.call)


def play_injected(name, seed, tools, blocked=frozenset()):
    injector = Injector(InjectionSpec(), seed, "toy", domain=DOMAIN, tools=tools, blocked=blocked)
    agent = create(name, KNOWLEDGE)
    briefing = replace(BRIEFING, tools=tools, oracle=injector if agent.omniscient else None)
    return Injected(injector=injector).play(agent.play(briefing))


@pytest.mark.parametrize("tools", [STANDARD, TOOLS])
def test_the_order_of_the_policies_behind_the_real_injector(tools):
    """Fixed seeds, so no false alarms: the outcome of 300 keyed episodes a policy is always the same."""
    passed = {name: sum(play_injected(name, s, tools).fulfilled for s in range(300)) for name in REFERENCE}
    assert passed["omniscient"] == 300
    assert passed["naive"] < passed["retry"] < passed["strategic"]
    assert passed["naive"] <= passed["switch"] < passed["strategic"]
    assert passed["strategic"] >= 295


def test_a_blocked_side_behind_the_real_injector():
    for seed in range(100):
        for tool in (*READS, *ALTERNATIVES):
            assert play_injected("omniscient", seed, TOOLS, frozenset({tool})).fulfilled
        assert not play_injected("strategic", seed, TOOLS, frozenset({"cancel"})).shop.cancelled
        assert not play_injected("retry", seed, TOOLS, frozenset({"get_order"})).shop.cancelled
