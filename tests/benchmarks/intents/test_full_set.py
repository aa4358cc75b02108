"""The whole sets that the benchmarks ship by seed: numbers, bytes, time, and what plays on them. Slow."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from time import process_time

import pytest

from .conftest import play
from .test_generator import check_set, dump, words

pytestmark = [pytest.mark.tau2, pytest.mark.slow]

COUNTS = {"general": 473, "ambiguous": 473, "changing": 279}


@pytest.fixture(scope="module")
def records():
    from bench2robust.benchmarks.intents.domains import RETAIL, generated

    start = process_time()
    made = generated(RETAIL, RETAIL.counts, 0)
    made[0]["seconds"] = process_time() - start
    return made


def test_1225_retail_tasks_in_under_a_minute_on_one_core(records):
    assert records[0].pop("seconds") < 60
    check_set(records, COUNTS)


def test_the_words_differ_in_more_than_names(records):
    """With every name, number and option masked, hardly any two general tasks have the same words."""
    import re

    mask = re.compile(r"#?\w*\d[\w.-]*|(?<=\s)[A-Z][\w-]+")
    shapes = Counter(mask.sub("_", words(r)["reason_for_call"]) for r in records[:473])
    assert len(shapes) > 400
    assert max(shapes.values()) <= 10


def test_the_same_bytes_again_whatever_the_hash_seed(records, tmp_path):
    """Three times the same file: in this process, and in two others."""
    for hash_seed in ("1", "77"):
        file = tmp_path / f"{hash_seed}.json"
        command = [
            "from bench2robust.cli.main import main",
            f"main(['tasks','generate','--domain','retail','--out',{str(file)!r}])",
        ]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run(
            [sys.executable, "-c", ";".join(command)], env=environment, check=True, capture_output=True
        )
        assert file.read_bytes() == dump([{k: v for k, v in r.items() if k != "seconds"} for r in records])


@pytest.fixture(scope="module")
def combined(tmp_path_factory):
    """combined-retail, its generated part made in a cache of its own."""
    from bench2robust.evaluation import load

    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    try:
        benchmark = load("combined-retail")
        benchmark.tasks()
        yield benchmark
    finally:
        os.environ.pop("XDG_CACHE_HOME")
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before


def test_combined_retail(combined):
    from bench2robust.benchmarks.intents import combined as split_module
    from bench2robust.benchmarks.intents.records import canonical
    from bench2robust.evaluation.splits import split_of

    tasks = combined.tasks()
    assert len(tasks) == 1339
    assert Counter((t.data["source"], t.data["intent"]) for t in tasks) == {
        ("tau2", "general"): 114, ("3i", "general"): 473, ("3i", "ambiguous"): 473, ("3i", "changing"): 279,
    }  # fmt: skip
    split = split_of("combined-retail")
    assert (len(split.train), len(split.held_out)) == (937, 402)
    assert split_module.draw_split(tasks, split_module.writes_of(combined))["train"] == list(split.train)
    changes = split_module.writes_of(combined)
    sides = {}
    for task in tasks:
        gold = tuple(sorted(canonical(a.call) for a in task.gold if a.call.name in changes))
        if gold:
            sides.setdefault(gold, set()).add(task.id in split.train)
    assert all(len(side) == 1 for side in sides.values())


def test_the_digests_of_what_is_held_out_are_shipped(combined, tmp_path):
    """After a change of words or wishes: `contents.write` of the held-out tasks, over the shipped file."""
    from importlib.resources import files

    from bench2robust.evaluation import contents
    from bench2robust.evaluation.splits import split_of

    held_out = set(split_of("combined-retail").held_out)
    file = tmp_path / contents.FILE
    contents.write([t for t in combined.tasks() if t.id in held_out], combined.tools(alternatives=True), file)
    assert file.read_text() == files("bench2robust.evaluation").joinpath(contents.FILE).read_text()


def test_a_file_of_the_set_holds_out_what_the_set_holds_out(records, combined, tmp_path):
    from bench2robust.evaluation.splits import split_of, training_tasks

    file = tmp_path / "f.json"
    file.write_bytes(dump(records))
    held_out = [name for name in split_of("combined-retail").held_out if "-" in name]
    assert list(split_of(f"retail-3i:{file}").held_out) == held_out
    assert len(training_tasks(f"retail-3i:{file}")) == 1225 - len(held_out) == 857


def test_strategic_passes_every_task_in_clean(combined):
    failed = [t.id for t in combined.tasks() if not play(combined, t).result.outcome.score.passed]
    assert failed == []


def test_a_run_certifies_only_the_tasks_it_needs(combined):
    from bench2robust.evaluation import RunSpec, Schedule
    from bench2robust.evaluation.certificate import _eligibility

    _eligibility.cache_clear()
    Schedule(RunSpec("combined-retail", tasks=("general-3", "changing-5", "7"))).prepare()
    assert _eligibility.cache_info().currsize == 3


def test_certificates_of_a_sample(combined):
    """Every sampled task can need a switch, and be made impossible."""
    from bench2robust.evaluation import certify_task

    for task in combined.tasks()[114::40]:
        found = certify_task(combined, task)
        assert found.s2, (task.id, found.reasons)
        assert found.s3, (task.id, found.reasons)
