"""The verdict on an episode: the live state at the end of each turn, and what the agent was delivered.

An assistant text ends a turn. For every turn in which the ground truth makes a call:

``state``    every public attribute of every involved class equals the ground truth's at the end of that turn;
``answers``  every *read* of the ground truth is answered: its text was delivered so far (as a sub-multiset, as
             in BFCL), or another way that holds in this task delivered the same data;
``turns``    the agent attempted a call in it, and in no turn more than BFCL's step limit allows.

The last request has to be answered too, with a text or by handing over.

Writes are judged by the state alone, so one that landed although its answer was lost is not held against the
agent, and one that was blocked is not counted for it. ``stock_on_executed`` is what BFCL's checker says of the
calls that were executed, all answers compared, for comparison with published numbers; it is reported and not
needed. It knows no step limit, and no function that is held out: BFCL makes those calls, so here they are made
for it once more, in a world where every function exists. Handing over, which BFCL does not have, is no call in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from bench2robust.core.episode import Role, Score, Trajectory
from bench2robust.core.errors import BenchmarkError
from bench2robust.core.tools import CallRecord

from .equivalence import Reading
from .functions import DRAWN, ESCALATION
from .truth import Step, Truth, parsed
from .world import Blueprint, State, World

STOCK = "stock_on_executed"
"""The part of a score that is reported only."""


@dataclass(slots=True)
class Played:
    """One turn as it was played."""

    records: list[CallRecord] = field(default_factory=list)
    """The calls the agent attempted, handing over left out."""
    state: State = field(default_factory=dict)
    """The public state at its end."""
    over: bool = False
    """Whether the agent ended it: with a text, or by handing over."""


def judge(blueprint: Blueprint, truth: Truth, trajectory: Trajectory, states: Mapping[int, State]) -> Score:
    """Return the verdict.

    Args:
        blueprint: what the episode started from.
        truth: the task's ground truth.
        trajectory: what happened.
        states: the public state at the end of each turn, by the number of calls executed until then.

    Raises:
        BenchmarkError: the trajectory is not that of the environment.
    """
    executed, made = sum(record.executed for record in trajectory.records), max(states)
    if executed != made:
        raise BenchmarkError(
            f"expected the trajectory of this environment, with {made} executed calls, got {executed}"
        )
    turns = _turns(trajectory, states, truth)
    complete = len(turns) == len(truth.turns) and turns[-1].over
    pairs = [(turn, played) for turn, played in zip(truth.turns, turns, strict=False) if turn.steps]
    state = complete and all(_same(turn.state, played.state) for turn, played in pairs)
    answers = complete and _answered(truth, turns)
    attempted = complete and all(played.records for _, played in pairs)
    within = all(len(p.records) <= t.most_steps for t, p in zip(truth.turns, turns, strict=False))
    parts = {
        "state": state,
        "answers": answers,
        "turns": attempted and within,
        STOCK: complete and _stock(truth, _as_upstream(blueprint, turns)),
    }
    return Score(state and answers and attempted and within, parts)


def _turns(trajectory: Trajectory, states: Mapping[int, State], truth: Truth) -> list[Played]:
    """Divide a trajectory by the user's turns; what comes after the last one belongs to none."""
    turns: list[Played] = []
    executed, ends = 0, list[int]()
    listening = False
    for message in trajectory.messages:
        if message.role is Role.USER and message.call is None:
            if len(turns) == len(truth.turns):
                break
            turns.append(Played())
            ends.append(executed)
            listening = True
        elif message.role is Role.ASSISTANT and message.record is None:
            listening = False
            if turns:
                turns[-1].over = True
        elif message.role is Role.ASSISTANT and message.record is not None:
            record = trajectory.records[message.record]
            executed += record.executed
            if not listening:
                continue
            ends[-1] = executed
            if record.call.name == ESCALATION.name:
                turns[-1].over |= record.executed
            else:
                turns[-1].records.append(record)
    for played, end in zip(turns, ends, strict=True):
        if end not in states:
            raise BenchmarkError(
                f"expected to be told of the end of every turn (`begin`), not of that after call={end}"
            )
        played.state = states[end]
    return turns


def _same(truth: State, found: State) -> bool:
    return truth is found or truth == found


def _answered(truth: Truth, turns: Sequence[Played]) -> bool:
    """Whether every read of the ground truth is answered by the end of its turn."""
    seen: list[CallRecord] = []
    texts: Counter[str] = Counter()
    for turn, played in zip(truth.turns, turns, strict=True):
        seen += played.records
        texts.update(record.delivered.text for record in played.records)
        asked = Counter(step.text for step in turn.steps if step.reads)
        lacking = {text for text, times in asked.items() if texts[text] < times}
        if not all(_credited(step, seen) for step in turn.steps if step.reads and step.text in lacking):
            return False
    return True


def _credited(step: Step, seen: Sequence[CallRecord]) -> bool:
    """Whether the data of a read was delivered in other words."""
    if step.call.name in DRAWN:
        same = (record for record in seen if record.call.signature() == step.call.signature())
        return any(record.executed and record.delivered == record.true for record in same)
    return any(_by(way, step, seen) for way in step.readings)


def _by(way: Reading, step: Step, seen: Sequence[CallRecord]) -> bool:
    heard = [
        [
            (r.call.arguments, parsed(r.delivered.text))
            for r in seen
            if r.call.name == tool and not r.delivered.error
        ]
        for tool in way.tools
    ]
    return any(way.answer(step.call.arguments, answers) == step.value for answers in product(*heard))


def _as_upstream(blueprint: Blueprint, turns: Sequence[Played]) -> Sequence[Played]:
    """Return the turns as BFCL would have played them, where a function that is held out was called."""
    made = [[record for record in played.records if record.true is not None] for played in turns]
    if not any(blueprint.refused(r.call.name, r.true) for records in made for r in records if r.true):
        return turns
    world, again = World(blueprint, whole=True), []
    for records in made:
        repeated = [replace(record, true=world.call(record.call)) for record in records]
        again.append(Played(repeated, world.state))
    return again


def _stock(truth: Truth, turns: Sequence[Played]) -> bool:
    """Return what BFCL's ``multi_turn_checker`` says of the executed calls."""
    texts: Counter[str] = Counter()
    for turn, played in zip(truth.turns, turns, strict=True):
        answers = [record.true.text for record in played.records if record.true is not None]
        texts.update(answers)
        if not turn.steps:
            continue
        if not answers or not _same(turn.state, played.state):
            return False
        if not Counter(step.text for step in turn.steps) <= texts:
            return False
    return True
