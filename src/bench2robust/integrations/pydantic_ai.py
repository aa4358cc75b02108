"""pydantic-ai (``pydantic-ai-slim>=2.0``): toolsets whose tools fail, and toolsets that remember.

::

    agent = Agent(model, toolsets=[MemoryToolset(FaultToolset(FunctionToolset([…])), memory)])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bench2robust.core.errors import NotInstalledError
from bench2robust.core.tools import ToolResponse, ToolSpec

from . import values
from .hosting import Form, Tool
from .remembering import ToolMemory
from .scope import Episode, current

try:
    from pydantic_ai import RunContext
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
    from pydantic_ai.messages import InstructionPart, ToolReturn
    from pydantic_ai.toolsets import ToolsetTool, WrapperToolset
except ImportError as error:
    raise NotInstalledError(
        f"expected pydantic-ai-slim 2.0 or newer ({error}); pip install 'bench2robust[pydantic-ai]'"
    ) from error

Deps = TypeVar("Deps")

_NO_FAILURES = (ApprovalRequired, CallDeferred)


@dataclass
class FaultToolset(WrapperToolset[Deps]):
    """Makes the tools of a toolset fail as the scope that holds says.

    A failure is a tool return with outcome ``failed`` (`ToolFailed`), which takes nothing of the tool's retry
    budget; delivered as ``object`` it is one that looks fine. One that is raised does what an exception of
    a tool does: `ModelRetry` uses the budget, others end the run.
    """

    scope: Episode | None = None
    """The scope or episode to use; by default the one that holds when a tool is called."""

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Deps], tool: ToolsetTool[Deps]
    ) -> Any:
        """Call the tool, or let it fail."""
        episode = self.scope or current()
        if episode is None:
            return await super().call_tool(name, tool_args, ctx, tool)
        definition = tool.tool_def
        described = Tool(
            ToolSpec(name, definition.description or "", definition.parameters_json_schema), _FORM
        )
        inner = self.wrapped
        return await episode.acall(described, dict(tool_args), inner.call_tool, name, tool_args, ctx, tool)


@dataclass
class MemoryToolset(WrapperToolset[Deps]):
    """Tells an agent what the tools are known for, and counts what they answer."""

    memory: ToolMemory
    """A run counts when it happens inside ``with memory.episode()``."""

    async def get_instructions(
        self, ctx: RunContext[Deps]
    ) -> str | InstructionPart | Sequence[str | InstructionPart] | None:
        """Add the block to the instructions."""
        inner = await self.wrapped.get_instructions(ctx)
        block = self.memory.block
        if not block:
            return inner
        if inner is None:
            return block
        return [inner, block] if isinstance(inner, str | InstructionPart) else [*inner, block]

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Deps], tool: ToolsetTool[Deps]
    ) -> Any:
        """Count the answer, and add a note to one that is a failure."""
        episode = self.memory.current()
        if episode is None:
            return await super().call_tool(name, tool_args, ctx, tool)
        try:
            answer = await self.wrapped.call_tool(name, tool_args, ctx, tool)
        except _NO_FAILURES:
            raise
        except Exception as error:
            note = episode.see(name, tool_args, ToolResponse(str(error), error=True))
            if note and isinstance(error, ToolFailed | ModelRetry):
                raise type(error)(f"{error.message}\n\n{note}") from error
            raise
        payload = _payload(answer)
        response = ToolResponse(values.text(payload), error=values.failed(payload))
        note = episode.see(name, tool_args, response)
        return _refill(answer, f"{response.text}\n\n{note}") if note else answer


def _payload(answer: Any) -> Any:
    return answer.return_value if isinstance(answer, ToolReturn) else answer


def _refill(answer: Any, payload: Any) -> Any:
    if isinstance(answer, ToolReturn):
        return ToolReturn(return_value=payload, content=answer.content, metadata=answer.metadata)
    return payload


def _give(payload: Any, error: bool) -> Any:  # noqa: FBT001
    if error:
        raise ToolFailed(values.text(payload))
    return payload


_FORM = Form(payload=_payload, give=_give, refill=_refill, passes=_NO_FAILURES)
