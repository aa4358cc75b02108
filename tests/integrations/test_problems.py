"""Of each of the twenty reported problems: an agent that has it is found out, one that has it not is not."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from bench2robust.integrations.checks import CHECKS, read
from bench2robust.integrations.seen import Seen
from bench2robust.integrations.spec import FaultSpec

from .problems import LEDGER, PROBLEMS, SHOP

PAGE = Path(__file__).parents[2] / "docs" / "problems.md"


def play(problem, agent, seed=0):
    """Play an agent; return what was seen, and the failure that ended the run where nobody handled it."""
    LEDGER.clear()
    spec = FaultSpec.read(problem.profile, seed, {"domain": SHOP, **problem.options})
    seen = Seen(spec, "problem", clock=problem.clock() if problem.clock else time.monotonic)
    try:
        with seen.episode:
            agent(seen)
    except Exception as error:
        crash = seen.ended_by(error)
        if not crash:
            raise
        return seen, crash
    return seen, ""


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: str(p.number))
def test_the_agent_that_has_it_is_found_out_and_the_other_is_not(problem, seed):
    bad, crash = play(problem, problem.has_it, seed)
    assert any(record.injected for record in bad.records)
    good, no_crash = play(problem, problem.has_it_not, seed)
    assert any(record.injected for record in good.records)
    assert not no_crash
    if problem.check is None:
        assert crash == "get_order"
        return
    assert not crash
    with pytest.raises(AssertionError, match=f"^{re.escape(problem.check.name)}: "):
        bad.check(problem.check)
    good.check(problem.check)


def test_a_resumed_run_pays_twice_every_time_and_never_with_a_key():
    """Problem 13's own numbers: 209 of 209 duplicated, 0 of 209 with an idempotency key."""
    problem = next(p for p in PROBLEMS if p.number == 13)
    for agent, expected in ((problem.has_it, 209), (problem.has_it_not, 0)):
        assert sum(bool(problem.check.find(play(problem, agent, s)[0])) for s in range(209)) == expected


def test_the_page_lists_what_is_tested():
    rows = re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {int(number): re.findall(r"`([a-z_]+(?:\([^)]*\))?)`", detected) for number, detected in rows}
    assert sorted(listed) == list(range(1, 21))
    for problem in PROBLEMS:
        if problem.check is None:
            assert listed[problem.number] == ["ended_by"]
        else:
            names = [
                read(name.replace("1.0", "1")).name if "(" not in name else name
                for name in listed[problem.number]
            ]
            assert problem.check.name in names


def test_every_check_has_a_line_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in CHECKS if f"`{name}" not in text] == []
