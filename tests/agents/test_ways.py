"""Writes with other ways to the same end state, writes whose answer a plan needs, tools that come later."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bench2robust import agents
from bench2robust.core.episode import Task
from bench2robust.core.plan import Act, Done, Plan, Say
from bench2robust.core.ports import Briefing, Utterance
from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec

MOVE, COPY, REMOVE = (ToolCall(name, {"file": "a"}) for name in ("move", "copy", "remove"))
DOWN = ToolResponse("HTTP 403 Forbidden", error=True)


class Move:
    """Moves a file, then says the number that moving it answered with."""

    def decide(self, facts, done):
        if done == 0:
            return Act(MOVE, instead=((COPY, REMOVE),), answer="number")
        return Say(f"moved: {facts.get('number')}") if done == 1 else Done()


def tool(name):
    return ToolSpec(name, "", {})


def play(policy, blocked, names=("move", "copy", "remove")):
    """Return the calls that were executed and what was said; blocked tools never execute."""
    executed, said, record = [], [], SimpleNamespace(true=None, injected=False, executed=False)
    oracle = SimpleNamespace(blocked=frozenset(blocked), last=lambda: record)
    plan = Plan((Move(),), lambda why: ToolCall("escalate", {"why": why}))
    briefing = Briefing(Task("t", ""), [tool(n) for n in names], "", "", plan, oracle)
    game = agents.create(policy).play(briefing)
    action = next(game)
    while True:
        if isinstance(action, Utterance):
            said.append(action.text)
            answer = "ok"
        else:
            down = action.name in blocked
            answer = DOWN if down else ToolResponse('{"n": 7}')
            record.true, record.executed, record.injected = None if down else answer, not down, down
            if not down:
                executed.append(action.name)
        try:
            action = game.send(answer)
        except StopIteration:
            return executed, said


@pytest.mark.parametrize("policy", ["switch", "strategic", "omniscient"])
def test_a_blocked_write_is_made_another_way(policy):
    executed, said = play(policy, {"move"})
    assert executed == ["copy", "remove"]
    assert said[0] == "moved: None"


@pytest.mark.parametrize("policy", ["naive", "retry"])
def test_who_does_not_switch_hands_over(policy):
    executed, said = play(policy, {"move"})
    assert executed == ["escalate"]
    assert not said


@pytest.mark.parametrize("policy", agents.REFERENCE)
def test_the_usual_way_is_taken_where_it_works_and_its_answer_is_a_fact(policy):
    executed, said = play(policy, {"copy"})
    assert executed == ["move"]
    assert said[0] == "moved: {'n': 7}"


@pytest.mark.parametrize("policy", ["switch", "strategic", "omniscient"])
def test_every_way_blocked_is_handed_over(policy):
    executed, _ = play(policy, {"move", "remove"})
    assert executed[-1] == "escalate"
    assert "remove" not in executed
    assert "move" not in executed


@pytest.mark.parametrize("policy", ["switch", "strategic", "omniscient"])
def test_a_way_whose_tools_are_not_offered_is_none(policy):
    assert play(policy, {"move"}, names=("move", "copy"))[0] == ["escalate"]
