"""Every measure of a synthetic episode is what one works out by hand."""

from __future__ import annotations

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust import domains
from bench2robust.core.episode import End, Escalation, Scenario, Usage
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.measures import BLOCKED, ERRORS, SILENT_ERRORS, VISIBLE, Measures, Move, RunFacts, measure

from .episodes import FACTS, GOLD, KINDS, N, Script


def test_an_undisturbed_episode_shows_nothing_but_its_effort():
    script = (
        Script()
        .hears("Cancel order 7, it is late; exchange 1 and 2 for 10 and 20.")
        .calls("get_order", {"id": 7})
        .calls("cancel_order", {"id": 7, "reason": "late"})
        .calls("exchange_items", {"old": [2, 1], "new": [20, 10]})
        .says("I have cancelled order 7 and exchanged the items.")
    )
    spent = Usage(4, 900, 100, 0.25), Usage(2, 40, 10, 0.05)
    shown = measure(script.episode(usage=spent[0], user_usage=spent[1]), FACTS)
    assert shown == Measures(
        passed=True,
        assigned=Scenario.S1,
        effective=Scenario.S1,
        realised=None,
        ended=End.DONE,
        escalated=False,
        premature=False,
        correct_abstention=False,
        missed_abstention=False,
        writes=2,
        wrong_writes=0,
        duplicate_writes=0,
        blind_repeats=0,
        fabricated_success=False,
        steps=4,
        calls=3,
        injections=0,
        blocked_calls=0,
        genuine_errors=0,
        longest_loop=1,
        most_repeated=1,
        failures=0,
        recoveries=0,
        recovery_steps=0,
        tokens=1000,
        user_tokens=50,
        cost=pytest.approx(0.30),
        met=(0,) * 10,
        moves=((0,) * 4,) * 7,
        adopted=(0, 0, 0),
    )


@pytest.mark.parametrize(
    ("scenario", "met", "realised"),
    [
        (Scenario.S1, [], None),
        (Scenario.S1, [{"noise": N.TIMEOUT}], Scenario.S1),
        (Scenario.S2, [], None),
        (Scenario.S2, [{"noise": N.STALE, "fields": [("$", "ok", "no")]}], Scenario.S1),
        (Scenario.S2, [{"noise": N.TIMEOUT}, {"blocked": True}], Scenario.S2),
        (Scenario.S3, [{"noise": N.TIMEOUT}], Scenario.S1),
        (Scenario.S3, [{"blocked": True}], Scenario.S3),
    ],
)
def test_the_realised_scenario_is_what_was_met(scenario, met, realised):
    script = Script()
    for how in met:
        script.calls("get_order", **how)
    shown = measure(script.episode(scenario=scenario, assigned=Scenario.S2), FACTS)
    assert (shown.assigned, shown.effective, shown.realised) == (Scenario.S2, scenario, realised)


@pytest.mark.parametrize(
    ("scenario", "escalation", "expected"),
    [
        (Scenario.S1, Escalation.NONE, (False, False, False, False)),
        (Scenario.S1, Escalation.REQUESTED, (True, False, False, False)),
        (Scenario.S2, Escalation.PREMATURE, (True, True, False, False)),
        (Scenario.S3, Escalation.ABSTAIN, (True, False, True, False)),
        (Scenario.S3, Escalation.NONE, (False, False, False, True)),
    ],
)
def test_handing_over_is_judged_by_what_was_left(scenario, escalation, expected):
    shown = measure(Script().episode(scenario=scenario, escalation=escalation), FACTS)
    found = shown.escalated, shown.premature, shown.correct_abstention, shown.missed_abstention
    assert found == expected


def test_every_error_met_is_counted_by_type_and_a_block_apart():
    script = Script()
    for times, noise in enumerate(NOISE_TYPES, start=1):
        for _ in range(times):
            script.calls("get_user", noise=noise)
    script.calls("get_order", blocked=True).calls("get_order", blocked=True)
    shown = measure(script.episode(), FACTS)
    assert shown.met == (1, 2, 3, 4, 5, 6, 7, 8, 9, 2)
    assert shown.met_of(N.AUTH_ERROR) == 5
    assert shown.met_of(BLOCKED) == shown.blocked_calls == 2
    assert shown.injections == 45


def test_moves_after_failures_by_error():
    script = (
        Script()
        .calls("get_order", noise=N.TIMEOUT)  # retry
        .calls("get_order", noise=N.TIMEOUT)  # switch
        .calls("list_orders", noise=N.AUTH_ERROR)  # same side: other
        .calls("get_items", blocked=True)  # back to the other side: switch
        .calls("get_order", noise=N.PARTIAL, fields=[("$", "ok", "")])  # silent: no move
        .calls("get_user", noise=N.SCHEMA_DRIFT)  # abstain
        .calls("hand_over")
        .calls("get_user", noise=N.MALFORMED)  # nothing comes any more: other
    )
    shown = measure(script.episode(), FACTS)
    counted = {
        (error, move): shown.move_of(error, move)
        for error in VISIBLE
        for move in Move
        if shown.move_of(error, move)
    }
    assert counted == {
        (N.TIMEOUT, Move.RETRY): 1,
        (N.TIMEOUT, Move.SWITCH): 1,
        (N.AUTH_ERROR, Move.OTHER): 1,
        (BLOCKED, Move.SWITCH): 1,
        (N.SCHEMA_DRIFT, Move.ABSTAIN): 1,
        (N.MALFORMED, Move.OTHER): 1,
    }


