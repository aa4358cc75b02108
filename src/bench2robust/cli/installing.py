"""``b2r setup`` and ``b2r doctor``: what is installed, and getting what is not."""

from __future__ import annotations

import importlib.util
import platform
import shlex
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Final, Protocol, cast

import typer

from bench2robust import __version__
from bench2robust.benchmarks.bfcl import provider as bfcl
from bench2robust.benchmarks.tau2 import provider as tau2
from bench2robust.core.errors import B2RError, NotInstalledError, SubjectError, UnknownNameError
from bench2robust.evaluation import load, names

from .printing import in_columns, print_json

ALL: Final = "all"


class _Status(Protocol):
    """What a provider says of its wheel."""

    @property
    def distribution(self) -> str | None: ...
    @property
    def version(self) -> str | None: ...
    @property
    def data(self) -> Path | None: ...
    @property
    def missing(self) -> tuple[str, ...]: ...
    @property
    def ready(self) -> bool: ...
    @property
    def pinned(self) -> bool: ...


class _Provider(Protocol):
    """A module that knows one wheel."""

    WHEEL: str
    HINT: str

    def status(self) -> _Status:
        """Say what is installed."""

    def install_command(self, python: str) -> list[list[str]]:
        """Return the commands that install the wheel."""


@dataclass(frozen=True, slots=True)
class _Wheel:
    """What can be set up."""

    provider: _Provider
    check: str
    """The benchmark that shows whether it works."""


_WHEELS: Final = {
    "tau2": _Wheel(cast(_Provider, tau2), "tau2-retail"),
    "bfcl": _Wheel(cast(_Provider, bfcl), "bfcl-multi-turn"),
}


_EXTRAS: Final = {"models": "openai", "ray": "ray"}
"""Optional extra of this package to the distribution that it brings."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is installed, or not."""

    name: str
    installed: bool
    version: str
    note: str
    """What is wrong and how to mend it, or where it is."""


def install(what: str) -> None:
    """Install the wheels of a benchmark, or of all, and check that they can be imported.

    Raises:
        UnknownNameError: nothing of that name can be installed.
        NotInstalledError: there is no pip.
        SubjectError: pip failed, or what it installed does not work.
    """
    if what not in (*_WHEELS, ALL):
        raise UnknownNameError("wheel", what, (*_WHEELS, ALL))
    for name, wheel in _WHEELS.items():
        if what in (name, ALL):
            _install(wheel.provider)
            _try(wheel.check)


def _install(provider: _Provider) -> None:
    found = provider.status()
    if found.ready and found.pinned:
        typer.echo(f"{found.distribution} {found.version} is installed already")
        return
    if importlib.util.find_spec("pip") is None:
        raise NotInstalledError("expected pip in this environment, found none; run `python -m ensurepip`")
    for command in provider.install_command(sys.executable):
        _run(command)


def _try(benchmark: str) -> None:
    # A new interpreter: this one may have looked for the packages before they were there.
    check = (
        "import sys; from bench2robust.evaluation import load; b = load(sys.argv[1]); print(len(b.tasks()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", check, benchmark], capture_output=True, text=True, check=False
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise SubjectError(f"benchmark={benchmark!r} was installed but does not work: {why}")
    typer.echo(f"{benchmark}: {done.stdout.strip()} tasks")


def _run(command: list[str]) -> None:
    typer.echo(f"$ {shlex.join(command)}")
    code = subprocess.run(command, check=False).returncode
    if code:
        raise SubjectError(f"pip failed with exit code {code}; what it printed says why")


def examine() -> list[Finding]:
    """Return what is installed and what is missing."""
    own = Finding("bench2robust", True, __version__, f"Python {platform.python_version()}")
    wheels = (_finding(name, wheel.provider) for name, wheel in _WHEELS.items())
    extras = (_extra(name, brings) for name, brings in _EXTRAS.items())
    return [own, *wheels, *extras, *(_benchmark(name) for name in names())]


def print_findings(findings: list[Finding], *, as_json: bool) -> None:
    """Print findings as a table or as JSON."""
    if as_json:
        print_json([asdict(finding) for finding in findings])
        return
    cells = ([f.name, "installed" if f.installed else "missing", f.version, f.note] for f in findings)
    typer.echo(in_columns(["what", "", "version", ""], cells, left=4))


def _finding(name: str, provider: _Provider) -> Finding:
    found = provider.status()
    version = f"{found.distribution or ''} {found.version or ''}".strip()
    return Finding(name, found.ready, version, _note(provider, found))


def _note(provider: _Provider, found: _Status) -> str:
    if found.distribution is None or found.missing:
        return provider.HINT
    if found.data is None:
        return f"its data is missing; {provider.HINT}"
    return "" if found.pinned else f"tested with {provider.WHEEL}; results of other versions may differ"


def _extra(name: str, distribution: str) -> Finding:
    try:
        return Finding(name, True, f"{distribution} {metadata.version(distribution)}", "")
    except metadata.PackageNotFoundError:
        return Finding(name, False, "", f"run `pip install 'bench2robust[{name}]'`")


def _benchmark(name: str) -> Finding:
    try:
        benchmark = load(name)
        return Finding(f"benchmark {name}", True, benchmark.version, f"{len(benchmark.tasks())} tasks")
    except B2RError as error:
        return Finding(f"benchmark {name}", False, "", str(error))
