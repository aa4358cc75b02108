"""Turns: what the user says, which functions there are when, how a run of episodes ends."""

from __future__ import annotations

import pytest

from bench2robust.benchmarks import bfcl
from bench2robust.benchmarks.bfcl.functions import ESCALATION
from bench2robust.core.ports import DualControl, OwnTools
from bench2robust.core.tools import ToolCall

pytestmark = pytest.mark.bfcl


def find(benchmark, number):
    return next(task for task in benchmark.tasks() if task.id == number)


def names(environment):
    return [tool.name for tool in environment.offered]


def test_the_words_are_bfcls(category):
    for task in category.tasks():
        entry = category.blueprint(task).entry
        said = (task.script.opening, *task.script.turns)
        assert len(said) == len(entry.gold)
        for turn, (ours, theirs) in enumerate(zip(said, entry.question, strict=True)):
            assert ours == theirs or turn in entry.missed
            assert ours.strip()


def test_new_functions_come_with_bfcls_own_sentence(miss_func):
    from bfcl_eval.constants import default_prompts

    sentence = default_prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC
    for task in miss_func.tasks():
        (turn,) = miss_func.blueprint(task).entry.missed
        assert (task.script.opening, *task.script.turns)[turn] == sentence


def test_the_policy_is_bfcls_prompt_without_the_format_of_calls(base):
    from bfcl_eval.constants import default_prompts

    style = default_prompts.PROMPT_STYLE_TEMPLATES["classic"]
    theirs = f"{style['persona']} {style['task']} {style['multiturn_behavior']}"
    assert base.policy(alternatives=True).split() == theirs.replace("functions.You", "functions. You").split()
    assert base.policy(alternatives=False) == base.policy(alternatives=True)


def test_a_missed_function_comes_with_its_turn_and_no_sooner(miss_func):
    for task in miss_func.tasks():
        blueprint = miss_func.blueprint(task)
        ((turn, missed),) = blueprint.entry.missed.items()
        kept_back = blueprint.withheld(0)
        environment = miss_func.open(task)
        assert isinstance(environment, OwnTools)
        assert isinstance(environment, DualControl)
        offered, user = environment.offered, environment.user()
        user.reply(None)
        for number in range(len(blueprint.entry.gold)):
            there = kept_back <= set(names(environment))
            assert there is (number >= turn), task.id
            for name in kept_back:
                undefined = environment.call(ToolCall(name)).text.endswith(f"name '{name}' is not defined")
                assert undefined is (number < turn)
            user.reply("Done.")
        assert environment.offered is offered
        assert missed - kept_back <= {"tail"}


def test_what_the_data_holds_out_is_really_held_out(category):
    """18 entries in each category: 7 without cp, 6 without mv, 5 without rm."""
    held_out = [(task, category.blueprint(task).entry.excluded) for task in category.tasks()]
    counts = {name: sum(name in excluded for _, excluded in held_out) for name in ("cp", "mv", "rm")}
    assert counts == {"cp": 7, "mv": 6, "rm": 5}
    for task, excluded in held_out:
        environment = category.open(task)
        for name in excluded:
            assert name not in names(environment)
            assert environment.call(ToolCall(name, {"source": "a", "destination": "b"})).error


def test_a_task_offers_the_functions_of_its_classes_and_the_way_out(base):
    for task in base.tasks():
        entry, offered = base.blueprint(task).entry, names(base.open(task))
        assert offered[-1] == ESCALATION.name
        assert len(offered) == len(set(offered))
        apis = {base.blueprint(task).tools[name].api for name in offered[:-1]}
        assert apis == set(entry.classes)
    assert len(base.tools(alternatives=True)) == 129
    assert base.tools(alternatives=False) == base.tools(alternatives=True)


def test_the_five_are_left_out_unless_asked_for():
    for short, all_ in ((bfcl.base, bfcl.base_all), (bfcl.miss_func, bfcl.miss_func_all)):
        kept, every = [t.id for t in short().tasks()], [t.id for t in all_().tasks()]
        assert sorted(set(every) - set(kept), key=int) == ["4", "18", "173", "176", "187"]
        assert len(kept) == 195
        assert {t.id for t in all_().tasks()} - set(kept) == bfcl.EXCLUDED.keys()


def test_gold_actions_say_their_turn(category):
    for task in category.tasks():
        turns = category.truth(task).turns
        expected = [(n, step.call.name) for n, turn in enumerate(turns) for step in turn.steps]
        assert [(action.turn, action.call.name) for action in task.gold] == expected
