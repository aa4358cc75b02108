"""The verdict: gold passes, what is wrong fails, and what is reported as BFCL's verdict is BFCL's."""

from __future__ import annotations

import pytest

from bench2robust.benchmarks.bfcl.functions import written
from bench2robust.benchmarks.bfcl.scoring import STOCK
from bench2robust.core.errors import BenchmarkError
from bench2robust.core.tools import ToolCall, ToolResponse

from . import playing
from .playing import DOWN, Hand, play

pytestmark = pytest.mark.bfcl


def entry_of(benchmark, task):
    return benchmark.blueprint(task).entry


def executed(hand, turns):
    """The executed calls of a hand as BFCL writes them, turn by turn."""
    found, records = [], iter(hand.trajectory.records)
    for _ in range(turns):
        found.append([])
    turn = -1
    for message in hand.trajectory.messages:
        if message.role == "user":
            turn += 1
        elif message.role == "assistant" and message.record is not None:
            record = next(records)
            if record.executed:
                found[turn].append(written(record.call))
    return found


def test_gold_passes_here_and_upstream(category, upstream):
    for task in category.tasks():
        score = play(category, task).score()
        assert score.passed, (task.id, score.parts)
        assert all(score.parts.values())
        entry = entry_of(category, task)
        assert upstream.verdict(entry, [list(lines) for lines in entry.gold])


def test_the_tasks_are_the_200_entries_less_the_five(category):
    assert [task.id for task in category.tasks()] == [str(number) for number in range(200)]


WRONG = {
    "nothing": lambda place, step: [],
    "first call left out": lambda place, step: [] if place == 0 else [step.call],
    "every call twice": lambda place, step: [step.call, step.call],
    "writes left out": lambda place, step: [step.call] if step.reads else [],
    "reads left out": lambda place, step: [] if step.reads else [step.call],
    "another text": lambda place, step: [changed(step.call)],
    "unknown tool": lambda place, step: [ToolCall("no_such_tool")],
}


def changed(call: ToolCall) -> ToolCall:
    return ToolCall(
        call.name,
        {k: f"{v} not" if isinstance(v, str) and k != "folder" else v for k, v in call.arguments.items()},
    )


SAMPLED = 5
"""Of five tasks one by default, and those in which the verdict once was not upstream's."""
ONCE_WRONG = {"6", "10", "15", "38", "42", "46", "167"}


def sampled(category):
    return [task for task in category.tasks() if int(task.id) % SAMPLED == 0 or task.id in ONCE_WRONG]


def differ(category, upstream, how, tasks):
    """Play wrong trajectories; return how often upstream said yes and no, and the tasks where we said otherwise."""
    counts, different = {True: 0, False: 0}, []
    for task in tasks:
        truth, entry = category.truth(task), entry_of(category, task)
        hand = Hand(category.open(task))
        for turn in truth.turns:
            for place, step in enumerate(turn.steps):
                for call in WRONG[how](place, step):
                    hand.call(call)
            hand.say()
        theirs, score = upstream.verdict(entry, executed(hand, len(truth.turns))), hand.score()
        if score.parts[STOCK] != theirs:
            different.append(task.id)
        # What BFCL has no limit for may fail here; nothing else that it lets pass does.
        within = all(
            len(calls) <= turn.most_steps
            for calls, turn in zip(executed(hand, len(truth.turns)), truth.turns, strict=True)
        )
        if theirs and score.passed is not within:
            different.append(f"{task.id} passed")
        counts[theirs] += 1
    return counts, different


@pytest.mark.parametrize("how", WRONG)
def test_stock_on_executed_is_upstreams_verdict(category, upstream, how):
    """On clean trajectories, right or wrong, the reported part is what BFCL's checker says, task by task."""
    counts, different = differ(category, upstream, how, sampled(category))
    assert not different
    assert counts[False] >= 10, counts


@pytest.mark.slow
@pytest.mark.parametrize("how", WRONG)
def test_stock_on_executed_is_upstreams_verdict_in_every_task(category, upstream, how):
    counts, different = differ(category, upstream, how, category.tasks())
    assert not different
    assert counts[False] >= 80, counts


def held_out_calls(blueprint, turn, step):
    """Calls of functions that do not exist in a turn, with a gold call's own arguments where the names fit."""
    for name in sorted(blueprint.whole):
        if name not in blueprint.tools or name in blueprint.withheld(turn):
            function = blueprint.whole[name]
            fitting = {k: v for k, v in step.call.arguments.items() if k in function.names}
            words = {k: "x" for k in function.spec.parameters["required"]}
            yield ToolCall(name, {**words, **fitting})


