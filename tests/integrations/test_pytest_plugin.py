"""The pytest plugin, as a project of a user's own meets it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from bench2robust.core.errors import SpecError, UsageError
from bench2robust.integrations import exact
from bench2robust.integrations.pytesting.plan import Plan, Wish, read_seeds

pytest_plugins = ["pytester"]

TOOLS = """
    import asyncio, unittest, pytest
    from bench2robust import inject

    @inject
    def get(x): return {"x": x}

    @inject
    async def aget(x): return {"x": x}

    @inject(kind="write")
    def pay(x): return "paid"

    def ok(answer): return isinstance(answer, dict)
"""


@pytest.fixture
def project(pytester):
    """Write a test file below the tools, run it, and return the result."""

    def run(tests, *options, process=False):
        pytester.makepyfile(test_own=TOOLS + tests)
        runner = pytester.runpytest_subprocess if process else pytester.runpytest
        return runner("-p", "no:cacheprovider", *options)

    return run


def test_faults_hold_in_a_marked_test_and_nowhere_else(project):
    done = project("""
    @pytest.fixture
    def made(): return get(1)

    @pytest.mark.tool_faults(profile={"timeout": 1.0})
    def test_marked(made):
        assert made == {"x": 1}                       # fixtures are not the test
        assert get(1) == "Error: request timed out after 30s"

    def test_not_marked(): assert get(1) == {"x": 1}

    @pytest.mark.tool_faults("none")
    def test_none(): assert get(1) == {"x": 1}
    """)
    done.assert_outcomes(passed=3)


def test_seeds_are_tests_of_their_own_with_fresh_fixtures_and_other_faults(project):
    done = project(
        """
    met = set()

    @pytest.fixture
    def fresh(): return []

    @pytest.mark.tool_faults(profile={"timeout": 0.5}, seeds="3-12")
    def test_seeds(fresh, tool_faults):
        assert not fresh
        fresh.append(1)
        met.add(tuple(ok(get(i)) for i in range(6)))
        assert 3 <= tool_faults.seed <= 12

    def test_after(): assert len(met) > 5
    """,
        "-v",
    )
    done.assert_outcomes(passed=11)
    done.stdout.fnmatch_lines(["*test_seeds*faults3*PASSED*", "*test_seeds*faults12*PASSED*"])


def test_the_command_line_makes_every_test_fail_and_comes_before_marks(project):
    tests = """
    def test_plain(): assert not ok(get(1))

    @pytest.mark.tool_faults(profile="none", seeds=2)
    def test_marked(): assert not ok(get(1))
    """
    profile = "[default]\ntimeout = 1.0\nclean = 0.0\n"
    with open("always.toml", "w", encoding="utf-8") as file:
        file.write(profile)
    project(tests, "--tool-faults", "always.toml", "--tool-fault-seeds", "3").assert_outcomes(passed=6)
    project(tests).assert_outcomes(failed=3)


GATE = """
    @pytest.fixture
    def fresh(): return []

    @pytest.fixture(scope="module")
    def shared(): return []

    @pytest.mark.tool_faults(profile={"timeout": %s}, seeds=20, min_pass_rate=0.9)
    def test_gate(fresh, shared, tool_faults):
        assert not fresh and len(shared) == tool_faults.seed
        fresh.append(1)
        shared.append(1)
        assert ok(get(1))

    def test_after(shared): assert len(shared) == 20
"""


def test_a_gate_is_not_failed_by_bad_luck(project):
    done = project(GATE % 0.1)
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["*test_gate: 19 of 20 seeds passed; * not below min_pass_rate=0.9*"])


def test_a_gate_fails_where_luck_is_no_explanation_and_says_which_seeds(project):
    done = project(GATE % 0.5)
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines(
        [
            "*11 of 20 seeds passed; the pass rate is at most 0.741 (95%, exact), below min_pass_rate=0.9",
            "failing seeds: 0, 3, 4, 6, 13, 14, 15, 16, 17; the first is shown",
            "seed 0, scenario s1",
            "  call 1: get timeout",
            "replay: python -m pytest *test_own.py::test_gate --tool-fault-replay 0",
        ]
    )


def test_a_gate_meets_a_broken_fixture_and_a_skip_once(project):
    done = project("""
    @pytest.fixture
    def broken(): raise ValueError("broken")

    @pytest.mark.tool_faults(seeds=20, min_pass_rate=0.9)
    def test_broken(broken): pass

    @pytest.mark.tool_faults(seeds=20, min_pass_rate=0.9)
    def test_skipped(): pytest.skip("not today")

    @pytest.mark.xfail(strict=True)
    @pytest.mark.tool_faults(profile={"timeout": 1.0}, seeds=3)
    def test_xfail(): assert ok(get(1))
    """)
    done.assert_outcomes(errors=1, skipped=1, xfailed=3)


REPLAYS = """
    @pytest.mark.parametrize("a", ["x-faults1", "y"])
    @pytest.mark.tool_faults(profile={"timeout": 0.3, "server_error": 0.3}, seeds=4, scenario="s2",
        domain={"classes": {"it": ["get", "aget"]}})
    def test_seeds(a):
        assert all(ok(get(i)) for i in range(6))

    @pytest.mark.tool_faults(profile={"timeout": 0.5}, seeds=20, min_pass_rate=0.9)
    class TestGate:
        def test_gate(self): assert ok(get(1))
