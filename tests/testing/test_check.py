"""The conformance check: it passes what is right, and each kind of wrong fails in its own check."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import pytest

from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark
from bench2robust.benchmarks.helpdesk.desk import Desk
from bench2robust.core.episode import Score
from bench2robust.core.errors import UnknownNameError
from bench2robust.core.plan import Act, Done, Say
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse
from bench2robust.testing import CHECKS, check_benchmark, sample

COUNTER = itertools.count()


def failing(benchmark, tasks=("all",)):
    """Return the names of the checks that fail."""
    return [check.name for check in check_benchmark(benchmark, tasks).checks if not check.passed]


class Bench(HelpdeskBenchmark):
    """A helpdesk of a few tasks that is right; what follows breaks one thing each."""

    desk = Desk

    def __init__(self):
        super().__init__(8, seed=21)

    def open(self, task, *, alternatives=True):
        return self.desk(task, alternatives=alternatives)


def with_desk(desk):
    return type("Broken", (Bench,), {"desk": desk})()


def test_what_is_right_passes_every_check():
    report = check_benchmark(Bench())
    assert report.passed, str(report)
    assert not any(check.skipped for check in report.checks)
    assert str(report).endswith("helpdesk: 8 tasks, everything holds")


def test_a_registered_benchmark_is_played_in_another_process_too():
    report = check_benchmark("helpdesk", ["0-3"])
    assert report.passed, str(report)
    assert not any(check.skipped for check in report.checks)
    assert report.tasks == 4
    assert {check.name for check in report.checks} == set(CHECKS)


def test_unknown_tasks_and_benchmarks_are_usage_errors():
    with pytest.raises(UnknownNameError, match="unknown task='999'"):
        check_benchmark("helpdesk", ["999"])
    with pytest.raises(UnknownNameError, match="did you mean 'helpdesk'"):
        check_benchmark("helpdesc")


def test_single_checks_can_be_chosen():
    report = check_benchmark(Bench(), checks=["gold", "tools"])
    assert [check.name for check in report.checks] == ["tools", "gold"]
    with pytest.raises(UnknownNameError, match="unknown check='golf'; did you mean 'gold'"):
        check_benchmark(Bench(), checks=["golf"])


def test_a_sample_is_evenly_spread():
    assert sample(Bench(), 3) == ["21.0", "21.2", "21.5"]
    assert len(sample(Bench(), 99)) == 8


class RandomAnswers(Desk):
    """Answers that depend on how often anything was asked."""

    __slots__ = ()

    def call(self, call):
        response = super().call(call)
        if call.name == "get_orders":
            return response
        return ToolResponse(response.text + " " * (next(COUNTER) % 7), response.error)


class SharedState(Desk):
    """All episodes write to the same tickets."""

    __slots__ = ()
    everywhere: dict = {}  # noqa: RUF012 (that is the mistake)

    def __init__(self, task, *, alternatives=True):
        super().__init__(task, alternatives=alternatives)
        self._tickets = self.everywhere.setdefault(task.id, self._tickets)
        self._orders = self.everywhere.setdefault((task.id, "orders"), self._orders)


class Quiet(Desk):
    """All episodes write to the same tickets, and no answer shows it; its verdict is as blind."""

    __slots__ = ()
    everywhere: dict = {}  # noqa: RUF012 (that is the mistake)

    def __init__(self, task, *, alternatives=True):
        super().__init__(task, alternatives=alternatives)
        self._tickets = self.everywhere.setdefault(task.id, self._tickets)

    def call(self, call):
        return replace(super().call(call), text="fine")


class AlwaysRight(Desk):
    """Every end is a good end."""

    __slots__ = ()

    def score(self, trajectory):
        return Score(passed=True)


class NeverRight(Desk):
    """No end is a good end."""

    __slots__ = ()

    def score(self, trajectory):
        return Score(passed=False, parts={"luck": False})


class Deaf(Desk):
    """What the user is told does not matter."""

    __slots__ = ()

    def score(self, trajectory):
        score = super().score(trajectory)
        return Score(score.parts["database"] and score.parts["handed_over"], {})


class Raises(Desk):
    """A tool that raises instead of answering with an error."""

    __slots__ = ()

    def call(self, call):
        if call.name == "no_such_tool":
            raise KeyError(call.name)
        return super().call(call)


class Accepts(Desk):
    """A tool that takes calls without arguments."""

    __slots__ = ()

    def call(self, call):
        return super().call(call) if call.arguments else ToolResponse("fine")


class Numbers(Desk):
    """Answers that are no texts."""

    __slots__ = ()

    def call(self, call):
        response = super().call(call)
        return ToolResponse(4, response.error) if call.name == "add" else response


@pytest.mark.parametrize(
    ("desk", "check"),
    [
        (RandomAnswers, "again"),
        (SharedState, "apart"),
        (Quiet, "apart"),
        (AlwaysRight, "wrong"),
        (NeverRight, "gold"),
        (Deaf, "wrong"),
        (Raises, "errors"),
        (Accepts, "errors"),
    ],
)
def test_an_environment_that_breaks_a_promise_is_found(desk, check):
    SharedState.everywhere.clear()
    Quiet.everywhere.clear()
    assert check in failing(with_desk(desk))


def test_an_answer_that_is_no_text_is_found():
    bench = with_desk(Numbers)
    task = next(t for t in HelpdeskBenchmark(200).tasks() if any(a.call.name == "add" for a in t.gold))
    bench.tasks = lambda: [task]
    assert "lines" in failing(bench)


def test_a_verdict_that_ignores_one_write_of_two_is_found():
    class Forgiving(Desk):
        """Any single write will do."""

        __slots__ = ()

        def score(self, trajectory):
            parts = dict(super().score(trajectory).parts)
            parts["database"] = self._state() != Desk(self._task)._state()
            return Score(all(parts.values()), parts)

    report = check_benchmark(with_desk(Forgiving))
    wrong = next(check for check in report.checks if check.name == "wrong")
    assert wrong.failures
    assert all("gold passes without its write " in failure.problem for failure in wrong.failures)


class HalfBlind(Desk):
    """Sees everything but priorities."""

    __slots__ = ()

    def score(self, trajectory):
        gold = Desk(self._task)
        for action in self._task.gold:
            gold.call(action.call)
        same = seen(self._tickets) == seen(gold._tickets) and self._orders == gold._orders
        told = super().score(trajectory).parts
        return Score(same and told["communicated"] and told["handed_over"], told)


def seen(tickets):
    return {key: replace(ticket, priority="") for key, ticket in tickets.items()}


def test_one_write_among_several_that_the_verdict_does_not_see_is_found_and_named():
    report = check_benchmark(with_desk(HalfBlind), checks=["gold", "wrong"])
    missed = {
        (task.id, a.call.signature())
        for task in Bench().tasks()
        for a in task.gold
        if a.call.name == "set_priority"
    }
    problems = {(f.task, f.problem) for f in report.checks[1].failures}
    assert missed
    assert {(task, f"gold passes without its write {call}") for task, call in missed} <= problems
    assert report.checks[0].passed


class Diary(Desk):
    """Keeps a log of its calls, which is not its world."""

    __slots__ = ("log",)

    def __init__(self, task, *, alternatives=True):
        super().__init__(task, alternatives=alternatives)
        self.log = []

    def call(self, call):
        self.log.append(call)
        return super().call(call)


def test_a_write_that_gold_makes_twice_need_not_be_noticed():
    bench = with_desk(Diary)
    tasks = [task for task in bench.tasks() if any(a.call.name == "set_priority" for a in task.gold)]
    doubled = [
        replace(task, gold=tuple(a for a in task.gold for _ in range(1 + (a.call.name == "set_priority"))))
        for task in tasks
    ]
    bench.tasks = lambda: doubled
    report = check_benchmark(bench, checks=["gold", "wrong"])
    assert doubled
    assert report.passed, str(report)


def break_tools(change):
    """Return a bench whose tools are changed."""
    bench = Bench()
    tools = [change(tool) for tool in bench.tools(alternatives=True)]
    bench.tools = lambda alternatives: [tool for tool in tools if alternatives or not tool.alternative]
    return bench


def renamed(tool):
    return replace(tool, name="add") if tool.name == "get_orders" else tool


def with_parameters(**changes):
    def change(tool):
        if tool.name != "set_priority":
            return tool
        return replace(tool, parameters={**tool.parameters, **changes})

    return change


@pytest.mark.parametrize(
    ("change", "check", "problem"),
    [
        (renamed, "tools", "expected each tool once, got tool='add' twice"),
        (renamed, "domain", "responses: expected tools of the benchmark, got 'get_orders'"),
        (with_parameters(type="dict"), "tools", "expected the schema of an object"),
        (with_parameters(required=["tickt"]), "tools", "required='tickt' is no property"),
        (with_parameters(properties={"ticket": {"type": "text"}}), "tools", "unknown type='text'"),
        (
            with_parameters(properties={"ticket": {"type": "integer"}, "priority": {"type": "integer"}}),
            "tasks",
            "arguments.ticket: expected integer, got 't",
        ),
        (
            lambda tool: replace(tool, kind=ToolKind.WRITE) if tool.name == "add" else tool,
            "domain",
            "needs: expected every write, 'add' is missing",
        ),
        (
            lambda tool: replace(tool, kind=ToolKind.READ) if tool.name == "set_state" else tool,
            "domain",
            "needs: expected writes, got 'set_state', which is of kind read",
        ),
        (
            lambda tool: replace(tool, kind=ToolKind.READ) if tool.name == "transfer_to_human" else tool,
            "tools",
            "expected a tool of kind escalation, got none",
        ),
    ],
)
def test_tools_that_do_not_fit_are_found(change, check, problem):
    report = check_benchmark(break_tools(change))
    found = next(c for c in report.checks if c.name == check)
    assert any(problem in str(failure) for failure in found.failures), report


def test_tools_that_come_without_being_alternatives_are_found():
    bench = Bench()
    tools = bench.tools(alternatives=True)
    bench.tools = lambda alternatives: tools
    assert failing(bench) == ["tools"]


def test_a_plan_that_holds_an_id_is_found():
    bench = Bench()
    plan = bench.plan

    def knowing(task):
        goals = [replace(g, introduction=g.introduction + " t99") for g in plan(task).goals]
        return replace(plan(task), goals=tuple(goals))

    bench.plan = knowing
    report = check_benchmark(bench)
    assert not next(c for c in report.checks if c.name == "ids").passed


class Literal:
    """A goal that is no dataclass, and makes the gold calls as they are."""

    def __init__(self, calls):
        self.calls = calls

    def decide(self, facts, done):
        return Act(self.calls[done]) if done < len(self.calls) else Done()


class Slotted(Literal):
    __slots__ = ("__hidden",)

    def __init__(self, calls):
        self.__hidden = calls
        super().__init__(())


class Bound:
    """A goal whose decision is another's method; it holds itself too."""

    def __init__(self, calls):
        self.decide, self.own = Literal(calls).decide, self


