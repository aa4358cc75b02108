"""Runs with a memory: what agents are told, what an online run learns, and that neither depends on how it is played."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench2robust.agents.chat.retry import Retry
from bench2robust.agents.chat.spec import ChatSpec
from bench2robust.core.episode import Mode
from bench2robust.core.errors import FolderError, MemoryFileError, SpecError, UnknownNameError
from bench2robust.core.noise import NoiseType
from bench2robust.evaluation import Means, Models, RunSpec, Schedule, run
from bench2robust.evaluation.episode import domain_of
from bench2robust.evaluation.lines import encode
from bench2robust.evaluation.memory import Delivery, MemorySpec, Update
from bench2robust.evaluation.runner import MEMORY
from bench2robust.evaluation.store import EPISODES, MANIFEST, read_episodes
from bench2robust.evaluation.waves import Waves
from bench2robust.memory.beliefs import Belief, Beliefs
from bench2robust.memory.content import Variant
from bench2robust.memory.counting import counts
from bench2robust.memory.memory import Memory

PLUGIN = str(Path(__file__).parents[1] / "plugin")
MODES = (Mode.INJECT, Mode.INJECT_ALT)
KNOWN = Memory(
    "library",
    Beliefs(
        {("get_loans", NoiseType.TIMEOUT): Belief(9, 1), ("get_loans", NoiseType.AUTH_ERROR): Belief(1, 9)},
        {("get_loans", "search_loan"): Belief(7, 1)},
    ),
)
ONLINE = MemorySpec(update=Update.ONLINE, wave=2)


def spec_of(memory=None, agents=("reader",), seeds=(0, 1, 2), **rest):
    return RunSpec("toy-library", agents=agents, modes=MODES, seeds=seeds, memory=memory, **rest)


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def lines(folder):
    return (folder / EPISODES).read_bytes().splitlines()


def played(folder):
    """Return everything about a run's episodes but who played them and what it took."""
    found = map(json.loads, lines(folder))
    return [{key: episode[key] for key in episode.keys() - {"id", "agent", "usage"}} for episode in found]


# ── what is told ───────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    """The folder of a run whose agents are told nothing."""
    folder = tmp_path_factory.mktemp("silent") / "run"
    run(spec_of(agents=("reader", "naive", "strategic")), folder, workers=1)
    return folder


def test_a_policy_that_does_not_read_plays_the_same_bytes_whatever_is_told(silent, tmp_path):
    told = MemorySpec(KNOWN, delivery=Delivery.BLOCK)
    run(spec_of(told, agents=("naive", "strategic")), tmp_path, workers=1)
    assert lines(tmp_path) == [line for line in lines(silent) if b":reader:" not in line]


def test_notes_are_beside_what_was_delivered_and_change_nothing_for_who_does_not_read(silent, tmp_path):
    run(
        spec_of(MemorySpec(KNOWN, delivery=Delivery.NOTE), agents=("naive", "strategic")), tmp_path, workers=1
    )
    with_notes = [json.loads(line) for line in lines(tmp_path)]
    notes = [call.pop("note") for episode in with_notes for call in episode["calls"] if "note" in call]
    assert len(notes) > 10
    assert with_notes == [json.loads(line) for line in lines(silent) if b":reader:" not in line]


def test_every_plain_failure_has_its_note_and_nothing_else(tmp_path):
    run(spec_of(MemorySpec(KNOWN, delivery=Delivery.NOTE)), tmp_path, workers=1)
    for episode in read_episodes(tmp_path):
        for record in episode.trajectory.records:
            failed = record.blocked or record.noise.observable
            assert bool(record.note) == failed
            assert "recovery_note" not in record.delivered.text


def test_told_nothing_the_reader_is_naive(silent):
    by_agent = {
        name: [
            {**e, "agent": ""} for e in map(json.loads, lines(silent)) if e.pop("id") and e["agent"] == name
        ]
        for name in ("reader", "naive")
    }
    assert by_agent["reader"] == by_agent["naive"]


@pytest.mark.parametrize("variant", [Variant.FULL, Variant.STATIC, Variant.DYNAMIC, Variant.SHUFFLED])
def test_a_variant_is_told_the_same_way_again(tmp_path, variant):
    spec = spec_of(MemorySpec(KNOWN, variant, Delivery.BOTH))
    for name, workers in (("one", 1), ("two", 2)):
        run(spec, tmp_path / name, workers=workers)
    assert content(tmp_path / "one") == content(tmp_path / "two")


