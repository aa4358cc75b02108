"""Recorded models: what an endpoint answered, kept in a file, and played back without one.

A tape is JSONL, one answered request a line, in the order in which answers came::

    {"episode": "13:chat:m:inject:0/agent", "request": "5f0c…", "nth": 0, "asks": "user: Hi!",
     "answer": {"choices": […], "usage": {…}}}

`request` is a hash of the whole request, `nth` how often the episode had made the same one before; with
`episode` they are the key. So a replay gives every episode what it got, at any concurrency and in any
order. `asks` is the end of the conversation, for people. A failure that belongs to the conversation (too
long, filtered) is kept as ``"failure": {"kind": "context", "text": "…"}`` in place of the answer; failures
of the endpoint are not kept. A line ``{"model": "m", "text_tools": true}`` says that the server turned out
to have no tool parser.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Final

from bench2robust.core.errors import SpecError, UnknownNameError

from .reply import shorten

Key = tuple[str, str, int]
"""Episode and role, hash of the request, how often it had been made before."""
_SHOWN: Final = 200


class TapeMode(StrEnum):
    """What a cassette does."""

    RECORD = "record"
    """Ask the endpoint, keep the answers; the tape must not exist."""
    REPLAY = "replay"
    """Answer from the tape alone; no endpoint and no key are needed."""
    AUTO = "auto"
    """Answer from the tape where it has the request, else ask and keep."""


class Cassette:
    """A tape of answers; several endpoints and episodes may share one.

    Args:
        path: the tape.
        mode: what to do with it.

    Raises:
        UnknownNameError: a mode that nobody knows.
        SpecError: the tape is missing, exists, cannot be read or written, or is no tape.
    """

    def __init__(self, path: Path | str, mode: TapeMode | str = TapeMode.AUTO) -> None:
        if mode not in list(TapeMode):
            raise UnknownNameError("cassette mode", str(mode), list(TapeMode))
        self.path, self.mode = Path(path), TapeMode(mode)
        self._answers: dict[Key, dict[str, Any]] = {}
        self._text_tools: set[str] = set()
        self._file: BinaryIO | None = None
        there = self.path.exists() and self.path.stat().st_size > 0
        if self.mode is TapeMode.REPLAY and not there:
            raise SpecError(f"expected a tape to replay, got cassette='{self.path}', which is not there")
        if self.mode is TapeMode.RECORD and there:
            raise SpecError(
                f"expected a new file to record to, got cassette='{self.path}', which is there; "
                "use mode 'auto' to go on with it"
            )
        whole = self._load() if there else 0
        if self.mode is not TapeMode.REPLAY:
            self._file = self._open(whole)

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def replays_only(self) -> bool:
        """Whether a request that is not on the tape is an error."""
        return self.mode is TapeMode.REPLAY

    def find(self, key: Key) -> Mapping[str, Any] | None:
        """Return what was kept for a request: a line with ``answer`` or ``failure``; None where nothing was."""
        return self._answers.get(key)

    def keep(self, key: Key, request: Mapping[str, Any], outcome: Mapping[str, Any]) -> None:
        """Write down what came of a request, as ``answer`` or ``failure``."""
        episode, digest, nth = key
        line = {"episode": episode, "request": digest, "nth": nth, "asks": _asks(request), **outcome}
        self._answers.setdefault(key, line)
        self._write(line)

    def text_tools(self, model: str) -> bool:
        """Return whether the model's server turned out to have no tool parser."""
        return model in self._text_tools

    def keep_text_tools(self, model: str) -> None:
        """Write down that the model's server has no tool parser."""
        if model not in self._text_tools:
            self._text_tools.add(model)
            self._write({"model": model, "text_tools": True})

    def missing(self, key: Key, request: Mapping[str, Any]) -> str:
        """Return the one line that says that a request is not on the tape."""
        again = f", made the {key[2] + 1}th time" if key[2] else ""
        return (
            f"cassette='{self.path}' has no answer to request={key[1]!r} of {key[0]!r}{again} "
            f"({_asks(request)!r}); record it with mode 'auto'"
        )

    def close(self) -> None:
        """Close the tape; nothing is lost without it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _load(self) -> int:
        """Read the tape; returns its length without a last line that was not finished."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise SpecError(f"cassette='{self.path}' cannot be read ({error.strerror})") from None
        whole = data.rfind(b"\n") + 1
        for number, text in enumerate(data[:whole].splitlines(), start=1):
            try:
                line = json.loads(text)
                if "text_tools" in line:
                    self._text_tools.add(line["model"])
                else:
                    self._answers.setdefault((line["episode"], line["request"], line["nth"]), line)
            except (ValueError, TypeError, KeyError):
                raise SpecError(
                    f"expected a recorded answer, got cassette='{self.path}' line {number}: "
                    f"{shorten(text.decode(errors='replace'), 60)!r}"
                ) from None
        return whole

    def _open(self, whole: int) -> BinaryIO:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = self.path.open("ab")
            if file.tell() > whole:
                os.truncate(file.fileno(), whole)
        except OSError as error:
            raise SpecError(f"cassette='{self.path}' cannot be written ({error.strerror})") from None
        return file

    def _write(self, line: Mapping[str, Any]) -> None:
        """Append one line in one write, so that several processes may record to one tape."""
        if self._file is not None:
            self._file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
            self._file.flush()


def digest(request: Mapping[str, Any]) -> str:
    """Return sixteen hexadecimal digits that stand for a request."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _asks(request: Mapping[str, Any]) -> str:
    """Return the end of the conversation."""
    last = request["messages"][-1]
    return shorten(f"{last['role']}: {last.get('content') or ''}", _SHOWN)
