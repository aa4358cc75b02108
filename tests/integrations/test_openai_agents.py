"""Agents of the OpenAI Agents SDK with a scripted model: faults and memory, `run` and `run_sync`."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("agents")

from agents.tool import FunctionTool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Usage,
    UserError,
    WebSearchTool,
    function_tool,
)
from bench2robust import ToolMemory, faults
from bench2robust.core.errors import UsageError
from bench2robust.core.noise import OBSERVABLE
from bench2robust.integrations import Hang
from bench2robust.integrations.openai_agents import with_faults, with_memory

ALWAYS = {"budget": None, "max_consecutive": None}
DOMAIN = {"classes": {"order": ["get_order", "list_orders"]}, "tools": ["get_order", "list_orders"]}
ran: list[str] = []


class Scripted(Model):
    """Makes the calls it is given, turn by turn, and then says that it is done."""

    def __init__(self, turns):
        self.turns, self.prompts = list(turns), []

    async def get_response(self, system_instructions, input, *args, **kwargs):  # noqa: A002
        self.prompts.append(system_instructions)
        n = len(self.prompts) - 1
        if n < len(self.turns):
            output = [
                ResponseFunctionToolCall(
                    arguments=args if isinstance(args, str) else json.dumps(args),
                    call_id=f"{n}.{i}",
                    name=name,
                    type="function_call",
                )
                for i, (name, args) in enumerate(self.turns[n])
            ]
        else:
            text = ResponseOutputText(text="done", type="output_text", annotations=[])
            output = [
                ResponseOutputMessage(
                    id="m", content=[text], role="assistant", status="completed", type="message"
                )
            ]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@function_tool
def get_order(order_id: str) -> str:
    """Get an order."""
    ran.append(order_id)
    return json.dumps({"order_id": order_id, "total": 12.5})


@function_tool
async def get_dict(order_id: str) -> dict[str, object]:
    """Get an order."""
    return {"order_id": order_id, "total": 12.5}


@function_tool
def broken() -> str:
    """Fail."""
    raise LookupError("no such order")


@function_tool(failure_error_function=lambda context, error: f"own: {error}")
def own() -> str:
    """Fail in its own words."""
    raise LookupError("no such order")


@function_tool(failure_error_function=None)
def fragile() -> str:
    """End the run when it fails."""
    raise LookupError("no such order")


@function_tool(timeout=0.05)
async def patient() -> str:
    """Be given up on."""
    return "ok"


def agent(turns, tools=(get_order, get_dict, broken, own, fragile, patient), **options):
    return Agent(name="a", model=Scripted(turns), tools=list(tools), **options)


@pytest.fixture(params=["run", "run_sync"])
def play(request):
    """Run an agent; return what its tools answered."""

    def run(agent):
        ran.clear()
        config = RunConfig(tracing_disabled=True)
        if request.param == "run":
            done = asyncio.run(Runner.run(agent, "go", run_config=config, max_turns=20))
        else:
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            try:
                done = Runner.run_sync(agent, "go", run_config=config, max_turns=20)
            finally:
                asyncio.set_event_loop(None)
                loop.close()
        return [item.output for item in done.new_items if item.type == "tool_call_output_item"]

    return run


def orders(*names):
    return [[("get_order", {"order_id": name})] for name in names]


def test_without_a_scope_nothing_changes(play):
    calls = [*orders("1"), [("get_dict", {"order_id": "1"})], [("broken", {})], [("get_order", "{")]]
    assert play(with_faults(agent(calls))) == play(agent(calls))


@pytest.mark.parametrize("noise", OBSERVABLE)
def test_a_failure_is_what_the_model_reads_and_the_run_goes_on(play, noise):
    with faults({noise: 1.0}, **ALWAYS) as scope:
        answers = play(with_faults(agent(orders("1", "2"))))
    assert answers == [record.delivered.text for record in scope.records]
    assert ran == ["1", "2"]


def test_blocked_calls_do_not_reach_the_tool(play):
    with faults("none", blocked=["get_order"]):
        assert len(set(play(with_faults(agent(orders("1", "2")))))) == 1
    assert ran == []


@pytest.mark.parametrize("name", ["get_order", "get_dict"])
def test_silent_corruption_keeps_the_type(play, name):
    with faults({"factual_error": 1.0}, **ALWAYS):
        (answer,) = play(with_faults(agent([[(name, {"order_id": "1"})]])))
    answer = json.loads(answer) if name == "get_order" else answer
    assert answer["order_id"] == "1"
    assert answer["total"] != 12.5


def test_an_error_as_data(play):
    with faults({"timeout": 1.0}, delivery="object"):
        (answer,) = play(with_faults(agent(orders("1"))))
    assert json.loads(answer)["error"]["type"] == "timeout"


@pytest.mark.parametrize(
    ("name", "begins"), [("broken", "An error occurred"), ("own", "own: Error: request")]
)
def test_a_raised_failure_goes_where_an_exception_of_the_tool_goes(play, name, begins):
    (real,) = play(agent([[(name, {})]]))
    with faults({"timeout": 1.0}, delivery=ConnectionError):
        (injected,) = play(with_faults(agent([[(name, {})]])))
    assert injected.startswith(begins)
    assert real.startswith(begins[:4])


def test_a_raised_failure_ends_the_run_where_an_exception_of_the_tool_does(play):
    with pytest.raises(UserError):
        play(agent([[("fragile", {})]]))
    with faults({"timeout": 1.0}, delivery=ConnectionError), pytest.raises(UserError):
        play(with_faults(agent([[("fragile", {})]])))
    with faults("none") as scope, pytest.raises(UserError):
        play(with_faults(agent([[("fragile", {})]])))
    assert scope.records[0].genuine_error


def test_the_tools_own_errors_are_recorded_as_such(play):
    with faults("none") as scope:
        play(with_faults(agent([[("broken", {})]])))
    assert scope.records[0].genuine_error


def test_a_hang_ends_with_the_tools_timeout(play):
    with faults({"timeout": 1.0}, delivery=Hang(20)):
        (answer,) = play(with_faults(agent([[("patient", {})]])))
    assert answer == "Tool 'patient' timed out after 0.05 seconds."


def test_parallel_calls_meet_the_same_faults(play):
    calls = [[("get_order", {"order_id": str(i)}) for i in range(12)]]

    def once():
        with faults(seed=3, **ALWAYS) as scope:
            return play(with_faults(agent(calls))), scope.calls

    assert once() == once()
    assert sorted(ran, key=int) == [str(i) for i in range(12)]


def test_a_scope_can_be_passed_and_hosted_tools_are_left_alone(play):
    scope = faults({"timeout": 1.0})
    wrapped = with_faults(agent(orders("1"), tools=[get_order, WebSearchTool()]), scope)
    assert [type(tool) for tool in wrapped.tools] == [FunctionTool, WebSearchTool]
    assert wrapped.tools[0].params_json_schema == get_order.params_json_schema
    wrapped.tools.pop()
    assert play(wrapped) == ["Error: request timed out after 30s"]
    with pytest.raises(UsageError, match="agent=int"):
        with_faults(3)


@pytest.mark.parametrize("instructions", ["Be kind.", lambda context, agent: "Be kind.", None])
def test_memory_tells_and_learns(play, tmp_path, instructions):
    memory = ToolMemory.open(tmp_path / "memory.db", DOMAIN)
    for passed in (True, False, None):
        plain = agent(orders("1", "2"), instructions=instructions)
        with memory.episode() as episode, faults({"timeout": 1.0}, **ALWAYS):
            answers = play(with_memory(with_faults(plain), memory))
            episode.passed = passed
        head = "Be kind.\n\n" if instructions else ""
        assert all(p.startswith(f"{head}<tool_reliability>\n") for p in plain.model.prompts)
        assert all("\n\n<recovery_note>\nget_order: " in answer for answer in answers)
    belief = memory.keeper.beliefs.of("get_order", "timeout")
    assert (belief.successes, belief.failures) == (1, 1)


def test_memory_leaves_fine_answers_alone(play, tmp_path):
    memory = ToolMemory.open(tmp_path / "memory.db", DOMAIN)
    with memory.episode() as episode:
        calls = [*orders("1"), [("get_dict", {"order_id": "1"})]]
        assert play(with_memory(agent(calls), memory)) == play(agent(calls))
        episode.passed = True
    assert memory.keeper.beliefs.errors == {}
