"""``b2r reproduce``: the paper's protocols, and the study of all reference policies."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bench2robust.core.errors import SpecError

if TYPE_CHECKING:
    from bench2robust.evaluation import Means, RunSpec
    from bench2robust.evaluation.reproduce import Protocol
    from bench2robust.evaluation.series import Played

_TABLE = "table1|table3|table5|table7|table14|reference"


def reproduce(  # noqa: PLR0913 (an option of the command is a parameter here)
    context: typer.Context,
    table: Annotated[str, typer.Argument(help="The paper's table, or reference.", metavar=_TABLE)],
    agent: Annotated[
        list[str] | None, typer.Option(help="chat:MODEL, or a policy; may be repeated.", metavar="AGENT")
    ] = None,
    memory: Annotated[
        Path | None, typer.Option(help="A memory, in place of belief rollouts on training tasks.")
    ] = None,
    belief_tasks: Annotated[
        str | None, typer.Option(help="Training tasks of the belief rollouts. [all]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what it takes; write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead.")] = False,
) -> None:
    """Run the paper's protocol for an endpoint, and print ours beside theirs; takes the options of `b2r run` too.

    `reference` is the study of all reference policies, with all tables. Repeated, it goes on.
    """
    from bench2robust.evaluation.reproduce import REFERENCE, protocol
    from bench2robust.evaluation.series import Series

    from .plans import announce, options_of_run

    settings, out, means = options_of_run(context.args)
    folder = Path(out) if out is not None else Path("reproduced") / table
    if table == REFERENCE:
        if agent or memory or belief_tasks:
            raise SpecError(
                "expected no --agent, --memory or --belief-tasks beside reference: it has its own"
            )
        _reference(folder, settings, means, dry_run=dry_run, as_json=as_json)
        return
    wanted = protocol(table)
    if not agent:
        raise SpecError(f"expected an agent for {table}, got none; give --agent chat:MODEL --base-url URL")
    if "benchmark" in settings or "agents" in settings:
        raise SpecError(f"expected no --benchmark or --agents: {table} has its own; give --agent")
    part = _Part(table, wanted, folder, {**settings, "agents": list(agent)}, means)
    part.memory, part.belief_tasks = memory, belief_tasks
    if dry_run:
        announce(Series(table, part.planned()), folder, means, as_json=as_json)
        return
    part.play_and_print(as_json=as_json)


class _Part:
    """One protocol, played into a folder."""

    def __init__(
        self, name: str, wanted: Protocol, folder: Path, settings: Mapping[str, Any], means: Means
    ) -> None:
        self.name, self.wanted, self.folder = name, wanted, folder
        self.settings, self.means = dict(settings), means
        self.memory: Path | None = None
        self.belief_tasks: str | None = None

    @property
    def runs(self) -> Path:
        """Where the runs of the table are."""
        return self.folder / "runs"

    def planned(self) -> dict[str, RunSpec]:
        """Return every run by name, the memory that is yet to be estimated left blank."""
        from bench2robust.evaluation.reproduce import beliefs_of, blank, evaluation_of

        told = (
            {name: self.memory or blank(name) for name in self.wanted.benchmarks} if self.wanted.told else {}
        )
        found = dict(evaluation_of(self.name, self.wanted, self.settings, told).runs)
        if self._estimates:
            rollouts = beliefs_of(self.wanted, self.settings, self.belief_tasks).runs
            found |= {f"beliefs-{name}": spec for name, spec in rollouts.items()}
        return found

    def play(self) -> Played:
        """Play the belief rollouts, if any, and the runs of the table."""
        from bench2robust.evaluation.reproduce import beliefs_of, evaluation_of, learned

        from .plans import end, play_all

        memories: dict[str, Any] = dict.fromkeys(self.wanted.benchmarks, self.memory)
        if self._estimates:
            rollouts = beliefs_of(self.wanted, self.settings, self.belief_tasks)
            played = play_all(rollouts, self.folder / "beliefs", self.means)
            if played.stopped or any(run.lost for run in played.runs):
                end(played)
            memories = dict(learned(self.folder / "beliefs", self.wanted.benchmarks))
        return play_all(evaluation_of(self.name, self.wanted, self.settings, memories), self.runs, self.means)

    def play_and_print(self, *, as_json: bool) -> None:
        """Play it, and print ours beside theirs."""
        from bench2robust.evaluation.reproduce import deviations
        from bench2robust.evaluation.tables.catalogue import build
        from bench2robust.evaluation.tables.systems import Options

        from .plans import end
        from .table import print_table

        played = self.play()
        made = build(self.wanted.table, [self.runs], Options(), with_paper=True)
        print_table(made, "json" if as_json else None)
        unlike = deviations(self.wanted, self.settings)
        if unlike:
            typer.echo(f"not as in the paper: {'; '.join(unlike)}", err=True)
        end(played)

    @property
    def _estimates(self) -> bool:
        return self.wanted.told and self.memory is None


def _reference(
    folder: Path, settings: Mapping[str, Any], means: Means, *, dry_run: bool, as_json: bool
) -> None:
    """Play the study of all reference policies, and write all tables and the report."""
    from bench2robust.evaluation.reproduce import reference_protocols
    from bench2robust.evaluation.series import Series

    from .plans import announce, end

    parts = [
        _Part(name, wanted, folder / name, {**settings, "agents": list(agents)}, means)
        for name, (wanted, agents) in reference_protocols().items()
    ]
    if dry_run:
        found = {f"{part.name}: {name}": spec for part in parts for name, spec in part.planned().items()}
        announce(Series("reference", found), folder, means, as_json=as_json)
        return
    for part in parts:
        played = part.play()
        if played.stopped:
            end(played)
    _write_tables({part.name: part.runs for part in parts}, folder / "tables")
    _write_report([folder / "study" / "runs"], folder / "report.html")
    typer.echo(f"folder: {folder}", err=True)


def _write_tables(runs: Mapping[str, Path], out: Path) -> None:
    """Print every table, and write each in every format."""
    from bench2robust.evaluation.reproduce import reference_tables
    from bench2robust.evaluation.tables import FORMATS, render, save
    from bench2robust.evaluation.tables.catalogue import beside_the_papers, build
    from bench2robust.evaluation.tables.rendering import SUFFIXES

    from .table import print_table

    out.mkdir(parents=True, exist_ok=True)
    for name, part in reference_tables().items():
        if part not in runs:
            continue
        made = build(name, [runs[part]])
        print_table(made)
        typer.echo("")
        wide = beside_the_papers(made)
        for format_ in FORMATS:
            if format_ == "parquet" and not find_spec("polars"):
                continue
            save(render(wide, format_), out / f"{name}{SUFFIXES[format_]}")


def _write_report(runs: list[Path], file: Path) -> None:
    """Write the report of some runs."""
    from bench2robust.evaluation.report import MAY_DIFFER
    from bench2robust.evaluation.report import report as report_of
    from bench2robust.evaluation.series import run_folders
    from bench2robust.evaluation.study import Study
    from bench2robust.evaluation.tables import save

    made = report_of(Study.load(run_folders(runs), may_differ=MAY_DIFFER))
    save(made.html.encode(), file)
    typer.echo(f"report: {file}", err=True)
