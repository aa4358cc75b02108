"""Trials of one task never influence each other: one after the other, interleaved, in threads, in processes."""

from __future__ import annotations

import decimal
import importlib.util
import json
import os
import runpy
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bench2robust.benchmarks.bfcl.provider import api_class, padding
from bench2robust.core.tools import ToolCall

from .playing import play

pytestmark = pytest.mark.bfcl

ROOT = Path(__file__).parents[3]


def gold_calls(benchmark, task, environment):
    for number, turn in enumerate(benchmark.truth(task).turns):
        environment.begin(number)
        yield from turn.steps


def gold_texts(benchmark, task):
    environment = benchmark.open(task)
    return [environment.call(step.call).text for step in gold_calls(benchmark, task, environment)]


def find(benchmark, number):
    return next(task for task in benchmark.tasks() if task.id == number)


def disturb(benchmark, task):
    """Make every gold call twice, and hand the instances back used."""
    environment = benchmark.open(task)
    for step in gold_calls(benchmark, task, environment):
        environment.call(step.call)
        environment.call(step.call)
    return environment


def test_an_imperfect_trial_does_not_change_a_perfect_one(category):
    kept = []
    for task in category.tasks():
        before = [step.text for turn in category.truth(task).turns for step in turn.steps]
        kept.append(disturb(category, task))
        assert gold_texts(category, task) == before, task.id
        assert play(category, task).score().passed


def test_interleaved_trials_do_not_see_each_other(category):
    for task in category.tasks():
        trials = [category.open(task) for _ in range(3)]
        steps = [gold_calls(category, task, trial) for trial in trials]
        for ready in zip(*steps, strict=True):
            assert [trial.call(s.call).text for trial, s in zip(trials, ready, strict=True)] == [
                ready[0].text
            ] * 3


def test_threads_do_not_disturb_each_other(category):
    """Eight threads at a time over all tasks, each task four times; among them those that set a precision."""
    tasks = [task for task in category.tasks() for _ in range(4)]
    expected = {
        task.id: [s.text for turn in category.truth(task).turns for s in turn.steps]
        for task in category.tasks()
    }
    with ThreadPoolExecutor(8) as pool:
        texts = pool.map(lambda task: gold_texts(category, task), tasks)
        assert all(found == expected[task.id] for task, found in zip(tasks, texts, strict=True))
        assert all(pool.map(lambda task: play(category, task).score().passed, tasks))


def test_threads_with_different_precisions(base):
    """The precision of logarithm and square_root is the call's own."""
    task = find(base, "49")
    calls = [
        ToolCall(name, {first: 20, **more, "precision": digits})
        for digits in (2, 5, 9, 15)
        for name, first, more in (("logarithm", "value", {"base": 10}), ("square_root", "number", {}))
    ]
    alone = {call.signature(): base.open(task).call(call).text for call in calls}
    assert len(set(alone.values())) == len(calls)
    barrier = threading.Barrier(8)

    def hammer(call):
        environment = base.open(task)
        barrier.wait()
        return {environment.call(call).text for _ in range(50)}

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(hammer, calls)) == [{alone[call.signature()]} for call in calls]


def test_the_processs_precision_is_left_as_it_was(base):
    import mpmath

    before = mpmath.mp.dps, decimal.getcontext().prec
    environment = base.open(find(base, "49"))
    environment.call(ToolCall("logarithm", {"value": 20, "base": 10, "precision": 3}))
    environment.call(ToolCall("square_root", {"number": 20, "precision": 3}))
    environment.call(ToolCall("logarithm", {"value": -1, "base": 0, "precision": 3}))
    assert (mpmath.mp.dps, decimal.getcontext().prec) == before


PROCESS = """
import json, sys
from bench2robust.benchmarks import bfcl
from tests.benchmarks.bfcl.test_isolation import disturb, find, gold_texts

benchmark = bfcl.base_all()
for number in json.load(sys.stdin):
    disturb(benchmark, find(benchmark, number))
    print(json.dumps(gold_texts(benchmark, find(benchmark, number))))
"""