"""


def test_the_command_of_every_failure_replays_it_with_the_same_faults(project):
    printed = project(REPLAYS).stdout.str()
    told = re.findall(r"(seed .*(?:\n  .*)*)\nreplay: python -m pytest (.*)", printed)
    assert len(told) >= 5
    for text, command in told:
        again = project(REPLAYS, *shlex.split(command))
        again.assert_outcomes(failed=1)
        assert f"{text}\nreplay: python -m pytest {command}" in again.stdout.str()


def test_the_command_of_a_replay_has_the_profile_of_the_command_line(project):
    tests = "\n    def test_it(): assert all(ok(get(i)) for i in range(20))\n"
    printed = project(tests, "--tool-faults", "severe", "--tool-fault-seeds", "2").stdout.str()
    commands = re.findall(r"replay: python -m pytest (.*)", printed)
    assert commands == [
        f"test_own.py::test_it --tool-faults severe --tool-fault-replay {seed}" for seed in (0, 1)
    ]
    project(tests, *shlex.split(commands[1])).assert_outcomes(failed=1)


def test_a_replay_is_the_same_wherever_pytest_is_started(pytester, monkeypatch):
    """Without a configuration file, pytest's root and so its ids depend on the arguments."""
    folder = pytester.mkdir("deep")
    pytester.makepyfile(test_own=TOOLS + REPLAYS).rename(folder / "test_own.py")
    found = []
    for place, argument in ((pytester.path, "."), (pytester.path, "deep/test_own.py"), (folder, ".")):
        monkeypatch.chdir(place)
        printed = pytester.runpytest("-p", "no:cacheprovider", argument).stdout.str()
        found.append(re.findall(r"(seed .*(?:\n  .*)*)\nreplay: python -m pytest (.*)", printed))
    assert [[text for text, _ in one] for one in found[1:]] == [[text for text, _ in found[0]]] * 2
    monkeypatch.chdir(pytester.path)
    for text, command in found[0]:
        assert command.startswith(("deep/test_own.py::", "'deep/test_own.py::"))
        again = pytester.runpytest("-p", "no:cacheprovider", *shlex.split(command))
        assert text in again.stdout.str()


CHECKED = """
    @pytest.mark.tool_faults(profile={"timeout": 1.0}, checks=["max_identical_calls(3)", "recovered"])
    def test_mark():
        for _ in range(4): get(1)

    def test_fixture(tool_faults):
        get(1)
        pay(1)  # its answer is lost, but it was paid
        tool_faults.said("I paid it.")
        tool_faults.check("no_fabricated_success")
"""


def test_checks_of_a_mark_and_of_the_fixture(project):
    done = project(CHECKED)
    done.assert_outcomes(failed=1, passed=1)
    done.stdout.fnmatch_lines(
        [
            "E*max_identical_calls(3): a call was made 4 times with the same arguments",
            "*recovered: nothing answered after get failed",
        ]
    )
    assert "def pytest_runtest_call" not in done.stdout.str()


def test_a_crash_is_told_from_an_agent_that_did_wrong(project):
    tests = """
    class Refused(Exception): pass

    @pytest.mark.tool_faults(profile={"auth_error": 1.0}, delivery=Refused)
    def test_crash(): get(1)

    @pytest.mark.tool_faults(profile={"auth_error": 1.0})
    def test_wrong(): assert ok(get(1))
    """
    text = project(tests).stdout.str()
    assert text.count("a crash: nobody handled the failure of get, which was raised") == 1


ASYNC = """
    @pytest.mark.tool_faults(profile={"timeout": 1.0})
    async def test_ours(tool_faults):
        assert not ok(await aget(1))
        assert not ok(await asyncio.create_task(aget(2)))
        assert not ok(await asyncio.to_thread(get, 3))
        assert len(tool_faults.records) == 3

    @pytest.mark.anyio
    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    @pytest.mark.tool_faults(profile={"timeout": 1.0})
    async def test_anyio(anyio_backend): assert not ok(await aget(1))

    class TestOld(unittest.TestCase):
        @pytest.mark.tool_faults(profile={"timeout": 0.5}, seeds=20, min_pass_rate=0.2)
        def test_gate(self): assert ok(get(1))

    class TestOldAsync(unittest.IsolatedAsyncioTestCase):
        @pytest.mark.tool_faults(profile={"timeout": 1.0}, seeds=3)
        async def test_it(self): assert not ok(await aget(1))
"""


def test_coroutines_and_test_cases_run_in_their_scope(project):
    project(ASYNC).assert_outcomes(passed=4)


