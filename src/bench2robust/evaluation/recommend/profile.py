"""The operator profile: a recommendation as a TOML file that ``b2r run --config`` plays.

It holds settings of ``b2r run`` (severity, and the agent and memory of the strategy where runs of one's own named
them), and a table ``[recommendation]`` that says why; a run ignores that table, and so may other readers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench2robust.core.episode import Mode
from bench2robust.core.errors import FolderError

from .advice import Advice


def to_toml(advice: Advice) -> str:
    """Return the operator profile of an answer."""
    lines = ["# Operator profile, written by b2r recommend; b2r run --config THIS --benchmark NAME plays it."]
    lines += [f"# {line}" for line in (*advice.lines(), *(f"warning: {w}" for w in advice.warnings))]
    lines.append("")
    conditions = advice.question.conditions
    settings: dict[str, Any] = {
        **advice.settings,
        "modes": [str(Mode.INJECT_ALT if conditions.alternatives else Mode.INJECT)],
        "profile": "severe",
        "clean-probability": conditions.clean_probability,
    }
    for name, value in (("budget", conditions.budget), ("max-consecutive", conditions.max_consecutive)):
        if value is not None:
            settings[name] = value
    lines += [f"{name} = {_value(value)}" for name, value in settings.items()]
    chosen = advice.chosen
    reasons: dict[str, Any] = {
        "strategy": chosen.strategy,
        "expected-pass-rate": round(chosen.rate.mean, 4),
        "low": round(chosen.rate.low, 4),
        "high": round(chosen.rate.high, 4),
        "alternatives": conditions.alternatives,
        "tie": [one.strategy for one in advice.tie],
        "from": "paper" if advice.prior else "runs",
    }
    lines += ["", "[recommendation]", *(f"{name} = {_value(value)}" for name, value in reasons.items())]
    return "\n".join(lines) + "\n"


def save(advice: Advice, file: Path) -> None:
    """Write the operator profile.

    Raises:
        FolderError: the file cannot be written.
    """
    try:
        file.write_text(to_toml(advice), encoding="utf-8")
    except OSError as error:
        raise FolderError(
            f"expected a file that can be written, got output='{file}' ({error.strerror}); choose another"
        ) from None


def _value(value: Any) -> str:
    """Return a text, number, truth value or list of texts as TOML (JSON's form of them is TOML's too)."""
    return json.dumps(value, ensure_ascii=False)
