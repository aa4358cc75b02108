"""Other ways to a read's data and to a write's state: which hold, what is credited, what is natively broken."""

from __future__ import annotations

from collections import Counter

import pytest

from bench2robust import domains
from bench2robust.benchmarks.bfcl.equivalence import READINGS, WRITINGS
from bench2robust.benchmarks.bfcl.scoring import STOCK
from bench2robust.core.tools import ToolCall, ToolResponse

from .playing import LOST, Hand

pytestmark = pytest.mark.bfcl

DOMAIN = domains.load("bfcl")

HOLD = {
    ("cat", "grep"): 19,
    ("cat", "tail"): 19,
    ("displayCarStatus", "fillFuelTank"): 4,
    ("get_credit_card_balance", "get_all_credit_cards"): 1,
    ("get_ticket", "get_user_tickets"): 3,
    ("get_watchlist", "add_to_watchlist"): 20,
    ("grep", "cat"): 10,
    ("grep", "tail"): 10,
    ("ls", "find"): 12,
    ("mean", "sum_and_divide"): 9,
    ("retrieve_invoice", "get_booking_history"): 25,
    ("tail", "cat"): 9,
    ("tail", "grep"): 9,
    ("view_messages_sent", "search_messages"): 5,
}
"""Gold calls for which a way holds, in base; measured before, elsewhere, with the same result."""


def steps(benchmark):
    for task in benchmark.tasks():
        for number, turn in enumerate(benchmark.truth(task).turns):
            for place, step in enumerate(turn.steps):
                yield task, number, place, step


def test_the_ways_that_hold_are_those_that_were_measured(base):
    found = Counter((way.tool, way.side) for *_, step in steps(base) for way in step.readings)
    assert dict(found) == HOLD


def test_write_ways_hold_where_nothing_is_held_out(base):
    """Every task that moves something holds out cp or rm, so moving by copying holds nowhere."""
    found = Counter(way.tool for *_, step in steps(base) for way in step.writings)
    assert found == {"close_ticket": 5, "rmdir": 2}
    moves = [task for task, _, _, step in steps(base) if step.call.name == "mv"]
    assert len(moves) == 15
    assert all(base.blueprint(task).entry.excluded & {"cp", "rm"} for task in moves)


def test_every_way_is_a_side_of_a_class_of_the_domain():
    sides = {(cls.name, side.name): side.tools for cls in DOMAIN.classes for side in cls.sides}
    for way in READINGS:
        (name,) = {cls for (cls, side), tools in sides.items() if tools == way.tools and side == way.side}
        assert any(way.tool in tools for (cls, _), tools in sides.items() if cls == name), way
    for way in WRITINGS:
        assert any(way.tool in tools for tools in sides.values()), way


def replaced(benchmark, task, number, place, calls, spoiled=False):
    """Gold, with one call made by other calls instead."""
    hand = Hand(benchmark.open(task))
    for n, turn in enumerate(benchmark.truth(task).turns):
        for p, step in enumerate(turn.steps):
            for call in calls if (n, p) == (number, place) else (step.call,):
                hand.call(call, delivered=LOST if spoiled and (n, p) == (number, place) else None)
        hand.say()
    return hand.score()


def test_a_way_that_holds_is_credited_and_an_undelivered_one_is_not(base):
    """BFCL's own rule forbids the fallback: it compares texts."""
    stock = credited = 0
    for task, number, place, step in steps(base):
        for way in step.readings:
            calls = way.calls(step.call.arguments)
            score = replaced(base, task, number, place, calls)
            assert score.passed, (task.id, way.side, score.parts)
            stock += score.parts[STOCK]
            credited += 1
            if (
                way.side == "add_to_watchlist"
                or Counter(s.text for *_, s in steps_of(base, task))[step.text] > 1
            ):
                continue
            lost = replaced(base, task, number, place, calls, spoiled=True)
            assert not lost.parts["answers"] or answered_elsewhere(base, task, step), (task.id, way.side)
    assert credited == sum(HOLD.values())
    assert stock < credited / 2


def steps_of(benchmark, task):
    for number, turn in enumerate(benchmark.truth(task).turns):
        for step in turn.steps:
            yield number, step


def answered_elsewhere(benchmark, task, step):
    """Whether another gold call of the task delivers the same data anyway."""
    tools = {tool for way in step.readings for tool in way.tools} | {step.call.name}
    return sum(s.call.name in tools for _, s in steps_of(benchmark, task)) > 1


def test_a_write_way_passes(base):
    for task, number, place, step in steps(base):
        for way in step.writings:
            assert replaced(base, task, number, place, way.calls(step.call.arguments)).passed


def test_another_file_is_no_credit(base):
    task = next(t for t in base.tasks() if t.id == "25")
    number, place, step = next((n, p, s) for t, n, p, s in steps(base) if t is task and s.call.name == "cat")
    assert not replaced(base, task, number, place, [ToolCall("cat", {"file_name": "none"})]).parts["answers"]
    part = ToolCall("tail", {"file_name": step.call.arguments["file_name"], "lines": 1})
    whole = ToolCall("tail", {"file_name": step.call.arguments["file_name"], "lines": 99})
    assert replaced(base, task, number, place, [whole]).parts["answers"]
    assert not replaced(base, task, number, place, [ToolCall("touch", {"file_name": "x"}), part]).passed


def test_native_breakages_are_no_way_and_are_genuine(base):
    """Inboxes with lists: 12 of 17 reads of sent messages; tickets without an owner: 4 of 7."""
    broken = {"view_messages_sent": "search_messages", "get_ticket": "get_user_tickets"}
    lacking = Counter()
    for task, number, place, step in steps(base):
        if step.call.name not in broken or step.readings:
            continue
        lacking[step.call.name] += 1
        hand = Hand(base.open(task))
        for n, turn in enumerate(base.truth(task).turns):
            for p, each in enumerate(turn.steps):
                if (n, p) < (number, place):
                    hand.call(each.call)
        other = broken[step.call.name]
        answer = hand.call(ToolCall(other, {"keyword": ""} if other == "search_messages" else {}))
        assert answer.error or answer.text == "[]", answer
    assert lacking == {"view_messages_sent": 12, "get_ticket": 4}


def test_a_drawn_answer_counts_when_it_was_delivered_undisturbed(base):
    """No two outside temperatures are alike, so a second one is as good as gold's."""
    task = next(t for t in base.tasks() if t.id == "91")
    call = ToolCall("get_outside_temperature_from_google")
    for delivered, answered in ((None, True), (ToolResponse('{"outsideTemperature": 1}'), False)):
        hand = Hand(base.open(task))
        for number, turn in enumerate(base.truth(task).turns):
            if number == 0:
                hand.call(call, delivered=LOST)
            for step in turn.steps:
                hand.call(step.call, delivered=delivered if step.call == call else None)
            hand.say()
        assert hand.score().parts["answers"] is answered