def with_held_out(category, task, upstream):
    """Gold, and before every call those of the functions that are held out: ours and upstream's verdict."""
    blueprint, truth = category.blueprint(task), category.truth(task)
    hand = Hand(category.open(task))
    called = 0
    for number, turn in enumerate(truth.turns):
        for step in turn.steps:
            for call in held_out_calls(blueprint, number, step):
                assert hand.call(call).error
                called += 1
            hand.call(step.call)
        hand.say()
    theirs = upstream.verdict(blueprint.entry, executed(hand, len(truth.turns)))
    return called, hand.score().parts[STOCK], theirs


def test_a_function_that_is_held_out_is_executed_for_upstreams_verdict(category, upstream):
    """BFCL's executor knows every function of a class at any time."""
    verdicts = {True: 0, False: 0}
    for task in category.tasks():
        called, ours, theirs = with_held_out(category, task, upstream)
        if called:
            assert ours == theirs, task.id
            verdicts[theirs] += 1
    assert verdicts[False] >= 18, verdicts


def test_the_checker_has_no_step_limit_and_our_verdict_has(long_context, upstream):
    for number in ("38", "46"):
        task = next(t for t in long_context.tasks() if t.id == number)
        hand = Hand(long_context.open(task))
        for turn in long_context.truth(task).turns:
            for step in turn.steps:
                hand.call(step.call)
                hand.call(step.call)
            hand.say()
        assert upstream.verdict(entry_of(long_context, task), executed(hand, len(hand.talker._words)))
        score = hand.score()
        assert score.parts[STOCK]
        assert not score.parts["turns"]
        assert not score.passed


def test_a_last_request_that_is_never_answered_fails_here_and_upstream(category):
    """Its runner never gets a result of that turn; in task 167 there is nothing to do in it."""
    for task in sampled(category):
        hand = Hand(category.open(task))
        turns = category.truth(task).turns
        for number, turn in enumerate(turns):
            for step in turn.steps:
                hand.call(step.call)
            if number < len(turns) - 1:
                hand.say()
        score = hand.score()
        assert not score.passed, task.id
        assert not score.parts[STOCK]
        hand.say()
        assert hand.score().passed
        assert hand.score().parts[STOCK]


def test_handing_over_answers_the_last_request(base):
    task = next(t for t in base.tasks() if t.id == "167")
    hand = Hand(base.open(task))
    turns = base.truth(task).turns
    for number, turn in enumerate(turns):
        for step in turn.steps:
            hand.call(step.call)
        if number < len(turns) - 1:
            hand.say()
    hand.call(ToolCall("transfer_to_human_agents", {"summary": "nothing to do here"}))
    assert hand.score().passed


def test_every_wrong_write_fails_in_both(base, upstream):
    """One gold write at a time is given another argument; where the public state differs, both say no."""
    told = 0
    for task in base.tasks()[::4]:
        truth, entry = base.truth(task), entry_of(base, task)
        for number, turn in enumerate(truth.turns):
            for place, step in enumerate(turn.steps):
                wrong = changed(step.call)
                if step.reads or wrong == step.call:
                    continue
                hand = Hand(base.open(task))
                for n, other in enumerate(truth.turns):
                    for p, each in enumerate(other.steps):
                        hand.call(wrong if (n, p) == (number, place) else each.call)
                    hand.say()
                ours = hand.score()
                assert ours.parts[STOCK] == upstream.verdict(entry, executed(hand, len(truth.turns)))
                told += not ours.passed
    assert told > 60, told


TABLE = {
    "clean": (200, 200),
    "retried": (200, 200),
    "writes_down": (5, 7),
    "reads_down": (8, 9),
    "writes_lost_and_repeated": (72, 72),
    "writes_lost": (200, 200),
    "reads_corrupted": (200, 9),
    "reads_corrupted_and_read_again": (200, 200),
}
"""Simulated agent to passes under BFCL's rule on executed calls, and under ours (measured before, elsewhere)."""


@pytest.mark.parametrize("agent", TABLE)
def test_the_simulated_agents_get_their_verdicts(base, agent):
    scores = [play(base, task, getattr(playing, agent)).score() for task in base.tasks()]
    assert (sum(s.parts[STOCK] for s in scores), sum(s.passed for s in scores)) == TABLE[agent]


def test_more_steps_than_the_limit_fail_the_entry(base):
    task = base.tasks()[0]
    for extra, passes in ((17, True), (18, False)):
        hand = Hand(base.open(task))
        for number, turn in enumerate(base.truth(task).turns):
            for step in turn.steps:
                hand.call(step.call)
            for _ in range(extra if number == 0 else 0):
                hand.call(ToolCall("pwd"))
            hand.say()
        score = hand.score()
        assert score.passed is passes
        assert score.parts["turns"] is passes


