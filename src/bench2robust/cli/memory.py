"""``b2r memory``: estimate beliefs from runs, show them, merge them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bench2robust.core.errors import SpecError, UnknownNameError

if TYPE_CHECKING:
    from bench2robust.core.domain import Domain
    from bench2robust.memory import Belief, Memory

app = typer.Typer(
    help="What past episodes say about recovery.", rich_markup_mode=None, invoke_without_command=True
)
_HEADINGS: Final = ("episodes", "recovered", "mean", "90 % interval")
_LEVEL: Final = 0.90

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="The memory file to write.", metavar="FILE")]
Pool = Annotated[
    float | None, typer.Option(help="Shrink sparse cells to the other tools' rate, worth this many episodes.")
]
HalfLife = Annotated[float | None, typer.Option(help="Episodes after which an episode counts half. [never]")]


@app.callback()
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def estimate(  # noqa: PLR0913 (an option of the command is a parameter here)
    runs: Annotated[list[Path], typer.Argument(help="Run folders, the earliest first.", metavar="RUN...")],
    out: Out,
    agents: Annotated[
        str | None, typer.Option(help="Whose episodes; all mixes policies. [the one there is]")
    ] = None,
    modes: Annotated[str | None, typer.Option(help="Episodes of which modes. [all]")] = None,
    training_only: Annotated[
        bool, typer.Option("--training-only", help="Leave held-out tasks out instead of refusing them.")
    ] = False,
    half_life: HalfLife = None,
    pool: Pool = None,
    as_json: Json = False,
) -> None:
    """Turn the training episodes of runs into beliefs."""
    from bench2robust.core.episode import Mode
    from bench2robust.evaluation.beliefs import Choice, estimate_memory

    names = _names(modes)
    for name in names:
        if name not in list(Mode):
            raise UnknownNameError("mode", name, list(Mode))
    choice = Choice(_names(agents), tuple(map(Mode, names)), training_only, half_life, pool or 0.0)
    memory = estimate_memory(runs, choice)
    memory.save(out)
    _print_written(memory, out, as_json=as_json)


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="A memory file or a store.", metavar="FILE")],
    domain: Annotated[
        str | None, typer.Option(help="A domain's name, or its TOML file. [as the memory says]")
    ] = None,
    variant: Annotated[str, typer.Option(help="full, static, dynamic, shuffled or none.")] = "full",
    block: Annotated[bool, typer.Option("--block", help="Print only the block that an agent reads.")] = False,
    as_json: Json = False,
) -> None:
    """Print beliefs as a table, and as the block that an agent reads."""
    from bench2robust.memory import Memory

    from .printing import print_json

    memory = Memory.load(file)
    text = _block(memory, _domain(memory, domain, needed=block), variant)
    if as_json:
        print_json(_to_dict(memory, text))
        return
    if block:
        typer.echo(text)
        return
    typer.echo(_described(memory))
    typer.echo("\n" + _table(memory))
    if text:
        from bench2robust.memory.block import tokens

        typer.echo(f"\nWhat an agent reads ({variant}, about {tokens(text):,} tokens):\n\n{text}")


@app.command()
def merge(
    files: Annotated[list[Path], typer.Argument(help="Memory files or stores.", metavar="FILE...")],
    out: Out,
    half_life: HalfLife = None,
    pool: Pool = None,
    as_json: Json = False,
) -> None:
    """Add memories of different episodes up; --half-life and --pool are the result's."""
    from bench2robust.memory import Memory

    memories = [Memory.load(file) for file in files]
    if pool is not None:
        memories = [replace(memory, beliefs=memory.beliefs.pooled(pool)) for memory in memories]
    if half_life is not None:
        memories = [replace(memory, half_life=half_life) for memory in memories]
    merged = memories[0]
    for memory in memories[1:]:
        merged = merged.merged(memory)
    merged.save(out)
    _print_written(merged, out, as_json=as_json)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _print_written(memory: Memory, out: Path, *, as_json: bool) -> None:
    from .printing import print_json

    if as_json:
        print_json(_to_dict(memory, "") | {"file": str(out)})
    else:
        typer.echo(f"{out}: {_described(memory)}")


