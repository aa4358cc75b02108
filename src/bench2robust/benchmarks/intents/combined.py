"""Combined Retail: the 114 tasks of τ²-bench retail and the 1,225 3I-shaped ones, and their split.

The split is drawn once and shipped as a list (``combined-retail.json``, written by `write_split`). It is
stratified by source and intent. Tasks with the same gold writes, such as an ambiguous task and the general one
that it rewrites, stand on the same side, else what is learned from the one would be tested on the other.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from bench2robust.benchmarks.tau2 import retail
from bench2robust.core.episode import Task
from bench2robust.core.ports import Benchmark
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolKind

from .records import AMBIGUOUS, EXTRAS, GENERAL, canonical

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


def draw_split(
    tasks: Sequence[Task], writes: Collection[str], train: int = TRAIN, seed: int = SEED
) -> dict[str, list[str]]:
    """Draw a stratified split; tasks with equal gold writes stand on one side.

    Args:
        tasks: what to split.
        writes: the tools whose calls are writes.
        train: how many are for training.
        seed: the same seed gives the same split.

    Returns:
        The ids of ``train`` and ``held_out``, in the order of `tasks`.
    """
    sizes = Counter(map(_stratum, tasks))
    shares = _apportioned(sizes, train)
    room = {"train": Counter(shares), "held_out": Counter({s: sizes[s] - shares[s] for s in sizes})}
    side: dict[str, str] = {}

    def place(members: Sequence[Task], wanted: str) -> bool:
        """Put all members on one side, the wanted one if it has room; returns whether either has."""
        needed = Counter(map(_stratum, members))
        for one in (wanted, "held_out" if wanted == "train" else "train"):
            if needed <= room[one]:
                room[one] -= needed
                side.update((task.id, one) for task in members)
                return True
        return False

    groups = [(group, Draws(seed, "split", group[0].id)) for group in _together(tasks, writes)]
    # The large ones first, while there is room for a whole one; else in an order that is drawn.
    for group, draws in sorted(groups, key=lambda pair: (-len(pair[0]), pair[1].uniform())):
        wanted = "train" if draws.uniform() * len(tasks) < train else "held_out"
        if not place(group, wanted):
            for task in group:
                place([task], wanted)
    return {part: [task.id for task in tasks if side[task.id] == part] for part in ("train", "held_out")}


def _stratum(task: Task) -> Stratum:
    return task.data["source"], task.data["intent"]


def _together(tasks: Sequence[Task], writes: Collection[str]) -> list[list[Task]]:
    """Return the tasks in groups that may not be parted: rewrites, and equal gold writes."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        done = sorted(canonical(action.call) for action in task.gold if action.call.name in writes)
        gold = "\n".join(done) if done else f"of {_origin(task)}"
        groups.setdefault(gold, []).append(task)
    return list(groups.values())


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


def writes_of(benchmark: Benchmark) -> frozenset[str]:
    """Return the names of a benchmark's writes."""
    tools = benchmark.tools(alternatives=True)
    return frozenset(tool.name for tool in tools if tool.kind is ToolKind.WRITE)


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
    split = draw_split(tasks, writes_of(retail()))
    data = {"benchmark": "combined-retail", "seed": SEED, "hash": digest(split), **split}
    file.write_text(json.dumps(data, separators=(",", ":")) + "\n", encoding="utf-8")
