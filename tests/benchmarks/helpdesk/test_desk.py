"""The helpdesk's tools: what they answer, what they refuse, and that an episode's world is its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.benchmarks.helpdesk import helpdesk, task
from bench2robust.benchmarks.helpdesk.desk import Desk
from bench2robust.benchmarks.helpdesk.tools import TOOLS
from bench2robust.benchmarks.helpdesk.world import KINDS, NEW_PRIORITY
from bench2robust.core.episode import Trajectory
from bench2robust.core.tools import ToolCall, ToolKind

NOTHING = Trajectory.saying(())
GOLDEN = Path(__file__).parents[2] / "golden" / "helpdesk.txt"


def every_question(world):
    """Return every read that has an answer in a world."""
    for user in world.users.values():
        yield ToolCall("find_user_by_login", {"login": user.login})
        yield ToolCall("find_user_by_badge", {"badge": user.badge})
        yield ToolCall("get_tickets", {"user": user.id})
        yield ToolCall("get_orders", {"user": user.id})
    for ticket in world.tickets.values():
        yield ToolCall("find_ticket", {"user": ticket.user, "topic": ticket.topic})
        yield ToolCall("get_status", {"ticket": ticket.id})
    for kind in KINDS:
        yield ToolCall("list_models", {"kind": kind})
        yield ToolCall("find_cheapest", {"kind": kind})


def answer(desk, name, **arguments):
    response = desk.call(ToolCall(name, arguments))
    assert not response.error, response.text
    try:
        return json.loads(response.text)
    except ValueError:
        return response.text


def refusal(desk, name, **arguments):
    response = desk.call(ToolCall(name, arguments))
    assert response.error
    return response.text


def with_state(state):
    """Return a desk and a ticket that is in a state."""
    for index in range(100):
        made = task(index)
        for ticket in made.data["world"].tickets.values():
            if ticket.state == state:
                return Desk(made), ticket
    raise AssertionError(state)


def test_no_observation_is_longer_than_sixty_words_and_signs():
    longest = 0
    for index in range(200):
        made = task(index, seed=3)
        desk = Desk(made)
        calls = [*every_question(made.data["world"]), *(action.call for action in made.gold)]
        for call in calls:
            response = desk.call(call)
            assert not response.error, (call, response)
            longest = max(longest, len(re.findall(r"\w+|[^\w\s]", response.text)))
    assert 50 < longest <= 60


def test_the_vocabulary_is_small():
    words = set()
    for index in range(400):
        made = task(index, seed=4)
        desk = Desk(made)
        texts = [made.instructions, *(desk.call(call).text for call in every_question(made.data["world"]))]
        words.update(word for text in texts for word in re.findall(r"\w+", text))
    assert len(words) < 300


@pytest.mark.parametrize(
    ("state", "to", "allowed"),
    [
        ("new", "open", False),
        ("open", "open", False),
        ("waiting", "open", False),
        ("solved", "open", True),
        ("closed", "open", True),
        ("new", "closed", True),
        ("open", "closed", True),
        ("waiting", "closed", True),
        ("solved", "closed", True),
        ("closed", "closed", False),
    ],
)
def test_which_states_a_ticket_can_be_set_to(state, to, allowed):
    desk, ticket = with_state(state)
    if allowed:
        assert answer(desk, "set_state", ticket=ticket.id, state=to)["state"] == to
    else:
        assert refusal(desk, "set_state", ticket=ticket.id, state=to) == f"Error: the ticket is {state}"
    assert answer(desk, "get_status", ticket=ticket.id)["state"] == (to if allowed else state)


def test_a_closed_ticket_keeps_its_priority():
    desk, ticket = with_state("closed")
    assert refusal(desk, "set_priority", ticket=ticket.id, priority=9) == "Error: the ticket is closed"
    assert answer(desk, "get_status", ticket=ticket.id)["priority"] == ticket.priority


def test_an_order_repeated_is_ordered_twice_and_takes_two_from_the_stock():
    made = task(0)
    desk, world = Desk(made), made.data["world"]
    model = next(iter(world.models.values()))
    for _ in range(2):
        answer(desk, "order_model", user=world.caller.id, model=model.id)
    assert answer(desk, "get_orders", user=world.caller.id)[-2:] == [model.id, model.id]
    assert answer(desk, "list_models", kind=model.kind)[model.id]["stock"] == model.stock - 2
    for _ in range(model.stock - 2):
        answer(desk, "order_model", user=world.caller.id, model=model.id)
    assert refusal(desk, "order_model", user=world.caller.id, model=model.id) == "Error: none is left"


def test_both_sides_of_a_class_agree():
    for index in range(50):
        made = task(index)
        desk, world = Desk(made), made.data["world"]
        for user in world.users.values():
            assert answer(desk, "find_user_by_login", login=user.login) == user.id
            assert answer(desk, "find_user_by_badge", badge=user.badge) == user.id
            for number, record in answer(desk, "get_tickets", user=user.id).items():
                assert answer(desk, "find_ticket", user=user.id, topic=record["topic"]) == number
                status = answer(desk, "get_status", ticket=number)
                assert status == {"state": record["state"], "priority": record["priority"]}
        for kind in KINDS:
            listed = answer(desk, "list_models", kind=kind)
            cheapest = answer(desk, "find_cheapest", kind=kind)
            number = cheapest.pop("model")
            assert listed[number] == cheapest == min(listed.values(), key=lambda model: model["price"])


def test_the_redundancies_that_doubts_rely_on_hold_in_every_world():
    for index in range(300):
        world = task(index, seed=5).data["world"]
        assert all(t.priority == NEW_PRIORITY for t in world.tickets.values() if t.state == "new")
        for kind in KINDS:
            prices = [model.price for model in world.models_of(kind)]
            assert prices == sorted(set(prices))
            assert len(prices) == 3


def test_without_alternatives_they_are_no_tools():
    made = task(0)
    desk = Desk(made, alternatives=False)
    for tool in TOOLS:
        text = desk.call(ToolCall(tool.name, {})).text
        assert text.startswith("Error: no tool") == tool.alternative


@given(
    st.sampled_from([tool.name for tool in TOOLS] + ["", "reboot"]),
    st.dictionaries(
        st.sampled_from(["user", "ticket", "topic", "kind", "state", "priority", "model", "a", "b", "login"]),
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.text(max_size=4), st.lists(st.integers(), max_size=2)
        ),
        max_size=3,
    ),
)
@settings(deadline=None)  # a busy machine is no fault
def test_whatever_is_called_the_desk_answers_and_nothing_else_happens(name, arguments):
    made = task(1)
    desk = Desk(made)
    response = desk.call(ToolCall(name, arguments))
    if name not in ("add", "transfer_to_human"):
        assert response.error
    fresh = Desk(made)
    assert [desk.call(q) for q in every_question(made.data["world"])] == [
        fresh.call(q) for q in every_question(made.data["world"])
    ]


def test_episodes_do_not_see_each_other():
    made = next(t for t in map(task, range(50)) if any(a.call.name == "order_model" for a in t.gold))
    before = [Desk(made).call(question) for question in every_question(made.data["world"])]
    busy = Desk(made)
    for action in made.gold:
        busy.call(action.call)
    assert [busy.call(question) for question in every_question(made.data["world"])] != before
    assert [Desk(made).call(question) for question in every_question(made.data["world"])] == before


class TestScore:
    def test_gold_passes_and_nothing_does_not(self):
        kinds = {tool.name: tool.kind for tool in TOOLS}
        for index in range(100):
            made = task(index)
            desk = Desk(made)
            writes = False
            for action in made.gold:
                assert not desk.call(action.call).error
                writes |= kinds[action.call.name] in (ToolKind.WRITE, ToolKind.ESCALATION)
            assert desk.score(Trajectory.saying([" ".join(made.tell)])).passed
            assert Desk(made).score(NOTHING).passed is not (writes or bool(made.tell))

    def test_a_value_to_tell_has_to_be_a_word_of_its_own(self):
        made = next(t for t in map(task, range(50)) if t.tell and t.tell[0].isdecimal())
        for said, told in ((f"It is {made.tell[0]}.", True), (f"It is 1{made.tell[0]}.", False), ("", False)):
            score = Desk(made).score(Trajectory.saying([said, *made.tell[1:]]))
            assert score.parts["communicated"] is told

    def test_one_write_too_many_fails(self):
        made = task(0)
        desk, world = Desk(made), made.data["world"]
        for action in made.gold:
            desk.call(action.call)
        answer(desk, "order_model", user=world.caller.id, model=next(iter(world.models)))
        assert desk.score(Trajectory.saying(made.tell)).parts == {
            "database": False,
            "communicated": True,
            "handed_over": True,
        }

    def test_who_wants_a_person_has_to_get_one(self):
        made = next(t for t in map(task, range(200)) if t.gold[-1].call.name == "transfer_to_human")
        desk = Desk(made)
        for action in made.gold[:-1]:
            desk.call(action.call)
        assert desk.score(Trajectory.saying(made.tell)).parts["handed_over"] is False
        desk.call(made.gold[-1].call)
        assert desk.score(Trajectory.saying(made.tell)).passed


def test_what_an_agent_is_told_is_the_golden_text():
    """Tools, policy and one world's answers: changing them means a new `benchmark.RELEASE`."""
    made = task(0)
    desk = Desk(made)
    lines = [helpdesk().policy(alternatives=True), ""]
    lines += [json.dumps(tool.openai()) for tool in helpdesk().tools(alternatives=True)]
    lines += ["", *(made.instructions for made in helpdesk().tasks()[:40]), ""]
    for call in (*every_question(made.data["world"]), *(action.call for action in made.gold)):
        lines.append(f"{call.name}({json.dumps(call.arguments)}) → {desk.call(call).text}")
    assert "\n".join(lines) + "\n" == GOLDEN.read_text(encoding="utf-8")
