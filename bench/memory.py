"""What each variant of a memory is worth to a policy that goes by its text: Table 3's shape, without a model.

The policy `reader` plays τ²-bench retail in both injected modes, told nothing and told each variant, as a block, as
notes, or with what it learns online. Two memories are tried, both of training tasks: *timid*, of the reader told
nothing (it gives up at the first failure), and *patient*, of the reader told the structure. Differences to being
told nothing are paired by task and seed. *Tokens* are what the text adds to the prompts of an episode: the block at
every step, a note at every step after it (four characters a token).

    python -m bench.memory [--seeds 5] [--benchmark tau2-retail]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench2robust.core.episode import Mode, Role
from bench2robust.evaluation import RunSpec, load, load_run, run
from bench2robust.evaluation.beliefs import Choice, estimate_memory
from bench2robust.evaluation.episode import domain_of
from bench2robust.evaluation.lines import Episode
from bench2robust.evaluation.memory import Recall
from bench2robust.evaluation.statistics import mean, paired
from bench2robust.evaluation.study import Study
from bench2robust.memory.block import tokens
from bench2robust.memory.memory import Memory

MODES = (Mode.INJECT, Mode.INJECT_ALT)
VARIANTS = ("static", "dynamic", "shuffled", "full")
NOTHING = "nothing"
PAST = {"timid": {}, "patient": {"memory-variant": "static"}}
"""How the policy plays from which a memory is estimated."""


def settings_of(memory: Memory) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the name and the settings of everything that is tried with a memory."""
    for variant in VARIANTS:
        told = {"memory": memory, "memory-variant": variant}
        yield f"{variant}, block", told
        yield f"{variant}, note", {**told, "delivery": "note"}
        yield f"{variant}, block, online", {**told, "update": "online"}
    yield "full, both", {"memory": memory, "delivery": "both"}


def text_read(episode: Episode, block: int) -> int:
    """Return how many tokens the text adds to the prompts of an episode, a prompt a step."""
    left, total = episode.trajectory.steps, 0
    for message in episode.trajectory.messages:
        if message.role is Role.TOOL and message.record is not None:
            total += left * tokens(episode.trajectory.records[message.record].note)
        elif message.role is Role.ASSISTANT:
            left -= 1
    return total + block * episode.trajectory.steps


def blocks(spec: RunSpec) -> dict[Mode, int]:
    """Return the tokens of the block in each mode, as it is at the start."""
    if spec.memory is None:
        return dict.fromkeys(MODES, 0)
    benchmark = load(spec.benchmark)
    domain = domain_of(benchmark)
    recall = Recall(spec.memory, domain, spec.memory.start(domain.name))
    return {mode: tokens(recall.block(benchmark.tools(mode.alternatives), 0)) for mode in MODES}


def measured(folder: Path, spec: RunSpec) -> dict[Mode, float]:
    """Return the mean of the tokens that the text adds, for each mode."""
    sizes, sums, counts = blocks(spec), dict.fromkeys(MODES, 0), dict.fromkeys(MODES, 0)
    for episode in load_run(folder).episodes():
        mode = episode.result.mode
        sums[mode] += text_read(episode, sizes[mode])
        counts[mode] += 1
    return {mode: sums[mode] / counts[mode] for mode in MODES}


def compared(folder: Path, nothing: Path, mode: Mode) -> str:
    """Return pass rate, difference to being told nothing, and calls, as cells of a Markdown table."""
    told, told_nothing = (Study.load([f"it={path}"]).select(mode=mode) for path in (folder, nothing))
    rate, more = mean(told.sample("passed")), paired(told_nothing.sample("passed"), told.sample("passed"))
    sizes = f"{100 * more.mean:+.1f} [{100 * more.low:+.1f}, {100 * more.high:+.1f}]"
    return f"{100 * rate.mean:.1f} ± {100 * (rate.std or 0.0):.1f} | {sizes} | {mean(told.sample('calls')).mean:.1f}"


def play(common: Mapping[str, Any], own: Mapping[str, Any], folder: Path) -> RunSpec:
    """Play a run; returns its spec."""
    spec = RunSpec.from_settings({**common, **own})
    run(spec, folder)
    return spec


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--benchmark", default="tau2-retail")
    parser.add_argument("--seeds", default="5")
    asked = parser.parse_args()
    common = {
        "benchmark": asked.benchmark,
        "agents": "reader",
        "modes": "inject,inject_alt",
        "seeds": asked.seeds,
    }
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        play(common, {}, root / NOTHING)
        for past, own in PAST.items():
            play(common, own, root / past)
            memory = estimate_memory([root / past], Choice(training_only=True))
            specs = {told: play(common, how, root / f"{past}, {told}") for told, how in settings_of(memory)}
            for mode in MODES:
                print(
                    f"\n{mode}, {past} memory\n\n| told | pass rate | difference | calls | tokens |\n|---|---|---|---|---|"
                )
                print(f"| nothing | {compared(root / NOTHING, root / NOTHING, mode)} | 0 |")
                for told, spec in specs.items():
                    folder = root / f"{past}, {told}"
                    print(
                        f"| {told} | {compared(folder, root / NOTHING, mode)} | {measured(folder, spec)[mode]:,.0f} |"
                    )


if __name__ == "__main__":
    main()
