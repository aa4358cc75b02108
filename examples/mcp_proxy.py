"""An MCP client that retries, tried on tools that fail: any client and any server, neither is changed.

    python examples/mcp_proxy.py

The server is `mcp-server-time` from PyPI. Between the two stands `b2r mcp-proxy`.
"""

import asyncio
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters, stdio_client

SERVER = [str(Path(sys.executable).parent / "mcp-server-time")]
PROXY = [sys.executable, "-m", "bench2robust.cli.main", "mcp-proxy", "--clean-probability", "0.2", "--seed"]
QUESTION = {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}


async def ask(client: Client, attempts: int = 3) -> str:
    """Ask what the time is in Tokyo; a failure is worth another try."""
    for _ in range(attempts):
        answer = await client.call_tool("convert_time", QUESTION)
        if not answer.is_error:
            return str(answer.structured_content["target"]["datetime"])[11:16]
        print("   failed:", answer.content[0].text[:60])
    return "no idea"


async def main() -> None:
    """Ask under three seeds; the same seed always fails the same way."""
    for seed in range(3):
        command = [*PROXY, str(seed), "--", *SERVER]
        server = StdioServerParameters(command=command[0], args=command[1:])
        async with Client(stdio_client(server)) as client:
            await client.list_tools()
            told = await ask(client)
        verdict = (
            "right"
            if told == "21:30"
            else "wrong, and nothing said so"
            if told[:1].isdigit() or not told
            else ""
        )
        print(f"seed {seed}: half past twelve UTC is {told or 'nothing'} in Tokyo  {verdict}")


if __name__ == "__main__":
    asyncio.run(main())
