"""A memory behind the proxy: notes on failed calls for any client, and what the sessions have shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench2robust import domains
from bench2robust.core.domain import Domain
from bench2robust.core.errors import MemoryFileError
from bench2robust.core.reading import read
from bench2robust.core.tools import ToolCall, ToolResponse
from bench2robust.integrations.spec import FaultSpec
from bench2robust.memory.content import content
from bench2robust.memory.keeping import Keeper, keep
from bench2robust.memory.memory import Memory
from bench2robust.memory.notes import Notes


@dataclass(frozen=True)
class Library:
    """The memory that all sessions of a proxy share.

    Args:
        domain: whose memory it is: classes tell the ways around a tool.
        memory: what notes say; None where no notes are added.
        keeper: where sessions are recorded; None where they are not.
    """

    domain: Domain
    memory: Memory | None = None
    keeper: Keeper | None = None

    @classmethod
    def open(cls, path: Path, domain: Domain | None, *, notes: bool, record: bool) -> Library:
        """Open a memory.

        Args:
            path: the file; made when missing and sessions are recorded.
            domain: None takes the one that the file names.
            notes: whether failed calls get notes.
            record: whether sessions are recorded.

        Raises:
            MemoryFileError: it cannot be read, or is not there and nothing is recorded.
            SpecError: the memory is of another domain, or the file's name does not say which kind it is.
        """
        known = Memory.load(path) if path.exists() or not record else None
        if domain is None:
            name = known.domain if known else FaultSpec().domain.name
            domain = domains.load(name) if name in domains.names() else Domain(name)
        if known is not None:
            known.check(domain.name, domain.tools)
        keeper = keep(path, domain) if record else None
        told = keeper.memory() if keeper is not None else known
        if told is None:
            raise MemoryFileError(str(path), "expected a memory, found no file")
        return cls(domain, told if notes else None, keeper)


class Recall:
    """What one session remembers of its calls."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._answers: list[tuple[str, ToolResponse]] = []
        self._notes: Notes | None = None
        self._offered: tuple[str, ...] = ()
        self.passed: bool | None = None
        """Whether the session reached what it was for, once somebody says so."""

    def note(self, call: ToolCall, delivered: ToolResponse, offered: tuple[str, ...]) -> str:
        """Take in what was delivered for a call, and return the note on it; empty for none.

        Args:
            call: the call.
            delivered: what the agent reads.
            offered: the tools that the client knows of.
        """
        library = self._library
        if library.keeper is not None:
            # A clean answer says nothing but that it came.
            self._answers.append((call.name, delivered if read(delivered).noise else ToolResponse("")))
        if library.memory is None:
            return ""
        if self._notes is None or offered != self._offered:
            self._offered = offered
            told = content(library.memory, library.domain, offered or library.domain.tools or (call.name,))
            self._notes = Notes(told)
        return self._notes.on(call, delivered)

    def close(self) -> None:
        """Record the session, if there was any call."""
        keeper, answers = self._library.keeper, self._answers
        if keeper is None or not answers:
            return
        self._answers = []
        passed = recovered(answers, self._library.domain) if self.passed is None else self.passed
        keeper.learn(answers, passed=passed)


def recovered(answers: list[tuple[str, ToolResponse]], domain: Domain) -> bool:
    """Whether each tool that failed answered later, or another side of one of its classes did.

    What stands for success where nobody says whether a session reached what it was for.
    """
    open_: set[str] = set()
    for tool, response in answers:
        if read(response).noise is not None:
            open_.add(tool)
        else:
            open_ = {failed for failed in open_ if failed != tool and not domain.switches(failed, tool)}
    return not open_
