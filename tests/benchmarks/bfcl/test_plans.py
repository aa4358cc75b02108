"""Intent plans: complete where nothing fails, grounded, and misled by each kind of silent corruption."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from bench2robust import agents, domains
from bench2robust.benchmarks import bfcl
from bench2robust.benchmarks.bfcl import Category
from bench2robust.benchmarks.bfcl.plan.expressions import Field, Recalled, Said, Sum
from bench2robust.benchmarks.bfcl.plan.goals import Read, Write
from bench2robust.benchmarks.bfcl.plan.speech import Speech
from bench2robust.benchmarks.bfcl.truth import parsed
from bench2robust.core.episode import Assignment, Mode, Scenario
from bench2robust.core.noise import NoiseType
from bench2robust.core.reading import parse, read
from bench2robust.core.tools import ToolKind, ToolResponse
from bench2robust.evaluation import Job, certify_task, run_episode
from bench2robust.injection import InjectionSpec, Limits, NoiseProfile

pytestmark = pytest.mark.bfcl

GOLDEN = Path(__file__).parents[2] / "golden"
NOTHING = InjectionSpec(NoiseProfile.empty())
DOMAIN = domains.load("bfcl")


def half(noise):
    return InjectionSpec(NoiseProfile({noise: 0.5, NoiseType.CLEAN: 0.5}), Limits.unlimited())


def play(benchmark, task, policy, spec=None, blocked=frozenset(), seed=0):
    mode = Mode.INJECT_ALT if spec or blocked else Mode.CLEAN
    block = Assignment(Scenario.S2, Scenario.S2, blocked) if blocked else Assignment()
    return run_episode(benchmark, agents.create(policy), Job(task, mode, seed, block, spec or NOTHING, 200))


def find(benchmark, number):
    return next(task for task in benchmark.tasks() if task.id == number)


def writes(episode, benchmark):
    kinds = {tool.name: tool.kind for tool in benchmark.tools(alternatives=True)}
    return [r.call for r in episode.trajectory.records if kinds[r.call.name] is ToolKind.WRITE and r.executed]


@pytest.mark.parametrize("policy", agents.REFERENCE)
def test_every_policy_passes_every_task_where_nothing_fails(category, policy):
    failed = [t.id for t in category.tasks() if not play(category, t, policy).result.outcome.score.passed]
    assert failed == []


def test_bfcls_own_rule_on_executed_calls_agrees_with_the_plans(base):
    """The plans take the ground truth's own reads first, so BFCL's comparison of texts passes too."""
    stock = [play(base, t, "naive").result.outcome.score.parts["stock_on_executed"] for t in base.tasks()]
    assert all(stock)


def test_what_has_no_provenance_is_listed():
    """The golden list: most are messages to customer support that the user only hints at."""
    benchmark = bfcl.base()
    found = [f"{task.id} {what}" for task in benchmark.tasks() for what in benchmark.plan(task).ungrounded]
    assert "\n".join(found) + "\n" == (GOLDEN / "bfcl_ungrounded.txt").read_text()


def test_a_literal_of_a_plan_is_said_or_is_a_choice_or_is_listed(base):
    """Nothing in a plan is gold's unless the words hold it, the documentation offers it, or the plan says so."""
    for task in base.tasks():
        plan = base.plan(task)
        words = Speech("\n".join((task.script.opening, *task.script.turns)))
        listed = {what.split(".", 2)[2] for what in plan.ungrounded}
        for goal in plan.goals:
            for step in goal.steps:
                properties = base.blueprint(task).tools[step.tool].spec.parameters["properties"]
                for name, expression in step.arguments.items():
                    if not isinstance(expression, Said) or f"{step.tool}.{name}" in listed:
                        continue
                    value, schema = expression.literal, properties.get(name, {})
                    offered = str(schema.get("description", "")) + str(schema.get("enum", ""))
                    choice = isinstance(value, bool | list) or value in ("", "..", ".", schema.get("default"))
                    number = isinstance(value, int | float)
                    assert choice or words.says(value) or (number or str(value) in offered), (
                        task.id,
                        name,
                        value,
                    )


def test_ids_that_tools_make_come_from_what_was_delivered(base):
    """Bookings, orders, tickets, tweets, tokens and cards made in the episode."""
    made = Counter()
    for task in base.tasks():
        for goal in base.plan(task).goals:
            for step in goal.steps:
                for name, expression in step.arguments.items():
                    if isinstance(expression, Recalled | Field) and name.endswith(("_id", "token")):
                        made[name] += 1
    assert made["booking_id"] > 40
    assert made["order_id"] > 40
    assert made["tweet_id"] > 10
    assert made["access_token"] >= 3


