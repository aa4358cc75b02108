"""The live log of a proxy: one line for each call of a tool, as text for people or as JSON for programs.

Arguments and answers never reach it unless that is asked for: they may hold secrets.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

from bench2robust.core.errors import SpecError
from bench2robust.core.tools import CallRecord

_LONGEST: Final = 120
"""Characters of a name that a server or a client gave."""


class Log:
    """Where a proxy says what it does.

    Args:
        file: a file that JSON lines are added to; None for text on stderr.
        arguments: whether arguments, and the values that a corruption changed, are logged too.

    Raises:
        SpecError: the file cannot be written.
    """

    def __init__(self, file: Path | None = None, *, arguments: bool = False) -> None:
        self._arguments = arguments
        self._json = file is not None
        self._counts: Counter[str] = Counter()
        self._stream: TextIO | None = sys.stderr
        if file is not None:
            try:
                self._stream = file.open("a", encoding="utf-8", buffering=1)
            except OSError as error:
                raise SpecError(
                    f"expected a log file that can be written, got log={str(file)!r} ({error.strerror})"
                ) from None

    def call(self, session: int, record: CallRecord, seconds: float, *, noted: bool) -> None:
        """Log a call that was answered."""
        self._counts["calls"] += 1
        if record.injected:
            self._counts["blocked" if record.blocked else str(record.noise)] += 1
        elif record.withheld:
            self._counts["withheld"] += 1
        if not self._json:
            self._line(_told(session, record, seconds, noted=noted, arguments=self._arguments))
            return
        data: dict[str, Any] = {
            "session": session,
            "tool": record.call.name,
            "ordinal": record.ordinal,
            "drawn": record.drawn,
            "noise": record.noise,
            "blocked": record.blocked,
            "withheld": record.withheld,
            "executed": record.executed,
            "genuine_error": record.genuine_error,
            "corrupted": [field.path for field in record.corrupted],
            "noted": noted,
            "ms": round(1000 * seconds, 3),
        }
        if self._arguments:
            data["arguments"] = record.call.arguments
            data["values"] = [[field.true, field.delivered] for field in record.corrupted]
        self._line(data)

    def event(self, session: int, what: str) -> None:
        """Log something that happened beside the calls."""
        if self._json:
            self._line({"session": session, "event": what})
        else:
            self._line(f"{_where(session)}{what}")

    def close(self) -> None:
        """Write the sums, and let the file go."""
        calls = self._counts.pop("calls", 0)
        if calls and not self._json:
            each = ", ".join(f"{n} {what}" for what, n in self._counts.most_common())
            self._line(f"{calls} calls: {each or 'none changed'}")
        if self._json and self._stream is not None:
            self._stream.close()
        self._stream = None

    def _line(self, what: str | dict[str, Any]) -> None:
        if self._stream is None:
            return
        now = datetime.now(UTC)
        if isinstance(what, str):
            line = f"b2r mcp-proxy {now:%H:%M:%S} {what}"
        else:
            line = json.dumps({"time": now.isoformat(timespec="milliseconds"), **what}, default=str)
        try:
            self._stream.write(line + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            # A full disk or a closed terminal is no reason to lose the client's calls.
            self._stream = None


def shown(name: str) -> str:
    """Return a name as one line of a terminal may show it."""
    text = name if name.isprintable() else repr(name)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _where(session: int) -> str:
    return "" if session == 1 else f"session {session} "


def _told(session: int, record: CallRecord, seconds: float, *, noted: bool, arguments: bool) -> str:
    what = str(record.noise)
    if record.blocked:
        what = "blocked"
    elif record.withheld:
        what = f"clean ({record.drawn} withheld: {record.withheld})"
    elif record.genuine_error and not record.landed:
        what = "clean (an error of the tool's own)"
    parts = [what]
    if record.corrupted:
        parts.append("changed " + ", ".join(shown(field.path) for field in record.corrupted))
    if record.answer_lost:
        parts.append("executed, answer lost")
    elif not record.executed:
        parts.append("not executed")
    if noted:
        parts.append("with a note")
    if arguments:
        parts.append(json.dumps(record.call.arguments, default=str))
    line = f"{_where(session)}{shown(record.call.name)} #{record.ordinal + 1}: {'; '.join(parts)}"
    return f"{line} [{1000 * seconds:.0f} ms]"
