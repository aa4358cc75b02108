"""Where beliefs come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench2robust import __version__
from bench2robust.core.errors import SpecError

from .beliefs import MOST


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Some episodes that a memory was learned from."""

    run: str
    """The run's fingerprint; of live episodes, the id of the store they were counted in."""
    benchmark: str = ""
    """Empty for live episodes, as are the following."""
    split: str = ""
    """Hash of the benchmark's split into training and held-out tasks."""
    agents: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    episodes: int = 0
    package: str = __version__
    """Version of bench2robust that counted them."""

    @property
    def live(self) -> bool:
        """Whether the episodes were not those of a run."""
        return not self.benchmark

    def overlaps(self, other: Source) -> bool:
        """Whether some episodes are in both: the same run, an agent and a mode in common."""
        if self.run != other.run:
            return False
        return self.live or bool(set(self.agents) & set(other.agents) and set(self.modes) & set(other.modes))

    def to_dict(self) -> dict[str, Any]:
        """Return the source as JSON values."""
        data: dict[str, Any] = {"run": self.run}
        if not self.live:
            data |= {"benchmark": self.benchmark, "split": self.split}
            data |= {name: list(getattr(self, name)) for name in ("agents", "modes", "seeds")}
        return {**data, "episodes": self.episodes, "package": self.package}

    @classmethod
    def from_dict(cls, data: Any) -> Source:
        """Read what `to_dict` wrote.

        Raises:
            SpecError: something else.
        """
        try:
            return cls(
                run=str(data["run"]),
                benchmark=str(data.get("benchmark", "")),
                split=str(data.get("split", "")),
                agents=tuple(map(str, _list(data, "agents"))),
                modes=tuple(map(str, _list(data, "modes"))),
                seeds=tuple(map(int, _list(data, "seeds"))),
                episodes=_count(data["episodes"]),
                package=str(data.get("package", "")),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            shown = repr(data)[:60]
            raise SpecError(f"expected a source with run and episodes, got {shown}") from None


def _list(data: Any, name: str) -> list[Any]:
    value = data.get(name, [])
    if not isinstance(value, list):
        raise TypeError(name)
    return value


def _count(value: Any) -> int:
    if not 0 <= value <= MOST:
        raise ValueError(value)
    return int(value)


def together(mine: tuple[Source, ...], its: tuple[Source, ...]) -> tuple[Source, ...]:
    """Return the sources of two memories, sorted.

    Raises:
        SpecError: some episodes are in both and would count twice.
    """
    for source in its:
        if any(source.overlaps(other) for other in mine):
            raise SpecError(
                f"expected each episode once, got run={source.run!r} in both memories; leave one out"
            )
    return tuple(sorted((*mine, *its)))


def grown(sources: tuple[Source, ...], run: str, episodes: int) -> tuple[Source, ...]:
    """Return the sources after more live episodes that are counted under the id `run`."""
    before = sum(s.episodes for s in sources if s.live and s.run == run)
    others = [s for s in sources if not (s.live and s.run == run)]
    return tuple(sorted((*others, Source(run, episodes=before + episodes))))