@pytest.mark.parametrize("goal", [Literal, Slotted, Bound])
def test_ids_are_found_in_whatever_a_goal_is_made_of(goal):
    bench = Bench()
    plan = bench.plan
    bench.plan = lambda task: replace(plan(task), goals=(goal([a.call for a in task.gold]),))
    (found,) = check_benchmark(bench, checks=["ids"]).checks
    assert any("which the user does not say" in failure.problem for failure in found.failures)


def test_a_plan_that_forgets_a_wish_has_no_certificates():
    bench = Bench()
    plan = bench.plan
    bench.plan = lambda task: replace(plan(task), goals=plan(task).goals[:-1])
    # Omniscient fails as the others do, so there is nothing to hold against them.
    assert failing(bench) == ["certificates"]


def test_exceptions_are_listed_and_not_judged():
    bench = Bench()
    plan = bench.plan
    ids = [task.id for task in bench.tasks()]
    bench.plan = lambda task: plan(task) if task.id != ids[0] else replace(plan(task), goals=())
    assert failing(bench) == ["certificates"]
    bench.exceptions = {ids[0]: "nobody knows how"}
    report = check_benchmark(bench)
    assert report.passed, str(report)
    assert f"excepted: task='{ids[0]}': nobody knows how" in str(report).splitlines()
    assert report.to_dict()["exceptions"] == bench.exceptions
    bench.exceptions[ids[1]] = "too hard"
    assert f"excepted: task='{ids[1]}': too hard (yet omniscient passes)" in str(check_benchmark(bench))


