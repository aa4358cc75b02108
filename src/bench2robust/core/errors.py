"""Every error this package raises, in one tree.

    B2RError
    ├── UsageError              the caller's mistake: one line, exit code 2, nothing written
    │   ├── UnknownNameError    a benchmark, agent, mode, tool or task nobody knows (suggests close names)
    │   ├── SpecError           a value that cannot be: probabilities, limits, mixes
    │   ├── DomainFileError     a domain TOML file that does not fit (names file, key and value)
    │   ├── MemoryFileError     a memory file that does not fit (names the file and what is wrong)
    │   ├── NotInstalledError   something optional is missing (says how to get it)
    │   └── FolderError         a run folder that cannot be written, is busy, or holds another run
    ├── SubjectError            the thing under test broke by itself
    │   ├── AgentError          the agent broke its own port (unknown action, wrong arguments type)
    │   └── BenchmarkError      the benchmark's data or tools broke
    └── EndpointError           a model's endpoint failed; never the agent's fault, never scored
        ├── EndpointFatalError  for the whole run: wrong key, unknown model, no tools
        └── EpisodeLostError    for one episode: retries used up, content filter

Three families are never mixed. An *injected failure* is data that an agent receives
(`CallRecord.noise`, `CallRecord.blocked`), never an exception. A tool's *genuine error* is
data too (`CallRecord.genuine_error`). What is raised from here is neither.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class B2RError(Exception):
    """Anything this package raises on purpose."""


class UsageError(B2RError):
    """The caller asked for something that cannot be; the message is one line and says what to do."""


class UnknownNameError(UsageError):
    """A name nobody knows.

    Args:
        what: the kind of thing, singular ("agent").
        name: what came.
        known: the names that exist; close ones are suggested, a short list is shown whole.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = [str(n) for n in known]  # of an enum member, the value and not its repr
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        if close:
            hint = "did you mean " + " or ".join(repr(c) for c in close) + "?"
        else:
            shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
            hint = f"known: {shown or 'none'}"
        super().__init__(f"unknown {what}={name!r}; {hint}")
        self.what, self.name, self.known = what, name, names


class SpecError(UsageError):
    """A value outside what it may be."""


class DomainFileError(UsageError):
    """A domain file that does not fit its schema."""

    def __init__(self, file: str, key: str, problem: str) -> None:
        super().__init__(f"{file}: {key}: {problem}")
        self.file, self.key = file, key


class MemoryFileError(UsageError):
    """A file of beliefs that cannot be read, or does not fit what it is asked for."""

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(f"{file}: {problem}")
        self.file = file


class NotInstalledError(UsageError):
    """Something optional is not installed; the message says how to get it."""


class FolderError(UsageError):
    """A run folder that cannot be used as asked."""


class SubjectError(B2RError):
    """The thing under test broke by itself."""


class AgentError(SubjectError):
    """The agent did something its port does not allow."""


class BenchmarkError(SubjectError):
    """The benchmark's data or tools broke."""


class EndpointError(B2RError):
    """A model's endpoint failed; never the agent's fault, and never scored as one."""


class EndpointFatalError(EndpointError):
    """No episode of the run can work: wrong key, unknown model, unreachable address."""


class EpisodeLostError(EndpointError):
    """One episode is lost: retries used up, content filter. It is listed, and played again on resume."""

    usage: Any = None
    """What it had cost by then (`core.episode.Usage`), where that is known."""
