"""Benchmarks that are wrong in ways that look right: each is found, by the check that is about it."""

from __future__ import annotations

import itertools
import json
import random
import threading
from dataclasses import replace

import pytest

from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark
from bench2robust.benchmarks.helpdesk.desk import Desk
from bench2robust.core.episode import Score
from bench2robust.core.errors import UsageError
from bench2robust.core.tools import ToolKind, ToolResponse
from bench2robust.testing import check_benchmark

COUNTER = itertools.count()
CURRENT: dict = {}


class Bench(HelpdeskBenchmark):
    """A helpdesk that is right."""

    desk = Desk

    def __init__(self, n=8, seed=21):
        super().__init__(n, seed=seed)

    def open(self, task, *, alternatives=True):
        return self.desk(task, alternatives=alternatives)


def problems(benchmark, check):
    (found,) = check_benchmark(benchmark, checks=[check]).checks
    return [failure.problem for failure in found.failures]


def with_desk(desk):
    return type("Broken", (Bench,), {"desk": desk})()


def gold_desk(task):
    desk = Desk(task)
    for action in task.gold:
        desk.call(action.call)
    return desk


class Called(Desk):
    """Passes when the gold calls were among those made, whatever came after."""

    __slots__ = ()

    def score(self, trajectory):
        made = [record.call for record in trajectory.records if record.executed]
        parts = dict(super().score(trajectory).parts)
        parts["database"] = all(action.call in made for action in self._task.gold)
        return Score(all(parts.values()), parts)


class Narrow(Desk):
    """Compares the tickets that gold changes, and no others."""

    __slots__ = ()

    def score(self, trajectory):
        gold = gold_desk(self._task)
        fresh = Desk(self._task)
        parts = dict(super().score(trajectory).parts)
        changed = [key for key, ticket in gold._tickets.items() if ticket != fresh._tickets.get(key)]
        same = all(self._tickets.get(key) == gold._tickets[key] for key in changed)
        parts["database"] = same and self._orders == gold._orders
        return Score(all(parts.values()), parts)


class Changed(Desk):
    """Sees that a record was changed, and not to what."""

    __slots__ = ()

    def score(self, trajectory):
        gold, fresh = gold_desk(self._task), Desk(self._task)
        parts = dict(super().score(trajectory).parts)
        parts["database"] = all(
            (ticket != fresh._tickets.get(key)) == (self._tickets.get(key) != fresh._tickets.get(key))
            for key, ticket in gold._tickets.items()
        ) and len(self._orders) == len(gold._orders)
        return Score(all(parts.values()), parts)


@pytest.mark.parametrize(
    ("desk", "where"),
    [(Called, "after gold"), (Narrow, "after gold"), (Changed, "in place of a write of gold")],
)
def test_a_verdict_that_another_end_passes_is_found(desk, where):
    assert any(
        f"{where}, which leaves another world" in problem for problem in problems(with_desk(desk), "ends")
    )
    assert problems(with_desk(desk), "gold") == []


class Flagged(Desk):
    """Handing over sets something that later episodes of the process see."""

    __slots__ = ()
    flag = False

    def call(self, call):
        if call.name == "transfer_to_human":
            type(self).flag = True
        response = super().call(call)
        return replace(response, text=response.text + " (queue)") if self.flag else response


def test_what_handing_over_leaves_behind_is_found():
    assert "an episode that is over changes what the calls of the next one get" in problems(
        with_desk(Flagged), "apart"
    )


class Current(Desk):
    """The environment that is called is put where the tools look for it: right until two are called at once."""

    __slots__ = ()

    def call(self, call):
        CURRENT["desk"] = self
        return self._through()(call)

    def _through(self):
        desk = CURRENT["desk"]
        return super(Current, desk).call


class Steady(Current):
    """The same, one place for each thread."""

    __slots__ = ()
    here = threading.local()

    def call(self, call):
        self.here.desk = self
        return super(Current, self.here.desk).call(call)


def test_a_current_environment_of_the_process_is_found_in_threads():
    assert problems(with_desk(Current), "apart") == []
    assert "episodes in other threads change what the calls of one get" in problems(
        with_desk(Current), "threads"
    )
    assert problems(with_desk(Steady), "threads") == []


