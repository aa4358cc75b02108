"""A pydantic-ai agent whose tools fail, and that is told what its tools are known for.

Run it: ``python examples/pydantic_ai_agent.py`` (needs ``bench2robust[pydantic-ai]``)
"""

import tempfile
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from scripted import wants_another_try

from bench2robust import ToolMemory, faults
from bench2robust.integrations.pydantic_ai import FaultToolset, MemoryToolset


def model(messages: list, info: Any) -> ModelResponse:
    """Stand for a real model."""
    parts = [part for message in messages for part in message.parts]
    answers = [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]
    if wants_another_try(answers):
        return ModelResponse(parts=[ToolCallPart("get_order", {"order_id": "#W1"})])
    return ModelResponse(parts=[TextPart(answers[-1])])


def get_order(order_id: str) -> str:
    """Get an order by its id."""
    return f"{order_id} was shipped"


def list_orders(user: str) -> str:
    """List a user's orders."""
    return "#W1 was shipped"


shop = {"tools": ["get_order", "list_orders"], "classes": {"order": ["get_order", "list_orders"]}}
memory = ToolMemory.open(f"{tempfile.mkdtemp()}/memory.db", shop)
tools = MemoryToolset(FaultToolset(FunctionToolset([get_order, list_orders])), memory)
agent = Agent(FunctionModel(model), toolsets=[tools])

for seed in range(8):
    with faults("severe", seed=seed) as scope, memory.episode() as episode:
        done = agent.run_sync("Where is #W1?")
        episode.passed = "shipped" in done.output
    failures = [str(record.noise) for record in scope.records if record.landed]
    print(f"seed {seed}: {'passed' if episode.passed else 'failed'} after {failures or 'no failure'}")

print(memory.block.partition("How to use")[0])