def _described(memory: Memory) -> str:
    """Return one line on what a memory is."""
    beliefs = memory.beliefs
    parts = [
        f"{memory.domain}, {memory.episodes:,} episodes",
        f"{len(beliefs.errors)} of tools and errors, {len(beliefs.switches)} of switches",
    ]
    if beliefs.pooling:
        parts.append(f"pooled with {beliefs.pooling:g} episodes")
    if memory.half_life is not None:
        parts.append(f"half-life {memory.half_life:g} episodes")
    agents = sorted({agent for source in memory.sources for agent in source.agents})
    modes = sorted({mode for source in memory.sources for mode in source.modes})
    if agents:
        parts.insert(1, f"of {', '.join(agents)} in {', '.join(modes)}")
    return "; ".join(parts)


def _table(memory: Memory) -> str:
    from .printing import in_columns

    rows = [(tool, str(noise), *_cells(b)) for (tool, noise), b in memory.beliefs.errors.items()]
    moves = [(source, f"→ {target}", *_cells(b)) for (source, target), b in memory.beliefs.switches.items()]
    return in_columns(("tool", "met", *_HEADINGS), [*rows, *moves], left=2)


def _cells(belief: Belief) -> tuple[str, ...]:
    low, high = belief.interval(_LEVEL)
    return (
        f"{belief.episodes:.4g}" if belief.episodes % 1 else f"{belief.episodes:,.0f}",
        f"{belief.successes:.4g}" if belief.successes % 1 else f"{belief.successes:,.0f}",
        f"{belief.mean:.3f}",
        f"{low:.3f}–{high:.3f}",
    )


def _to_dict(memory: Memory, text: str) -> dict[str, Any]:
    def numbers(belief: Belief) -> dict[str, float]:
        low, high = belief.interval(_LEVEL)
        counts = {"successes": belief.successes, "failures": belief.failures}
        return {**counts, "mean": belief.mean, "low": low, "high": high}

    beliefs = memory.beliefs
    data = {
        "domain": memory.domain,
        "fingerprint": memory.fingerprint,
        "episodes": memory.episodes,
        "pooling": beliefs.pooling,
        "half_life": memory.half_life,
        "level": _LEVEL,
        "errors": [{"tool": tool, "error": str(e), **numbers(b)} for (tool, e), b in beliefs.errors.items()],
        "switches": [{"source": s, "target": t, **numbers(b)} for (s, t), b in beliefs.switches.items()],
        "sources": [asdict(source) for source in memory.sources],
    }
    return {**data, "block": text} if text else data


def _domain(memory: Memory, name: str | None, *, needed: bool) -> Domain | None:
    """Return the memory's domain, and None where it is nowhere to be found and nobody insists.

    Raises:
        SpecError: the memory is of another domain, or it cannot be found and is needed.
        UnknownNameError: the memory names a tool that the domain does not have.
    """
    from bench2robust import domains
    from bench2robust.core.errors import B2RError
    from bench2robust.evaluation import load
    from bench2robust.evaluation.episode import domain_of

    if name is None and memory.domain in domains.names():
        name = memory.domain
    found = None
    if name is not None:
        found = domains.load_file(name) if name.endswith(".toml") else domains.load(name)
    for source in () if found else memory.sources:
        try:
            found = found or (None if source.live else domain_of(load(source.benchmark)))
        except B2RError:
            continue  # not installed here: the table can be shown without it
    if found is None and needed:
        raise SpecError(
            f"expected a domain that comes with the package, got domain={memory.domain!r}; give its file with --domain"
        )
    if found is not None:
        memory.check(found.name, found.tools)
    return found


def _block(memory: Memory, domain: Domain | None, variant: str) -> str:
    from bench2robust.memory.block import block
    from bench2robust.memory.content import Variant

    if variant not in list(Variant):
        raise UnknownNameError("variant", variant, list(Variant))
    return block(memory, domain, domain.tools, Variant(variant)) if domain else ""
