"""A memory: the beliefs about one domain, and where they come from. It is what a memory file holds.

A file is JSON; counts are ``[successes, failures]`` and come back exactly as they were::

    {"schema": 1, "domain": "retail", "package": "0.1.0", "pooling": 0, "half_life": null,
     "errors": {"get_order_details": {"timeout": [12, 3]}},
     "switches": {"get_order_details": {"get_orders_for_user": [4, 2]}},
     "sources": [{"run": "…", "benchmark": "tau2-retail", "split": "…", "agents": ["strategic"],
                  "modes": ["inject"], "seeds": [0, 1], "episodes": 148, "package": "0.1.0"}]}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from bench2robust import __version__
from bench2robust.core.errors import B2RError, MemoryFileError, SpecError, UnknownNameError
from bench2robust.core.noise import NOISE_TYPES, NoiseType

from .beliefs import Belief, Beliefs, Counts, decay
from .source import Source, grown, together

SCHEMA: Final = 1
"""Version of the file's format."""
_KEYS: Final = ("schema", "domain", "package", "pooling", "half_life", "errors", "switches", "sources")
_SQLITE: Final = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Memory:
    """The beliefs about one domain, and where they come from.

    Raises:
        SpecError: no domain, or a half-life that cannot be.
    """

    domain: str
    """Name of the domain (`core.domain.Domain.name`)."""
    beliefs: Beliefs = field(default_factory=Beliefs)
    sources: tuple[Source, ...] = ()
    half_life: float | None = None
    """Episodes after which an episode counts half; None when nothing is ever forgotten."""

    def __post_init__(self) -> None:
        if not isinstance(self.domain, str) or not self.domain:
            raise SpecError(f"expected the name of a domain, got domain={self.domain!r}")
        if self.half_life is not None:
            decay(self.half_life, 0)

    @property
    def episodes(self) -> int:
        """How many episodes it was learned from, those without any failure included."""
        return sum(source.episodes for source in self.sources)

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits; memories with the same digits say the same."""
        data = self.to_dict()
        said = {key: data[key] for key in ("domain", "pooling", "half_life", "errors", "switches")}
        return blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=8).hexdigest()

    def updated(self, *episodes: Counts, source: str = "") -> Memory:
        """Return the memory after more episodes.

        Those given together count as of one time, in which older ones lose weight by the half-life; so the
        order of the episodes of one wave does not matter.

        Args:
            episodes: what each adds.
            source: the id of the live source that grows by them; without one the sources stay as they are.
        """
        beliefs = self.beliefs
        if self.half_life is not None:
            beliefs = beliefs.decayed(self.half_life, len(episodes))
        sources = grown(self.sources, source, len(episodes)) if source else self.sources
        return replace(self, beliefs=beliefs.updated(*episodes), sources=sources)

    def merged(self, other: Memory) -> Memory:
        """Return what both memories say together.

        Raises:
            SpecError: another domain, another pooling or half-life, or the same episodes in both.
        """
        for what, mine, its in (
            ("domain", self.domain, other.domain),
            ("half_life", self.half_life, other.half_life),
        ):
            if mine != its:
                raise SpecError(f"expected memories of one {what}, got {what}={mine!r} and {what}={its!r}")
        beliefs = self.beliefs.merged(other.beliefs)
        return replace(self, beliefs=beliefs, sources=together(self.sources, other.sources))

    def check(self, domain: str, tools: Iterable[str] = ()) -> None:
        """Refuse a memory that does not belong to a domain.

        Args:
            domain: the domain's name.
            tools: every tool that the domain has; none are checked when there are none.

        Raises:
            SpecError: it is of another domain.
            UnknownNameError: it names a tool that does not exist.
        """
        if self.domain != domain:
            raise SpecError(
                f"expected a memory of domain={domain!r}, got domain={self.domain!r}; "
                "estimate one from runs of this domain"
            )
        known = tuple(tools)
        for tool in self.beliefs.tools if known else ():
            if tool not in known:
                raise UnknownNameError("tool in the memory", tool, known)

    def to_dict(self) -> dict[str, Any]:
        """Return the memory as JSON values."""
        errors: dict[str, dict[str, list[float]]] = {}
        for (tool, noise), belief in self.beliefs.errors.items():
            errors.setdefault(tool, {})[str(noise)] = _counts(belief)
        switches: dict[str, dict[str, list[float]]] = {}
        for (source, target), belief in self.beliefs.switches.items():
            switches.setdefault(source, {})[target] = _counts(belief)
        return {
            "schema": SCHEMA,
            "domain": self.domain,
            "package": __version__,
            "pooling": self.beliefs.pooling,
            "half_life": self.half_life,
            "errors": errors,
            "switches": switches,
            "sources": [source.to_dict() for source in self.sources],
        }

    @classmethod
    def from_dict(cls, data: Any) -> Memory:
        """Read what `to_dict` wrote.

        Raises:
            SpecError: another schema version, an unknown key, or a value that cannot be.
            UnknownNameError: a noise type that nobody knows.
        """
        if not isinstance(data, Mapping) or "schema" not in data:
            raise SpecError(f"expected a memory, got {_short(data)} without a schema version")
        if type(data["schema"]) is not int or data["schema"] != SCHEMA:
            raise SpecError(
                f"expected schema version {SCHEMA}, got schema={data['schema']!r}; "
                "estimate the memory anew with this version of bench2robust"
            )
        for key in data:
            if key not in _KEYS:
                raise UnknownNameError("key", str(key), _KEYS)
        errors = {
            (tool, _noise(noise)): _belief(f"{tool}.{noise}", counts)
            for tool, noise, counts in _cells("errors", data.get("errors", {}))
        }
        switches = {
            (source, target): _belief(f"{source}.{target}", counts)
            for source, target, counts in _cells("switches", data.get("switches", {}))
        }
        sources = data.get("sources", [])
        if not isinstance(sources, list):
            raise SpecError(f"expected a list, got sources={_short(sources)}")
        return cls(
            data.get("domain", ""),
            Beliefs(errors, switches, data.get("pooling", 0)),
            tuple(map(Source.from_dict, sources)),
            data.get("half_life"),
        )

    def save(self, path: Path | str) -> None:
        """Write the memory as a JSON file; a reader sees the old file or the new one, never half of it.

        Raises:
            MemoryFileError: it cannot be written.
        """
        file = Path(path)
        half = file.with_name(f".{file.name}.{os.getpid()}.half")
        try:
            half.write_text(json.dumps(self.to_dict(), indent=2) + "\n", encoding="utf-8")
            half.replace(file)
        except OSError as error:
            raise MemoryFileError(
                str(path), f"expected a file that can be written ({error.strerror})"
            ) from error

    @classmethod
    def load(cls, path: Path | str) -> Memory:
        """Read a memory from a JSON file, or from a `store.Store` as it is now.

        Raises:
            MemoryFileError: it cannot be read or does not fit; the message names the file and what is wrong.
        """
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise MemoryFileError(
                str(path), f"expected a file that can be read ({error.strerror})"
            ) from error
        if content.startswith(_SQLITE):
            from .store import Store

            with Store(path) as store:
                return store.memory()
        try:
            return cls.from_dict(json.loads(content))
        except (ValueError, RecursionError) as error:
            problem = " ".join(str(error).split())
            raise MemoryFileError(str(path), f"expected JSON ({problem})") from error
        except B2RError as error:
            raise MemoryFileError(str(path), str(error)) from error


def _counts(belief: Belief) -> list[float]:
    """Return successes and failures, whole numbers without a point."""
    return [int(n) if n == int(n) else n for n in (belief.successes, belief.failures)]


def _cells(name: str, tables: Any) -> Iterable[tuple[str, str, Any]]:
    if not isinstance(tables, Mapping):
        raise SpecError(f"expected a table, got {name}={_short(tables)}")
    for first, row in tables.items():
        if not isinstance(row, Mapping):
            raise SpecError(f"expected a table, got {name}.{first}={_short(row)}")
        for second, counts in row.items():
            yield first, second, counts


def _belief(key: str, counts: Any) -> Belief:
    if not isinstance(counts, list) or len(counts) != 2:
        raise SpecError(f"expected [successes, failures], got {key}={_short(counts)}")
    try:
        return Belief(*counts)
    except SpecError as error:
        raise SpecError(f"{key}: {error}") from None


def _noise(name: str) -> NoiseType:
    if name not in NOISE_TYPES:
        raise UnknownNameError("error type", name, NOISE_TYPES)
    return NoiseType(name)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
