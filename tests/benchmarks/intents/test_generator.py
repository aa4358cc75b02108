"""What the generator promises of every set: counts, novelty, determinism, validity."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench2robust.core.episode import Trajectory
from bench2robust.core.errors import SpecError

from .conftest import SMALL, play

pytestmark = pytest.mark.tau2

WRITES = {
    "cancel_pending_order", "return_delivered_order_items", "exchange_delivered_order_items",
    "modify_pending_order_items", "modify_pending_order_address", "modify_pending_order_payment",
    "modify_user_address",
}  # fmt: skip


CHANGES = ("cancel_", "return_", "exchange_", "modify_", "update_", "book_", "send_")
"""How the names of the writes of every domain begin."""


def make(seed=0, **counts):
    from bench2robust.benchmarks.intents.domains import RETAIL, generated
    from bench2robust.benchmarks.intents.generate import Counts

    return generated(RETAIL, Counts(**counts), seed)


def dump(records):
    from bench2robust.benchmarks.intents.generate import dump as as_bytes

    return as_bytes(records)


def words(record):
    return record["user_scenario"]["instructions"]


def gold(record, *, every=False):
    return sorted(
        json.dumps([a["name"], a["arguments"]], sort_keys=True)
        for a in record["evaluation_criteria"]["actions"]
        if every or a["name"].startswith(CHANGES)
    )


def check_set(records, counts):
    """Counts, ids, novelty of words and of gold."""
    intents = [r["bench2robust"]["intent"] for r in records]
    assert {intent: intents.count(intent) for intent in counts} == counts
    assert len({r["id"] for r in records}) == len(records)
    texts = [
        " ".join(words(r)["reason_for_call"].lower().split()) + words(r)["task_instructions"] for r in records
    ]
    assert len(set(texts)) == len(texts)
    for intent in counts:
        golds = [
            json.dumps(gold(r, every=intent == "infeasible"))
            for r in records
            if r["bench2robust"]["intent"] == intent
        ]
        assert len(set(golds)) == len(golds), intent


def test_the_set_has_the_counts_asked_for_and_nothing_twice(retail_set):
    check_set(retail_set.records, SMALL)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 10**9),
    general=st.integers(0, 6),
    rewrites=st.integers(0, 6),
    changing=st.integers(0, 4),
    infeasible=st.integers(0, 4),
)
def test_any_seed_and_counts_give_a_sound_set(seed, general, rewrites, changing, infeasible):
    counts = {
        "general": general, "ambiguous": min(general, rewrites), "changing": changing, "infeasible": infeasible,
    }  # fmt: skip
    records = make(seed, **counts)
    check_set(records, counts)
    assert dump(records) == dump(make(seed, **counts))


def test_another_seed_gives_other_tasks(retail_set):
    other = make(1, **SMALL)
    texts = {words(r)["reason_for_call"] for r in retail_set.records}
    assert texts.isdisjoint(words(r)["reason_for_call"] for r in other)
    assert not [
        gold(a) for a, b in zip(retail_set.records, other, strict=True) if gold(a) and gold(a) == gold(b)
    ]


def test_who_watches_is_told_of_every_task(retail_set):
    from bench2robust.benchmarks.intents.domains import RETAIL, generated
    from bench2robust.benchmarks.intents.generate import Counts

    seen = []
    generated(RETAIL, Counts(general=3, ambiguous=1), 0, seen.append)
    assert seen == [1, 2, 3, 4]


def test_fewer_tasks_are_a_part_of_more(retail_set):
    """A set does not depend on how many tasks of other intents there are."""
    assert make(general=5) == retail_set.records[:5]


def test_tau2_reads_every_task(retail_set):
    from tau2.data_model.tasks import Task

    for record in json.loads(dump(retail_set.records)):
        theirs = Task.model_validate(record)
        assert theirs.id == record["id"]
        assert len(theirs.evaluation_criteria.actions) == len(record["evaluation_criteria"]["actions"])
        assert words(record)["reason_for_call"] in str(theirs)


def test_every_gold_replays_without_an_error_to_the_gold_state(retail_set):
    for task in retail_set.tasks:
        environment = retail_set.benchmark.open(task, alternatives=False)
        for action in task.gold:
            assert not environment.call(action.call).error, task.id
        said = ["I am sorry, I cannot do that.", *task.tell]
        assert environment.score(Trajectory.saying(said)).passed, task.id


def test_a_missing_write_and_a_missing_value_fail(retail_set):
    for task in retail_set.by_intent["general"]:
        writes = [a.call for a in task.gold if a.call.name in WRITES]
        for left_out in range(len(writes)):
            environment = retail_set.benchmark.open(task)
            for call in [*writes[:left_out], *writes[left_out + 1 :]]:
                environment.call(call)
            assert not environment.score(Trajectory.saying(task.tell)).passed
    telling = [task for task in retail_set.tasks if task.tell]
    assert telling
    for task in telling:
        environment = retail_set.benchmark.open(task)
        for action in task.gold:
            environment.call(action.call)
        assert not environment.score(Trajectory.saying(["Done."])).parts["communicated"]


@pytest.mark.parametrize("agent", ["naive", "retry", "switch", "strategic", "omniscient"])
def test_every_reference_policy_passes_every_task_in_clean(retail_set, agent):
    for task in retail_set.tasks:
        for mode in ("clean", "clean_alt"):
            episode = play(retail_set.benchmark, task, agent, mode)
            assert episode.result.outcome.score.passed, (task.id, mode)


def test_the_words_ground_every_argument(retail_set):
    for task in retail_set.tasks:
        plan = retail_set.benchmark.plan(task)
        assert not plan.ungrounded, task.id
        assert not plan.notes, task.id


def test_a_plan_compiled_from_other_words_is_not_grounded(retail_set):
    """The words matter: with the words of another task, arguments lose their cues or cannot be found."""
    tasks = retail_set.by_intent["general"]
    lost = 0
    for task, other in zip(tasks, [*tasks[1:], tasks[0]], strict=True):
        try:
            lost += bool(
                retail_set.benchmark.compile(replace(task, instructions=other.instructions)).ungrounded
            )
        except Exception:
            lost += 1
    assert lost >= len(tasks) // 3


def test_every_kind_of_write_occurs(retail_set):
    found = {a.call.name for task in retail_set.tasks for a in task.gold}
    assert found >= WRITES
    sizes = {
        len(gold(record)) for record in retail_set.records if record["bench2robust"]["intent"] == "general"
    }
    assert sizes >= {1, 2, 3}


def test_counts_the_database_cannot_support_are_one_line(monkeypatch):
    from bench2robust.benchmarks.intents import generate
    from bench2robust.benchmarks.intents.domains import RETAIL, benchmark_of
    from bench2robust.benchmarks.intents.retail import RetailKit

    monkeypatch.setattr(generate, "ATTEMPTS", 15)
    kit = RetailKit(RETAIL.db)
    kit.people = kit.people[:1]
    with pytest.raises(
        SpecError, match=r"^expected at most \d+ general tasks from this database, got general=500"
    ):
        generate.generate(kit, benchmark_of(RETAIL, "x", tuple), generate.Counts(general=500), 0)


@pytest.mark.parametrize(
    ("counts", "problem"),
    [({"general": -1}, "got general=-1"), ({"general": 1, "ambiguous": 2}, "ambiguous=2 with general=1")],
)
def test_impossible_counts(counts, problem):
    with pytest.raises(SpecError, match=problem):
        make(**counts)


def test_the_verdicts_equal_upstreams(retail_set, upstream):
    """τ²'s own evaluator, on its own environment, for one right and one wrong solution of some tasks."""
    for task in [*retail_set.by_intent["ambiguous"][:2], *retail_set.by_intent["changing"][:1]]:
        for calls in ([a.call for a in task.gold], [a.call for a in task.gold if a.call.name not in WRITES]):
            theirs, ours = upstream.open(), retail_set.benchmark.open(task, alternatives=False)
            exchanges = []
            for call in calls:
                text, _ = upstream.respond(theirs, call)
                assert ours.call(call).text == text
                exchanges.append((call, text))
            score = ours.score(Trajectory.saying(task.tell))
            assert upstream.verdict(task, exchanges, task.tell)[0] == score.parts["database"], task.id