def test_marks_of_modules_and_classes_and_tests_that_are_no_functions(project, pytester):
    pytester.makepyfile(
        own="""
        from bench2robust import inject

        @inject
        def get(x):
            '''
            >>> get(1)
            'Error: request timed out after 30s'
            '''
            return {"x": x}
        """
    )
    tests = """
    pytestmark = pytest.mark.tool_faults(profile={"timeout": 1.0}, seeds=2)

    class TestIt:
        def test_module(self): assert not ok(get(1))

        @pytest.mark.tool_faults(profile="none")
        def test_own(self): assert ok(get(1))
    """
    with open("always.toml", "w", encoding="utf-8") as file:
        file.write("[default]\ntimeout = 1.0\nclean = 0.0\n")
    project(tests).assert_outcomes(passed=4)
    doctests = pytester.runpytest("--doctest-modules", "own.py", "--tool-faults", "always.toml")
    doctests.assert_outcomes(passed=1)


@pytest.mark.slow
def test_it_works_in_several_processes(project):
    done = project(GATE % 0.5 + REPLAYS + ASYNC, "-n", "2", process=True)
    alone = project(GATE % 0.5 + REPLAYS + ASYNC)
    assert done.parseoutcomes() == alone.parseoutcomes()
    found = [sorted(set(re.findall("replay: .*", r.stdout.str()))) for r in (done, alone)]
    assert found[0] == found[1] != []
    done.stdout.fnmatch_lines(["*test_gate: 11 of 20 seeds passed*"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"profil": "severe"}, r"unknown word in tool_faults='profil'; did you mean 'profile'"),
        ({"profile": "sever"}, r"unknown profile='sever'; did you mean 'severe'"),
        ({"seeds": 0}, "expected a count of seeds, or seeds such as 3,7 or 10-14, each once, got seeds=0"),
        ({"seeds": "3,3"}, "each once, got seeds='3,3'"),
        ({"seeds": 20, "min_pass_rate": 1.5}, "expected a share above 0 and up to 1, got min_pass_rate=1.5"),
        (
            {"min_pass_rate": 0.9},
            "expected at least 2 seeds for min_pass_rate=0.9, with fewer it cannot fail",
        ),
        ({"level": 2}, "expected a probability between 0 and 1, got level=2"),
        ({"checks": ["recoverd"]}, "unknown check='recoverd'; did you mean 'recovered'"),
        ({"checks": ["max_identical_calls(x)"]}, "expected a check such as max_identical_calls"),
        ({"checks": 3}, "expected checks or their names in a list, got checks=3"),
        ({"scenario": "s2"}, "expected equivalence classes for scenario='s2'"),
    ],
)
def test_words_that_cannot_be(words, said):
    with pytest.raises(UsageError, match=said) as raised:
        Plan.read(words, Wish())
    assert "\n" not in str(raised.value)


def test_a_mark_that_cannot_be_is_told_in_a_line(project):
    done = project("\n    @pytest.mark.tool_faults(sead=3)\n    def test_it(): pass\n")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(
        ["*test_own.py::test_it: unknown word in tool_faults='sead'; did you mean 'seeds'?*"]
    )


def test_options_that_cannot_be_are_told_in_a_line(project):
    done = project("\n    def test_it(): pass\n", "--tool-faults", "sever", process=True)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["ERROR: unknown profile='sever'; did you mean 'severe'*"])


def test_nothing_is_imported_before_a_test_asks_for_faults():
    program = (
        "import sys, pytest, bench2robust.pytest_plugin;"
        "print([m for m in sys.modules if m.startswith('bench2robust.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['bench2robust.pytest_plugin']"


@given(st.integers(0, 60), st.integers(1, 60), st.sampled_from([0.8, 0.95, 0.99]))
def test_the_bounds_are_exact(hits, n, level):
    hits = min(hits, n)
    high, low = exact.upper(hits, n, level), exact.lower(hits, n, level)
    assert low <= hits / n <= high
    if hits < n:
        assert binom.cdf(hits, n, high) == pytest.approx(1 - level)
    if hits:
        assert binom.sf(hits - 1, n, low) == pytest.approx(1 - level)


@given(st.integers(2, 60), st.sampled_from([0.5, 0.9, 0.99]))
def test_an_agent_as_good_as_the_gate_asks_fails_it_no_more_often_than_stated(n, rate):
    chance = sum(binom.pmf(k, n, rate) for k in range(n + 1) if exact.upper(k, n) < rate)
    assert chance <= 0.05 + 1e-9


def test_seeds():
    assert read_seeds(3) == read_seeds("3") == read_seeds("0-2") == read_seeds([0, 1, 2]) == (0, 1, 2)
    assert read_seeds("7-7") == (7,)
    assert read_seeds("3,10-12") == (3, 10, 11, 12)
    for bad in ("", "a", "3-", "-3", [1, 1], [True], 1.5, 10**9, "0-999999999"):
        with pytest.raises(SpecError):
            read_seeds(bad)
