"""OpenAI Agents SDK (``openai-agents>=0.20``): agents whose tools fail, and agents that remember.

::

    agent = with_memory(with_faults(agent), memory)

Only function tools are wrapped; hosted tools run at the provider, and agents that an agent hands over to are
wrapped by themselves.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from bench2robust.core.errors import NotInstalledError, SpecError
from bench2robust.core.tools import ToolResponse, ToolSpec

from . import values
from .hosting import Form, Tool
from .remembering import ToolMemory
from .scope import Episode, current

try:
    from agents.tool import maybe_invoke_function_tool_failure_error_function
    from agents.tool_context import ToolContext

    from agents import Agent, AgentsException, FunctionTool
except ImportError as error:
    raise NotInstalledError(
        f"expected openai-agents 0.20 or newer ({error}); pip install 'bench2robust[openai-agents]'"
    ) from error

T = TypeVar("T")


def with_faults(agent: Agent[T], scope: Episode | None = None) -> Agent[T]:
    """Return a copy of an agent whose function tools fail as the scope that holds says.

    A failure is what the tool returns to the model. One that is raised goes where an exception of the tool
    goes: to its ``failure_error_function``, and only without one to the run.

    Args:
        agent: the agent; left as it is.
        scope: the scope or episode to use; by default the one that holds when a tool is called.
    """
    tools = [_each(tool, scope, faulty_tool) for tool in _tools(agent)]
    return agent.clone(tools=tools)


def faulty_tool(tool: FunctionTool, scope: Episode | None = None) -> FunctionTool:
    """Return a copy of one tool that fails as the scope that holds says."""
    described = Tool(ToolSpec(tool.name, tool.description, tool.params_json_schema), _FORM)

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        episode = scope or current()
        if episode is None:
            return await tool.on_invoke_tool(context, arguments)
        own: list[Exception] = []

        async def run() -> Any:
            try:
                return await tool.on_invoke_tool(context, arguments)
            except Exception as error:
                own.append(error)
                raise

        try:
            return await episode.acall(described, _arguments(arguments), run)
        except Exception as error:
            if error in own:
                raise
            text = await maybe_invoke_function_tool_failure_error_function(
                function_tool=tool, context=context, error=error
            )
            if text is None:
                raise
            return text

    return replace(tool, on_invoke_tool=invoke)


def with_memory(agent: Agent[T], memory: ToolMemory) -> Agent[T]:
    """Return a copy of an agent that is told what its tools are known for, and whose answers are counted.

    Args:
        agent: the agent; left as it is.
        memory: the memory; a run counts when it happens inside ``with memory.episode()``.
    """
    tools = [_each(tool, memory, remembering_tool) for tool in _tools(agent)]
    base = agent.instructions

    async def instructions(context: Any, current_agent: Agent[T]) -> str:
        text = base(context, current_agent) if callable(base) else base
        return memory.prompt(await text if inspect.isawaitable(text) else text)

    return agent.clone(instructions=instructions, tools=tools)


def remembering_tool(tool: FunctionTool, memory: ToolMemory) -> FunctionTool:
    """Return a copy of one tool whose answers are counted, with a note on those that are failures."""

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        episode = memory.current()
        try:
            answer = await tool.on_invoke_tool(context, arguments)
        except Exception as error:
            if episode is not None and not isinstance(error, AgentsException):
                episode.see(tool.name, _arguments(arguments), ToolResponse(str(error), error=True))
            raise
        if episode is None:
            return answer
        response = ToolResponse(values.text(answer), error=values.failed(answer))
        note = episode.see(tool.name, _arguments(arguments), response)
        return f"{response.text}\n\n{note}" if note else answer

    return replace(tool, on_invoke_tool=invoke)


def _tools(agent: Any) -> list[Any]:
    if not isinstance(agent, Agent):
        raise SpecError(f"expected an Agent of the OpenAI Agents SDK, got agent={type(agent).__name__}")
    return agent.tools


def _each(tool: Any, what: Any, wrap: Any) -> Any:
    return wrap(tool, what) if isinstance(tool, FunctionTool) else tool


def _arguments(written: str) -> Mapping[str, Any]:
    """Return the arguments that a model wrote, or what it wrote where that is no JSON object."""
    try:
        arguments = json.loads(written or "{}")
    except ValueError:
        return {"arguments": written}
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


def _give(payload: Any, error: bool) -> Any:  # noqa: FBT001
    return payload if isinstance(payload, str) else json.dumps(values.plain(payload))


_FORM: Final = Form(give=_give, passes=(AgentsException,))
