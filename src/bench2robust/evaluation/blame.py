"""Whose fault an error is."""

from __future__ import annotations

from traceback import extract_tb
from types import TracebackType

from bench2robust.core.errors import B2RError, SubjectError


class blaming:
    """Turn whatever is raised inside, unless it is raised on purpose, into an error of one family.

    A class, because as a generator it would take four times as long, and every call passes through it.

    Args:
        family: whose fault it is.
        what: what happened, for the message, which also names the place.
    """

    __slots__ = ("_family", "_what")

    def __init__(self, family: type[SubjectError], what: str) -> None:
        self._family, self._what = family, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or isinstance(error, B2RError) or not isinstance(error, Exception):
            return
        where, text = extract_tb(trace)[-1], " ".join(str(error).split())
        place = f"{where.filename}:{where.lineno}"
        raise self._family(f"{self._what}: {type(error).__name__}: {text} ({place})") from error
