"""``b2r power``: how many tasks and seeds it takes to see a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench2robust.core.errors import UsageError

if TYPE_CHECKING:
    from bench2robust.evaluation.statistics import Spread

_SEEDS = (1, 2, 3, 5, 10, 20)


def power(  # noqa: PLR0913 (an option of the command is a parameter here)
    difference: Annotated[
        float, typer.Option(help="The difference of pass rates to be seen, as a share.")
    ] = 0.05,
    runs: Annotated[
        list[str] | None,
        typer.Option(help="A run folder to estimate from; may be repeated. [a stated prior]", metavar="RUN"),
    ] = None,
    systems: Annotated[str | None, typer.Option(help="Which two of them, such as retry,strategic.")] = None,
    mode: Annotated[str, typer.Option(help="Of which mode.")] = "inject_alt",
    chance: Annotated[float, typer.Option("--power", help="How often the difference is to be seen.")] = 0.80,
    level: Annotated[float, typer.Option(help="How often one may be seen that is not there.")] = 0.05,
    pass_rate: Annotated[float, typer.Option(help="Prior: about how many episodes pass.")] = 0.4,
    between: Annotated[
        float, typer.Option(help="Prior: the share of the variance that is between tasks.")
    ] = 0.5,
    alike: Annotated[
        float, typer.Option(help="Prior: how correlated two systems are on a task and seed.")
    ] = 0.5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Say how many tasks and seeds let a comparison see a difference."""
    from bench2robust.evaluation.statistics import Prior, doubled

    from .printing import in_columns, print_json

    prior = Prior(pass_rate, between, alike)
    if runs:
        together, single, source, tasks = _measured(runs, systems, mode)
    else:
        together, single, tasks = prior.paired(), prior.single(), 0
        source = (
            f"assumed: {100 * pass_rate:g} % pass, {100 * between:g} % of the variance between tasks, "
            f"two systems correlated by {alike:g}; --runs estimates them"
        )
    apart = doubled(single)
    rows: list[dict[str, Any]] = []
    for seeds in _SEEDS:
        row: dict[str, Any] = {
            "seeds": seeds,
            "tasks": together.tasks_for(difference, seeds, chance, level),
            "tasks_unpaired": apart.tasks_for(difference, seeds, chance, level),
        }
        if tasks:
            row["smallest"] = together.smallest(tasks, seeds, chance, level)
        rows.append(row)
    if as_json:
        print_json(
            {"difference": difference, "power": chance, "level": level, "source": source, "rows": rows}
        )
        return
    typer.echo(
        f"to see a difference of {100 * difference:g} points {100 * chance:g} times in 100 ({source})\n"
    )
    headings = ["seeds", "tasks", "tasks if not paired"]
    cells = [[str(row["seeds"]), f"{row['tasks']:,}", f"{row['tasks_unpaired']:,}"] for row in rows]
    if tasks:
        headings.append(f"smallest difference seen with {tasks} tasks")
        for cell, row in zip(cells, rows, strict=True):
            cell.append(f"{100 * row['smallest']:.1f}")
    typer.echo(in_columns(headings, cells, left=0))
    if tasks and not together.seed:
        typer.echo(
            "\nwarning: one seed shows no spread between seeds, or there is none: more seeds may help after all",
            err=True,
        )


def _measured(runs: list[str], systems: str | None, mode: str) -> tuple[Spread, Spread, str, int]:
    """Return the variances of the differences and of one system, from runs, and their number of tasks."""
    from bench2robust.evaluation.compare import sides
    from bench2robust.evaluation.statistics import Spread, match, spread
    from bench2robust.evaluation.study import Study

    study = Study.load(runs)
    (a, b), *more = sides(study, [name.strip() for name in systems.split(",")] if systems else ())
    if more:
        raise UsageError(
            f"expected one pair of systems; say --systems with two of these: {', '.join(study.systems)}"
        )
    samples = [side.of(study).select(mode=mode).sample("passed") for side in (a, b)]
    together, _ = match(*samples)
    one, other = (spread(sample) for sample in samples)
    single = Spread((one.task + other.task) / 2, (one.seed + other.seed) / 2)
    source = f"estimated from {a.system} and {b.system} in {mode}, {together.tasks} tasks × {len(together.seeds)} seeds"
    return spread(together), single, source, together.tasks