def test_reads_that_gold_does_not_show_are_made(base):
    explored = Counter(
        step.tool
        for task in base.tasks()
        for goal in base.plan(task).goals
        for step in goal.steps
        if isinstance(step, Read) and step.fact.endswith("?")
    )
    assert {
        "get_nearest_airport_by_city",
        "get_symbol_by_name",
        "get_user_id",
        "displayCarStatus",
        "ls",
    } <= set(explored)


def test_a_full_tank_is_computed_from_the_level_that_was_delivered(base):
    goal = base.plan(find(base, "73")).goals[0]
    fill = next(step for step in goal.steps if isinstance(step, Write))
    assert isinstance(fill.arguments["fuelAmount"], Sum)
    assert fill.arguments["fuelAmount"].constant == 50


@cache
def clean_writes(number):
    benchmark = bfcl.base()
    return [call.signature() for call in writes(play(benchmark, find(benchmark, number), "retry"), benchmark)]


@pytest.mark.parametrize(
    ("noise", "number", "tool", "argument"),
    [
        (NoiseType.FACTUAL, "73", "fillFuelTank", "fuelAmount"),
        (NoiseType.FACTUAL, "147", "post_tweet", "content"),
        (NoiseType.FACTUAL, "120", "place_order", "price"),
        (NoiseType.FACTUAL, "167", "set_budget_limit", "budget_limit"),
        (NoiseType.PARTIAL, "94", "set_navigation", "destination"),
        (NoiseType.PARTIAL, "33", "send_message", "receiver_id"),
        (NoiseType.PARTIAL, "43", "send_message", "message"),
    ],
)
def test_a_corrupted_read_changes_a_write(noise, number, tool, argument):
    benchmark = bfcl.base()
    task, right = find(benchmark, number), clean_writes(number)
    for seed in range(40):
        episode = play(benchmark, task, "retry", half(noise), seed=seed)
        wrong = [
            call for call in writes(episode, benchmark) if call.name == tool and call.signature() not in right
        ]
        if wrong:
            delivered = [f.delivered for r in episode.trajectory.records for f in r.corrupted]
            assert delivered
            assert not episode.result.outcome.score.passed
            assert argument in wrong[0].arguments
            return
    raise AssertionError("never misled")


def test_a_stale_order_is_told_as_it_was(base):
    """An order that is Open is reported as Pending: the world is right, what the user was told is not."""
    benchmark, misled = bfcl.base(), 0
    for number in ("102", "120", "148"):
        for seed in range(10):
            episode = play(benchmark, find(benchmark, number), "strategic", half(NoiseType.STALE), seed=seed)
            stale = [r for r in episode.trajectory.records if r.noise is NoiseType.STALE]
            assert all(field.path.endswith("status") for record in stale for field in record.corrupted)
            score = episode.result.outcome.score
            if any(r.call.name == "get_order_details" for r in stale):
                assert score.parts["state"]
                assert not score.parts["answers"]
                assert score.parts["stock_on_executed"]
                assert any("'Pending'" in text for text in episode.trajectory.said)
                misled += 1
    assert misled


def test_each_silent_type_misleads_in_many_tasks():
    """With every second answer corrupted, a policy that does not doubt fails most tasks in which one landed."""
    benchmark = bfcl.base()
    lost = Counter()
    for noise in (NoiseType.PARTIAL, NoiseType.STALE, NoiseType.FACTUAL):
        for task in benchmark.tasks()[::3]:
            episode = play(benchmark, task, "retry", half(noise))
            if any(record.landed for record in episode.trajectory.records):
                lost[noise] += not episode.result.outcome.score.passed
    assert lost[NoiseType.PARTIAL] > 25, lost
    assert lost[NoiseType.FACTUAL] > 25, lost
    assert lost[NoiseType.STALE] >= 3, lost


def test_doubts_make_the_strategic_policy_better_than_retry():
    benchmark = bfcl.base()
    passed = {
        policy: sum(
            play(benchmark, task, policy, half(NoiseType.PARTIAL)).result.outcome.score.passed
            for task in benchmark.tasks()
        )
        for policy in ("retry", "strategic")
    }
    assert passed["strategic"] > passed["retry"] + 40, passed


