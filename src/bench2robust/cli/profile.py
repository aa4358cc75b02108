"""``b2r profile``: show a noise profile, or fit one to traces of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from bench2robust.injection import NoiseProfile
    from bench2robust.integrations.fitting import Fit, ToolFit

app = typer.Typer(
    help="What fails how often: show profiles, fit one to traces.",
    rich_markup_mode=None,
    invoke_without_command=True,
)
_NONE: Final = "–"
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]


@app.callback()
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def show(
    profile: Annotated[
        str, typer.Argument(help="severe, moderate, mild, none, or a .toml or .json file.", metavar="PROFILE")
    ],
    as_json: Json = False,
) -> None:
    """Print the probabilities of a profile, of every tool that has its own, and its bursts."""
    from bench2robust.integrations.spec import FaultSpec

    from .printing import print_json

    found = FaultSpec.read(profile).injection.profile
    if as_json:
        print_json(found.to_dict())
        return
    typer.echo(_shown(found))


@app.command()
def fit(  # noqa: PLR0913 (an option of the command is a parameter here)
    traces: Annotated[
        Path,
        typer.Argument(help="OpenTelemetry GenAI spans as OTLP JSON, or JSON lines.", metavar="TRACES"),
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The profile to write.", metavar="FILE.toml")
    ] = None,
    level: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    test_level: Annotated[
        float, typer.Option(help="How often bursts may be found that are not there.")
    ] = 0.01,
    least: Annotated[int, typer.Option(help="Calls that a tool's own probabilities take.")] = 20,
    unknown: Annotated[
        str, typer.Option(help="What errors of no known type count as: a noise type, or leave.")
    ] = "server_error",
    as_json: Json = False,
) -> None:
    """Estimate from traces how often each tool fails, and whether in bursts."""
    from bench2robust.core.errors import FolderError
    from bench2robust.integrations.fitting import FitSpec, to_dict, to_toml
    from bench2robust.integrations.fitting import fit as fitted
    from bench2robust.integrations.traces import read_traces

    from .printing import print_json

    spec = FitSpec(level, test_level, least, unknown)
    read = read_traces(traces)
    found = fitted(read.calls, spec)
    if out is not None:
        try:
            out.write_text(to_toml(found, traces.name), encoding="utf-8")
        except OSError as error:
            raise FolderError(
                f"expected a file that can be written, got out='{out}' ({error.strerror})"
            ) from None
    if as_json:
        print_json(to_dict(found))
    else:
        typer.echo(_table(found))
        typer.echo(f"\n{len(read.calls):,} calls of tools in {read.spans:,} spans", nl=False)
        typer.echo(f", {read.nested:,} of them told twice" if read.nested else "")
    for line in _warnings(found):
        typer.echo(f"warning: {line}", err=True)
    if out is not None and not as_json:
        typer.echo(f"wrote {out}")


def _shown(profile: NoiseProfile) -> str:
    from bench2robust.core.noise import NoiseType

    from .printing import in_columns

    tools = sorted({*profile.tools, *dict(profile.bursts.tools)})
    rows = []
    for noise in NoiseType:
        cells = [f"{profile.default[noise]:.4g}", *(f"{profile.for_tool(tool)[noise]:.4g}" for tool in tools)]
        rows.append([str(noise), *(_NONE if cell == "0" else cell for cell in cells)])
    bursts = [profile.bursts.default, *(profile.bursts.of(tool) for tool in tools)]
    if any(bursts):
        rows.append(["calls of a burst", *(_NONE if b is None else f"{b.length:g}" for b in bursts)])
        rows.append(["failing in it", *(_NONE if b is None else f"{b.intensity:g}" for b in bursts)])
    text = in_columns(["", "every tool" if not tools else "other tools", *tools], rows, left=1)
    if any(bursts):
        text += "\n\nbursts are cut where an episode's limits say so (--max-consecutive, --budget)"
    return text


def _table(found: Fit) -> str:
    from .printing import in_columns

    rows = [
        [
            one.tool,
            f"{one.calls:,}",
            _rate(one.first.mean, one.first.low, one.first.high),
            _rate(one.retries.mean, one.retries.low, one.retries.high) if one.retries.n else _NONE,
            _most(one),
            "too few to say"
            if one.together.p is None
            else f"of {one.together.calls:.1f} calls"
            if one.together.bursts
            else "no",
        ]
        for one in found.tools
    ]
    headings = ["tool", "calls", "first attempts that fail", "retries that fail", "mostly", "bursts"]
    return in_columns(headings, rows, left=1)


def _rate(mean: float, low: float, high: float) -> str:
    return f"{100 * mean:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _most(one: ToolFit) -> str:
    by_hits = sorted(one.rates.items(), key=lambda entry: -entry[1].hits)
    return ", ".join(str(noise) for noise, rate in by_hits[:2] if rate.hits) or _NONE


def _warnings(found: Fit) -> list[str]:
    lines = []
    if found.unknown:
        names = ", ".join(f"{count} × {name}" for name, count in list(found.unknown.items())[:5])
        counted = "left out" if found.spec.unknown == "leave" else f"counted as {found.spec.unknown}"
        lines.append(
            f"errors of no known type are {counted} ({names}), a tool's own refusals among them; see --unknown"
        )
    few = [one.tool for one in found.tools if not one.kept]
    if few:
        lines.append(
            f"fewer than {found.spec.least} calls, so no probabilities of their own: {', '.join(few[:8])}"
        )
    return lines
