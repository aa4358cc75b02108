"""Tool calls out of traces: OpenTelemetry GenAI spans as OTLP JSON, or plain JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench2robust.core.errors import UsageError
from bench2robust.core.noise import NoiseType

from .spans import ARGUMENTS, ERROR, EXECUTE, OPERATION, TOOL, noise_of

UNKNOWN: Final = "unknown"
_PLAIN: Final = ("tool", "error", "time", "run", "arguments", "attempt")
_BY_NAME: Final = ("execute_tool ", "tools/call ")


class TraceError(UsageError):
    """A file of traces that cannot be read; names the file and the line."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, as a trace tells it."""

    tool: str
    failed: bool
    error: str = ""
    """What the trace calls its failure; ``unknown`` where it only says that it failed, empty for none."""
    noise: NoiseType | None = None
    """Which failure that is; None for none and where nothing says so."""
    run: str = ""
    """The trace that it belongs to."""
    arguments: str = ""
    """Its arguments, where the trace has them."""
    retry: bool = False
    """Whether it is the same call again, after it failed."""


class Traces(NamedTuple):
    """The calls of a file, in the order of time, and what was left out."""

    calls: tuple[Call, ...]
    spans: int
    """Spans or lines that the file has."""
    nested: int
    """Spans of calls that another span had told already."""


class _Raw(NamedTuple):
    """A call before it is known what came before it."""

    time: float
    tool: str
    error: str | None
    message: str
    run: str
    arguments: str
    attempt: int | None


def read_traces(file: Path) -> Traces:
    """Return the tool calls of a file.

    Args:
        file: lines of OTLP JSON (``resourceSpans``) or of plain JSON (``tool``, and where known ``error``,
            ``time``, ``run``, ``arguments``, ``attempt``); or one JSON document of either.

    Raises:
        TraceError: the file cannot be read, a line is neither, or there are no tool calls.
    """
    plain: list[_Raw] = []
    spans: dict[tuple[str, str], Mapping[str, Any]] = {}
    for where, data in _documents(file):
        if "resourceSpans" in data or "resource_spans" in data:
            try:
                for span in _spans(data):
                    spans[_identity(span)] = span
            except (TypeError, AttributeError, ValueError):
                raise TraceError(f"{where}: expected spans as OTLP JSON has them") from None
        else:
            plain.append(_plain(data, where, len(plain)))
    tools = {identity: span for identity, span in spans.items() if _tool(span)}
    outermost = [span for identity, span in tools.items() if not _told_above(identity, spans, tools)]
    try:
        raw = plain + [_of_span(span) for span in outermost]
    except (TypeError, AttributeError, ValueError):
        raise TraceError(f"{file}: expected spans as OTLP JSON has them") from None
    if not raw:
        raise TraceError(
            f"{file}: expected calls of tools (spans with {OPERATION}={EXECUTE}, or lines with a tool), got none "
            f"in {len(spans)} spans"
        )
    raw.sort(key=lambda call: call.time)
    return Traces(tuple(_in_order(raw)), len(spans) + len(plain), len(tools) - len(outermost))


