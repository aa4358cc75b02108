"""pydantic-ai agents with a scripted model: faults and memory, `run` and `run_sync`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import pytest

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent, ModelRetry, UnexpectedModelBehavior
from pydantic_ai.exceptions import CallDeferred, ToolFailed
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturn, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.toolsets import FunctionToolset

from bench2robust import ToolMemory, faults
from bench2robust.core.noise import OBSERVABLE
from bench2robust.integrations.pydantic_ai import FaultToolset, MemoryToolset

ALWAYS = {"budget": None, "max_consecutive": None}
DOMAIN = {"classes": {"order": ["get_order", "list_orders"]}, "tools": ["get_order", "list_orders"]}
ran: list[str] = []


@dataclass
class Order:
    order_id: str
    total: float


def get_order(order_id: str) -> Order:
    ran.append(order_id)
    return Order(order_id, 12.5)


async def get_return(order_id: str) -> ToolReturn:
    return ToolReturn(return_value={"total": 12.5}, metadata={"kept": True})


def broken() -> str:
    raise LookupError("no such order")


def failing() -> str:
    raise ToolFailed("HTTP 503 Service Unavailable")


def retrying() -> str:
    raise ModelRetry("try again")


def deferred() -> str:
    raise CallDeferred


class Scripted:
    """Makes the calls it is given, turn by turn, and then says that it is done."""

    def __init__(self, turns):
        self.turns, self.prompts = turns, []

    def __call__(self, messages, info):
        self.prompts.append(info.instructions or "")
        n = len(self.prompts) - 1
        if n < len(self.turns):
            parts = [
                ToolCallPart(name, args, tool_call_id=f"{n}.{i}")
                for i, (name, args) in enumerate(self.turns[n])
            ]
            return ModelResponse(parts=parts)
        return ModelResponse(parts=[TextPart("done")])


@pytest.fixture(params=["run", "run_sync"])
def play(request):
    """Run an agent on scripted turns; return the parts that its tools returned."""

    def run(script, wrap=lambda tools: tools, **options):
        ran.clear()
        script = script if isinstance(script, Scripted) else Scripted(script)
        tools = FunctionToolset([get_order, get_return, broken, failing, retrying, deferred])
        agent = Agent(FunctionModel(script), toolsets=[wrap(tools)], **options)
        if request.param == "run":
            done = asyncio.run(agent.run("go"))
        else:
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            try:
                done = agent.run_sync("go")
            finally:
                asyncio.set_event_loop(None)
                loop.close()
        return [p for m in done.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]

    return run


def orders(*names):
    return [[("get_order", {"order_id": name})] for name in names]


def test_without_a_scope_nothing_changes(play):
    calls = [*orders("1"), [("failing", {})], [("get_order", {}), ("nothing", {})]]

    def told(parts):
        return [(part.tool_name, part.content, part.outcome) for part in parts]

    assert told(play(calls, FaultToolset)) == told(play(calls))


@pytest.mark.parametrize("noise", OBSERVABLE)
def test_a_failure_is_a_failed_return_and_uses_no_retries(play, noise):
    with faults({noise: 1.0}, **ALWAYS) as scope:
        parts = play(orders("1", "2", "3", "4"), FaultToolset)
    assert [part.outcome for part in parts] == ["failed"] * 4
    assert [part.content for part in parts] == [record.delivered.text for record in scope.records]
    assert ran == ["1", "2", "3", "4"]


def test_blocked_calls_do_not_reach_the_tool(play):
    with faults("none", blocked=["get_order"]):
        assert len({part.content for part in play(orders("1", "2"), FaultToolset)}) == 1
    assert ran == []


def test_an_error_as_data(play):
    with faults({"timeout": 1.0}, delivery="object"):
        (part,) = play(orders("1"), FaultToolset)
    assert part.outcome == "success"
    assert part.content["error"]["type"] == "timeout"


def test_silent_corruption_keeps_dataclasses_and_tool_returns(play):
    calls = [*orders("1"), [("get_return", {"order_id": "1"})]]
    with faults({"factual_error": 1.0}, **ALWAYS):
        first, second = play(calls, FaultToolset)
    assert isinstance(first.content, Order)
    assert first.content.order_id == "1"
    assert first.content.total != 12.5
    assert second.content["total"] != 12.5
    assert second.metadata == {"kept": True}


def test_a_raised_failure_does_what_an_exception_of_a_tool_does(play):
    with pytest.raises(LookupError):
        play([[("broken", {})]])
    with faults({"timeout": 1.0}, delivery=ConnectionError), pytest.raises(ConnectionError):
        play(orders("1"), FaultToolset)
    with faults("none") as scope, pytest.raises(LookupError):
        play([[("broken", {})]], FaultToolset)
    assert scope.records[0].genuine_error


def test_model_retry_uses_the_budget_as_the_tools_own_does(play):
    with faults({"timeout": 1.0}, delivery=ModelRetry, budget=1):
        first, second = play(orders("1", "1"), FaultToolset)
    assert (first.outcome, second.outcome) == ("retried", "success")
    with pytest.raises(UnexpectedModelBehavior):
        play([[("retrying", {})]] * 2)
    with faults({"timeout": 1.0}, delivery=ModelRetry), pytest.raises(UnexpectedModelBehavior):
        play(orders("1", "1"), FaultToolset)


def test_deferred_calls_are_no_failures():
    agent = Agent(
        FunctionModel(Scripted([[("deferred", {})]])),
        toolsets=[FaultToolset(FunctionToolset([deferred]))],
        output_type=[str, DeferredToolRequests],
    )
    with faults({"timeout": 1.0}) as scope:
        done = asyncio.run(agent.run("go"))
    assert [call.tool_name for call in done.output.calls] == ["deferred"]
    assert scope.calls == 0


def test_parallel_calls_meet_the_same_faults(play):
    calls = [[("get_order", {"order_id": str(i)}) for i in range(12)]]

    def once():
        with faults(seed=3, **ALWAYS) as scope:
            return [(p.tool_call_id, repr(p.content)) for p in play(calls, FaultToolset)], scope.calls

    assert once() == once()
    assert sorted(ran, key=int) == [str(i) for i in range(12)]


def test_a_scope_can_be_passed(play):
    scope = faults({"timeout": 1.0})
    (part,) = play(orders("1"), lambda tools: FaultToolset(tools, scope))
    assert part.outcome == "failed"
    assert scope.calls == 1


def test_a_hang_ends_with_the_callers_timeout():
    agent = Agent(FunctionModel(Scripted(orders("1"))), toolsets=[FaultToolset(FunctionToolset([get_order]))])

    async def play():
        with faults({"timeout": 1.0}, delivery="hang"):
            await asyncio.wait_for(agent.run("go"), 0.3)

    with pytest.raises(TimeoutError):
        asyncio.run(play())


def test_memory_tells_and_learns(play, tmp_path):
    memory = ToolMemory.open(tmp_path / "memory.db", DOMAIN)
    for passed in (True, False, None):
        script = Scripted(orders("1", "2"))
        with memory.episode() as episode, faults({"timeout": 1.0}, **ALWAYS):
            parts = play(
                script, lambda tools: MemoryToolset(FaultToolset(tools), memory), instructions="Be kind."
            )
            episode.passed = passed
        assert all(p.startswith("Be kind.\n\n<tool_reliability>\n") for p in script.prompts)
        assert all("\n\n<recovery_note>\nget_order: " in part.content for part in parts)
        assert {part.outcome for part in parts} == {"failed"}
    belief = memory.keeper.beliefs.of("get_order", "timeout")
    assert (belief.successes, belief.failures) == (1, 1)


def test_memory_leaves_fine_answers_alone(play, tmp_path):
    memory = ToolMemory.open(tmp_path / "memory.json", DOMAIN)
    with memory.episode() as episode:
        (part,) = play(orders("1"), lambda tools: MemoryToolset(tools, memory))
        episode.passed = True
    assert part.content == Order("1", 12.5)
    assert json.loads((tmp_path / "memory.json").read_text())["errors"] == {}
