"""A LangChain agent whose tools fail, and that is told what its tools are known for.

Run it: ``python examples/langchain_agent.py`` (needs ``bench2robust[langchain]``)
"""

import tempfile
from typing import Any

from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from scripted import wants_another_try

from bench2robust import ToolMemory, faults
from bench2robust.integrations.langchain import FaultMiddleware, MemoryMiddleware


class Model(BaseChatModel):
    """Stands for a real model."""

    def _generate(self, messages: list, stop: Any = None, run_manager: Any = None, **kw: Any) -> ChatResult:
        answers = [str(message.content) for message in messages if message.type == "tool"]
        if wants_another_try(answers):
            call = {"name": "get_order", "args": {"order_id": "#W1"}, "id": str(len(answers))}
            reply = AIMessage("", tool_calls=[call])
        else:
            reply = AIMessage(answers[-1])
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def bind_tools(self, tools: Any, **kw: Any) -> "Model":
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


@tool
def get_order(order_id: str) -> str:
    """Get an order by its id."""
    return f"{order_id} was shipped"


@tool
def list_orders(user: str) -> str:
    """List a user's orders."""
    return "#W1 was shipped"


shop = {"tools": ["get_order", "list_orders"], "classes": {"order": ["get_order", "list_orders"]}}
memory = ToolMemory.open(f"{tempfile.mkdtemp()}/memory.db", shop)
agent = create_agent(
    Model(), [get_order, list_orders], middleware=[MemoryMiddleware(memory), FaultMiddleware()]
)

for seed in range(8):
    with faults("severe", seed=seed) as scope, memory.episode() as episode:
        done = agent.invoke({"messages": [("user", "Where is #W1?")]})
        episode.passed = "shipped" in done["messages"][-1].content
    failures = [str(record.noise) for record in scope.records if record.landed]
    print(f"seed {seed}: {'passed' if episode.passed else 'failed'} after {failures or 'no failure'}")

print(memory.block.partition("How to use")[0])
