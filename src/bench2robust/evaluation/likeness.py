"""Which runs may stand side by side: those whose fingerprints agree in the parts that matter.

Agents, memories, modes and seeds are what is compared; the rest has to be equal.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench2robust.core.episode import Mode

OF_THE_BENCHMARK: Final = ("version", "tools", "policy", "domain", "tasks", "gold")
"""Parts that have to be equal in runs of one benchmark."""
OF_THE_INJECTION: Final = ("profile", "limits", "effects", "texts")
"""Parts that have to be equal where both inject."""
OF_THE_SCENARIOS: Final = ("mix", "block")
"""Parts that have to be equal where both have `inject_alt`."""
OF_THE_TALK: Final = ("max-steps", "user")


@dataclass(frozen=True, slots=True)
class Unlike:
    """A part in which two runs differ."""

    part: str
    here: Any
    there: Any

    def __str__(self) -> str:
        return f"{self.part} ({_short(self.here)} and {_short(self.there)})"


def parts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a run's fingerprint by name; None for what an older folder does not say."""
    spec = manifest["spec"]
    versions, contents = spec.get("versions", {}), spec.get("contents", {})
    injection, scenarios = spec.get("injection", {}), spec.get("scenarios", {})
    models = spec.get("models")
    user = None if models is None else [models.get("user"), models.get("user_chat")]
    return {
        "benchmark": spec.get("benchmark"),
        "version": versions.get("benchmark"),
        **{name: contents.get(name) for name in ("tools", "policy", "domain", "gold")},
        "tasks": spec.get("tasks"),
        **{name: injection.get(name) for name in ("profile", "limits", "effects")},
        "texts": versions.get("texts"),
        **{name: scenarios.get(name) for name in ("mix", "block")},
        "max-steps": spec.get("max_steps"),
        "user": user,
    }


def differences(
    a: Mapping[str, Any], b: Mapping[str, Any], may_differ: Collection[str] = ()
) -> Sequence[Unlike]:
    """Return in what two runs, given by their manifests, are unlike though they would have to be equal.

    Args:
        a: a manifest.
        b: another.
        may_differ: parts that are what is compared, such as ``profile`` in a sweep.
    """
    here, there = parts(a), parts(b)
    names: list[str] = [*OF_THE_TALK]
    if here["benchmark"] == there["benchmark"]:
        names += OF_THE_BENCHMARK
    else:
        names.append("benchmark")
    modes = [{Mode(mode) for mode in manifest["spec"].get("modes", ())} for manifest in (a, b)]
    if all(any(mode.injected for mode in each) for each in modes):
        names += OF_THE_INJECTION
    if all(Mode.INJECT_ALT in each for each in modes):
        names += OF_THE_SCENARIOS
    return [
        Unlike(name, here[name], there[name])
        for name in names
        if name not in may_differ
        and here[name] is not None
        and there[name] is not None
        and here[name] != there[name]
    ]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 48 else text[:45] + "…"
