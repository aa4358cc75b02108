"""The pytest plugin: ``pytest --tool-faults severe``, the mark and the fixture ``tool_faults``.

Nothing but pytest is imported before a test asks for faults.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from bench2robust.integrations.pytesting.rounds import Rounds
    from bench2robust.integrations.seen import Seen

_PARAMETER = "_tool_fault_seed"
_PROPERTY = "tool_faults"
_MARK = (
    "tool_faults(profile='severe', *, seeds=1, min_pass_rate=None, level=.95, checks=(), kinds=None, scenario, "
    "domain, delivery, …): make the tools of the test fail, once for each seed (bench2robust)"
)
_rounds = pytest.StashKey["Rounds"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("tool faults", "failing tools (bench2robust)")
    group.addoption(
        "--tool-faults",
        metavar="PROFILE",
        help="Make tools fail in every test: severe, moderate, mild, none, or a .toml or .json file; "
        "comes before what marks say.",
    )
    group.addoption(
        "--tool-fault-seeds",
        metavar="N",
        help="Run tests with faults with so many seeds, or with seeds such as 3,7 or 10-14; "
        "comes before what marks say.",
    )
    group.addoption(
        "--tool-fault-replay", metavar="SEED", type=int, help="Run tests with faults with this one seed."
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known, and refuse options that cannot be."""
    config.addinivalue_line("markers", _MARK)
    if any(config.getoption(f"tool_fault{name}") is not None for name in ("s", "_seeds", "_replay")):
        from bench2robust.core.errors import UsageError

        try:
            planned = _asked(config).wish
            from bench2robust.integrations.pytesting.plan import Plan

            Plan.read({}, planned)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None


def _asked(config: pytest.Config) -> Rounds:
    if _rounds not in config.stash:
        from bench2robust.integrations.pytesting.plan import Wish
        from bench2robust.integrations.pytesting.rounds import Rounds

        wish = Wish(
            config.getoption("tool_faults"),
            config.getoption("tool_fault_seeds"),
            config.getoption("tool_fault_replay"),
        )
        config.stash[_rounds] = Rounds(wish)
    return config.stash[_rounds]


def _concerned(node: Any, fixtures: Any) -> bool:
    """Whether a test has anything to do with faults; nothing is imported to know it."""
    return (
        bool(node.config.getoption("tool_faults"))
        or "tool_faults" in fixtures
        or node.get_closest_marker("tool_faults") is not None
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each seed, where the test has several and no gate."""
    if not _concerned(metafunc.definition, metafunc.fixturenames):
        return
    from bench2robust.core.errors import UsageError

    try:
        plan = _asked(metafunc.config).planned(metafunc.definition, metafunc.fixturenames)
    except UsageError as error:
        where = metafunc.definition.nodeid
        raise pytest.Collector.CollectError(f"{where}: {error}") from None
    if plan is None or plan.min_pass_rate is not None or len(plan.seeds) == 1:
        return
    from bench2robust.integrations.pytesting.rounds import name_of

    metafunc.fixturenames.append(_PARAMETER)
    metafunc.parametrize(_PARAMETER, plan.seeds, indirect=True, ids=list(map(name_of, plan.seeds)))


@pytest.fixture(name=_PARAMETER)
def _seed(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def tool_faults(request: pytest.FixtureRequest) -> Seen:
    """What watches the test's episode: `Seen`, with ``check``, ``said``, ``heard``, ``records``, ``episode``."""
    seen = _asked(request.config).seen(request.node)
    assert seen is not None
    return seen


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test with a gate (or one that cannot be parametrised) once for each seed."""
    if not _concerned(item, getattr(item, "fixturenames", ())):
        return None
    rounds = _asked(item.config)
    plan = rounds.plan(item)
    parametrised = _PARAMETER in getattr(getattr(item, "callspec", None), "params", ())
    if plan is None or parametrised or (len(plan.seeds) == 1 and plan.min_pass_rate is None):
        return None
    from bench2robust.integrations.pytesting.gate import play

    play(item, nextitem, plan, rounds)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let faults hold while the test itself runs, not in its fixtures; then check what was asked for."""
    __tracebackhide__ = True
    if not _concerned(item, getattr(item, "fixturenames", ())):
        return (yield)
    rounds = _asked(item.config)
    seen, plan = rounds.seen(item), rounds.plan(item)
    if seen is None or plan is None:
        return (yield)
    seen.began = seen.clock()
    with rounds.holding(item, seen):
        result = yield
    seen.check(*plan.checks)
    return result


@pytest.hookimpl
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine function with faults where no other plugin does."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj) or not _concerned(pyfuncitem, pyfuncitem.fixturenames):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say of a failure what was injected, and how to replay it."""
    report = yield
    if report.when == "call" and report.failed and _concerned(item, getattr(item, "fixturenames", ())):
        _asked(item.config).explain(item, report, call.excinfo.value if call.excinfo else None)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the verdicts of the gates."""
    reports = [r for key in ("passed", "failed") for r in terminalreporter.stats.get(key, ())]
    lines = [
        f"{report.nodeid}: {text}"
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("tool faults")
        for line in lines:
            terminalreporter.line(line)
