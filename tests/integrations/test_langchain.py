"""LangChain agents with a scripted model: faults and memory, `invoke` and `ainvoke`."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import Field

from bench2robust import ToolMemory, faults
from bench2robust.core.noise import OBSERVABLE
from bench2robust.integrations.langchain import FaultMiddleware, MemoryMiddleware

ALWAYS = {"budget": None, "max_consecutive": None}
DOMAIN = {"classes": {"order": ["get_order", "list_orders"]}, "tools": ["get_order", "list_orders"]}


class Scripted(BaseChatModel):
    """Makes the calls it is given, turn by turn, and then says that it is done."""

    turns: list[list[tuple[str, dict]]]
    prompts: list[str] = Field(default_factory=list)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self.prompts.append(str(messages[0].content) if messages[0].type == "system" else "")
        said = sum(message.type == "ai" for message in messages)
        calls = [
            {"name": name, "args": args, "id": f"{said}.{i}"}
            for i, (name, args) in enumerate(self.turns[said] if said < len(self.turns) else [])
        ]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls))])

    def bind_tools(self, tools, **kwargs):
        return self

    @property
    def _llm_type(self):
        return "scripted"


ran: list[str] = []


@tool
def get_order(order_id: str) -> str:
    """Get an order."""
    ran.append(order_id)
    return json.dumps({"order_id": order_id, "total": 12.5})


@tool
def get_blocks(order_id: str) -> list[dict]:
    """Get an order as content blocks."""
    return [{"type": "text", "text": json.dumps({"order_id": order_id, "total": 12.5})}]


@tool
def broken() -> str:
    """Fail."""
    raise LookupError("no such order")


@pytest.fixture(params=["invoke", "ainvoke"])
def play(request):
    """Run an agent on scripted turns; return the messages of its tools."""

    def run(turns, *middleware, tools=(get_order, get_blocks, broken), model=None, **options):
        ran.clear()
        agent = create_agent(
            model or Scripted(turns=turns), list(tools), middleware=list(middleware), **options
        )
        given = {"messages": [("user", "go")]}
        config = {"configurable": {"thread_id": "1"}}
        if request.param == "invoke":
            done = agent.invoke(given, config)
        else:
            done = asyncio.run(agent.ainvoke(given, config))
        return [message for message in done["messages"] if isinstance(message, ToolMessage)]

    return run


def turns(*orders):
    return [[("get_order", {"order_id": order})] for order in orders]


def test_without_a_scope_nothing_changes(play):
    assert [m.content for m in play(turns("1", "2"), FaultMiddleware())] == [
        m.content for m in play(turns("1", "2"))
    ]


@pytest.mark.parametrize("noise", OBSERVABLE)
def test_a_failure_is_an_error_message_and_the_run_goes_on(play, noise):
    with faults({noise: 1.0}, **ALWAYS) as scope:
        messages = play(turns("1", "2", "3"), FaultMiddleware())
    assert [message.status for message in messages] == ["error"] * 3
    assert [message.content for message in messages] == [record.delivered.text for record in scope.records]
    assert [(message.name, message.tool_call_id) for message in messages] == [
        ("get_order", f"{i}.0") for i in range(3)
    ]
    assert ran == ["1", "2", "3"]


def test_blocked_and_rejected_calls_do_not_reach_the_tool(play):
    with faults("none", blocked=["get_order"]):
        messages = play(turns("1", "2"), FaultMiddleware())
    assert len({message.content for message in messages}) == 1
    assert ran == []


def test_an_error_as_data(play):
    with faults({"timeout": 1.0}, delivery="object", **ALWAYS):
        (message,) = play(turns("1"), FaultMiddleware())
    assert message.status == "success"
    assert json.loads(message.content)["error"]["type"] == "timeout"


@pytest.mark.parametrize("name", ["get_order", "get_blocks"])
def test_silent_corruption_keeps_the_form(play, name):
    with faults({"factual_error": 1.0}, **ALWAYS):
        (message,) = play([[(name, {"order_id": "1"})]], FaultMiddleware())
    text = message.content if name == "get_order" else message.content[0]["text"]
    answer = json.loads(text)
    assert answer["order_id"] == "1"
    assert answer["total"] != 12.5
    assert message.status == "success"


def test_a_raised_failure_ends_the_run_as_a_tool_that_raises_does(play):
    with pytest.raises(LookupError):
        play([[("broken", {})]])
    with faults({"timeout": 1.0}, delivery=ConnectionError), pytest.raises(ConnectionError):
        play(turns("1"), FaultMiddleware())
    with faults("none") as scope, pytest.raises(LookupError):
        play([[("broken", {})]], FaultMiddleware())
    assert scope.records[0].genuine_error


def test_retry_middleware_outside_sees_raised_failures_and_repeats_the_call(play):
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    with faults({"timeout": 1.0}, delivery=ConnectionError, max_consecutive=2, budget=2) as scope:
        (message,) = play(turns("1"), retry, FaultMiddleware())
    assert json.loads(message.content)["total"] == 12.5
    assert ran == ["1", "1", "1"]
    assert [record.landed for record in scope.records] == [True, True, False]


def test_parallel_calls_meet_the_same_faults_in_any_order(play):
    calls = [[("get_order", {"order_id": str(i)}) for i in range(12)]]

    def once():
        with faults(seed=3, **ALWAYS) as scope:
            return {m.tool_call_id: m.content for m in play(calls, FaultMiddleware())}, scope.calls

    first = once()
    assert first == once()
    assert first[1] == 12
    assert sorted(ran, key=int) == [str(i) for i in range(12)]


def test_bad_arguments_and_unknown_tools_go_on(play):
    bad = [[("get_order", {}), ("nothing", {"a": 1})]]
    with faults("none") as scope:
        messages = play(bad, FaultMiddleware())
    assert [message.status for message in messages] == ["error", "error"]
    assert [record.genuine_error for record in scope.records] == [True, True]


def test_interrupts_are_no_failures():
    @tool
    def ask(what: str) -> str:
        """Ask a human."""
        return f"{what}: {interrupt('may I?')}"

    agent = create_agent(
        Scripted(turns=[[("ask", {"what": "pay"})]]),
        [ask],
        middleware=[FaultMiddleware()],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "1"}}
    with faults({"timeout": 1.0}, budget=0) as scope:
        stopped = agent.invoke({"messages": [("user", "go")]}, config)
        assert stopped["__interrupt__"][0].value == "may I?"
        assert scope.calls == 0
        done = agent.invoke(Command(resume="yes"), config)
    assert [m.content for m in done["messages"] if isinstance(m, ToolMessage)] == ["pay: yes"]
    assert scope.calls == 1


def test_a_command_is_passed_on_or_replaced_whole(play):
    @tool
    def jump(order_id: str) -> Command:
        """Answer with a command."""
        return Command(update={"messages": [ToolMessage("jumped", tool_call_id="0.0")]})

    calls = [[("jump", {"order_id": "1"})]]
    with faults({"partial": 1.0}):
        assert [m.content for m in play(calls, FaultMiddleware(), tools=[jump])] == ["jumped"]
    with faults({"rate_limit": 1.0}):
        (message,) = play(calls, FaultMiddleware(), tools=[jump])
        assert message.content == "HTTP 429 Too Many Requests"


def test_a_hang_ends_with_the_callers_timeout():
    agent = create_agent(Scripted(turns=turns("1")), [get_order], middleware=[FaultMiddleware()])

    async def play():
        with faults({"timeout": 1.0}, delivery="hang"):
            await asyncio.wait_for(agent.ainvoke({"messages": [("user", "go")]}), 0.5)

    with pytest.raises(TimeoutError):
        asyncio.run(play())


def test_memory_tells_and_learns(play, tmp_path):
    memory = ToolMemory.open(tmp_path / "memory.db", DOMAIN)
    for passed in (True, False, None):
        model = Scripted(turns=turns("1", "2"), prompts=[])
        with memory.episode() as episode, faults({"timeout": 1.0}, **ALWAYS):
            messages = play(
                [], MemoryMiddleware(memory), FaultMiddleware(), model=model, system_prompt="Be kind."
            )
            episode.passed = passed
        assert all(p.startswith("Be kind.\n\n<tool_reliability>\n") for p in model.prompts)
        assert all("<recovery_note>\nget_order: " in message.content for message in messages)
        assert all(message.status == "error" for message in messages)
        assert "list_orders" in messages[0].content
    belief = memory.keeper.beliefs.of("get_order", "timeout")
    assert (belief.successes, belief.failures) == (1, 1)


def test_memory_without_an_episode_or_a_prompt(play, tmp_path):
    memory = ToolMemory.open(tmp_path / "memory.json", DOMAIN, told="block")
    model = Scripted(turns=turns("1"), prompts=[])
    (message,) = play([], MemoryMiddleware(memory), model=model)
    assert model.prompts[0].startswith("<tool_reliability>")
    assert json.loads(message.content)["total"] == 12.5
    assert not (tmp_path / "memory.json").exists()


def test_memory_counts_what_tools_raise(play, tmp_path):
    @tool
    def list_orders() -> str:
        """Time out."""
        raise TimeoutError("request timed out")

    memory = ToolMemory.open(tmp_path / "memory.db", DOMAIN, told="note")
    with memory.episode() as episode:
        episode.passed = False
        with pytest.raises(TimeoutError):
            play([[("list_orders", {})]], MemoryMiddleware(memory), tools=[list_orders])
    assert memory.keeper.beliefs.of("list_orders", "timeout").failures == 1
    assert memory.prompt("base") == "base"
