"""Every table by name: what it is made from, and which of the paper's tables stands beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench2robust.core.errors import UnknownNameError
from bench2robust.evaluation.series import run_folders
from bench2robust.evaluation.store import read_manifest
from bench2robust.evaluation.study import Study

from . import paper
from .btm import btm
from .gap import gap, with_the_papers_slices
from .main import efficiency, main, transfer
from .severity import Setting, severity
from .strategy import errors, strategy
from .systems import Options, check_options
from .table import Table, beside, side_by_side


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of table that is made from one study."""

    make: Callable[[Study, Options], Table]
    may_differ: Collection[str] = ()
    """In what its runs are meant to differ (`likeness.parts`)."""


_KINDS: Final = {
    "main": Kind(main),
    "gap": Kind(gap, ("benchmark",)),
    "strategy": Kind(strategy),
    "btm": Kind(btm),
    "errors": Kind(errors),
    "transfer": Kind(transfer, ("benchmark",)),
    "efficiency": Kind(efficiency),
}
_PAPERS: Final = {
    "main": ("table1", "table6"),
    "gap": ("table5",),
    "strategy": ("table2",),
    "btm": ("table3",),
    "errors": ("table4",),
    "transfer": ("table7",),
    "severity": ("table14",),
    "efficiency": ("table15",),
}
"""The paper's tables of the same layout."""
NAMES: Final = (
    "main",
    "gap",
    "strategy",
    "btm",
    "errors",
    "transfer",
    "severity",
    "efficiency",
)
"""Every table, in the paper's order of appearance."""


def build(
    name: str, folders: Sequence[Path | str], options: Options | None = None, *, with_paper: bool = False
) -> Table:
    """Return a table of the paper for some run folders.

    Args:
        name: one of `NAMES`.
        folders: run folders, or folders of several such as a sweep's; ``NAME=PATH`` calls a system NAME.
        options: how it is made.
        with_paper: put the paper's values beside.

    Raises:
        UnknownNameError: no such table, or no such system.
        FolderError, UsageError: as `Study.load`; or a mode that the table needs is missing.
    """
    options = options or Options()
    if name not in NAMES:
        raise UnknownNameError("table", name, NAMES)
    runs = run_folders(folders)
    if name == "severity":
        studies = by_severity(runs, options)
        check_options(studies[0], options)
        table = severity(studies, options)
    else:
        kind = _KINDS[name]
        study = Study.load(runs, force=options.force, lenient=options.lenient, may_differ=kind.may_differ)
        check_options(study, options)
        table = kind.make(study, options)
    return beside_the_papers(table) if with_paper else table


def beside_the_papers(table: Table) -> Table:
    """Return a table of `build` with the paper's values: below it, or at its side where rows are the same."""
    theirs = [paper.tables()[name] for name in _PAPERS[table.name]]
    if table.name == "gap":
        return with_the_papers_slices(table)
    if table.name in ("errors", "severity"):
        reference = theirs[0].notes[0].partition(",")[0]
        return side_by_side(table, theirs[0], f"paper's {reference}")
    return beside(table, theirs)


def by_severity(folders: Sequence[Path | str], options: Options | None = None) -> tuple[Study, ...]:
    """Load runs, those of each severity together, the mildest last.

    Raises:
        FolderError, UsageError: as `Study.load`.
    """
    options = options or Options()
    groups: dict[Setting, list[Path | str]] = {}
    for folder in folders:
        path = Path(str(folder).partition("=")[2] or folder) if not Path(folder).exists() else Path(folder)
        groups.setdefault(Setting.of(read_manifest(path)), []).append(folder)
    return tuple(
        Study.load(groups[setting], force=options.force, lenient=options.lenient)
        for setting in sorted(groups)
    )