# ── what decides the results ───────────────────────────────────────────────────────────────────
def test_what_is_told_is_part_of_the_fingerprint():
    other = replace(KNOWN, beliefs=KNOWN.beliefs.merged(KNOWN.beliefs))
    told = [
        None,
        MemorySpec(KNOWN),
        MemorySpec(other),
        MemorySpec(KNOWN, Variant.SHUFFLED),
        MemorySpec(KNOWN, delivery=Delivery.NOTE),
        MemorySpec(KNOWN, update=Update.ONLINE),
        MemorySpec(KNOWN, update=Update.ONLINE, wave=3),
        MemorySpec(variant=Variant.STATIC),
    ]
    assert len({Schedule(spec_of(memory)).fingerprint for memory in told}) == len(told)
    static = {
        Schedule(spec_of(MemorySpec(memory, Variant.STATIC))).fingerprint for memory in (None, KNOWN, other)
    }
    assert len(static) == 1  # no probability of theirs is told


def test_none_is_to_be_told_nothing(tmp_path):
    KNOWN.save(tmp_path / "m.json")
    settings_ = {"benchmark": "toy-library", "memory": str(tmp_path / "m.json"), "memory-variant": "none"}
    assert RunSpec.from_settings(settings_).memory is None


def test_the_folder_keeps_the_memory_of_the_start(tmp_path):
    spec = spec_of(MemorySpec(KNOWN, update=Update.ONLINE))
    run(spec, tmp_path, workers=1)
    assert Memory.load(tmp_path / MEMORY) == KNOWN
    copied = replace(spec, memory=replace(spec.memory, memory=Memory.load(tmp_path / MEMORY)))
    assert run(copied, tmp_path, workers=1).complete
    with pytest.raises(FolderError, match=r"memory\.start \(.* there, .* here\) differ"):
        run(spec_of(MemorySpec(Memory("library"), update=Update.ONLINE)), tmp_path, workers=1)