def test_a_policy_that_fails_what_omniscient_passes_is_found():
    bench = Bench()
    plan, count = bench.plan, itertools.count()
    bench.plan = lambda task: replace(plan(task), goals=plan(task).goals[next(count) % 2 :])
    assert {"again", "clean"} <= set(failing(bench))


def test_an_s3_that_is_not_impossible_is_found():
    class BackDoor(Desk):
        """A read that writes when it is asked the wrong way: S3 blocks the front door only."""

        __slots__ = ()

        def call(self, call):
            if "all" in call.arguments:
                for action in self._task.gold:
                    super().call(action.call)
            return super().call(call)

    class Sneak:
        """A goal that goes through the back door."""

        def __init__(self, tell):
            self.steps = [Act(ToolCall("get_orders", {"all": True})), Say(" ".join(tell))]

        def decide(self, facts, done):
            return self.steps[done] if done < 2 else Done()

    bench = with_desk(BackDoor)
    plan = bench.plan
    bench.plan = lambda task: replace(plan(task), goals=(Sneak(task.tell),))
    report = check_benchmark(bench)
    found = next(check for check in report.checks if check.name == "impossible")
    assert "agent='naive' passes in S3 with identity blocked" in {f.problem for f in found.failures}


UNSTABLE = """
from bench2robust.benchmarks.helpdesk import HelpdeskBenchmark
from dataclasses import replace

class Unstable(HelpdeskBenchmark):
    name = "unstable"

    def tasks(self):
        return [replace(task, instructions=task.instructions + str(hash("a"))) for task in super().tasks()]

def unstable():
    return Unstable(3)
"""


