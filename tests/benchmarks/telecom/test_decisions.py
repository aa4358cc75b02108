"""What a telecom goal decides, fact by fact: driven without a policy, with answers of the carrier tampered with."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench2robust.benchmarks.tau2.telecom.plan import compile_plan, routes
from bench2robust.core.plan import Act, Ask, Done, Handover, Need, Stuck

pytestmark = pytest.mark.tau2


def untouched(call, value):
    return value


class Drive:
    """Follows a plan's only goal by each fact's first route; `tamper` changes what the carrier answers."""

    def __init__(self, bench, task, tamper=untouched):
        self.environment, self.tamper = bench.open(task, alternatives=False), tamper
        self.user = self.environment.user()
        self.goal = compile_plan(task).goals[0]
        self.facts, self.done, self.acts, self.said = {}, 0, [], []

    def read(self, route):
        values = []
        for part in route.parts:
            answer = self.environment.call(part.call)
            assert not answer.error, answer
            values.append(self.tamper(part.call, json.loads(answer.text)))
        return route.build(values)

    def happened(self, act):
        return act.happened(self.read(act.verify.routes[0]))

    def run(self):
        """Go on to the end; returns the last decision."""
        for _ in range(100):
            decision = self.goal.decide(self.facts, self.done)
            match decision:
                case Need(fetch):
                    self.facts[fetch.fact] = self.read(fetch.routes[0])
                case Ask(fact, question):
                    self.said.append(question)
                    self.facts[fact] = self.user.reply(question)
                case Act(call):
                    self.acts.append((decision, self.happened(decision)))
                    assert not self.environment.call(call).error
                    self.done += 1
                    self.acts[-1] += (self.happened(decision),)
                case _:
                    return decision
        raise AssertionError("the goal never ends")


def changing(tool, **fields):
    """Change fields of every record with them that a tool answers with."""

    def tamper(call, value):
        if call.name != tool:
            return value
        records = value if isinstance(value, list) else [value]
        for record in records:
            record.update({key: new for key, new in fields.items() if key in record})
        return value

    return tamper


def with_gold(bench, name):
    return next(task for task in bench.tasks() if name in {a.call.name for a in task.gold})


def made(drive):
    return [act.call.name for act, *_ in drive.acts]


def reworded(task, old, new):
    answers = tuple(replace(a, text=a.text.replace(old, new)) for a in task.script.answers)
    script = replace(task.script, opening=task.script.opening.replace(old, new), answers=answers)
    assert script != task.script
    return replace(task, script=script)


def test_looking_again_tells_whether_a_write_has_happened(bench):
    for task in bench.tasks():
        drive = Drive(bench, task)
        assert isinstance(drive.run(), Done | Handover), task.id
        assert [(before, after) for _, before, after in drive.acts] == [(False, True)] * len(drive.acts)


def test_every_write_is_told_before_the_next(bench):
    task = max(bench.tasks(), key=lambda task: sum(not a.by_user for a in task.gold))
    drive = Drive(bench, task)
    drive.run()
    assert len(drive.acts) == 2
    assert sum(question.startswith(("I have", "Your line is")) for question in drive.said) == 2


def test_no_more_is_refueled_than_the_policy_allows(bench):
    drive = Drive(bench, reworded(with_gold(bench, "refuel_data"), "2.0 GB", "5.5 GB"))
    drive.run()
    refueled = [act.call.arguments["gb_amount"] for act, *_ in drive.acts if act.call.name == "refuel_data"]
    assert refueled == [2.0]


def test_no_refueling_by_an_amount_that_the_user_does_not_say(bench):
    drive = Drive(bench, reworded(with_gold(bench, "refuel_data"), "2.0 GB", "some"))
    decision = drive.run()
    assert isinstance(decision, Stuck)
    assert decision.reason == "the user does not say how much data to refuel"


def test_the_price_that_is_told_is_the_one_that_was_read(bench):
    tamper = changing("get_details_by_id", data_refueling_price_per_gb=2.4)
    drive = Drive(bench, with_gold(bench, "refuel_data"), tamper)
    drive.run()
    assert any("at 2.4 USD per GB" in question for question in drive.said)
    assert "I have added 2.0 GB to your line for 4.80 USD." in drive.said


def test_roaming_is_for_users_abroad(bench):
    drive = Drive(bench, reworded(with_gold(bench, "enable_roaming"), "abroad in France", "at home"))
    drive.run()
    assert "enable_roaming" not in made(drive)
    assert not any("toggle_roaming" in question for question in drive.said)


def test_data_that_does_not_look_used_up_is_not_refueled_and_the_phone_shows_it(bench):
    drive = Drive(bench, with_gold(bench, "refuel_data"), changing("get_details_by_id", data_used_gb=12.5))
    decision = drive.run()
    assert "refuel_data" not in made(drive)
    assert isinstance(decision, Stuck)
    assert decision.reason == "the phone still shows the trouble"
    assert {"customer_id", "line 1", "plan P1002"} <= set(decision.used)


def test_an_active_line_is_not_resumed(bench):
    drive = Drive(bench, with_gold(bench, "resume_line"), changing("get_details_by_id", status="Active"))
    assert isinstance(drive.run(), Stuck)
    assert made(drive) == []


def test_a_line_whose_contract_has_ended_is_not_resumed(bench):
    tamper = changing("get_details_by_id", contract_end_date="2025-01-31")
    drive = Drive(bench, with_gold(bench, "resume_line"), tamper)
    assert isinstance(drive.run(), Handover)
    assert made(drive) == ["send_payment_request"]


def test_a_bill_that_is_not_paid_stops_the_rest(bench):
    def tamper(call, value):
        if call.name == "get_bills_for_customer":
            for bill in value:
                bill["status"] = {"Paid": "Awaiting Payment"}.get(bill["status"], bill["status"])
        return value

    drive = Drive(bench, with_gold(bench, "resume_line"), tamper)
    decision = drive.run()
    assert isinstance(decision, Stuck)
    assert decision.reason == "bill B1234321 is not paid"
    assert made(drive) == ["send_payment_request"]


@pytest.mark.parametrize(
    ("tool", "fields", "reason"),
    [
        ("get_customer_by_phone", {"full_name": ""}, "the customer cannot be identified"),
        ("get_customer_by_phone", {"line_ids": []}, "no line of the customer has that number"),
        ("get_details_by_id", {"phone_number": ""}, "no line of the customer has that number"),
    ],
)
def test_what_is_wrong_with_what_was_read(bench, tool, fields, reason):
    decision = Drive(bench, with_gold(bench, "refuel_data"), changing(tool, **fields)).run()
    assert isinstance(decision, Stuck)
    assert decision.reason == reason


def test_a_user_with_another_name_is_not_identified(bench):
    drive = Drive(bench, reworded(bench.tasks()[0], "John Smith", "Jane Doe"))
    decision = drive.run()
    assert isinstance(decision, Stuck)
    assert drive.said == []


def test_nothing_looks_wrong_in_the_database(bench):
    for task in bench.tasks()[::8]:
        environment = bench.open(task)
        db = environment._world.tools.db
        for line in db.lines:
            assert routes.line_doubts(json.loads(line.model_dump_json())) is None, line
        assert routes.bills_doubts([json.loads(bill.model_dump_json()) for bill in db.bills]) is None


LINE = {"phone_number": "1", "plan_id": "P", "status": "Suspended", "suspension_start_date": "2025-02-01"}


@pytest.mark.parametrize(
    ("fields", "doubt"),
    [
        ({}, None),
        ({"status": "Active"}, "status and suspension date disagree"),
        ({"suspension_start_date": None}, "status and suspension date disagree"),
        ({"phone_number": ""}, "phone_number is empty"),
        ({"plan_id": ""}, "plan_id is empty"),
        ({"contract_end_date": ""}, "contract_end_date is empty"),
        ({"contract_end_date": None}, None),
    ],
)
def test_doubts_about_a_line(fields, doubt):
    assert routes.line_doubts({**LINE, **fields}) == doubt


@pytest.mark.parametrize(
    ("bill", "doubt"),
    [
        ({"total_due": 65.0, "line_items": [{"amount": 70.0}, {"amount": -5.0}]}, None),
        ({"total_due": 60.0, "line_items": [{"amount": 65.0}]}, "items do not add up to the amount due"),
        ({"total_due": 65.0, "line_items": []}, "items do not add up to the amount due"),
        ({"total_due": 0.0, "line_items": []}, None),
    ],
)
def test_doubts_about_bills(bill, doubt):
    assert routes.bills_doubts([bill]) == doubt