@pytest.mark.parametrize(
    ("name", "value", "check", "problem"),
    [
        (
            "version",
            property(lambda self: str(next(COUNTER)), lambda self, value: None),
            "tools",
            "expected the same version",
        ),
        ("policy", lambda self, alternatives: f"Help {next(COUNTER)}.", "tools", "expected the same policy"),
        (
            "tasks",
            lambda self: random.sample(list(HelpdeskBenchmark.tasks(self)), 8),
            "tasks",
            "expected the same tasks in the same order whenever asked",
        ),
        ("tasks", lambda self: [], "tasks", "expected tasks, got none"),
    ],
)
def test_what_a_benchmark_says_otherwise_each_time_is_found(name, value, check, problem):
    bench = type("Unsteady", (Bench,), {name: value})()
    assert any(found.startswith(problem) for found in problems(bench, check))


class Judging(Desk):
    """Closes every ticket when it is judged."""

    __slots__ = ()

    def score(self, trajectory):
        score = super().score(trajectory)
        self._tickets.clear()
        return score


def test_a_verdict_that_changes_the_world_is_found():
    found = problems(with_desk(Judging), "again")
    assert "a second verdict on the same end is another one" in found


class Drifting(Desk):
    """A read that is right nine times."""

    __slots__ = ("_times",)

    def __init__(self, task, *, alternatives=True):
        super().__init__(task, alternatives=alternatives)
        self._times = 0

    def call(self, call):
        self._times += 1
        response = super().call(call)
        return replace(response, text=response.text + " ") if self._times > 9 else response


def test_a_read_that_drifts_is_found():
    assert any(
        "changes though nothing has happened" in found for found in problems(with_desk(Drifting), "reads")
    )


class Disguised(Bench):
    """Its writes are declared as reads, and every end is a good one: nothing is left to check."""

    class Always(Desk):
        """Every end is a good end."""

        __slots__ = ()

        def score(self, trajectory):
            return Score(passed=True)

    desk = Always

    def tools(self, alternatives):
        return [
            replace(tool, kind=ToolKind.READ) if tool.kind is ToolKind.WRITE else tool
            for tool in super().tools(alternatives)
        ]


def test_writes_that_are_declared_as_reads_are_found():
    found = problems(Disguised(), "reads")
    assert any(f.startswith("set_state, of kind read, changes the world (its _tickets") for f in found)
    assert "doing nothing passes every one of 8 tasks" in problems(Disguised(), "wrong")


class Swapped(Desk):
    """The fallback tells of another priority than the list."""

    __slots__ = ()

    def call(self, call):
        response = super().call(call)
        if call.name != "get_status" or response.error:
            return response
        answer = json.loads(response.text)
        return ToolResponse(json.dumps({**answer, "priority": answer["priority"] + 10}))


def test_a_fallback_that_says_something_else_is_found():
    found = problems(with_desk(Swapped), "sides")
    assert any("ticket by list says priority=" in f and ", by search priority='1" in f for f in found)
    assert problems(Bench(), "sides") == []


class Leaving(Desk):
    """A call that fails leaves an order that no gold call looks at."""

    __slots__ = ()

    def call(self, call):
        response = super().call(call)
        if response.error and call.name == "set_state":
            self._models["lost"] = next(iter(self._models.values()))
        return response


def test_a_wrong_call_that_changes_what_nobody_reads_is_found():
    found = problems(with_desk(Leaving), "errors")
    assert any(f == "an error, and a change of the world (its _models), for set_state({})" for f in found)


@pytest.mark.parametrize("id_", ["a/0 b", "a b", "a,b", "all", "0-5", "..", "", "a\0", "a\\b"])
def test_an_id_that_cannot_be_used_is_found(id_):
    bench = Bench()
    tasks = [replace(bench.tasks()[0], id=id_), bench.tasks()[1]]
    bench.tasks = lambda: tasks
    assert any(repr(id_) in found for found in problems(bench, "tasks"))


def test_an_id_that_is_another_one_and_a_colon_is_found():
    bench = Bench()
    first, second, *_ = bench.tasks()
    tasks = [replace(first, id="a"), replace(second, id="a:0")]
    bench.tasks = lambda: tasks
    assert problems(bench, "tasks") == [
        "expected no id that is another one and a colon, got id='a:0' beside 'a'"
    ]


def test_no_checks_at_all_is_an_error():
    with pytest.raises(UsageError, match=r"expected at least one check, got checks=\[\]"):
        check_benchmark(Bench(), checks=[])