def test_what_depends_on_the_process_is_found(tmp_path, monkeypatch):
    info = tmp_path / "unstable-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: unstable\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[bench2robust.benchmarks]\nunstable = unstable:unstable\n")
    (tmp_path / "unstable.py").write_text(UNSTABLE)
    monkeypatch.syspath_prepend(tmp_path)
    assert failing("unstable") == ["process"]


def test_what_depends_on_the_process_is_found_in_a_script_too(tmp_path):
    script = tmp_path / "mine.py"
    end = """
from bench2robust.testing import check_benchmark
print("not JSON")
print(check_benchmark(Unstable(3), checks=["process"]))
"""
    script.write_text(UNSTABLE + end)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "FAIL  process" in done.stdout
    assert "another process does not get the same bytes" in done.stdout
    script.write_text(UNSTABLE.replace('str(hash("a"))', '"b"') + end)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "ok    process" in done.stdout


def test_what_another_process_cannot_get_at_is_skipped_with_the_reason():
    (found,) = check_benchmark(with_desk(Desk), checks=["process"]).checks
    assert found.skipped.startswith("neither registered nor picklable, so not to be had in another process")


def test_how_a_report_reads():
    lines = str(check_benchmark(with_desk(NeverRight), ["21.0", "21.1"])).splitlines()
    assert lines[2:9] == [
        "ok    tasks         ids differ, users say something, gold calls fit the schemas",
        "ok    apart         episodes that overlap do not see each other",
        "ok    threads       episodes in threads do not see each other",
        "FAIL  gold          the gold calls pass",
        "        task='21.0': the gold calls fail (luck)",
        "        task='21.1': the gold calls fail (luck)",
        "ok    wrong         doing nothing, and leaving writes out, fails",
    ]
    assert lines[-1] == "helpdesk: 2 tasks, 2 of 18 checks fail"


def test_whatever_an_author_raises_is_a_line_and_not_a_traceback():
    bench = Bench()

    def plan(task):
        raise ZeroDivisionError("no plan\nfor you")

    bench.plan = plan
    report = check_benchmark(bench)
    lines = [line for line in str(report).splitlines() if "ZeroDivisionError" in line]
    assert lines
    assert all("no plan for you" in line for line in lines)