def test_a_turn_without_a_call_fails_but_a_blocked_call_is_an_attempt(base):
    """Task 139: the write of its first turn changes nothing that is not there already."""
    task = next(t for t in base.tasks() if t.id == "139")
    for delivered, passes in ((None, False), (DOWN, True)):
        hand = Hand(base.open(task))
        for number, turn in enumerate(base.truth(task).turns):
            for step in turn.steps:
                if number:
                    hand.call(step.call)
                elif delivered:
                    hand.call(step.call, delivered=delivered, executed=False)
            hand.say()
        score = hand.score()
        assert score.parts["turns"] is passes
        assert score.passed is (passes and score.parts["state"] and score.parts["answers"])


def test_a_write_in_the_wrong_turn_fails(base):
    task = base.tasks()[2]
    truth = base.truth(task)
    hand = Hand(base.open(task))
    late = truth.turns[1].steps[0].call
    for number, turn in enumerate(truth.turns):
        for step in turn.steps:
            hand.call(ToolCall("pwd") if step.call == late and number == 1 else step.call)
        if number == 2:
            hand.call(late)
        hand.say()
    assert not hand.score().parts["state"]


def test_what_comes_after_the_last_turn_does_not_count(base):
    """BFCL's talk is over with the last text; an agent that goes on calling has no turn to do so in."""
    task = base.tasks()[0]
    hand = play(base, task)
    hand.call(ToolCall("touch", {"file_name": "late.txt"}))
    assert hand.score().passed


def test_a_talk_that_ends_early_fails_even_where_nothing_is_left_to_do(base):
    """The last turn of task 167 asks for nothing that can be done; leaving before it is asked is no pass."""
    task = next(t for t in base.tasks() if t.id == "167")
    hand = Hand(base.open(task))
    for turn in base.truth(task).turns[:-1]:
        for step in turn.steps:
            hand.call(step.call)
        if turn is not base.truth(task).turns[-2]:
            hand.say()
    assert not hand.score().passed
    assert play(base, task).score().passed


def test_a_trajectory_of_another_environment_is_refused(base):
    task = base.tasks()[0]
    mine, other = play(base, task), play(base, task)
    other.environment.call(ToolCall("pwd"))
    with pytest.raises(BenchmarkError, match="expected the trajectory of this environment"):
        other.environment.score(mine.trajectory)


def test_calls_after_the_last_text_change_no_verdict(category):
    for task in category.tasks()[::7]:
        hand = play(category, task)
        for call in [
            step.call for turn in category.truth(task).turns for step in turn.steps if not step.reads
        ]:
            hand.call(call)
        assert hand.score().passed, task.id


def test_an_episode_whose_turns_the_environment_never_heard_of_is_not_judged(base):
    task = base.tasks()[0]
    hand, silent = play(base, task), base.open(task)
    for record in hand.trajectory.records:
        silent.call(record.call)
    with pytest.raises(BenchmarkError, match="expected to be told of the end of every turn"):
        silent.score(hand.trajectory)


def test_handing_over_is_no_attempt(base):
    task = base.tasks()[6]
    hand = Hand(base.open(task))
    assert hand.call(ToolCall("transfer_to_human_agents", {"summary": "stuck"})) == ToolResponse(
        "Transfer successful"
    )
    assert hand.environment.call(ToolCall("transfer_to_human_agents")).error
    hand.environment._calls -= 1
    assert not hand.score().parts["turns"]


MORE_LENIENT = {5, 8, 25, 31, 34, 72, 86, 133, 135, 153, 154, 166}
MORE_LENIENT |= {168, 170, 171, 173, 174, 182, 185, 188, 192, 195, 198}
"""Tasks of base in which ours passes and BFCL's does not, without injection (why: docs/design/bfcl.md)."""


def edited(base, task, edit):
    hand = Hand(base.open(task))
    for number, turn in enumerate(base.truth(task).turns):
        for call in edit(number, [step.call for step in turn.steps]):
            hand.call(call)
        hand.say()
    return hand.score()


@pytest.mark.slow
def test_where_ours_and_bfcls_differ_without_injection(base):
    """Each gold call left out, each given other arguments, every turn reversed."""
    different = set()
    for task in base.tasks():
        edits = [lambda _, calls: calls[::-1]]
        for at, turn in enumerate(base.truth(task).turns):
            for place, step in enumerate(turn.steps):
                for other in ([], [changed(step.call)]):
                    edits.append(
                        lambda n, calls, at=at, place=place, other=other: (
                            calls[:place] + other + calls[place + 1 :] if n == at else calls
                        )
                    )
        for edit in edits:
            score = edited(base, task, edit)
            assert score.passed or not score.parts[STOCK], task.id
            if score.passed and not score.parts[STOCK]:
                different.add(int(task.id))
    assert different == MORE_LENIENT