def _documents(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give every JSON object of a file and where it is: a line each, or all of it in one document."""
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise TraceError(f"expected a file that can be read, got file='{file}' ({error.strerror})") from None
    except UnicodeDecodeError:
        raise TraceError(f"{file}: expected lines of JSON, got something that is no UTF-8 text") from None
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        lines = [(f"{file}:{n}", line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
        found = [(where, _parsed(where, line)) for where, line in lines]
    else:
        found = [(str(file), item) for item in (whole if isinstance(whole, list) else [whole])]
    for where, data in found:
        if not isinstance(data, Mapping):
            raise TraceError(f"{where}: expected an object, got {type(data).__name__}")
        yield where, data


def _parsed(where: str, line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{where}: expected JSON ({' '.join(str(error).split())})") from None


def _plain(data: Mapping[str, Any], where: str, place: int) -> _Raw:
    tool = data.get("tool")
    if not isinstance(tool, str) or not tool:
        raise TraceError(
            f"{where}: expected resourceSpans, or a tool's name, got tool={tool!r}; known: {', '.join(_PLAIN)}"
        )
    error, time, attempt = data.get("error"), data.get("time", place), data.get("attempt")
    if error not in (None, False, True) and not isinstance(error, str):
        raise TraceError(f"{where}: expected an error's type, true or false, got error={error!r}")
    if isinstance(time, bool) or not isinstance(time, int | float):
        raise TraceError(f"{where}: expected a number of seconds, got time={time!r}")
    if attempt is not None and (type(attempt) is not int or attempt < 1):
        raise TraceError(f"{where}: expected an integer of at least 1, got attempt={attempt!r}")
    said = UNKNOWN if error is True else error or None
    given = json.dumps(data["arguments"], sort_keys=True) if "arguments" in data else ""
    return _Raw(time, tool, said, said or "", str(data.get("run", "")), given, attempt)


def _spans(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for resource in _either(data, "resourceSpans", "resource_spans"):
        for scope in _either(resource, "scopeSpans", "scope_spans"):
            yield from scope.get("spans", ())


def _either(data: Mapping[str, Any], camel: str, snake: str, default: Any = ()) -> Any:
    """Return a field by the name that OTLP JSON has for it, or by the one of protocol buffers."""
    return data.get(camel, data.get(snake, default))


def _identity(span: Mapping[str, Any]) -> tuple[str, str]:
    trace, name = str(_either(span, "traceId", "trace_id", "")), str(_either(span, "spanId", "span_id", ""))
    return trace, name or f"at {id(span)}"


def _attributes(owner: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for attribute in owner.get("attributes", ()):
        value = next(iter(attribute.get("value", {}).values()), "")
        found[str(attribute.get("key"))] = value if isinstance(value, str) else json.dumps(value)
    return found


def _tool(span: Mapping[str, Any]) -> str:
    """Return the tool that a span is a call of; empty for other spans."""
    found, name = _attributes(span), str(span.get("name", ""))
    if found.get(OPERATION) == EXECUTE or found.get("mcp.method.name") == "tools/call":
        return found.get(TOOL) or next((name.removeprefix(p) for p in _BY_NAME if name.startswith(p)), name)
    return ""


def _told_above(identity: tuple[str, str], spans: Mapping[Any, Any], tools: Mapping[Any, Any]) -> bool:
    """Whether a span around this one tells the same call: a framework's around the client's and server's."""
    trace, tool = identity[0], _tool(spans[identity])
    seen = {identity}
    while True:
        identity = trace, str(_either(spans[identity], "parentSpanId", "parent_span_id", ""))
        if identity in seen or identity not in spans:
            return False
        if identity in tools and _tool(spans[identity]) == tool:
            return True
        seen.add(identity)


def _of_span(span: Mapping[str, Any]) -> _Raw:
    found = _attributes(span)
    thrown = [_attributes(event) for event in span.get("events", ()) if event.get("name") == "exception"]
    status = span.get("status") or {}
    bad = status.get("code") in (2, "2", "STATUS_CODE_ERROR")
    message = str(status.get("message", ""))
    error = found.get(ERROR)
    if thrown and (bad or error):
        error = error or thrown[-1].get("exception.type") or UNKNOWN
        message = message or thrown[-1].get("exception.message", "")
    elif bad and not error:
        error = UNKNOWN
    start = int(_either(span, "startTimeUnixNano", "start_time_unix_nano", 0))
    attempt = found.get("bench2robust.attempt", "")
    return _Raw(
        float(start),
        _tool(span),
        error,
        message,
        _identity(span)[0],
        found.get(ARGUMENTS, ""),
        int(attempt) if attempt.isdecimal() else None,
    )


def _in_order(raw: list[_Raw]) -> Iterator[Call]:
    """Give the calls, knowing of each whether it is a retry.

    Where arguments are known, the same call again after it failed; where not, the next call of that tool in
    the same run.
    """
    failed: dict[tuple[str, str, str], bool] = {}
    for call in raw:
        key = call.run, call.tool, call.arguments
        retry = failed.get(key, False) if call.attempt is None else call.attempt > 1
        failed[key] = call.error is not None
        noise = None if call.error is None else noise_of(call.error, call.message)
        yield Call(
            call.tool, call.error is not None, call.error or "", noise, call.run, call.arguments, retry
        )
