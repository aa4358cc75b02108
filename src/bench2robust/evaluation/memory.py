"""What the agents of a run are told of a tool memory, and how.

Settings, in a TOML file or as options of ``b2r run``::

    memory = "memory.json"         # a file of `b2r memory estimate`
    memory-variant = "full"        # static, dynamic, shuffled, none
    delivery = "block"             # note (with a failed response), or both
    update = "fixed"               # online: what the run shows is learned between waves
    wave = 16                      # episodes of an agent, a mode and a seed that are played alike
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeVar

from bench2robust.core.domain import Domain
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec
from bench2robust.memory.block import VERSION, write
from bench2robust.memory.content import Content, Variant, content
from bench2robust.memory.filter import ScenarioFilter
from bench2robust.memory.knowledge import Knowledge
from bench2robust.memory.memory import Memory
from bench2robust.memory.notes import Notes

SETTINGS: Final = ("memory", "memory-variant", "delivery", "update", "wave")
_WAVE: Final = 16
E_ = TypeVar("E_", bound=StrEnum)


class Delivery(StrEnum):
    """How an agent is told."""

    BLOCK = "block"
    """Before the episode, in the system prompt."""
    NOTE = "note"
    """With a failed response."""
    BOTH = "both"


class Update(StrEnum):
    """Whether a run learns from its own episodes."""

    FIXED = "fixed"
    ONLINE = "online"
    """Between waves; each agent, mode and seed learns from its own episodes only."""


@dataclass(frozen=True, slots=True)
class MemorySpec:
    """What the agents of a run are told of a tool memory, and how.

    Raises:
        SpecError: beliefs are to be told and there are none, or a wave that cannot be.
    """

    memory: Memory | None = None
    """What is known at the start; None for nothing, where nothing has to be known."""
    variant: Variant = Variant.FULL
    delivery: Delivery = Delivery.BLOCK
    update: Update = Update.FIXED
    wave: int = _WAVE
    """Episodes after which an online run has learned."""

    def __post_init__(self) -> None:
        if self.memory is None and self.update is Update.FIXED and self.variant is not Variant.STATIC:
            raise SpecError(
                f"expected a memory with memory-variant='{self.variant}', got memory=None; give --memory FILE, "
                "or what needs none: --memory-variant static, or --update online"
            )
        if isinstance(self.wave, bool) or not isinstance(self.wave, int) or self.wave < 1:
            raise SpecError(f"expected a number of episodes of at least 1, got wave={self.wave!r}")

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> MemorySpec | None:
        """Return what settings (`SETTINGS`) ask for; None where agents are told nothing.

        Raises:
            UnknownNameError: a variant, delivery or update that nobody knows.
            MemoryFileError: the memory's file cannot be read or does not fit.
            SpecError: a value that cannot be.
        """
        given = {key: settings[key] for key in SETTINGS if key in settings}
        if not given:
            return None
        update = _member("update", Update, given)
        if "wave" in given and update is Update.FIXED:
            raise SpecError(f"expected update='online' beside wave={given['wave']!r}; leave one out")
        memory, variant = _memory(given.get("memory")), _member("memory-variant", Variant, given)
        delivery = _member("delivery", Delivery, given)
        if variant is Variant.NONE:
            return None
        return cls(memory, variant, delivery, update, given.get("wave", _WAVE))

    @property
    def online(self) -> bool:
        """Whether the run learns."""
        return self.update is Update.ONLINE

    def start(self, domain: str) -> Memory:
        """Return what is known when a run on a domain begins; with `Variant.STATIC` no probability is."""
        if self.memory is None or self.variant is Variant.STATIC:
            return Memory(domain)
        return self.memory

    def to_dict(self, domain: str) -> dict[str, Any]:
        """Return what decides results, as JSON values; of the memory a hash of what it says."""
        data = {
            "variant": str(self.variant),
            "delivery": str(self.delivery),
            "update": str(self.update),
            "start": self.start(domain).fingerprint,
            "text": VERSION,
        }
        return {**data, "wave": self.wave} if self.online else data


@dataclass(slots=True)
class Recall:
    """What agents are told at one time of a run: the spec, with what is known by then."""

    spec: MemorySpec
    domain: Domain
    memory: Memory
    _told: dict[tuple[tuple[str, ...], int], tuple[Content, str]] = field(default_factory=dict, init=False)
    _knowledge: Knowledge = field(init=False)
    """What is blocked is worked out from what an agent could know: never from the run's own settings."""

    def __post_init__(self) -> None:
        learned = self.memory.beliefs if self.spec.variant is not Variant.SHUFFLED else None
        self._knowledge = Knowledge(self.domain, beliefs=learned)

    def block(self, tools: Sequence[ToolSpec], seed: int) -> str:
        """Return the block that an agent reads before an episode; empty where it reads none."""
        return "" if self.spec.delivery is Delivery.NOTE else self._tell(tools, seed)[1]

    def notes(self, tools: Sequence[ToolSpec], seed: int) -> Notes | None:
        """Return the notes of one episode; None where there are none."""
        if self.spec.delivery is Delivery.BLOCK:
            return None
        return Notes(self._tell(tools, seed)[0], _Watcher(self._knowledge, tools))

    def _tell(self, tools: Sequence[ToolSpec], seed: int) -> tuple[Content, str]:
        names = tuple(tool.name for tool in tools)
        if self.spec.variant is not Variant.SHUFFLED:
            seed = 0  # nothing is drawn: the same for all
        told = self._told.get((names, seed))
        if told is None:
            variant = Variant.FULL if self.spec.online and self._static else self.spec.variant
            said = content(self.memory, self.domain, names, variant, seed)
            told = self._told[names, seed] = said, write(said)
        return told

    @property
    def _static(self) -> bool:
        """Whether every probability begins at 0.50: what an online run adds is told, as in the paper's Table 3."""
        return self.spec.variant is Variant.STATIC


class _Watcher:
    """A scenario filter that works only once it is asked (`memory.notes.Watcher`)."""

    def __init__(self, knowledge: Knowledge, tools: Sequence[ToolSpec]) -> None:
        self._filter = ScenarioFilter(knowledge, tools)
        self._unread: list[tuple[str, ToolResponse]] = []

    def see(self, call: ToolCall, delivered: ToolResponse) -> None:
        """Remember a call and what was delivered."""
        self._unread.append((call.name, delivered))

    def blocked(self, tool: str) -> float:
        """Return the probability that a tool is blocked."""
        for name, delivered in self._unread:
            self._filter.observe(name, delivered)
        self._unread.clear()
        return self._filter.blocked(tool)


def _memory(value: Any) -> Memory | None:
    if value is None or isinstance(value, Memory):
        return value
    if not isinstance(value, str | Path):
        raise SpecError(f"expected a memory's file, got memory={value!r}")
    return Memory.load(value)


def _member(name: str, kind: type[E_], settings: Mapping[str, Any]) -> E_:
    value = settings.get(name, next(iter(kind)))
    if value not in list(kind):
        raise UnknownNameError(name, str(value), list(kind))
    return kind(value)
