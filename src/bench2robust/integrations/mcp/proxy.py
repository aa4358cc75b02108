"""Runs a proxy until its client leaves, its server ends, or somebody stops it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bench2robust.core.errors import NotInstalledError, SpecError

from . import web
from .gateway import Gateway
from .http import Reverse
from .log import Log
from .recall import Library, Recall
from .relay import End, Relay
from .remote import Remote
from .session import Session
from .spec import ProxySpec
from .stdio import Process, Standard

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True)
class Place:
    """Where the client and the server of a proxy are.

    Raises:
        SpecError: no server or two of them, or an address that cannot be.
    """

    command: Sequence[str] = ()
    """Starts a server that speaks over standard input and output; empty for one at `url`."""
    url: str = ""
    """Where a server speaks streamable HTTP."""
    listen: str = ""
    """HOST:PORT to serve clients at, by streamable HTTP; empty serves the one that started us."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Added to requests to `url`."""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            got = "both" if self.command else "none"
            raise SpecError(f"expected one server, got {got}; give --url URL, or its command behind --")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise SpecError(f"expected a URL that begins with http:// or https://, got url={self.url[:60]!r}")
        if self.listen:
            self.address  # noqa: B018  # raises where it cannot be

    @property
    def address(self) -> tuple[str, int]:
        """The host and the port to listen at."""
        host, colon, port = self.listen.rpartition(":")
        if not colon or not host or not port.isdecimal() or int(port) > 65535:
            raise SpecError(f"expected HOST:PORT, got listen={self.listen!r}; such as 127.0.0.1:8000")
        return host.strip("[]"), int(port)


class Sessions:
    """Makes the sessions of one proxy."""

    def __init__(self, spec: ProxySpec, log: Log, library: Library | None = None) -> None:
        self.spec, self.log = spec, log
        self._library = library
        self._count = 0

    def new(self) -> Session:
        """Begin a session."""
        self._count += 1
        recall = Recall(self._library) if self._library is not None else None
        return Session(self.spec, self.log, recall, self._count)


def run(place: Place, sessions: Sessions) -> None:
    """Run a proxy to its end.

    Raises:
        NotInstalledError: the extra ``mcp`` is missing.
        UsageError: the server cannot be started, or the address is taken.
        SubjectError: the server ended before its client did.
    """
    if find_spec("mcp") is None:
        raise NotInstalledError("expected the extra mcp, found none; pip install 'bench2robust[mcp]'")
    try:
        asyncio.run(_run(place, sessions))
    finally:
        sessions.log.close()


async def _run(place: Place, sessions: Sessions) -> None:
    task = asyncio.current_task()
    assert task is not None
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    try:
        await _serve(place, sessions)
    except asyncio.CancelledError:
        if not stopped:
            raise


async def _serve(place: Place, sessions: Sessions) -> None:
    if place.listen and place.url:
        await _reverse(place, sessions)
    elif place.listen:
        gateway = Gateway(place.command, sessions)
        try:
            await web.listen(gateway, place.address, gateway.path, _say)
        finally:
            await gateway.close()
    elif place.url:
        async with _http() as client:
            await _relay(Remote(place.url, client, place.headers), sessions)
    else:
        await _relay(await Process.start(place.command), sessions)


async def _relay(server: End, sessions: Sessions) -> None:
    """Serve the client that started us."""
    session = sessions.new()
    try:
        await Relay(await Standard.open(), server, session).run()
    finally:
        session.close()


async def _reverse(place: Place, sessions: Sessions) -> None:
    async with _http() as client:
        reverse = Reverse(place.url, sessions, client, place.headers)
        try:
            await web.listen(reverse, place.address, reverse.path, _say)
        finally:
            reverse.close()


def _http() -> httpx2.AsyncClient:
    """Return what sends requests: as long as it takes, for `ProxySpec.timeout` is what ends them."""
    import httpx2

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
    return httpx2.AsyncClient(timeout=httpx2.Timeout(None, connect=10.0), limits=limits)


def _say(url: str) -> None:
    print(url, flush=True)  # noqa: T201  # for whoever starts clients
