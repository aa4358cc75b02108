"""``b2r serve-policy``: listen until told to stop."""

from __future__ import annotations

import asyncio
import signal

import typer

from bench2robust.evaluation import load
from bench2robust.serving import Endpoint, EndpointSpec


def serve(benchmark: str, spec: EndpointSpec, host: str, port: int) -> None:
    """Serve policies until interrupted; the first line on stdout is the base URL.

    Raises:
        UsageError: no such benchmark or policy, or the address is taken.
    """
    endpoint = Endpoint(load(benchmark), spec)
    if endpoint.alike:
        typer.echo(
            f"note: {endpoint.alike} tasks of {benchmark} begin with the same words as another; they may be taken for each other",
            err=True,
        )
    asyncio.run(_serve(endpoint, ", ".join(spec.policies), host, port))


async def _serve(endpoint: Endpoint, models: str, host: str, port: int) -> None:
    server = await endpoint.serve(host, port)
    address = server.sockets[0].getsockname()
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    typer.echo(f"http://{address[0]}:{address[1]}/v1")
    typer.echo(f"serving {models}; Ctrl-C stops", err=True)
    await stopped.wait()
    server.close()
