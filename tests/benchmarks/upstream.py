"""τ²'s own code as the oracle: a fresh upstream environment of a domain, its responses, its evaluators."""

from __future__ import annotations

import gc
import importlib
import json
from contextlib import contextmanager
from types import SimpleNamespace


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
    """A τ² domain as τ² runs it. Its database is built from parsed JSON instead of the file.

    Args:
        domain: the domain's package in τ².
        database: the class of its database.
        raw: the database as parsed from JSON.
    """

    def __init__(self, domain, database, raw):
        from tau2.data_model import message, tasks
        from tau2.evaluator.evaluator_communicate import CommunicateEvaluator
        from tau2.evaluator.evaluator_env import EnvironmentEvaluator

        package = f"tau2.domains.{domain}"
        self.raw = raw
        self.message, self.tasks = message, tasks
        self.database = getattr(importlib.import_module(f"{package}.data_model"), database)
        self.environment = importlib.import_module(f"{package}.environment")
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
        return {k: v for k, v in self.records(environment).items() if v != self.pristine.get(k)}

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
