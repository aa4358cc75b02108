"""Traces in, a profile out: what is read, what is estimated, and that the circle closes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tomllib
from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust import faults, inject
from bench2robust.core.errors import SpecError, UsageError
from bench2robust.core.noise import OBSERVABLE, NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import CallRecord, ToolCall, ToolResponse
from bench2robust.injection import Burst, NoiseProfile
from bench2robust.integrations import exact
from bench2robust.integrations.fitting import FitSpec, distribution, few_runs, fit, to_dict, to_toml
from bench2robust.integrations.spans import SpanFile, TracerSpans, attributes, noise_of
from bench2robust.integrations.traces import Call, read_traces

OPEN = {"budget": None, "max_consecutive": None}
THETA = {"timeout": 0.1, "rate_limit": 0.05, "auth_error": 0.08}


@pytest.fixture
def write(tmp_path):
    def to(*documents):
        file = tmp_path / "traces.jsonl"
        file.write_text("".join(json.dumps(d) + "\n" for d in documents), encoding="utf-8")
        return file

    return to


def span(tool="get", number=1, start=1, parent="", trace="t", **changes):
    keys = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, **changes.pop("more", {})}
    return {
        "traceId": trace,
        "spanId": f"s{number}",
        "parentSpanId": parent,
        "name": f"execute_tool {tool}",
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in keys.items()],
        "status": {},
        **changes,
    }


def otlp(*spans):
    return {
        "resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": list(spans)}]}]
    }


def thrown(kind, message=""):
    values = {"exception.type": kind, "exception.message": message}
    return {
        "name": "exception",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in values.items()],
    }


BAD = {"code": 2}


@pytest.mark.parametrize(
    ("changes", "error", "noise"),
    [
        ({}, "", None),
        ({"more": {"error.type": "timeout"}, "status": BAD}, "timeout", "timeout"),
        ({"more": {"error.type": "429"}}, "429", "rate_limit"),
        ({"more": {"error.type": "503"}}, "503", "server_error"),
        ({"more": {"error.type": "-32603"}}, "-32603", "server_error"),
        ({"more": {"error.type": "httpx.ReadTimeout"}}, "httpx.ReadTimeout", "timeout"),
        ({"more": {"error.type": "tool_error"}, "status": BAD}, "tool_error", None),
        (
            {"more": {"error.type": "tool_error"}, "status": {"code": 2, "message": "HTTP 401 Unauthorized"}},
            "tool_error",
            "auth_error",
        ),
        ({"status": BAD, "events": [thrown("TimeoutError")]}, "TimeoutError", "timeout"),
        ({"status": BAD, "events": [thrown("ValueError", "no such order")]}, "ValueError", None),
        ({"status": BAD, "events": [thrown("X", "429 Too Many Requests")]}, "X", "rate_limit"),
        ({"events": [thrown("TimeoutError")]}, "", None),  # it was handled: nothing says that the call failed
        ({"status": BAD}, "unknown", None),
        ({"status": {"code": "STATUS_CODE_ERROR"}}, "unknown", None),
        ({"status": {"code": "STATUS_CODE_OK"}}, "", None),
    ],
)
def test_what_a_span_says_of_a_failure(write, changes, error, noise):
    (call,) = read_traces(write(otlp(span(**changes)))).calls
    assert (call.tool, call.failed, call.error, call.noise) == ("get", bool(error), error, noise)


def test_the_same_from_names_of_protocol_buffers_and_from_one_document(tmp_path, write):
    plain = span(more={"error.type": "timeout"})
    snake = {
        {"traceId": "trace_id", "spanId": "span_id", "startTimeUnixNano": "start_time_unix_nano"}.get(k, k): v
        for k, v in plain.items()
    }
    snake |= {"kind": "SPAN_KIND_INTERNAL"}
    one = read_traces(write({"resource_spans": [{"scope_spans": [{"spans": [snake]}]}]}))
    file = tmp_path / "whole.json"
    file.write_text(json.dumps([otlp(plain)], indent=2), encoding="utf-8")
    assert one.calls == read_traces(file).calls == read_traces(write(otlp(plain))).calls


def test_a_call_that_several_spans_tell_counts_once(write):
    mcp = {"mcp.method.name": "tools/call"}
    spans = [
        span(number=1),
        {**span(number=2, parent="s1"), "name": "http", "attributes": []},
        {**span(number=3, parent="s2", more=mcp), "name": "tools/call get", "kind": 3},
        {**span(number=4, parent="s3", more=mcp), "name": "tools/call get", "kind": "SPAN_KIND_SERVER"},
        span("other", number=5, parent="s1"),  # a tool that calls another
        span(number=6, parent="missing"),
        {**span(number=7), "name": "chat", "attributes": []},
    ]
    found = read_traces(write(otlp(*spans), otlp(spans[0])))
    assert Counter(call.tool for call in found.calls) == {"get": 2, "other": 1}
    assert (found.spans, found.nested) == (7, 2)


def test_spans_that_are_each_others_parents_end(write):
    found = read_traces(write(otlp(span(number=1, parent="s2"), span("b", number=2, parent="s1"))))
    assert len(found.calls) == 2


def test_retries_are_told_from_first_attempts(write):
    failed = {"more": {"error.type": "timeout"}}
    without = [span(start=n, number=n, **(failed if n in (1, 2) else {})) for n in (3, 2, 1, 4)]
    assert [c.retry for c in read_traces(write(otlp(*without))).calls] == [False, True, True, False]

    def asked(text):
        return {"more": {"error.type": "timeout", "gen_ai.tool.call.arguments": text}}

    known = [span(start=n, number=n, **asked(text)) for n, text in enumerate("abab", 1)]
    assert [c.retry for c in read_traces(write(otlp(*known))).calls] == [False, False, True, True]
    apart = [span(start=n, number=n, trace=f"t{n}", **failed) for n in (1, 2)]
    assert [c.retry for c in read_traces(write(otlp(*apart))).calls] == [False, False]
    lines = [{"tool": "get", "error": True, "attempt": n} for n in (2, 1)]
    assert [c.retry for c in read_traces(write(*lines)).calls] == [True, False]


def test_plain_lines(write):
    found = read_traces(
        write(
            {"tool": "b", "time": 5},
            {"tool": "a", "error": "HTTP 503 Service Unavailable", "time": 2.5, "run": 7},
            {"tool": "a", "error": True, "time": 3, "run": "x", "arguments": {"k": 1}},
            {"tool": "a", "error": False, "time": 4},
        )
    )
    assert [(c.tool, c.failed, c.noise, c.run) for c in found.calls] == [
        ("a", True, NoiseType.SERVER_ERROR, "7"),
        ("a", True, None, "x"),
        ("a", False, None, ""),
        ("b", False, None, ""),
    ]


@pytest.mark.parametrize("noise", OBSERVABLE)
def test_our_own_texts_are_recognised(noise):
    assert noise_of(str(noise)) is noise


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected calls of tools"),
        ("{}", "expected resourceSpans, or a tool's name, got tool=None"),
        ("[1]", "expected an object, got int"),
        ('{"tool": "a"}\n{"tool', ":2: expected JSON"),
        ('{"tool": "a", "error": 3}', "expected an error's type, true or false, got error=3"),
        ('{"tool": "a", "time": "noon"}', "expected a number of seconds, got time='noon'"),
        ('{"tool": "a", "attempt": 0}', "expected an integer of at least 1, got attempt=0"),
        ('{"resourceSpans": [3]}', "expected spans as OTLP JSON has them"),
        ('{"resourceSpans": []}', "expected calls of tools .* got none in 0 spans"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, text, said):
    file = tmp_path / "bad.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said) as raised:
        read_traces(file)
    assert "bad.jsonl" in str(raised.value)
    assert "\n" not in str(raised.value)


@given(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_whatever_a_file_holds_the_error_is_one_line(tmp_path_factory, text, value):
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    for content in (text, json.dumps({"resourceSpans": value}), json.dumps(otlp(value)), json.dumps(value)):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(UsageError, match=r"^[^\n]*\Z"):  # noqa: PT012
            read_traces(file)
            raise UsageError("it could be read")


# Estimates.


def calls_of(failed, tool="get"):
    return [Call(tool, bad, "timeout" if bad else "", NoiseType.TIMEOUT if bad else None) for bad in failed]


@pytest.mark.parametrize("n", [5, 8])
def test_the_runs_test_is_exact(n):
    """Of all orders of some failures among n calls, the share with so few runs is what is returned."""
    for bad in range(1, n):
        orders = [[i in where for i in range(n)] for where in combinations(range(n), bad)]
        runs = [sum(one and not before for before, one in pairwise((False, *order))) for order in orders]
        for order, own in zip(orders, runs, strict=True):
            assert few_runs(order) == pytest.approx(sum(r <= own for r in runs) / len(runs))


def independent(seed, n, p=0.3):
    draws = Draws(seed, "independent")
    return [draws.uniform() < p for _ in range(n)]


def chained(seed, n, burst, p=0.3):
    draws = Draws(seed, "chain")
    first, enter, stay = burst.chances(p)
    states, on = [], draws.uniform() < first
    for _ in range(n):
        states.append(on)
        on = draws.uniform() < (stay if on else enter)
    return states


def test_bursts_are_not_found_where_there_are_none():
    """400 files of 200 independent calls, level .01: more than 12 alarms would come by chance 1 in 10^4 times."""
    alarms = sum(fit(calls_of(independent(s, 200)), FitSpec()).tools[0].together.bursts for s in range(400))
    assert alarms <= 12


def test_bursts_are_found_and_measured_where_there_are_some():
    """100 files of 300 calls in bursts of 4: found nearly always; the length within its interval (95 %) in at
    least 85 (fewer would come by chance 1 in 10^4 times); and the rate, within its own, in at least 85."""
    found = length = rate = 0
    for seed in range(100):
        (tool,) = fit(calls_of(chained(seed, 300, Burst(4))), FitSpec()).tools
        found += tool.together.bursts
        if tool.together.length is not None:
            length += tool.together.length.low <= 0.75 <= tool.together.length.high
            timeout = tool.rates[NoiseType.TIMEOUT]
            rate += timeout.low <= 0.3 <= timeout.high
    assert found >= 98
    assert min(length, rate) >= 85


@pytest.mark.parametrize(("bad", "n"), [(9, 60), (10, 29), (40, 40)])
def test_too_little_says_nothing_about_bursts(bad, n):
    together = fit(calls_of([i < bad for i in range(n)]), FitSpec()).tools[0].together
    assert together.p is None
    assert not together.bursts


def test_retries_in_an_outage_do_not_raise_the_rate_of_first_attempts():
    lines = [Call("get", True, "timeout", NoiseType.TIMEOUT, retry=retry) for retry in (False, True, True)]
    good = [Call("get", False)] * 9
    (tool,) = fit(lines + good, FitSpec()).tools
    assert (tool.first.hits, tool.first.n) == (1, 10)
    assert (tool.retries.hits, tool.retries.n) == (2, 2)
    assert tool.rates[NoiseType.TIMEOUT].n == 10


def test_errors_of_no_known_type_count_as_what_is_asked_for():
    calls = [*[Call("get", True, "ValueError")] * 3, *[Call("get", False)] * 97]
    counted = fit(calls, FitSpec())
    assert counted.unknown == {"ValueError": 3}
    assert counted.pooled[NoiseType.SERVER_ERROR].hits == 3
    assert fit(calls, FitSpec(unknown="leave")).pooled[NoiseType.SERVER_ERROR].hits == 0


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([None, *OBSERVABLE])), min_size=1, max_size=80)
)
def test_every_fit_is_a_profile_and_its_file_is_that_profile(drawn):
    calls = [Call(tool, noise is not None, str(noise or ""), noise) for tool, noise in drawn]
    found = fit(calls, FitSpec(least=5))
    assert NoiseProfile.from_dict(tomllib.loads(to_toml(found, "x"))) == found.profile()
    json.dumps(to_dict(found), allow_nan=False)
    for tool in found.tools:
        assert math.fsum(distribution(tool.rates).values()) == pytest.approx(1.0)
        for rate in tool.rates.values():
            assert rate.low <= rate.mean <= rate.high


@given(st.lists(st.booleans(), min_size=30, max_size=300), st.integers(2, 20))
def test_bursts_of_every_fit_are_possible(failed, stretch):
    calls = calls_of([bad for bad in failed for _ in range(stretch)])
    found = fit(calls, FitSpec())
    assert NoiseProfile.from_dict(tomllib.loads(to_toml(found, "x"))) == found.profile()


@pytest.mark.parametrize("name", ["get.order", 'a"b', "ä", "x y", "plain-1"])
def test_any_name_of_a_tool_can_be_written(name):
    found = fit(calls_of(chained(1, 300, Burst(6)), name), FitSpec())
    assert list(NoiseProfile.from_dict(tomllib.loads(to_toml(found, "x"))).tools) == [name]
    assert found.profile().burst(name) is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"level": 1.5}, "level=1.5"),
        ({"least": 0}, "expected an integer of at least 1, got least=0"),
        ({"unknown": "timeot"}, "unknown unknown='timeot'; did you mean 'timeout'"),
    ],
)
def test_specs_that_cannot_be(words, said):
    with pytest.raises(SpecError, match=said):
        FitSpec(**words)


# Our own spans, and the circle.


@inject
def get(x):
    return {"x": x, "name": "lamp"}


def test_a_span_says_how_the_call_looked_and_keeps_secrets():
    secret = ToolCall("get", {"key": "hunter2"})
    fine = ToolResponse("{}")
    lost = CallRecord(0, secret, 0, fine, ToolResponse("HTTP 429 Too Many Requests", error=True), None)
    lost.noise = NoiseType.RATE_LIMIT
    assert attributes(lost) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get",
        "error.type": "rate_limit",
        "bench2robust.injected": "rate_limit",
    }
    assert attributes(lost, arguments=True)["gen_ai.tool.call.arguments"] == '{"key": "hunter2"}'
    stale = CallRecord(0, secret, 0, fine, fine, NoiseType.STALE, NoiseType.STALE)
    assert "error.type" not in attributes(stale)
    own = ToolResponse("no such order", error=True)
    assert attributes(CallRecord(0, secret, 0, own, own, None))["error.type"] == "tool_error"
    shut = ToolResponse("HTTP 403 Forbidden", error=True)
    blocked = attributes(CallRecord(0, secret, 0, None, shut, None, blocked=True))
    assert (blocked["error.type"], blocked["bench2robust.injected"]) == ("auth_error", "blocked")


def test_the_circle_closes(tmp_path):
    """Faults of a known θ, 3,000 calls in 300 episodes → spans → fit: 6 rates in intervals of 1 - 10^-4 / 6; false
    alarms: 1 in 10^4. And a burst found where there is none: 1 in 100."""
    file = tmp_path / "traces.jsonl"
    with SpanFile(file) as spans:
        scope = faults(THETA, seed=4, on_record=spans, **OPEN)
        for run in range(300):
            with scope.episode(f"run {run}"):
                for x in range(10):
                    get(x)
    read = read_traces(file)
    assert len(read.calls) == 3000
    assert len({call.run for call in read.calls}) == 300
    found = fit(read.calls, FitSpec(level=1 - 1e-4 / 6))
    for noise in OBSERVABLE:
        rate = found.tools[0].rates[noise]
        assert rate.low <= THETA.get(noise, 0.0) <= rate.high
    assert not found.tools[0].together.bursts
    again = faults(found.profile()).spec.injection.profile
    assert again.for_tool("get")[NoiseType.TIMEOUT] == pytest.approx(0.1, abs=0.03)


def test_the_circle_closes_with_bursts(tmp_path):
    """The same of a chain: 4 episodes of 1,000 calls, θ = .3, bursts of 5 calls; intervals of 99.99 %, two of
    them; the effective number of calls is an estimate, so about 1 false alarm in 10^3."""
    file = tmp_path / "traces.jsonl"
    profile = {"default": {"timeout": 0.3, "clean": 0.7}, "burst": {"length": 5}}
    with SpanFile(file) as spans:
        scope = faults(profile, seed=2, on_record=spans, **OPEN)
        for run in range(4):
            with scope.episode(f"run {run}"):
                for x in range(1000):
                    get(x)
    found = fit(read_traces(file).calls, FitSpec(level=0.9999))
    (tool,) = found.tools
    assert tool.together.bursts
    assert tool.together.length.low <= 0.8 <= tool.together.length.high
    timeout = tool.rates[NoiseType.TIMEOUT]
    assert timeout.low <= 0.3 <= timeout.high
    assert 4 < found.profile().burst("get").length < 6


def test_opentelemetrys_own_spans_are_read_back(tmp_path, write):
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    with faults({"timeout": 0.5}, seed=1, on_record=TracerSpans(provider.get_tracer("t")), **OPEN) as scope:
        for x in range(40):
            get(x)
    spans = exporter.get_finished_spans()
    assert {s.name for s in spans} == {"execute_tool get"}
    failed = [s.attributes.get("error.type") for s in spans]
    assert failed == ["timeout" if r.landed else None for r in scope.records]
    encoder = pytest.importorskip("opentelemetry.exporter.otlp.proto.common.trace_encoder")
    json_format = pytest.importorskip("google.protobuf.json_format")
    read = read_traces(write(json_format.MessageToDict(encoder.encode_spans(spans))))
    assert [c.error or None for c in read.calls] == failed


def test_a_span_file_that_cannot_be_written(tmp_path):
    with pytest.raises(UsageError, match="expected a file that can be written, got path="):
        SpanFile(tmp_path / "no" / "where")


# The command.


def lines_of(failed, tool="get_loans"):
    return [{"tool": tool, "error": "timeout" if bad else None} for bad in failed]


def test_fit_writes_a_profile_that_show_and_run_take(b2r, tmp_path, write, golden):
    file = write(
        *lines_of(chained(3, 300, Burst(4))),
        *lines_of(independent(3, 100, 0.1), "search_loan"),
        {"tool": "x"},
    )
    out = tmp_path / "own.toml"
    done = b2r("profile", "fit", file, "-o", out, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    golden("profile_fit.txt", done.stdout.replace(str(out), "own.toml").rstrip())
    golden("profile_fit.toml", out.read_text(encoding="utf-8").rstrip())
    assert "warning: fewer than 20 calls, so no probabilities of their own: x" in done.stderr
    shown = b2r("profile", "show", out)
    golden("profile_show.txt", shown.stdout.rstrip())
    run = b2r("run", "--benchmark", "toy-library", "--profile", out, "--seeds", "1", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert faults(out).spec.injection.profile.burst("get_loans") is not None


def test_show_as_json_and_by_name(b2r):
    assert json.loads(b2r("profile", "show", "severe", "--json").stdout) == NoiseProfile.severe().to_dict()
    assert "timeout" in b2r("profile", "show", "mild").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "sever"], "error: unknown profile='sever'; did you mean 'severe'?"),
        (["show", "no.toml"], "error: expected a file that can be read, got profile='no.toml'"),
        (["fit", "no.jsonl"], "error: expected a file that can be read, got file='no.jsonl'"),
        (["fit", "no.jsonl", "--level", "7"], "error: expected a probability between 0 and 1, got level=7.0"),
        (["fit"], "error: Missing argument"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(b2r, tmp_path, arguments, said):
    done = b2r("profile", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_fitting_imports_no_opentelemetry():
    program = "import sys, bench2robust.integrations.fitting; print('opentelemetry' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert exact.interval(0, 0) == (0.0, 1.0)
