"""``b2r tasks generate``: writes a file of 3I-shaped tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

import typer
from rich.progress import Progress

from bench2robust.benchmarks.intents.domains import domain_named, generated, on_database
from bench2robust.benchmarks.intents.generate import Counts, dump
from bench2robust.benchmarks.tau2 import provider
from bench2robust.core.errors import B2RError, SpecError

from .printing import console, print_json


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], object]]:
    """Show on a terminal how many tasks are made; nothing stays, and nothing is written elsewhere."""
    if not sys.stderr.isatty():
        yield lambda made: None
        return
    with Progress(console=console(err=True), transient=True) as bar:
        task = bar.add_task("tasks", total=total)
        yield lambda made: bar.update(task, completed=made)


@contextmanager
def _blaming(database: Path | None) -> Iterator[None]:
    """Turn what a user's database breaks, such as an order without items, into one line about it."""
    try:
        yield
    except B2RError:
        raise
    except Exception as error:  # whatever a strange database makes of the generator is the database's
        if database is None:
            raise
        problem = f"{type(error).__name__}: {error}"
        raise SpecError(
            f"{database}: expected a database that tasks can be made of, got one that stops the generator ({problem})"
        ) from error


def write_tasks(
    domain: str, asked: Mapping[str, int], seed: int, *, database: Path | None, out: Path, as_json: bool
) -> None:
    """Generate tasks and write them.

    Args:
        domain: name of the domain.
        asked: intent to how many; if nothing but ``infeasible`` is there, the numbers of the domain's
            benchmark for the rest.
        seed: the same seed gives the same file.
        database: a database file, None for τ²'s own.
        out: where to write.
        as_json: whether to print JSON.

    Raises:
        UsageError: something asked for cannot be; nothing has been written.
    """
    provider.require()
    chosen = on_database(domain_named(domain), database)
    usual = chosen.counts if set(asked) <= {"infeasible"} else Counts()
    counts = Counts(**{**usual.to_dict(), **asked})
    if not out.parent.is_dir():
        raise SpecError(f"expected a file in a folder that exists, got out='{out}'")
    total = sum(counts.to_dict().values())
    if not total:
        raise SpecError("expected at least one task to generate, got counts that are all 0")
    with _progress(total) as watch, _blaming(database):
        text = dump(generated(chosen, counts, seed, watch))
    try:
        out.write_bytes(text)
    except OSError as error:
        raise SpecError(f"expected a file that can be written, got out='{out}' ({error.strerror})") from None
    made = {intent: count for intent, count in counts.to_dict().items() if count}
    digest = blake2b(text, digest_size=16).hexdigest()
    if as_json:
        print_json({"file": str(out), "domain": domain, "seed": seed, "tasks": made, "hash": digest})
        return
    parts = ", ".join(f"{count} {intent}" for intent, count in made.items())
    typer.echo(f"{sum(made.values())} 3I-shaped {domain} tasks ({parts}), hash {digest}: {out}")
