"""How another process gets at a benchmark: by its registered name, or pickled, with the file of its class."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from base64 import b64decode, b64encode
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Final, cast

from bench2robust.core.ports import Benchmark
from bench2robust.evaluation import load, names

from .subject import Skip

LOST: Final = 75
"""Exit code of a process that cannot get at the benchmark."""

DEPTH: Final = "BENCH2ROBUST_CHECK_DEPTH"
"""Variable that tells a process how many checks up the one is that nobody's check has started."""
depth: Final = int(os.environ.get(DEPTH) or 0)
"""Kept from before an author's code runs here: a check in a process of a check never starts another one."""
reading = False
"""Whether this process is reading an author's script for what it defines."""


class Read(BaseException):
    """An author's script has come to its own check: what it checks is defined."""


def address(benchmark: Benchmark) -> list[str]:
    """Return what `find` needs in another process.

    Raises:
        Skip: the benchmark cannot be found there.
    """
    name = benchmark.name
    if name in names() and load(name) is benchmark:
        return [name]
    module = type(benchmark).__module__
    file = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__" and not file:
        raise Skip("the benchmark's class is defined in no file: another process cannot import it")
    try:
        return [b64encode(pickle.dumps(benchmark)).decode(), module, file or ""]
    except Exception as error:  # pickling runs an author's code
        why = " ".join(str(error).split())
        raise Skip(f"neither registered nor picklable, so not to be had in another process ({why})") from None


def find(where: list[str]) -> Benchmark:
    """Return the benchmark; ends the process with `LOST` and a line where it cannot be had.

    A module may check itself when it is imported. In a process of a check that does nothing (`depth`).
    """
    if len(where) == 1:
        return load(where[0])
    data, module, file = where
    try:
        if module == "__main__" or not _importable(module):
            _read(module, file)
        return cast(Benchmark, pickle.loads(b64decode(data)))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201 (the parent reads it)
        sys.exit(LOST)


def _importable(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def _read(name: str, file: str) -> ModuleType:
    """Run a file as the module of that name, up to its own check; ``if __name__ == "__main__"`` is not run."""
    global reading
    spec = spec_from_file_location("__mp_main__" if name == "__main__" else name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"expected a Python file for module={name!r}, got {file!r}")
    module = sys.modules[name] = module_from_spec(spec)
    sys.modules[spec.name] = module
    reading = True
    try:
        spec.loader.exec_module(module)
    except Read:
        pass
    finally:
        reading = False
    for each in list(vars(module).values()):  # pickled as __main__'s, and printed so
        if isinstance(each, type) and each.__module__ == "__mp_main__":
            each.__module__ = name
    return module