def test_processes_agree(base):
    """Other processes, other hash seeds, another order: the same answers."""
    numbers = ["0", "32", "90", "147", "172"]
    expected = {number: gold_texts(base, find(base, number)) for number in numbers}
    for seed, order in (("1", numbers), ("2", numbers[::-1])):
        done = subprocess.run(
            [sys.executable, "-c", PROCESS],
            input=json.dumps(order),
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert lines == [expected[number] for number in order]


def test_a_mention_does_not_reach_the_default_of_the_next_tweet(base):
    """BFCL's post_tweet keeps its default list: a mention would be in every later tweet of the process."""
    task = find(base, "147")
    first = base.open(task)
    first.call(ToolCall("post_tweet", {"content": "x"}))
    first.call(ToolCall("mention", {"tweet_id": 1, "mentioned_usernames": ["@eve"]}))
    for environment in (first, base.open(task)):
        assert '"mentions": []' in environment.call(ToolCall("post_tweet", {"content": "y"})).text


def test_a_booking_on_an_extension_card_stays_in_its_episode(long_context):
    """BFCL puts its padding cards into every instance by reference."""
    task = find(long_context, "150")
    token = {"access_token": "abc123token"}
    card = {**token, "card_id": "1234567812345678"}
    booking = {
        **card,
        "travel_date": "2026-10-06",
        "travel_from": "RMS",
        "travel_to": "SBK",
        "travel_class": "economy",
    }
    first, second = long_context.open(task), long_context.open(task)
    before = second.call(ToolCall("get_credit_card_balance", card)).text
    first.call(ToolCall("set_budget_limit", {**token, "budget_limit": 10}))
    assert not first.call(ToolCall("book_flight", booking)).error
    assert first.call(ToolCall("get_credit_card_balance", card)).text != before
    assert second.call(ToolCall("get_credit_card_balance", card)).text == before
    assert long_context.open(task).call(ToolCall("get_credit_card_balance", card)).text == before


def test_each_instance_draws_from_its_own_generator(long_context, base):
    for benchmark in (base, long_context):
        task = find(benchmark, "91")
        call = ToolCall("get_outside_temperature_from_google")
        first, second = benchmark.open(task), benchmark.open(task)
        answers = [first.call(call).text for _ in range(3)]
        assert len(set(answers)) == 3
        assert [second.call(call).text for _ in range(3)] == answers


def test_a_directory_copied_into_itself_is_equal_to_nothing_and_breaks_nothing(base):
    environment = base.open(find(base, "1"))
    for call in (ToolCall("mkdir", {"dir_name": "a"}), ToolCall("cp", {"source": "a", "destination": "a"})):
        environment.call(call)
    assert isinstance(environment.call(ToolCall("find", {})).text, str)
    assert isinstance(environment.call(ToolCall("ls", {"a": True})).text, str)


def test_what_the_process_shares_is_never_written(category):
    for task in category.tasks()[::10]:
        blueprint = category.blueprint(task)
        before = repr(blueprint.state), dict(blueprint.copies), repr(blueprint.entry.config)
        disturb(category, task)
        play(category, task).score()
        assert (repr(blueprint.state), dict(blueprint.copies), repr(blueprint.entry.config)) == before


def test_no_function_changes_the_padding(long_context):
    """Its text is remembered by its identity (`texts`)."""
    name = api_class("TradingBot").__module__.replace("trading_bot", "long_context")
    known = padding()
    source = runpy.run_path(importlib.util.find_spec(name).origin)
    fresh = tuple(value for value in source.values() if isinstance(value, str | list) and len(value) >= 500)
    for task in long_context.tasks():
        disturb(long_context, task)
    assert repr(known) == repr(fresh)
