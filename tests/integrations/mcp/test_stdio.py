"""The proxy as a process: faults as the official client sees them, and servers that misbehave."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_servers import B2R, BIN, ODD

from bench2robust.memory.beliefs import Belief, Beliefs
from bench2robust.memory.memory import Memory


def profile(folder: Path, **noise: float) -> list[str]:
    """Return the options for faults without limits."""
    file = folder / "profile.json"
    file.write_text(json.dumps({"default": {"clean": 1 - sum(noise.values()), **noise}}))
    return ["--profile", str(file), "--budget", "none", "--max-consecutive", "none"]


def run(options: list[str], server: list[str], use: Any) -> Any:
    """Run a coroutine function with the official client behind the proxy."""

    async def go() -> Any:
        command = [*B2R, *options, "--", *server]
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
        async with Client(stdio_client(parameters), mode="auto") as client:
            return await use(client)

    return asyncio.run(go())


def test_the_official_client_sees_results_that_are_errors(tmp_path: Path) -> None:
    async def use(client: Client) -> Any:
        return await client.call_tool("get_current_time", {"timezone": "UTC"})

    result = run(profile(tmp_path, rate_limit=1.0), [str(BIN / "mcp-server-time")], use)
    assert result.is_error
    assert result.content[0].text == "HTTP 429 Too Many Requests"


def test_the_official_client_raises_json_rpc_errors_and_timeouts(tmp_path: Path) -> None:
    async def use(client: Client) -> Any:
        with pytest.raises(MCPError, match="HTTP 50") as raised:
            await client.call_tool("count", {"n": 1})
        return raised.value.error.code

    assert run([*profile(tmp_path, server_error=1.0), "--failures", "error"], ODD, use) == -32000

    async def wait(client: Client) -> Any:
        with pytest.raises(MCPError, match="timed out"):
            await client.call_tool("count", {"n": 1}, read_timeout_seconds=0.3)
        began = time.monotonic()
        await client.list_tools(cache_mode="bypass")
        assert time.monotonic() - began < 5
        return True

    assert run([*profile(tmp_path, timeout=1.0), "--hang", "inf"], ODD, wait)


def test_a_hang_ends_with_a_failure(talk: Any, tmp_path: Path) -> None:
    client = talk([*B2R, *profile(tmp_path, timeout=1.0), "--hang", "0.4", "--", *ODD])
    client.begin()
    began = time.monotonic()
    result = client.call("count", n=1)["result"]
    assert result["isError"] is True
    assert time.monotonic() - began >= 0.4


def test_the_official_client_accepts_corrupted_structured_content(
    everything: list[str], tmp_path: Path
) -> None:
    """It checks every result by the output schema, and raises where one does not fit."""

    async def use(client: Client) -> Any:
        await client.list_tools()
        return [await client.call_tool("get-structured-content", {"location": "Chicago"}) for _ in range(12)]

    true = {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
    results = run(profile(tmp_path, partial=0.5, factual_error=0.5), everything, use)
    for result in results:
        assert json.loads(result.content[0].text) == result.structured_content
        assert not result.is_error
    assert sum(result.structured_content != true for result in results) == 12


def test_bounds_enums_and_lengths_of_a_schema_hold(talk: Any, tmp_path: Path) -> None:
    client = talk([*B2R, *profile(tmp_path, partial=0.4, factual_error=0.4, stale=0.2), "--", *ODD])
    client.begin()
    schema = client.seen[-1]["result"]["tools"][0]["outputSchema"]
    changed = 0
    for n in (1, 40, 999_999):
        for _ in range(15):
            result = client.call("count", n=n)["result"]
            jsonschema.validate(result["structuredContent"], schema)
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
            changed += result["structuredContent"]["n"] != n or result["structuredContent"]["note"] != "fine"
    assert changed >= 10


def test_blocked_tools_never_reach_the_server(talk: Any, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    options = ["--profile", "none", "--block", "count"]
    client = talk([*B2R, *options, "--", *ODD, str(reached)])
    client.begin()
    texts = {client.call("count", n=n)["result"]["content"][0]["text"] for n in range(5)}
    assert len(texts) == 1
    assert client.call("list")["result"]["content"]
    assert reached.read_text().splitlines() == ["{}"]


def test_a_blocked_tool_that_the_server_does_not_have_is_named(talk: Any) -> None:
    client = talk([*B2R, "--profile", "none", "--block", "cuont", "--", *ODD])
    client.begin()
    assert "unknown tool='cuont'; did you mean 'count'?" in client.end()[1]


def test_a_server_that_dies_is_an_error_and_ends_the_proxy(talk: Any) -> None:
    client = talk([*B2R, "--profile", "none", "--", *ODD])
    client.begin()
    waiting = client.start("tools/call", name="hang", arguments={})
    died = client.start("tools/call", name="die", arguments={})
    for id_ in (waiting, died):
        error = client.answer(id_)["error"]
        assert error == {"code": -32000, "message": "the MCP server ended with status 7 before it answered"}
    assert client.read() is None
    code, said = client.end()
    assert code == 1
    assert said.splitlines()[-1].startswith("error: expected the MCP server to stay until its client leaves")


def test_the_official_client_gets_an_error_when_the_server_dies() -> None:
    async def use(client: Client) -> Any:
        with pytest.raises(MCPError, match="ended with status 7"):
            await client.call_tool("die", {})
        return True

    assert run(["--profile", "none"], ODD, use)


def test_a_server_that_hangs_is_an_error_in_time(talk: Any, tmp_path: Path) -> None:
    reached = tmp_path / "reached"
    client = talk([*B2R, "--profile", "none", "--timeout", "1", "--", *ODD, str(reached)])
    client.begin()
    error = client.call("hang")["error"]
    assert error == {"code": -32001, "message": "the MCP server did not answer tools/call within 1 s"}
    # Longer than that, with progress on the way.
    id_ = client._last + 1
    meta = {"progressToken": id_}
    assert "result" in client.ask("tools/call", name="slow", arguments={"token": id_}, _meta=meta)
    assert "cancelled" in reached.read_text()


def test_a_broken_answer_is_an_error_and_a_stray_print_is_none(talk: Any) -> None:
    client = talk([*B2R, "--profile", "none", "--", *ODD])
    client.begin()
    error = client.call("garble")["error"]
    assert error == {"code": -32000, "message": "the MCP server's answer is no JSON-RPC message"}
    assert client.call("print")["result"]["content"][0]["text"] == "done"
    assert len(client.call("shout")["result"]["content"]) == 1
    client.call("count", n=1)
    code, said = client.end()
    assert code == 0
    assert said.count("that are no message") == 2


def test_whatever_the_server_started_ends_with_the_proxy(talk: Any, tmp_path: Path) -> None:
    """As npx does, the server is a child of what was started; it neither reads its input nor heeds SIGTERM."""
    pid = tmp_path / "pid"
    script = f"trap '' TERM; (trap '' TERM; echo $BASHPID > {pid}; exec sleep 60) & wait"
    client = talk([*B2R, "--profile", "none", "--", "bash", "-c", script])
    while not pid.exists() or not pid.read_text().strip():
        time.sleep(0.02)
    began = time.monotonic()
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait(10) == 0
    assert time.monotonic() - began < 4
    for _ in range(100):
        try:
            os.kill(int(pid.read_text()), 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{pid.read_text().strip()}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.02)
    raise AssertionError("the server's child is still there")


def test_the_log_has_a_line_for_each_call_and_no_secret(talk: Any, tmp_path: Path) -> None:
    log = tmp_path / "calls.jsonl"
    options = profile(tmp_path, server_error=0.3, factual_error=0.3)
    for more in ([], ["--log-arguments"]):
        for where in ([], ["--log", str(log)]):
            client = talk([*B2R, *options, *where, *more, "--", *ODD])
            client.begin()
            for n in range(20):
                client.call("count", n=n + 400_000, key="s3cret")
            code, said = client.end()
            text = said + (log.read_text() if where else "")
            assert code == 0
            assert ("s3cret" in text) is bool(more)
            assert ("40000" in text) is bool(more)
            if where:
                lines = [json.loads(line) for line in log.read_text().splitlines()]
                assert [line["ordinal"] for line in lines] == list(range(20))
                assert {"clean", "server_error", "factual_error"} == {line["noise"] for line in lines}
                assert all(line["executed"] for line in lines)
                log.unlink()
            else:
                assert said.splitlines()[-1].split("] ")[-1].split(" ", 3)[3].startswith("20 calls: ")


def memory(folder: Path) -> Path:
    file = folder / "memory.json"
    Memory("own", Beliefs({("count", "server_error"): Belief(8, 2)})).save(file)
    return file


def test_failed_calls_get_notes_and_sessions_are_recorded(talk: Any, tmp_path: Path) -> None:
    file = memory(tmp_path)
    options = [*profile(tmp_path, server_error=1.0), "--memory", str(file)]
    client = talk([*B2R, *options, "--", *ODD])
    client.begin()
    content = client.call("count", n=1)["result"]["content"]
    assert content[1]["text"].startswith("<recovery_note>\ncount: 1 failure in a row, last server_error.")
    assert "=0.75" in content[1]["text"]  # (8 + 1) / (10 + 2)
    assert client.end()[0] == 0
    assert Memory.load(file).episodes == 0, "nothing is recorded unless it is asked for"

    for passed, failures in ((None, (8, 3)), (True, (9, 3))):
        client = talk([*B2R, *options, "--learn", "--no-notes", "--", *ODD])
        client.begin()
        assert len(client.call("count", n=1)["result"]["content"]) == 1
        if passed is not None:
            told = {"method": "notifications/bench2robust/outcome", "params": {"passed": passed}}
            client.send(told)
        assert client.end()[0] == 0
        belief = Memory.load(file).beliefs.of("count", "server_error")
        assert (belief.successes, belief.failures) == failures