@pytest.mark.parametrize("domain", ["retail", "airline"])
def test_infeasible_tasks_differ_in_their_gold_calls(domain):
    """Most have no write: the calls are the reads that show the rule is broken, and the attempt is no gold."""
    from bench2robust.benchmarks.intents.domains import domain_named, generated
    from bench2robust.benchmarks.intents.generate import Counts

    records = generated(domain_named(domain), Counts(infeasible=50), 0)
    assert len({json.dumps(gold(r, every=True)) for r in records}) == 50


@pytest.mark.parametrize("domain", ["retail", "airline"])
def test_what_users_say_is_grammatical(domain):
    """ "You" is who is spoken of: as an object it becomes "me"."""
    import re

    from bench2robust.benchmarks.intents.domains import domain_named, generated
    from bench2robust.benchmarks.intents.generate import Counts

    wrong = re.compile(
        r"\b(?:told|of|for|to|with|from|at|by) I\b|\bI (?:to|not)\b|\bI know my\b|\b[Yy]our?\b"
    )
    for record in generated(domain_named(domain), Counts(general=60, ambiguous=60, changing=20), 0):
        extras = record["bench2robust"]
        for text in (extras.get("opening", ""), *(a["text"] for a in extras.get("answers", ()))):
            assert not wrong.search(text), text
