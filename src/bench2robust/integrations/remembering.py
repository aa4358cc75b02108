"""Tool memory for agents in production: what tools answered is counted, and what is known is told.

Three lines are the whole use::

    memory = ToolMemory.open("memory.db", "shop.toml")
    agent = …                                    # with a framework's middleware, or tools made by memory.watch
    with memory.episode() as episode: …; episode.passed = True
"""

from __future__ import annotations

import functools
import inspect
import threading
from asyncio import CancelledError
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, ParamSpec, Self, TypeVar

from bench2robust.core.domain import Domain
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.reading import read
from bench2robust.core.tools import ToolCall, ToolResponse
from bench2robust.memory import Keeper, keep
from bench2robust.memory.block import write
from bench2robust.memory.content import Content, content
from bench2robust.memory.notes import Notes

from . import values
from .describing import domain_of

P = ParamSpec("P")
R = TypeVar("R")

_MOST_ANSWERS: Final = 10_000
"""Answers of one episode that are counted, the newest."""
_FINE: Final = ToolResponse("{}")
"""Stands for every answer that is no failure: no text of it is kept."""


class Told(StrEnum):
    """How an agent is told what the memory knows."""

    BLOCK = "block"
    """In the system prompt, before anything fails."""
    NOTE = "note"
    """In a short note that comes with an answer that is plainly a failure."""
    BOTH = "both"


class _Inside(NamedTuple):
    episode: MemoryEpisode
    around: _Inside | None


_inside: ContextVar[_Inside | None] = ContextVar("bench2robust_memory", default=None)


class ToolMemory:
    """The memory around an agent in production.

    Args:
        keeper: where it is kept; threads and processes may share one.
        domain: which tools can stand in for which.
        tools: the tools on offer; by default those that the domain names and those that have failed before.
        told: how the agent is told: ``block``, ``note`` or ``both``.

    Raises:
        SpecError: another word.
    """

    def __init__(
        self, keeper: Keeper, domain: Domain, tools: Iterable[str] = (), *, told: Told | str = Told.BOTH
    ) -> None:
        if told not in list(Told):
            raise SpecError(str(UnknownNameError("told", str(told), list(Told))))
        self.keeper, self.domain, self.told = keeper, domain, Told(told)
        self._tools = tuple(tools)

    @classmethod
    def open(
        cls,
        path: Path | str,
        domain: Domain | Mapping[str, Any] | Path | str,
        tools: Iterable[str] = (),
        *,
        told: Told | str = Told.BOTH,
    ) -> ToolMemory:
        """Open a memory file, and make it if there is none.

        Args:
            path: ``….db`` for one that several processes update, ``….json`` for one to read.
            domain: as `describing.domain_of` takes it.
            tools: as for the class.
            told: as for the class.

        Raises:
            UsageError: a file or a domain that does not fit.
        """
        found = domain_of(domain)
        return cls(keep(path, found), found, tools, told=told)

    @property
    def block(self) -> str:
        """What the agent is to read in its system prompt; empty where it is told by notes alone."""
        return "" if self.told is Told.NOTE else write(self.content())

    def content(self) -> Content:
        """Return everything that may be told by now."""
        memory = self.keeper.memory()
        named = (
            *self._tools,
            *(() if self._tools else (*self.domain.tools, *_of_classes(self.domain), *memory.beliefs.tools)),
        )
        return content(memory, self.domain, dict.fromkeys(named))

    def prompt(self, base: str | None = "") -> str:
        """Return a system prompt with the block after it."""
        return "\n\n".join(text for text in (base, self.block) if text)

    def episode(self) -> MemoryEpisode:
        """Return an episode to enter around one run of the agent."""
        return MemoryEpisode(self)

    def watch(self, tool: Callable[P, R]) -> Callable[P, R]:
        """Return a function whose answers are counted in the episode that holds when it is called.

        A note is added to an answer that is text; other answers stay as they are, and so do exceptions.
        """
        name = getattr(tool, "__name__", type(tool).__name__)

        def seen(args: Any, kwargs: Any, value: Any) -> Any:
            episode = self.current()
            if episode is None:
                return value
            arguments = {**{str(i): arg for i, arg in enumerate(args)}, **kwargs}
            error = isinstance(value, Exception) or values.failed(value)
            response = ToolResponse(values.text(value), error=error)
            note = episode.see(name, arguments, response)
            return ToolResponse(value, note=note).shown if note and isinstance(value, str) else value

        if inspect.iscoroutinefunction(tool):

            @functools.wraps(tool)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                try:
                    value = await tool(*args, **kwargs)
                except CancelledError:
                    raise
                except Exception as error:
                    seen(args, kwargs, error)
                    raise
                return seen(args, kwargs, value)

            return awaited  # type: ignore[return-value]

        @functools.wraps(tool)
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                value = tool(*args, **kwargs)
            except Exception as error:
                seen(args, kwargs, error)
                raise
            return seen(args, kwargs, value)

        return called

    def current(self) -> MemoryEpisode | None:
        """Return the innermost episode of this memory that this thread or task is in."""
        inside = _inside.get()
        while inside is not None and inside.episode.memory is not self:
            inside = inside.around
        return None if inside is None else inside.episode


class MemoryEpisode:
    """One run of an agent whose tools' answers are counted.

    Leaving it counts it, if `passed` was set by then: an episode of which nobody knows how it ended teaches
    nothing, and one that ends in an exception has failed only if it was said so.

    Args:
        memory: whose episode it is.
    """

    def __init__(self, memory: ToolMemory) -> None:
        self.memory = memory
        self.passed: bool | None = None
        """Whether the run reached what it was for; None while nobody knows."""
        self._answers: deque[tuple[str, ToolResponse]] = deque(maxlen=_MOST_ANSWERS)
        self._lock = threading.Lock()
        self._notes = None if memory.told is Told.BLOCK else Notes(memory.content())

    def __enter__(self) -> Self:
        _inside.set(_Inside(self, _inside.get()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inside = _inside.get()
        if inside is not None and inside.episode is self:
            _inside.set(inside.around)
        self.finish()

    def see(self, tool: str, arguments: Mapping[str, Any], response: ToolResponse) -> str:
        """Take in what a tool answered; return the note to add to it, empty where there is none."""
        with self._lock:
            self._answers.append((tool, response if read(response).noise else _FINE))
            if self._notes is None:
                return ""
            return self._notes.on(ToolCall(tool, arguments), response)

    def finish(self) -> None:
        """Count the episode, once, if it is known how it ended; for hosts that cannot use ``with``."""
        with self._lock:
            answers, self._answers = self._answers, deque(maxlen=_MOST_ANSWERS)
        if self.passed is not None and answers:
            self.memory.keeper.learn(answers, passed=self.passed)


def _of_classes(domain: Domain) -> Iterable[str]:
    return (tool for cls in domain.classes for side in cls.sides for tool in side.tools)
