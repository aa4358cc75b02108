"""The reference server, in a cache; a client of a server's process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import mcp_servers as servers


class Talk:
    """A client that sends lines and reads lines."""

    def __init__(self, command: list[str], **options: Any) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        self.seen: list[dict[str, Any]] = []
        self._last = 0

    def send(self, message: dict[str, Any]) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def start(self, method: str, **params: Any) -> int:
        self._last += 1
        self.send({"id": self._last, "method": method, "params": params})
        return self._last

    def read(self) -> dict[str, Any] | None:
        line = self.process.stdout.readline()
        if not line:
            return None
        self.seen.append(json.loads(line))
        return self.seen[-1]

    def answer(self, id_: int) -> dict[str, Any]:
        while (message := self.read()) is not None:
            if message.get("id") == id_ and "method" not in message:
                return message
        raise AssertionError("the connection was closed before the answer")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.start(method, **params))

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", name=name, arguments=arguments)

    def begin(self) -> None:
        client = {"name": "test", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.send({"method": "notifications/initialized"})
        self.ask("tools/list")

    def end(self) -> tuple[int, str]:
        self.process.stdin.close()
        code = self.process.wait(10)
        return code, self.process.stderr.read().decode()


@pytest.fixture(scope="session")
def everything(request: pytest.FixtureRequest) -> list[str]:
    return servers.everything(Path(request.config.cache.mkdir("mcp-servers")))


@pytest.fixture
def talk() -> Iterator[Any]:
    """Start a proxy, or anything, and talk to it."""
    started: list[Talk] = []

    def start(command: list[str], **options: Any) -> Talk:
        started.append(Talk(command, **options))
        return started[-1]

    yield start
    for one in started:
        one.process.terminate()
        one.process.wait(10)
        for pipe in (one.process.stdin, one.process.stdout, one.process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()
