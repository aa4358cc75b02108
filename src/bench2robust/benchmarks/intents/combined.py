"""Combined Retail: the 114 tasks of τ²-bench retail and the 1,225 3I-shaped ones, and their split.

The split is drawn once and shipped as a list (``combined-retail.json``, written by `write_split`). It is
stratified by source and intent. An ambiguous task and the general one that it rewrites have the same gold
and stand on the same side, else what is learned from the one would be tested on the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from bench2robust.benchmarks.tau2 import retail
from bench2robust.core.episode import Task
from bench2robust.core.randomness import Draws

from .records import AMBIGUOUS, EXTRAS, GENERAL

TRAIN = 937
"""Tasks to learn from; the other 402 of 1,339 are held out (the paper's numbers)."""
SEED = 0
FILE = "combined-retail.json"

Stratum = tuple[str, str]
"""Source and intent."""


def combine(three_i: Sequence[Task]) -> tuple[Task, ...]:
    """Return τ²'s tasks, then the 3I-shaped ones; each says its `source` and `intent` in `Task.data`."""
    ours = {"source": "tau2", "intent": GENERAL}
    return (*(replace(task, data={**task.data, **ours}) for task in retail().tasks()), *three_i)


def draw_split(tasks: Sequence[Task], train: int = TRAIN, seed: int = SEED) -> dict[str, list[str]]:
    """Draw a stratified split.

    Args:
        tasks: what to split.
        train: how many are for training.
        seed: the same seed gives the same split.

    Returns:
        The ids of ``train`` and ``held_out``, in the order of `tasks`.
    """
    strata: dict[Stratum, list[Task]] = {}
    for task in tasks:
        strata.setdefault((task.data["source"], task.data["intent"]), []).append(task)
    shares = _apportioned({stratum: len(members) for stratum, members in strata.items()}, train)
    chosen: set[str] = set()
    for stratum, members in strata.items():
        # A rewrite is ranked by the task that it rewrites, so that both come out on the same side.
        ranked = sorted(members, key=lambda task: Draws(seed, "split", _origin(task)).uniform())
        chosen.update(task.id for task in ranked[: shares[stratum]])
    return {
        "train": [task.id for task in tasks if task.id in chosen],
        "held_out": [task.id for task in tasks if task.id not in chosen],
    }


def _origin(task: Task) -> str:
    extras = task.data.get(EXTRAS) or {}
    return str(extras["of"]) if task.data["intent"] == AMBIGUOUS and "of" in extras else task.id


def _apportioned(sizes: Mapping[Stratum, int], train: int) -> dict[Stratum, int]:
    """Share out `train` places in proportion to size, by largest remainder."""
    exact = {stratum: train * size / sum(sizes.values()) for stratum, size in sizes.items()}
    shares = {stratum: int(share) for stratum, share in exact.items()}
    left = train - sum(shares.values())
    for stratum in sorted(exact, key=lambda stratum: shares[stratum] - exact[stratum])[:left]:
        shares[stratum] += 1
    return shares


def digest(split: Mapping[str, Sequence[str]]) -> str:
    """Return the hash that is published with a split (`evaluation.splits.Split.hash`)."""
    lines = [f"{part} {name}" for part in ("train", "held_out") for name in split[part]]
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def shipped() -> dict[str, Any]:
    """Return the split that the package ships, with the ``hash`` it was published with."""
    text = files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    return dict(json.loads(text))


def shipped_for(tasks: Sequence[Task]) -> dict[str, Any]:
    """Return the shipped split of those of its tasks that are in a smaller benchmark."""
    there = {task.id for task in tasks}
    whole = shipped()
    if there.issuperset((*whole["train"], *whole["held_out"])):
        return whole
    part = {side: [name for name in whole[side] if name in there] for side in ("train", "held_out")}
    return {**part, "hash": digest(part)}


def write_split(tasks: Sequence[Task], file: Path) -> None:
    """Draw the split and write the file that the package ships."""
    split = draw_split(tasks)
    data = {"benchmark": "combined-retail", "seed": SEED, "hash": digest(split), **split}
    file.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")
