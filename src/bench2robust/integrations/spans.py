"""Tool calls as OpenTelemetry GenAI spans: what `b2r profile fit` reads, and any tracing backend.

::

    faults("severe", on_record=SpanFile("traces.jsonl"))     # no dependency: a line of OTLP JSON for each call
    faults("none", on_record=TracerSpans())                  # in production: into the OpenTelemetry that is there

A span says how the call looked to its agent (``error.type``); what was injected is in attributes of our own. Neither
arguments nor answers are written, for they may be secrets, unless it is asked for.
"""

from __future__ import annotations

import json
import threading
import time
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from bench2robust.core.errors import FolderError, NotInstalledError
from bench2robust.core.noise import NoiseType
from bench2robust.core.reading import classify
from bench2robust.core.tools import CallRecord

from . import values
from .scope import current

OPERATION: Final = "gen_ai.operation.name"
EXECUTE: Final = "execute_tool"
TOOL: Final = "gen_ai.tool.name"
ARGUMENTS: Final = "gen_ai.tool.call.arguments"
ERROR: Final = "error.type"
INJECTED: Final = "bench2robust.injected"
"""What was injected: a noise type, or ``blocked``."""
OWN_ERROR: Final = "tool_error"
"""The ``error.type`` of an error of the tool's own that looks like no failure on the way to it."""


def attributes(record: CallRecord, *, arguments: bool = False) -> dict[str, str]:
    """Return the attributes of a call's span.

    Args:
        record: the call.
        arguments: whether its arguments are among them.
    """
    found = {OPERATION: EXECUTE, TOOL: record.call.name}
    if arguments:
        found[ARGUMENTS] = json.dumps(values.plain(record.call.arguments), sort_keys=True)
    if record.delivered.error:
        found[ERROR] = _error(record)
    if record.injected:
        found[INJECTED] = "blocked" if record.blocked else str(record.noise)
    return found


def _error(record: CallRecord) -> str:
    if record.noise.observable:
        return str(record.noise)
    return str(classify(record.delivered.text) or OWN_ERROR)


class TracerSpans:
    """Gives every call to OpenTelemetry as a span of no length, under the span that is current.

    Args:
        tracer: the tracer; that of the process by default.
        arguments: whether arguments are given too.

    Raises:
        NotInstalledError: opentelemetry-api is missing.
    """

    def __init__(self, tracer: Any = None, *, arguments: bool = False) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            raise NotInstalledError(
                "expected opentelemetry-api to be installed; pip install 'bench2robust[otel]'"
            ) from None
        self._failed = trace.Status(trace.StatusCode.ERROR)
        self._tracer = tracer or trace.get_tracer("bench2robust")
        self._arguments = arguments

    def __call__(self, record: CallRecord) -> None:
        """Emit the span of a call."""
        found = attributes(record, arguments=self._arguments)
        span = self._tracer.start_span(f"{EXECUTE} {record.call.name}", attributes=found)
        if ERROR in found:
            span.set_status(self._failed)
        span.end()


class SpanFile:
    """Writes every call as a line of OTLP JSON, each episode a trace of its own. Threads may share one.

    Args:
        path: the file; lines are added to it.
        arguments: whether arguments are written too.

    Raises:
        FolderError: the file cannot be written.
    """

    def __init__(self, path: Path | str, *, arguments: bool = False) -> None:
        try:
            # Line by line, so that nothing is lost when the process ends without closing.
            self._file = Path(path).open("a", buffering=1, encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise FolderError(
                f"expected a file that can be written, got path='{path}' ({error.strerror})"
            ) from None
        self._arguments = arguments
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self, record: CallRecord) -> None:
        """Write the span of a call."""
        episode = current()
        key = f"{id(self)}" if episode is None else f"{id(episode)} {episode.spec.seed} {episode.task}"
        trace = blake2b(f"{key}".encode(), digest_size=16).hexdigest()
        found = attributes(record, arguments=self._arguments)
        with self._lock:
            self._last = now = max(time.time_ns(), self._last + 1)
            name = blake2b(f"{trace} {now}".encode(), digest_size=8).hexdigest()
            span = {
                "traceId": trace,
                "spanId": name,
                "name": f"{EXECUTE} {record.call.name}",
                "kind": 1,
                "startTimeUnixNano": str(now),
                "endTimeUnixNano": str(now),
                "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in found.items()],
                "status": {"code": 2} if ERROR in found else {},
            }
            scope = {"scope": {"name": "bench2robust"}, "spans": [span]}
            self._file.write(json.dumps({"resourceSpans": [{"scopeSpans": [scope]}]}) + "\n")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def noise_of(error: str, message: str = "") -> NoiseType | None:
    """Return which failure a span's error is; None where neither its type nor its message says so.

    Args:
        error: ``error.type``, or the type of an exception: our own names, HTTP statuses, class names.
        message: the message of the status or exception.
    """
    if error in list(NoiseType):
        return NoiseType(error)
    known = _BY_CODE.get(error)
    if known is not None:
        return known
    if error.isdecimal() and len(error) == 3 and error[0] == "5":
        return NoiseType.SERVER_ERROR
    words = _split(error)
    for noise, names in _BY_NAME.items():
        if any(name in words for name in names):
            return noise
    return classify(message) if message and not _is_data(message) else None


def _is_data(text: str) -> bool:
    """Whether a message is no sentence: a damaged answer cannot be told from an odd message here."""
    return not any(c.isspace() for c in text.strip())


def _split(name: str) -> str:
    """Return a class's name, without its module, as words: ``httpx.ReadTimeout`` is `` read timeout ``."""
    last = name.rpartition(".")[2]
    spaced = "".join(
        f" {c.lower()}" if c.isupper() and i and last[i - 1].islower() else c.lower()
        for i, c in enumerate(last)
    )
    return f" {spaced.replace('_', ' ').replace('-', ' ')} "


_BY_CODE: Final = {
    "408": NoiseType.TIMEOUT,
    "504": NoiseType.TIMEOUT,
    "429": NoiseType.RATE_LIMIT,
    "401": NoiseType.AUTH_ERROR,
    "403": NoiseType.AUTH_ERROR,
    "422": NoiseType.SCHEMA_DRIFT,
    "-32001": NoiseType.TIMEOUT,  # an MCP request that timed out
    "-32700": NoiseType.MALFORMED,
    "-32602": NoiseType.SCHEMA_DRIFT,
    "-32603": NoiseType.SERVER_ERROR,
}
_BY_NAME: Final = {
    NoiseType.TIMEOUT: (
        " timeout ",
        " timed out ",
        " deadline exceeded ",
        " timeout error ",
        " timeout exception ",
    ),
    NoiseType.RATE_LIMIT: (" rate limit", " too many requests ", " throttl", " quota"),
    NoiseType.AUTH_ERROR: (" auth", " permission", " unauthorized", " forbidden", " credential"),
    NoiseType.MALFORMED: (" jsondecode", " json decode", " decode error ", " parse error ", " malformed"),
    NoiseType.SCHEMA_DRIFT: (" validation error ", " schema", " unexpected keyword "),
    NoiseType.SERVER_ERROR: (
        " server error",
        " bad gateway ",
        " service unavailable ",
        " connect",
        " connection ",
        " remote protocol ",
    ),
}
