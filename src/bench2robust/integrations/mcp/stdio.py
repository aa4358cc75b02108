"""The two ends that speak over standard input and output: our client, and a server that we start."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import IO, Any, Final

from bench2robust.core.errors import SpecError

from .answers import Message
from .relay import GRACE, Received, lines, parsed, written

_CHUNK: Final = 1 << 16


class Standard:
    """The client that started us."""

    def __init__(
        self, read: Callable[[], Awaitable[bytes]], write: Callable[[bytes], Awaitable[None]]
    ) -> None:
        self._read, self._write = read, write

    @classmethod
    async def open(cls) -> Standard:
        """Take over standard input and output."""
        return cls(await _reading(sys.stdin.buffer), await _writing(sys.stdout.buffer))

    async def receive(self) -> AsyncIterator[Received]:
        """Give what the client sends."""
        async for line in lines(self._read):
            yield parsed(line)

    async def send(self, message: Message | None, raw: bytes | None) -> None:
        """Send the client a line."""
        await self._write(written(message, raw) + b"\n")

    async def finish(self) -> str:
        """Leave the client: it ends by itself."""
        return "left"


class Process:
    """A server that runs as a process of its own; its standard error is ours."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._input, self._output = process, process.stdin, process.stdout
        self._how = ""

    @classmethod
    async def start(cls, command: Sequence[str]) -> Process:
        """Start a server, in a process group of its own: whatever it starts ends with it.

        Raises:
            SpecError: there is no such command.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            # Of the rest of the command line nothing is shown: it may hold secrets.
            raise SpecError(
                f"expected the command of an MCP server, got command={command[0]!r} ({why})"
            ) from None
        return cls(process)

    async def receive(self) -> AsyncIterator[Received]:
        """Give what the server sends."""
        async for line in lines(lambda: self._output.read(_CHUNK)):
            yield parsed(line)

    async def send(self, message: Message | None, raw: bytes | None) -> None:
        """Send the server a line."""
        self._input.write(written(message, raw) + b"\n")
        await self._input.drain()

    async def finish(self) -> str:
        """Close the server's input, and end it and whatever it started if it does not end by itself."""
        if self._how:
            return self._how  # its number may be another process's by now
        self._input.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._signal(number)
            try:
                await asyncio.wait_for(self._process.wait(), GRACE if number is None else GRACE / 2)
            except TimeoutError:
                continue
            break
        self._signal(signal.SIGKILL)
        code = self._process.returncode
        killed = code is not None and code < 0
        self._how = f"was ended by signal {-(code or 0)}" if killed else f"ended with status {code}"
        return self._how

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


async def _reading(file: IO[bytes]) -> Callable[[], Awaitable[bytes]]:
    """Return what reads from a file: a pipe, or one that is there as a whole."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    except (ValueError, PermissionError):
        reader = asyncio.StreamReader()
        reader.feed_data(file.read())
        reader.feed_eof()
    return lambda: reader.read(_CHUNK)


async def _writing(file: IO[bytes]) -> Callable[[bytes], Awaitable[None]]:
    """Return what writes to a file: a pipe, or one that always takes everything."""
    loop = asyncio.get_running_loop()

    async def plain(data: bytes) -> None:
        file.write(data)
        file.flush()

    try:
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, file)
    except (ValueError, PermissionError):
        return plain
    writer: Any = asyncio.StreamWriter(transport, protocol, None, loop)

    async def piped(data: bytes) -> None:
        writer.write(data)
        await writer.drain()

    return piped
