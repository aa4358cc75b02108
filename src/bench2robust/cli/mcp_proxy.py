"""``b2r mcp-proxy``: from options to a proxy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bench2robust.core.errors import SpecError, UnknownNameError

TAKES_A_COMMAND = {"allow_interspersed_args": False}
"""What follows the options is the server's command, with options of its own."""


def mcp_proxy(  # noqa: PLR0913 (an option of the command is a parameter here)
    command: Annotated[
        list[str] | None, typer.Argument(help="What starts the server, behind --.", metavar="-- COMMAND")
    ] = None,
    url: Annotated[str, typer.Option(help="Of a server that speaks streamable HTTP.")] = "",
    listen: Annotated[
        str, typer.Option(help="HOST:PORT to serve clients at by streamable HTTP. [stdio]")
    ] = "",
    header: Annotated[
        list[str] | None, typer.Option(help="NAME:VALUE for requests to --url; may be repeated.")
    ] = None,
    profile: Annotated[
        str, typer.Option(help="severe, moderate, mild, none, or a file; also what b2r recommend -o wrote.")
    ] = "severe",
    clean_probability: Annotated[
        float | None, typer.Option(help="Rescale the profile to this P(clean).")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Most noise injections in a session, or none. [5]")
    ] = None,
    max_consecutive: Annotated[
        str | None, typer.Option(help="Most in a row on one tool, or none. [2]")
    ] = None,
    effects: Annotated[str, typer.Option(help="observation or request.")] = "observation",
    seed: Annotated[int, typer.Option(help="The same seed gives the same faults.")] = 0,
    task: Annotated[str, typer.Option(help="Names the episode; keys the draws with the seed.")] = "mcp",
    domain: Annotated[
        str | None, typer.Option(help="A domain's name or .toml file: classes, fields, exempt tools.")
    ] = None,
    scenario: Annotated[str, typer.Option(help="s1, s2 (one side is blocked) or s3 (impossible).")] = "s1",
    block: Annotated[list[str] | None, typer.Option(help="Block this tool; may be repeated.")] = None,
    exempt: Annotated[list[str] | None, typer.Option(help="Never touch this tool; may be repeated.")] = None,
    failures: Annotated[
        str, typer.Option(help="Failures are: result (isError), error (JSON-RPC) or mixed.")
    ] = "result",
    hang: Annotated[float, typer.Option(help="Seconds of silence of an injected timeout, or inf.")] = 0.0,
    timeout: Annotated[
        float, typer.Option(help="Seconds before a silent server is an error; 0: never.")
    ] = 600.0,
    memory: Annotated[Path | None, typer.Option(help="A memory: failed calls get notes from it.")] = None,
    learn: Annotated[bool, typer.Option("--learn", help="Record sessions in the memory.")] = False,
    notes: Annotated[bool, typer.Option("--notes/--no-notes", help="Add notes.")] = True,
    log: Annotated[Path | None, typer.Option(help="Add JSON lines to this file. [text on stderr]")] = None,
    log_arguments: Annotated[
        bool, typer.Option("--log-arguments", help="Log arguments too; they may hold secrets.")
    ] = False,
    spans: Annotated[
        Path | None, typer.Option(help="Add OpenTelemetry spans to this file, for b2r profile fit.")
    ] = None,
) -> None:
    """Stand between an MCP client and an MCP server, and make its tools fail."""
    from bench2robust.integrations.mcp import Form, Library, Log, ProxySpec
    from bench2robust.integrations.mcp.proxy import Place, Sessions, run
    from bench2robust.integrations.spec import FaultSpec, Options

    place = Place(command or (), url, listen, dict(map(_header, header or ())))
    options = Options(
        effects=effects,
        scenario=scenario,
        blocked=block or (),
        show_arguments=log_arguments,
    )
    if budget is not None:
        options["budget"] = _limit("budget", budget)
    if max_consecutive is not None:
        options["max_consecutive"] = _limit("max-consecutive", max_consecutive)
    if clean_probability is not None:
        options["clean_probability"] = clean_probability
    if domain is not None:
        options["domain"] = domain
    if failures not in list(Form):
        raise UnknownNameError("failures", failures, list(Form))
    if learn and memory is None:
        raise SpecError("expected a memory to record sessions in, got none; give --memory FILE")
    if spans is not None:
        from bench2robust.integrations.spans import SpanFile

        options["on_record"] = SpanFile(spans, arguments=log_arguments)
    faults = FaultSpec.read(profile, seed, options)
    library = None
    if memory is not None:
        library = Library.open(memory, faults.domain if domain else None, notes=notes, record=learn)
    spec = ProxySpec(faults, task, Form(failures), hang, timeout).exempting(frozenset(exempt or ()))
    run(place, Sessions(spec, Log(log, arguments=log_arguments), library))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        # The value may be a secret, so not even what came is shown.
        raise SpecError("expected NAME:VALUE, got a header without a name or a colon")
    return name.strip(), value.strip()


def _limit(name: str, text: str) -> int | None:
    if text == "none":
        return None
    try:
        return int(text)
    except ValueError:
        raise SpecError(f"expected an integer or none, got {name}={text!r}") from None
