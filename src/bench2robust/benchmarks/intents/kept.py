"""The generated sets that the benchmarks `retail-3i` and `airline-3i` consist of, kept on disk once made.

Generating takes seconds, reading milliseconds. A set is decided by this package's version, τ²'s and the
seed, which together name the file; a file that cannot be read or written costs the time to make it again.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bench2robust import __version__
from bench2robust.benchmarks.tau2.provider import status

from .domains import Domain, generated
from .generate import dump

SEED = 0
"""Seed of the sets that the benchmarks consist of."""


def folder() -> Path:
    """Return where generated sets are kept: ``$XDG_CACHE_HOME/bench2robust``, or ``~/.cache/bench2robust``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bench2robust"


def records(domain: Domain) -> list[dict[str, Any]]:
    """Return the records of the domain's benchmark, from disk where they are there and sound."""
    found = status()
    key = json.dumps([__version__, _code(), found.distribution, found.version, domain.name, SEED])
    file = folder() / f"{domain.name}-3i-{blake2b(key.encode(), digest_size=8).hexdigest()}.json"
    with suppress(OSError, ValueError):
        text, _, digest = file.read_bytes().rpartition(b"\n")
        if _digest(text) == digest:
            return list(json.loads(text))
    made = generated(domain, domain.counts, SEED)
    with suppress(OSError):
        _write(file, dump(made))
    return made


def _write(file: Path, text: bytes) -> None:
    """Write in one step, so that a process that reads at the same time sees all or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_bytes(text + b"\n" + _digest(text))
    draft.replace(file)


def _digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=16).hexdigest().encode()


def _code() -> str:
    """Return a hash of the generator's source, so that a changed generator never reads an old set."""
    parts = sorted(Path(__file__).parent.rglob("*.py")) + sorted(
        (Path(__file__).parents[1] / "tau2").rglob("*.py")
    )
    return blake2b(b"".join(part.read_bytes() for part in parts), digest_size=8).hexdigest()
