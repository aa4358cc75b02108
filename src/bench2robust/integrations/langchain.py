"""LangChain agents (``langchain>=1.2``): middleware that makes tools fail, and middleware that remembers.

::

    agent = create_agent(model, tools, middleware=[MemoryMiddleware(memory), FaultMiddleware()])

`FaultMiddleware` comes last (innermost), so that retry middleware sees its failures. Both work for
``invoke`` and ``ainvoke``, and for the parallel calls of one turn, which LangChain runs in threads.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from bench2robust.core.errors import NotInstalledError
from bench2robust.core.tools import ToolResponse, ToolSpec

from . import values
from .hosting import Form, Tool
from .remembering import ToolMemory
from .scope import Episode, current

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
    from langchain.messages import SystemMessage, ToolMessage
    from langgraph.errors import GraphBubbleUp
    from langgraph.prebuilt.tool_node import ToolCallRequest
except ImportError as error:
    raise NotInstalledError(
        f"expected langchain 1.2 or newer ({error}); pip install 'bench2robust[langchain]'"
    ) from error

_ERROR: Final = "error"


class FaultMiddleware(AgentMiddleware[Any, Any, Any]):
    """Makes the tools of an agent fail as the scope that holds says.

    A failure is a `ToolMessage` with ``status="error"``; delivered as ``object`` it is one without. One that
    is raised does what a tool that raises does: it ends the run unless something handles it.

    Args:
        scope: the scope or episode to use; by default the one that holds when a tool is called.
    """

    def __init__(self, scope: Episode | None = None) -> None:
        super().__init__()
        self._scope = scope

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Call the tool, or let it fail."""
        episode = self._scope or current()
        if episode is None:
            return handler(request)
        return episode.call(_tool(request), dict(request.tool_call["args"]), handler, request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Call the tool, or let it fail."""
        episode = self._scope or current()
        if episode is None:
            return await handler(request)
        return await episode.acall(_tool(request), dict(request.tool_call["args"]), handler, request)


class MemoryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Tells an agent what its tools are known for, and counts what they answer.

    Args:
        memory: the memory; a run counts when it happens inside ``with memory.episode()``.
    """

    def __init__(self, memory: ToolMemory) -> None:
        super().__init__()
        self._memory = memory

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add the block to the system prompt."""
        return handler(self._told(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Add the block to the system prompt."""
        return await handler(self._told(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Count the answer, and add a note to one that is a failure."""
        try:
            answer = handler(request)
        except Exception as error:
            self._raised(request, error)
            raise
        return self._noted(request, answer)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Count the answer, and add a note to one that is a failure."""
        try:
            answer = await handler(request)
        except Exception as error:
            self._raised(request, error)
            raise
        return self._noted(request, answer)

    def _told(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        block = self._memory.block
        if not block:
            return request
        before = request.system_message
        if before is None:
            return request.override(system_message=SystemMessage(content=block))
        blocks = [*before.content_blocks, {"type": "text", "text": f"\n\n{block}"}]
        content = f"{before.content}\n\n{block}" if isinstance(before.content, str) else blocks
        return request.override(system_message=before.model_copy(update={"content": content}))

    def _raised(self, request: ToolCallRequest, error: Exception) -> None:
        episode = self._memory.current()
        if episode is not None and not isinstance(error, GraphBubbleUp):
            call = request.tool_call
            episode.see(call["name"], call["args"], ToolResponse(str(error), error=True))

    def _noted(self, request: ToolCallRequest, answer: Any) -> Any:
        episode = self._memory.current()
        if episode is None or not isinstance(answer, ToolMessage):
            return answer
        payload, call = _payload(answer), request.tool_call
        response = ToolResponse(values.text(payload), error=_failed(answer))
        note = episode.see(call["name"], call["args"], response)
        if not note:
            return answer
        if isinstance(payload, str):
            return _refill(answer, f"{payload}\n\n{note}")
        return answer.model_copy(update={"content": [*answer.content, {"type": "text", "text": note}]})


def _tool(request: ToolCallRequest) -> Tool:
    call = request.tool_call

    def give(payload: Any, error: bool) -> ToolMessage:  # noqa: FBT001
        return ToolMessage(
            content=payload if isinstance(payload, str) else json.dumps(values.plain(payload)),
            name=call["name"],
            tool_call_id=call["id"] or "",
            status=_ERROR if error else "success",
        )

    properties: dict[str, Any] = {} if request.tool is None else request.tool.args
    form = Form(_payload, _failed, give, _refill, (GraphBubbleUp,))
    return Tool(ToolSpec(call["name"], "", {"properties": properties}), form)


def _payload(answer: Any) -> Any:
    """Return what the model reads; a command has nothing to read."""
    if not isinstance(answer, ToolMessage):
        return None
    content = answer.content
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        return content[0].get("text", content)
    return content


def _failed(answer: Any) -> bool:
    if not isinstance(answer, ToolMessage):
        return False
    return answer.status == _ERROR or values.failed(_payload(answer))


def _refill(answer: ToolMessage, payload: Any) -> ToolMessage:
    content = answer.content
    if isinstance(payload, str) and isinstance(content, list):
        payload = [{**content[0], "text": payload}]  # type: ignore[dict-item]
    return answer.model_copy(update={"content": payload})
