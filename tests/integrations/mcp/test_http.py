"""Streamable HTTP on either side and on both, with the official client and the reference server."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_servers import B2R, ODD

pytestmark = pytest.mark.slow  # processes with an SDK on both sides of a proxy take a second each to start

ASK = {"location": "Chicago"}
TRUE = {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@pytest.fixture(scope="module")
def upstream(everything: list[str]) -> Iterator[str]:
    """The reference server, over HTTP."""
    port = free_port()
    process = subprocess.Popen(
        [*everything, "streamableHttp"],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


def serve(talk: Any, *options: str) -> str:
    """Start a proxy that listens; return its URL."""
    proxy = talk([*B2R, "--listen", "127.0.0.1:0", *options])
    url = proxy.process.stdout.readline().decode().strip()
    assert url, proxy.process.stderr.read()
    return url


async def everything_of(target: Any) -> list[Any]:
    """Use whatever a server offers, and return what came."""
    progress: list[float] = []

    async def heard(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    async with Client(target, mode="auto") as client:
        session = client.session
        seen: list[Any] = [session.initialize_result, await client.list_tools(), await client.list_prompts()]
        seen.append((await client.list_resources()).resources[:3])
        seen.append(await client.call_tool("echo", {"message": "é 42"}))
        seen.append(await client.call_tool("get-structured-content", ASK))
        steps = {"duration": 0.2, "steps": 2}
        seen.append(await client.call_tool("trigger-long-running-operation", steps, progress_callback=heard))
        seen.append(progress)
        return json.loads(
            json.dumps(seen, default=lambda value: value.model_dump(mode="json", by_alias=True))
        )


def behind_stdio(*options: str) -> Any:
    command = [*B2R, *options]
    return stdio_client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ)))


def test_without_faults_a_client_sees_the_same_over_http(upstream: str, talk: Any) -> None:
    direct = asyncio.run(everything_of(upstream))
    assert direct[-1] == [1.0, 2.0]
    listening = serve(talk, "--profile", "none", "--url", upstream)
    assert asyncio.run(everything_of(listening)) == direct
    assert asyncio.run(everything_of(behind_stdio("--profile", "none", "--url", upstream))) == direct


def test_without_faults_a_client_over_http_sees_a_stdio_server_as_it_is(
    everything: list[str], talk: Any
) -> None:
    server = StdioServerParameters(command=everything[0], args=everything[1:])
    direct = asyncio.run(everything_of(stdio_client(server)))
    listening = serve(talk, "--profile", "none", "--", *everything)
    assert asyncio.run(everything_of(listening)) == direct


async def faulty(target: Any) -> list[Any]:
    """Call a tool some times; return its values, None for failures."""
    async with Client(target, mode="auto") as client:
        await client.list_tools()
        results = [await client.call_tool("get-structured-content", ASK) for _ in range(15)]
    for result in results:
        assert result.is_error or json.loads(result.content[0].text) == result.structured_content
    return [None if result.is_error else result.structured_content for result in results]


def test_the_same_seed_gives_the_same_faults_on_every_transport(
    upstream: str, everything: list[str], talk: Any
) -> None:
    options = ["--seed", "5", "--clean-probability", "0.3", "--budget", "none"]
    over_stdio = asyncio.run(faulty(behind_stdio(*options, "--", *everything)))
    assert None in over_stdio
    assert TRUE in over_stdio
    assert any(value not in (None, TRUE) for value in over_stdio)
    assert asyncio.run(faulty(behind_stdio(*options, "--url", upstream))) == over_stdio
    assert asyncio.run(faulty(serve(talk, *options, "--url", upstream))) == over_stdio
    assert asyncio.run(faulty(serve(talk, *options, "--", *everything))) == over_stdio


def test_json_rpc_errors_and_hangs_reach_a_client_over_http(upstream: str, talk: Any) -> None:
    options = ["--clean-probability", "0", "--budget", "none", "--max-consecutive", "none"]
    url = serve(talk, *options, "--failures", "error", "--hang", "0.5", "--url", upstream)

    async def use() -> list[tuple[int, float]]:
        took = []
        async with Client(url, mode="auto") as client:
            for _ in range(20):
                began = time.monotonic()
                try:
                    await client.call_tool("get-structured-content", ASK)
                except MCPError as error:
                    took.append((error.error.code, time.monotonic() - began))
        return took

    took = asyncio.run(use())
    assert {code for code, _ in took} == {-32000, -32001}
    assert min(seconds for code, seconds in took if code == -32001) >= 0.5


def initialize(url: str) -> tuple[httpx2.Client, Any]:
    client = httpx2.Client(timeout=10, headers=HEADERS)
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    response = client.post(url, json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about})
    if "mcp-session-id" in response.headers:
        client.headers["mcp-session-id"] = response.headers["mcp-session-id"]
    return client, response


def said(response: Any) -> Any:
    """Return the message in a response, be it JSON or an event."""
    text = response.text
    return json.loads(text if text[:1] == "{" else text.split("data: ", 1)[1].split("\n")[0])


def call(name: str, id_: int = 1, **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def test_a_server_that_cannot_be_reached_is_an_error(talk: Any) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}/mcp"
    client, response = initialize(serve(talk, "--url", nowhere))
    client.close()
    assert said(response)["id"] == 0
    assert said(response)["error"]["message"] == "the MCP server cannot be reached (ConnectError)"
    proxy = talk([*B2R, "--url", nowhere])
    assert proxy.ask("ping")["error"]["message"] == "the MCP server cannot be reached (ConnectError)"
    assert proxy.end()[0] == 0


def test_each_client_over_http_has_its_own_server_that_may_die(talk: Any) -> None:
    url = serve(talk, "--profile", "none", "--", *ODD)
    one, _ = initialize(url)
    other, _ = initialize(url)
    assert one.headers["mcp-session-id"] != other.headers["mcp-session-id"]
    error = said(one.post(url, json=call("die")))["error"]
    assert error["message"] == "the MCP server ended with status 7 before it answered"
    assert said(other.post(url, json=call("count", n=3)))["result"]["structuredContent"]["n"] == 3
    assert one.post(url, json=call("count", n=3)).status_code == 404
    assert other.delete(url).status_code == 200
    one.close()
    other.close()


def test_a_web_page_cannot_reach_the_proxy(upstream: str, talk: Any) -> None:
    """A page that has its name point here is refused, though the server would only see our own Host."""
    url = serve(talk, "--profile", "none", "--url", upstream)
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
        assert httpx2.get(url, headers=headers).status_code == 403


def test_sessions_and_status_codes_are_the_servers_own(upstream: str, talk: Any) -> None:
    url = serve(talk, "--profile", "none", "--url", upstream)
    for client in (
        httpx2.Client(headers=HEADERS),
        httpx2.Client(headers={**HEADERS, "mcp-session-id": "no"}),
    ):
        with client:
            for method, body in (("POST", call("echo")), ("DELETE", None), ("PUT", None)):
                direct = client.request(method, upstream, json=body)
                proxied = client.request(method, url, json=body)
                assert (proxied.status_code, proxied.content) == (direct.status_code, direct.content)