def test_recovery_is_counted_once_a_failure_and_in_steps():
    script = (
        Script()
        .calls("get_order", noise=N.TIMEOUT)  # step 0: begins
        .says("One moment.")
        .calls("get_order", noise=N.SERVER_ERROR)  # step 2: the same failure goes on
        .calls("list_orders")  # step 3: an equivalent tool answers
        .calls("get_user", noise=N.RATE_LIMIT)  # step 4: begins
        .calls("get_user", refused=True)  # step 5: the tool itself says no: an answer
        .calls("get_user", noise=N.RATE_LIMIT)  # step 6: begins, and is never answered
    )
    shown = measure(script.episode(), FACTS)
    assert (shown.failures, shown.recoveries, shown.recovery_steps) == (3, 2, 3 + 1)


def test_a_look_ends_the_failure_of_a_write_whose_answer_was_lost():
    lost = Script().calls("cancel_order", noise=N.TIMEOUT).calls("get_order")
    shown = measure(lost.episode(), FACTS)
    assert (shown.failures, shown.recoveries, shown.recovery_steps) == (1, 1, 1)
    blocked = Script().calls("cancel_order", blocked=True).calls("get_order")
    shown = measure(blocked.episode(), FACTS)
    assert (shown.failures, shown.recoveries) == (1, 0)


def test_loops_are_runs_of_identical_calls():
    script = Script()
    for order in (1, 1, 2, 2, 2, 1, 1):
        script.calls("get_order", {"id": order})
    shown = measure(script.episode(), FACTS)
    assert (shown.longest_loop, shown.most_repeated) == (3, 4)
    assert measure(Script().episode(), FACTS).longest_loop == 0


CANCEL = ("cancel_order", {"id": 7, "reason": "late"})


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([(*CANCEL, {})], (1, 0, 0)),
        ([("cancel_order", {"reason": "late", "id": 7.0}, {})], (1, 0, 0)),
        ([("cancel_order", {"id": 7, "reason": "cheap"}, {})], (1, 1, 0)),
        ([("exchange_items", {"old": [1, 2], "new": [20, 10]}, {})], (1, 1, 0)),  # the pairs are others
        ([("exchange_items", {"old": [2, 1], "new": [20, 10]}, {})], (1, 0, 0)),
        ([(*CANCEL, {}), (*CANCEL, {})], (2, 0, 1)),
        ([("cancel_order", {"id": 8}, {}), ("cancel_order", {"id": 8}, {})], (2, 1, 1)),
        ([(*CANCEL, {"noise": N.TIMEOUT}), (*CANCEL, {})], (2, 0, 1)),  # it had happened
        ([(*CANCEL, {"blocked": True}), (*CANCEL, {})], (1, 0, 0)),  # it had not
        ([(*CANCEL, {"noise": N.RATE_LIMIT, "executed": False}), (*CANCEL, {})], (1, 0, 0)),
        ([("cancel_order", {"id": 9}, {"refused": True})], (0, 0, 0)),
        ([("get_order", {"id": 9}, {})], (0, 0, 0)),
    ],
)
def test_writes_are_right_wrong_or_duplicate(calls, expected):
    script = Script()
    for tool, arguments, how in calls:
        script.calls(tool, arguments, **how)
    shown = measure(script.episode(), FACTS)
    assert (shown.writes, shown.wrong_writes, shown.duplicate_writes) == expected


def test_a_run_folders_facts_come_back_as_they_were():
    for domain in map(domains.load, domains.names()):
        facts = RunFacts(KINDS, domain, {"t": GOLD}, {"t": "general"})
        assert RunFacts.from_dict(json.loads(json.dumps(facts.to_dict()))) == facts


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(NoiseType), st.booleans()), max_size=12
    )
)
def test_whatever_happens_the_counts_agree(calls):
    """Moves add up to visible failures, met errors to injections and blocks, and nothing exceeds what it is of."""
    script = Script()
    for tool, noise, blocked in calls:
        script.calls(tool, {"id": 1}, noise=N.CLEAN if blocked else noise, blocked=blocked)
    shown = measure(script.episode(), FACTS)
    for error, row in zip(VISIBLE, shown.moves, strict=True):
        assert sum(row) == shown.met_of(error)
    assert sum(shown.met) == shown.injections + shown.blocked_calls
    assert shown.recoveries <= shown.failures <= sum(map(sum, shown.moves))
    assert shown.recovery_steps >= shown.recoveries
    assert shown.wrong_writes + shown.duplicate_writes <= shown.writes <= shown.calls
    assert shown.longest_loop <= shown.most_repeated <= shown.calls
    assert all(shown.adopted_of(error) <= shown.met_of(error) for error in SILENT_ERRORS)
    assert {f.name for f in fields(shown)} >= {"met", "moves", "adopted"}
    assert len(shown.met) == len(ERRORS)
