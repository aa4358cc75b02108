"""An agent of the OpenAI Agents SDK whose tools fail, and that is told what its tools are known for.

Run it: ``python examples/openai_agents_agent.py`` (needs ``bench2robust[openai-agents]``)
"""

import tempfile
from typing import Any

from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from scripted import wants_another_try

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from bench2robust import ToolMemory, faults
from bench2robust.integrations.openai_agents import with_faults, with_memory


class Scripted(Model):
    """Stands for a real model."""

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **kw: Any
    ) -> ModelResponse:
        answers = [item["output"] for item in input if item.get("type") == "function_call_output"]
        if wants_another_try(answers):
            call = {"arguments": '{"order_id": "#W1"}', "call_id": str(len(answers)), "name": "get_order"}
            reply: Any = ResponseFunctionToolCall(**call, type="function_call")
        else:
            text = ResponseOutputText(text=answers[-1], type="output_text", annotations=[])
            reply = ResponseOutputMessage(
                id="1", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[reply], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kw: Any) -> Any:
        raise NotImplementedError


@function_tool
def get_order(order_id: str) -> str:
    """Get an order by its id."""
    return f"{order_id} was shipped"


@function_tool
def list_orders(user: str) -> str:
    """List a user's orders."""
    return "#W1 was shipped"


shop = {"tools": ["get_order", "list_orders"], "classes": {"order": ["get_order", "list_orders"]}}
memory = ToolMemory.open(f"{tempfile.mkdtemp()}/memory.db", shop)
agent = Agent(name="shop", instructions="Help with orders.", model=Scripted(), tools=[get_order, list_orders])
tested = with_memory(with_faults(agent), memory)

for seed in range(8):
    with faults("severe", seed=seed) as scope, memory.episode() as episode:
        done = Runner.run_sync(tested, "Where is #W1?", run_config=RunConfig(tracing_disabled=True))
        episode.passed = "shipped" in done.final_output
    failures = [str(record.noise) for record in scope.records if record.landed]
    print(f"seed {seed}: {'passed' if episode.passed else 'failed'} after {failures or 'no failure'}")

print(memory.block.partition("How to use")[0])