# ── what an online run learns ──────────────────────────────────────────────────────────────────
def by_the_book(spec):
    """Return the lines and final memories of an online run, played one by one with nothing of the runner's."""
    schedule = Schedule(spec)
    schedule.prepare()
    tasks, wave = len(schedule.tasks), spec.memory.wave
    made, learned = [], {}
    for stream in range(len(schedule) // tasks):
        memory = spec.memory.start("library")
        for begin in range(0, tasks, wave):
            schedule.learn({stream: memory})
            new = []
            for task in range(begin, min(begin + wave, tasks)):
                episode = schedule.play(stream * tasks + task)
                made.append(encode(episode).rstrip())
                passed = episode.result.outcome.score.passed
                new.append(counts(episode.trajectory, passed, domain_of(schedule.benchmark)))
            memory = memory.updated(*new)
        learned[stream] = memory
    return made, learned


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """An online run, by the book, and its folder."""
    folder = tmp_path_factory.mktemp("online") / "run"
    spec = spec_of(ONLINE)
    run(spec, folder, workers=1)
    return spec, folder, *by_the_book(spec)


def test_each_wave_is_told_what_the_waves_before_it_have_shown(book):
    spec, folder, made, learned = book
    assert lines(folder) == made
    waves = Waves(Schedule(spec), read_episodes(folder))
    assert {stream: waves.memory(stream) for stream in learned} == learned
    assert len({memory.fingerprint for memory in learned.values()}) > 3
    assert not (folder / MEMORY).exists()  # what was learned is in no file


@pytest.mark.parametrize("wave", [1, 3, 7, 100])
def test_waves_of_any_size(tmp_path, wave):
    spec = spec_of(replace(ONLINE, wave=wave, delivery=Delivery.BOTH), seeds=(0,))
    run(spec, tmp_path, workers=2)
    assert lines(tmp_path) == by_the_book(spec)[0]


def test_a_half_life_is_kept_to(tmp_path):
    spec = spec_of(MemorySpec(replace(KNOWN, half_life=5.0), update=Update.ONLINE, wave=2), seeds=(0,))
    run(spec, tmp_path, workers=1)
    made, learned = by_the_book(spec)
    assert lines(tmp_path) == made
    waves = Waves(Schedule(spec), read_episodes(tmp_path))
    assert [waves.memory(stream) for stream in learned] == list(learned.values())


def test_at_any_number_of_processes(book, tmp_path):
    spec, folder, _, _ = book
    run(spec, tmp_path, workers=3)
    assert content(tmp_path) == content(folder)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whenever_it_is_killed_it_ends_the_same(book, tmp_path_factory, data):
    """What is on disk at a kill: some whole lines in any order of the waves so far, and a torn one."""
    spec, folder, _, _ = book
    whole = content(folder)
    killed = tmp_path_factory.mktemp("killed")
    (killed / MANIFEST).write_bytes(whole[MANIFEST])
    tasks, kept = len(Schedule(spec).tasks), []
    every = whole[EPISODES].splitlines(keepends=True)
    for begin in range(0, len(every), tasks):
        kept += every[begin : begin + data.draw(st.integers(0, tasks))]
    kept = data.draw(st.permutations(kept))
    torn = data.draw(st.integers(0, 40))
    (killed / "episodes.part.jsonl").write_bytes(b"".join(kept) + every[-1][:torn])
    (killed / EPISODES).write_bytes(b"")
    run(spec, killed, workers=1)
    assert {name: text for name, text in content(killed).items() if name in whole} == whole


# ── models ─────────────────────────────────────────────────────────────────────────────────────
def served(url, memory, **chat):
    models = Models({"chat:reader": ChatSpec("reader", base_url=url, **chat)})
    return spec_of(memory, ("chat:reader",), models=models)


@pytest.mark.parametrize("delivery", list(Delivery))
def test_a_model_that_reads_plays_as_the_reader_does(serve_policy, tmp_path, delivery):
    pytest.importorskip("openai")
    memory = replace(ONLINE, memory=KNOWN, delivery=delivery)
    spec = served(serve_policy("toy-library", "--policy", "reader"), memory)
    for concurrency in (1, 8):
        run(spec, tmp_path / str(concurrency), means=Means(concurrency=concurrency))
    run(spec_of(memory, max_steps=spec.max_steps), tmp_path / "policy", workers=2)
    assert content(tmp_path / "1") == content(tmp_path / "8")
    assert played(tmp_path / "1") == played(tmp_path / "policy")


def test_a_stream_waits_for_what_is_lost(serve_policy, tmp_path):
    pytest.importorskip("openai")
    url = serve_policy("toy-library", "--policy", "reader", "--faults", "500=0.2")
    first = run(served(url, ONLINE, retry=Retry(attempts=2, first=0.0)), tmp_path)
    assert 0 < len(first.lost) < 42
    assert not first.complete
    while first.lost:
        first = run(served(url, ONLINE, retry=Retry(attempts=2, first=0.0)), tmp_path)
    run(spec_of(ONLINE), tmp_path / "policy", workers=1)
    assert played(tmp_path) == played(tmp_path / "policy")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_on_a_cluster(book, serve_policy, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    pytest.importorskip("openai")
    monkeypatch.setenv("PYTHONPATH", PLUGIN)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    spec, folder, _, _ = book
    run(spec, tmp_path / "ray", means=Means(workers=2, executor="ray"))
    assert content(tmp_path / "ray") == content(folder)


# ── what cannot be ─────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("given_", "kind", "message"),
    [
        (
            {"memory-variant": "full"},
            SpecError,
            "expected a memory with memory-variant='full', got memory=None",
        ),
        ({"delivery": "note"}, SpecError, "expected a memory with memory-variant='full', got memory=None"),
        ({"memory-variant": "ful"}, UnknownNameError, "unknown memory-variant='ful'; did you mean 'full'"),
        ({"delivery": "notes"}, UnknownNameError, "unknown delivery='notes'; did you mean 'note'"),
        ({"update": "on"}, UnknownNameError, "unknown update='on'; did you mean 'online'"),
        (
            {"update": "online", "wave": 0},
            SpecError,
            "expected a number of episodes of at least 1, got wave=0",
        ),
        ({"update": "online", "wave": True}, SpecError, "at least 1, got wave=True"),
        ({"memory-variant": "static", "wave": 4}, SpecError, "expected update='online' beside wave=4"),
        ({"memory": 3}, SpecError, "expected a memory's file, got memory=3"),
        ({"memory": "none.json"}, MemoryFileError, r"none\.json: expected a file that can be read"),
    ],
)
def test_settings_that_cannot_be(given_, kind, message):
    with pytest.raises(kind, match=message):
        RunSpec.from_settings({"benchmark": "toy-library", **given_})


def test_a_memory_of_something_else():
    with pytest.raises(SpecError, match="expected a memory of domain='library', got domain='retail'"):
        Schedule(spec_of(MemorySpec(Memory("retail"))))
    strange = Memory("library", Beliefs({("get_loan", NoiseType.TIMEOUT): Belief(1, 0)}))
    with pytest.raises(
        UnknownNameError, match="unknown tool in the memory='get_loan'; did you mean 'get_loans'"
    ):
        Schedule(spec_of(MemorySpec(strange)))


def test_a_memory_is_looked_for_beside_the_settings(tmp_path):
    from bench2robust.evaluation.spec import read_settings

    KNOWN.save(tmp_path / "m.json")
    (tmp_path / "run.toml").write_text(
        'benchmark = "toy-library"\nmemory = "m.json"\nwave = 3\nupdate = "online"\n'
    )
    spec = RunSpec.from_settings(read_settings(tmp_path / "run.toml"))
    assert spec.memory == MemorySpec(KNOWN, update=Update.ONLINE, wave=3)
