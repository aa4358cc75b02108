"""One seed of one test: its episode, its checks, and what a failure says."""

from __future__ import annotations

import functools
import inspect
import os
import re
import shlex
import unittest
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, cast

import pytest

from bench2robust.integrations.seen import Seen

from .plan import Plan, Wish

PARAMETER: Final = "_tool_fault_seed"
PROPERTY: Final = "tool_faults"
SECTION: Final = "tool faults"
_LISTED: Final = 20

_plan = pytest.StashKey[Plan | None]()
_seed = pytest.StashKey[int]()
_seen = pytest.StashKey[Seen]()


class Rounds:
    """Knows the plan and the running episode of every test.

    Args:
        wish: the command line's.
    """

    def __init__(self, wish: Wish) -> None:
        self.wish = wish

    def plan(self, item: pytest.Item) -> Plan | None:
        """Return the plan of a test; None for one without faults."""
        if _plan not in item.stash:
            item.stash[_plan] = self.planned(item, getattr(item, "fixturenames", ()))
        return item.stash[_plan]

    def planned(self, node: Any, fixtures: Any) -> Plan | None:
        """Return the plan that marks, fixtures and the command line make; None for no faults.

        Raises:
            UsageError: a word or a value that cannot be.
        """
        marks = list(node.iter_markers("tool_faults"))
        if not marks and not self.wish.profile and "tool_faults" not in fixtures:
            return None
        words: dict[str, Any] = {}
        for mark in reversed(marks):  # the closest one last
            words |= dict(zip(("profile",), mark.args, strict=False)) | mark.kwargs
        return Plan.read(words, self.wish)

    def begin(self, item: pytest.Item, seed: int) -> None:
        """Let the next round of a test have this seed."""
        item.stash[_seed] = seed
        if _seen in item.stash:
            del item.stash[_seen]

    def seen(self, item: pytest.Item) -> Seen | None:
        """Return what watches the running round; None for a test without faults."""
        plan = self.plan(item)
        if plan is None:
            return None
        if _seen not in item.stash:
            seed = self._seed_of(item, plan)
            item.stash[_seen] = Seen(replace(plan.spec, seed=seed), _task(item), plan.kinds)
        return item.stash[_seen]

    def _seed_of(self, item: pytest.Item, plan: Plan) -> int:
        if _seed in item.stash:
            return item.stash[_seed]
        callspec = getattr(item, "callspec", None)
        return int(callspec.params.get(PARAMETER, plan.seeds[0])) if callspec else plan.seeds[0]

    @contextmanager
    def holding(self, item: pytest.Item, seen: Seen) -> Iterator[None]:
        """Let the faults of an episode hold in a test's function, in whatever loop or thread that is run."""
        function: Any = getattr(item, "obj", None)
        if not inspect.iscoroutinefunction(function):
            with seen.episode:
                yield
            return

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with seen.episode:
                return await function(*args, **kwargs)

        test = cast("Any", item)
        test.obj = awaited
        if isinstance(getattr(item, "instance", None), unittest.TestCase):
            setattr(test.instance, function.__name__, awaited)  # it finds its method by name
        try:
            yield
        finally:
            test.obj = function

    def explain(
        self, item: pytest.Item, report: pytest.TestReport, error: BaseException | None = None
    ) -> None:
        """Add to the report of a failed call what was injected, and the command that replays it."""
        plan = self.plan(item)
        if plan is None or _seen not in item.stash:
            return
        seen = item.stash[_seen]
        lines = [
            f"seed {seen.seed}, {_scenario(seen)}",
            *_met(seen),
            f"replay: {self.command(item, seen.seed)}",
        ]
        crash = "" if error is None or isinstance(error, AssertionError) else seen.ended_by(error)
        if crash:
            lines.insert(1, f"a crash: nobody handled the failure of {crash}, which was raised")
        report.sections.append((SECTION, "\n".join(lines)))

    def command(self, item: pytest.Item, seed: int) -> str:
        """Return the command that runs one test with one seed, the faults being the same."""
        path, colons, rest = plain_id(item).partition("::")
        here = os.path.relpath(item.config.rootpath / path, item.config.invocation_params.dir)
        words = ["python", "-m", "pytest", f"{here}{colons}{rest}"]
        if self.wish.profile:
            words += ["--tool-faults", self.wish.profile]
        return shlex.join([*words, "--tool-fault-replay", str(seed)])


def plain_id(item: pytest.Item) -> str:
    """Return a test's id without its seed: what a replay selects."""
    callspec = getattr(item, "callspec", None)
    seed = callspec.params.get(PARAMETER) if callspec else None
    if seed is None:
        return item.nodeid
    name = name_of(seed)
    return re.sub(rf"\[{name}\]$|-{name}(?=[-\]])|(?<=\[){name}-", "", item.nodeid, count=1)


def _task(item: pytest.Item) -> str:
    """Return what a test's draws are keyed by: not the folder, which depends on where pytest is started."""
    path, colons, rest = plain_id(item).partition("::")
    return f"{path.rpartition('/')[2]}{colons}{rest}"


def name_of(seed: int) -> str:
    """Return the part of a test's id that names its seed."""
    return f"faults{seed}"


def _scenario(seen: Seen) -> str:
    blocked = ", ".join(sorted(seen.episode.blocked))
    name = str(seen.episode.assignment.effective)
    return f"scenario {name}, blocked: {blocked}" if blocked else f"scenario {name}"


def _met(seen: Seen) -> list[str]:
    """List the calls that failed, in order; never their arguments, which may be secrets."""
    records = [record for record in seen.records if record.injected]
    lines = [
        f"  call {r.index + 1}: {r.call.name} {'blocked' if r.blocked else r.noise}"
        for r in records[:_LISTED]
    ]
    if len(records) > _LISTED:
        more = Counter("blocked" if r.blocked else str(r.noise) for r in records[_LISTED:])
        lines.append("  and " + ", ".join(f"{count} × {kind}" for kind, count in more.items()))
    return lines or [f"  nothing failed in {seen.episode.calls} calls"]
