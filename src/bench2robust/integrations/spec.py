"""What a fault scope is told, and how it is read from the words of a user."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, TypeGuard

from bench2robust.core.domain import Domain
from bench2robust.core.episode import Assignment, Scenario
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import CallRecord
from bench2robust.injection import (
    Block,
    Distribution,
    Effects,
    Eligibility,
    InjectionSpec,
    Limits,
    Mix,
    NoiseProfile,
    ScenarioSpec,
    assign,
)

from .delivery import Delivery
from .describing import domain_of

Profile = NoiseProfile | str | Path | Mapping[str, Any]
"""A profile, the name of one (``severe``, ``moderate``, ``mild``, ``none``), a TOML or JSON file, or a
distribution such as ``{"timeout": 0.2, "clean": 0.8}``.

The TOML file may be an operator profile (``b2r recommend -o FILE``): its severity and limits hold where the
options say nothing else."""

_CONDITIONS = ("clean_probability", "budget", "max_consecutive")
"""What an operator profile says of the conditions, by the names of `Options`."""


class Options(TypedDict, total=False):
    """The settings of a fault scope beside profile and seed; `FaultSpec` says what each means."""

    tools: Mapping[str, Profile]
    clean_probability: float
    budget: int | None
    max_consecutive: int | None
    effects: Effects | str
    scenario: ScenarioSpec | Scenario | str
    block: Block | str
    blocked: Iterable[str]
    domain: Domain | Mapping[str, Any] | Path | str
    delivery: Any
    keep: int
    on_record: Callable[[CallRecord], object]
    show_arguments: bool


@dataclass(frozen=True)
class FaultSpec:
    """Everything that decides what a fault scope does, task apart."""

    injection: InjectionSpec = field(default_factory=InjectionSpec)
    """Profile, limits (the paper's: at most 5 injections in an episode, 2 in a row on one tool), effects."""
    seed: int = 0
    domain: Domain = field(default_factory=lambda: domain_of(None))
    """Equivalence classes, needs, fields that may be corrupted, exempt tools."""
    scenarios: ScenarioSpec = field(default_factory=lambda: ScenarioSpec(Mix(100, 0, 0)))
    """The mix of scenarios. Nobody certifies a user's classes: every side is taken to suffice."""
    blocked: frozenset[str] = frozenset()
    """Tools that are blocked whatever the scenario."""
    delivery: Delivery | None = None
    """None leaves it to the host: text, with the host's error flag where it has one."""
    keep: int = 10_000
    """Records that an episode keeps, the newest; they hold the answers, not copies of them."""
    on_record: Callable[[CallRecord], object] | None = None
    """Told of every record, in the caller's thread; what it raises reaches the caller."""
    show_arguments: bool = False
    """Whether the repr of a record shows the arguments of the call, which may be secrets."""

    @classmethod
    def read(cls, profile: Profile = "severe", seed: int = 0, options: Options | None = None) -> FaultSpec:
        """Return the spec that a user asks for.

        Raises:
            UsageError: a word or a value that cannot be; one line.
        """
        given: dict[str, Any] = dict(options or {})
        for name in given:
            if name not in Options.__annotations__:
                raise SpecError(str(UnknownNameError("option", name, Options.__annotations__)))
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise SpecError(f"expected an integer, got seed={seed!r}")
        if isinstance(operator := _operator_profile(profile), Mapping):
            profile = operator["profile"]
            given = {**{key: operator[key] for key in _CONDITIONS if key in operator}, **given}
        domain = domain_of(given.get("domain"))
        delivery = given.get("delivery")
        keep = given.get("keep", cls.keep)
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 0:
            raise SpecError(f"expected an integer of at least 0, got keep={keep!r}")
        return cls(
            injection=InjectionSpec(
                _whole_profile(profile, given),
                Limits(given.get("budget", 5), given.get("max_consecutive", 2)),
                _member("effects", Effects, given.get("effects", Effects.OBSERVATION)),
            ),
            seed=seed,
            domain=domain,
            scenarios=_scenarios(given, domain),
            blocked=_blocked(given.get("blocked", ()), domain),
            delivery=None if delivery is None else Delivery.read(delivery),
            keep=keep,
            on_record=_hook(given.get("on_record")),
            show_arguments=bool(given.get("show_arguments", False)),
        )

    def assignment(self, task: str, seed: int) -> Assignment:
        """Return the scenario of an episode and the tools that it blocks."""
        classes = self.domain.classes
        eligibility = Eligibility(
            sides={cls.name: tuple(side.name for side in cls.sides) for cls in classes},
            primary={cls.name: cls.sides[0].name for cls in classes},
            s3=tuple(cls.name for cls in classes),
        )
        return assign(seed, task, self.scenarios, eligibility, self.domain)


def _operator_profile(profile: Profile) -> dict[str, Any] | None:
    """Return the settings of an operator profile (``b2r recommend -o``), None for any other profile."""
    if not _is_file(profile):
        return None
    data = {key.replace("-", "_"): value for key, value in _file(Path(profile)).items()}
    return data if "recommendation" in data and isinstance(data.get("profile"), str) else None


def _is_file(value: Any) -> TypeGuard[Path | str]:
    return isinstance(value, Path) or (isinstance(value, str) and value.endswith((".toml", ".json")))


def _whole_profile(profile: Profile, given: Mapping[str, Any]) -> NoiseProfile:
    whole = _profile("profile", profile)
    tools = given.get("tools", {})
    if not isinstance(tools, Mapping):
        raise SpecError(f"expected a profile for each tool, got tools={tools!r}")
    if tools:
        own = {str(name): _profile(f"tools.{name}", value).default for name, value in tools.items()}
        whole = NoiseProfile(whole.default, {**whole.tools, **own}, whole.bursts)
    if "clean_probability" in given:
        whole = whole.with_clean_probability(given["clean_probability"])
    return whole


def _profile(key: str, value: Any) -> NoiseProfile:
    if isinstance(value, NoiseProfile):
        return value
    if isinstance(value, Mapping):
        return NoiseProfile.from_dict(value) if "default" in value else NoiseProfile(_distribution(value))
    if _is_file(value):
        return NoiseProfile.from_dict(_file(Path(value)))
    if isinstance(value, str):
        return NoiseProfile.named(value)
    raise SpecError(f"expected a profile's name, a file or probabilities, got {key}={value!r}")


def _distribution(value: Mapping[str, Any]) -> Distribution:
    """Return a distribution; what is missing to 1 is clean where nothing is said of clean."""
    numbers = [p for p in value.values() if isinstance(p, int | float) and not isinstance(p, bool)]
    if NoiseType.CLEAN in value or len(numbers) < len(value):
        return value  # type: ignore[return-value]  # NoiseProfile checks the names
    return {**value, NoiseType.CLEAN: max(0.0, 1.0 - sum(numbers))}  # type: ignore[dict-item]


def _file(path: Path) -> dict[str, Any]:
    try:
        content = path.read_text(encoding="utf-8")
        data = json.loads(content) if path.suffix == ".json" else tomllib.loads(content)
    except OSError as error:
        raise SpecError(
            f"expected a file that can be read, got profile='{path}' ({error.strerror})"
        ) from None
    except ValueError as error:
        raise SpecError(
            f"expected {path.suffix[1:].upper()}, got profile='{path}' ({' '.join(str(error).split())})"
        ) from None
    if not isinstance(data, dict):
        raise SpecError(f"expected a table of probabilities, got profile='{path}'")
    return data


def _member(what: str, kind: Any, value: Any) -> Any:
    if value not in list(kind):
        raise SpecError(str(UnknownNameError(what, str(value), list(kind))))
    return kind(value)


def _scenarios(given: Mapping[str, Any], domain: Domain) -> ScenarioSpec:
    value = given.get("scenario", Scenario.S1)
    if isinstance(value, ScenarioSpec):
        spec = value
    else:
        block = _member("block", Block, given.get("block", Block.RANDOM))
        if value in list(Scenario):
            mix = Mix(*(100 * (value == scenario) for scenario in Scenario))
        elif isinstance(value, str) and "/" in value:
            mix = Mix.parse(value)
        else:
            raise SpecError(str(UnknownNameError("scenario", str(value), [*Scenario, "S1/S2/S3"])))
        spec = ScenarioSpec(mix, block)
    if spec.mix.s1 < 100 and not domain.classes:
        raise SpecError(
            f"expected equivalence classes for scenario={str(value)!r}; "
            'give domain={"classes": {"order": ["get_order", "list_orders"]}} or a domain file'
        )
    return spec


def _blocked(value: Any, domain: Domain) -> frozenset[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SpecError(f"expected a list of tools, got blocked={value!r}")
    names = frozenset(value)
    for name in sorted(names & domain.exempt):
        raise SpecError(f"expected tools that can be blocked, got the exempt blocked={name!r}")
    return names


def _hook(value: Any) -> Any:
    if value is not None and not callable(value):
        raise SpecError(f"expected a function of a record, got on_record={value!r}")
    return value