def test_a_read_that_is_blocked_is_made_another_way(base):
    for task in base.tasks():
        for step in [step for turn in base.truth(task).turns for step in turn.steps]:
            if step.call.name == "retrieve_invoice" and step.readings:
                blocked = frozenset({"retrieve_invoice"})
                for policy in ("strategic", "switch", "omniscient"):
                    assert play(base, task, policy, blocked=blocked).result.outcome.score.passed, (
                        task.id,
                        policy,
                    )
                assert not play(base, task, "retry", blocked=blocked).result.outcome.score.passed


@pytest.mark.parametrize("number", ["38", "111", "119", "162"])
def test_a_write_that_is_blocked_is_made_another_way(base, number):
    task = find(base, number)
    instead = {
        step.call.name: way for turn in base.truth(task).turns for step in turn.steps for way in step.writings
    }
    for tool in instead:
        episode = play(base, task, "strategic", blocked=frozenset({tool}))
        assert episode.result.outcome.score.passed
        assert not play(base, task, "retry", blocked=frozenset({tool})).result.outcome.score.passed


def test_a_write_whose_answer_is_lost_is_looked_up_before_it_is_repeated():
    """Every first answer is lost: strategic does not order, tweet, send or book twice; retry does."""
    benchmark = bfcl.base()
    once = {"post_tweet", "send_message", "book_flight", "place_order", "comment", "fund_account"}
    twice = Counter()
    for policy in ("retry", "strategic"):
        for task in benchmark.tasks():
            episode = play(benchmark, task, policy, half(NoiseType.TIMEOUT))
            calls = Counter(call.signature() for call in writes(episode, benchmark) if call.name in once)
            right = Counter(a.call.signature() for a in task.gold)
            twice[policy] += sum(n > max(1, right[what]) for what, n in calls.items())
    assert twice["retry"] >= 30, twice
    assert twice["strategic"] <= twice["retry"] / 10, twice


def test_the_id_of_something_made_is_read_where_its_answer_was_lost(base):
    """The booking's id is in the booking history, the order's in the order history."""
    task = find(base, "163")
    cancel = next(s for s in base.plan(task).goals[1].steps if isinstance(s, Write))
    recalled = cancel.arguments["booking_id"]
    assert isinstance(recalled, Recalled)
    assert next(recalled.read.facts()).endswith("get_booking_history?")
    passed = 0
    for seed in range(12):
        episode = play(bfcl.base(), task, "strategic", half(NoiseType.TIMEOUT), seed=seed)
        lost = [r for r in episode.trajectory.records if r.call.name == "book_flight" and r.answer_lost]
        if lost and episode.result.outcome.score.passed:
            assert any(r.call.name == "get_booking_history" for r in episode.trajectory.records)
            passed += 1
    assert passed


def test_every_gold_answer_reads_as_what_it_is(category):
    """No genuine answer looks damaged or like a failure to an agent, and both layers parse it alike."""
    for task in category.tasks():
        for turn in category.truth(task).turns:
            for step in turn.steps:
                reading = read(ToolResponse(step.text))
                assert reading.noise is None, step.text
                assert reading.value == parsed(step.text) == parse(step.text)


def test_the_domain_file_names_fields_that_answers_have(base):
    """Every tool with rules that gold calls answers with at least one field of them, somewhere."""
    seen = {}
    for task in base.tasks():
        for step in [step for turn in base.truth(task).turns for step in turn.steps]:
            rules = DOMAIN.fields.get(step.call.name)
            if rules is not None and isinstance(step.value, dict):
                paths = {p.split(".")[0] for p in (*rules.critical, *rules.state, *rules.numeric)}
                seen[step.call.name] = seen.get(step.call.name, False) or bool(paths & step.value.keys())
    assert all(seen.values()), seen
    assert len(seen) > 30


@pytest.mark.slow
def test_certificates(category):
    """How many tasks can need a switch or be made impossible; functions that come late take no eligibility away."""
    found = [certify_task(category, task) for task in category.tasks()]
    assert sum(eligibility.s2 for eligibility in found) >= (
        70 if category.category is Category.LONG_CONTEXT else 80
    )
    assert sum(bool(eligibility.s3) for eligibility in found) >= 140
    for task, eligibility in zip(category.tasks(), found, strict=True):
        assert eligibility.s2 or eligibility.reasons["s2"], task.id
        assert eligibility.s3 or eligibility.reasons["s3"], task.id
