"""Memories that live on: the same interface for file and store, real processes, a real kill."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust import domains
from bench2robust.core.domain import Domain
from bench2robust.core.errors import MemoryFileError, SpecError, UnknownNameError
from bench2robust.core.noise import OBSERVABLE, NoiseType
from bench2robust.core.tools import ToolResponse
from bench2robust.memory import Belief, Beliefs, Counts, JsonFile, Memory, Source, Store, keep

RETAIL = domains.load("retail")
TIMEOUT = Counts(frozenset({("get_order_details", NoiseType.TIMEOUT)}), passed=True)
CHILD = Path(__file__).with_name("keeping.py")
FILES = pytest.mark.parametrize("name", ["memory.json", "memory.db"])


def child(path, times):
    """Start a process that updates a memory many times."""
    return subprocess.Popen([sys.executable, str(CHILD), str(path), str(times)], stdout=subprocess.PIPE)


@FILES
def test_three_lines_of_production_use(tmp_path, name):
    memory = keep(tmp_path / name, "retail")
    answers = [
        ("get_order_details", ToolResponse("HTTP 429 Too Many Requests", error=True)),
        ("get_orders_for_user", ToolResponse('[{"order_id": "#W1"}]')),
    ]
    memory.learn(answers, passed=True)
    assert memory.beliefs.of("get_order_details", "rate_limit") == Belief(1, 0)
    assert memory.beliefs.switch("get_order_details", "get_orders_for_user") == Belief(1, 0)
    assert Memory.load(tmp_path / name) == memory.memory()
    memory.close()


@FILES
def test_what_was_learned_is_there_when_it_is_opened_again(tmp_path, name):
    with keep(tmp_path / name, "retail", half_life=100, pooling=2) as memory:
        memory.update(TIMEOUT)
    with keep(tmp_path / name, RETAIL) as again:
        assert again.memory().half_life == 100
        assert again.beliefs.pooling == 2
        again.update(TIMEOUT, TIMEOUT)
        assert again.memory().episodes == 3
        assert len(again.memory().sources) == 1


episodes = st.lists(
    st.builds(
        Counts,
        st.frozensets(st.tuples(st.sampled_from(RETAIL.tools), st.sampled_from(OBSERVABLE)), max_size=3),
        st.frozensets(st.tuples(st.sampled_from(RETAIL.tools), st.sampled_from(RETAIL.tools)), max_size=2),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=20, deadline=None)
@given(st.lists(episodes, min_size=1, max_size=4), st.sampled_from([None, 1.5, 200.0]))
def test_file_store_and_value_agree(tmp_path_factory, waves, half_life):
    folder = tmp_path_factory.mktemp("kept")
    value = Memory("retail", half_life=half_life)
    file = JsonFile(folder / "m.json", RETAIL, half_life=half_life)
    with Store(folder / "m.db", RETAIL, half_life=half_life) as store:
        for wave in waves:
            value = value.updated(*wave)
            file.update(*wave)
            store.update(*wave)
        found = store.beliefs
    assert file.beliefs == value.beliefs
    if half_life is None:
        assert found == value.beliefs
    else:  # it multiplies once where the others multiply at every update
        assert set(found.errors) == set(value.beliefs.errors)
        for pair, belief in value.beliefs.errors.items():
            assert found.errors[pair].successes == pytest.approx(belief.successes, rel=1e-12)
            assert found.errors[pair].failures == pytest.approx(belief.failures, rel=1e-12)


@FILES
def test_it_can_start_from_an_estimate_but_only_once(tmp_path, name):
    estimated = Memory(
        "retail",
        Beliefs({("calculate", NoiseType.STALE): Belief(3, 1)}, {("calculate", "x"): Belief(2.5)}).pooled(4),
        (Source("run", "tau2-retail", "s", ("naive",), ("inject",), (0,), 4),),
    )
    unlisted = Domain("retail")
    with keep(tmp_path / name, unlisted) as memory:
        memory.update(TIMEOUT)
        memory.add(estimated)
        assert memory.beliefs == Beliefs(
            {
                ("calculate", NoiseType.STALE): Belief(3, 1),
                ("get_order_details", NoiseType.TIMEOUT): Belief(1),
            },
            {("calculate", "x"): Belief(2.5)},
        )
        assert memory.memory().episodes == 5
        assert estimated.sources[0] in memory.memory().sources
        with pytest.raises((MemoryFileError, SpecError), match="expected each episode once, got run='run'"):
            memory.add(estimated)
        assert memory.memory().episodes == 5
        with pytest.raises((MemoryFileError, SpecError), match="expected a memory of domain='retail'"):
            memory.add(Memory("airline"))
    with (
        keep(tmp_path / name.replace("memory", "other"), RETAIL) as memory,
        pytest.raises((MemoryFileError, UnknownNameError), match="unknown tool in the memory='x'"),
    ):
        memory.add(estimated)


@FILES
def test_it_is_of_one_domain_and_keeps_its_settings(tmp_path, name):
    keep(tmp_path / name, "retail", half_life=10).update(TIMEOUT)
    for domain, options, message in (
        ("helpdesk", {}, "domain='helpdesk', got .*domain='retail'"),
        ("retail", {"half_life": 20}, "expected half_life=20, got half_life=10"),
        ("retail", {"pooling": 2}, r"expected pooling=2, got pooling=0"),
    ):
        with pytest.raises(MemoryFileError, match=message):
            keep(tmp_path / name, domain, **options)
    with pytest.raises(UnknownNameError, match="unknown domain='retial'; did you mean 'retail'"):
        keep(tmp_path / name, "retial")


def test_a_file_says_by_its_name_what_it_is(tmp_path):
    with pytest.raises(SpecError, match=r"expected a file that ends in \.json, \.db or \.sqlite, got path="):
        keep(tmp_path / "memory", "retail")
    with pytest.raises(MemoryFileError, match="half-life"):
        keep(tmp_path / "memory.db", "retail", half_life=-1)


def test_a_store_that_is_none(tmp_path):
    with pytest.raises(MemoryFileError, match="expected a store, found no file"):
        Store(tmp_path / "none.db")
    assert not list(tmp_path.iterdir())
    (tmp_path / "text.db").write_text("beliefs, all of them, in plain words" * 99)
    with pytest.raises(MemoryFileError, match=r"expected a store of beliefs \(file is not a database\)"):
        Store(tmp_path / "text.db", RETAIL)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE songs (name)")
    other.close()
    with pytest.raises(MemoryFileError, match=r"expected a store of beliefs \(no such table: about\)"):
        Store(tmp_path / "other.db", RETAIL)
    with pytest.raises(MemoryFileError, match="expected a store of beliefs"):
        Store(tmp_path / "no folder" / "memory.db", RETAIL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE about SET value = 2 WHERE name = 'schema'", "expected schema=1, got schema=2"),
        ("UPDATE cells SET failures = -1", "expected a number of episodes of at least 0, got failures=-1"),
        ("UPDATE cells SET second = 'tiemout'", "unknown error type='tiemout'"),
    ],
)
def test_a_store_that_somebody_has_spoiled(tmp_path, change, message):
    path = tmp_path / "memory.db"
    with Store(path, RETAIL) as store:
        store.update(TIMEOUT)
    with sqlite3.connect(path) as connection:
        connection.execute(change)
    connection.close()
    with pytest.raises(MemoryFileError, match=message):
        Memory.load(path)


def test_an_update_that_fails_leaves_nothing(tmp_path):
    with Store(tmp_path / "memory.db", RETAIL) as store:
        store.update(TIMEOUT)
        odd = Counts(frozenset({("calculate", NoiseType.STALE)}), frozenset({("calculate", object())}))
        with pytest.raises(MemoryFileError):
            store.update(TIMEOUT, odd)
        assert store.beliefs == Beliefs().updated(TIMEOUT)
        assert store.memory().episodes == 1
        store.update(TIMEOUT)
        assert store.memory().episodes == 2


@pytest.mark.parametrize(("name", "times"), [("memory.db", 400), ("memory.json", 60)])
def test_processes_that_write_at_once_lose_no_count(tmp_path, name, times):
    """Four processes, and the file does not exist when they start."""
    path = tmp_path / name
    started = [child(path, times) for _ in range(4)]
    for process in started:
        process.communicate(timeout=100)
    assert [process.returncode for process in started] == [0] * 4
    memory = Memory.load(path)
    assert memory.episodes == 4 * times
    assert memory.beliefs.of("get_order_details", "timeout") == Belief(4 * times, 0)
    assert memory.beliefs.of("calculate", "stale") == Belief(4 * times, 0)
    assert memory.beliefs.switch("get_order_details", "get_orders_for_user") == Belief(4 * times, 0)


def test_threads_and_forked_children_share_a_store(tmp_path):
    with Store(tmp_path / "memory.db", RETAIL) as store:
        store.update(TIMEOUT)
        forked = os.fork()
        if not forked:
            try:
                for _ in range(50):
                    store.update(TIMEOUT)
            finally:
                os._exit(0)
        threads = [
            threading.Thread(target=lambda: [store.update(TIMEOUT) for _ in range(50)]) for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert os.waitpid(forked, 0)[1] == 0
        assert store.memory().episodes == 1 + 50 + 150


def killed_after(path, times, wanted):
    """Kill a process once it has reported so many updates; returns how many it had reported in all."""
    process = child(path, times)
    reported = 0
    while reported < wanted:
        read = len(os.read(process.stdout.fileno(), min(65536, wanted - reported)))
        assert read, "it ended by itself"
        reported += read
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    return reported + len(rest)


@pytest.mark.parametrize("wanted", [1, 37, 500])
def test_a_kill_loses_at_most_what_was_not_finished(tmp_path, wanted):
    path = tmp_path / "memory.db"
    reported = killed_after(path, 10**9, wanted)
    kept = Memory.load(path)
    assert reported <= kept.episodes <= reported + 1
    whole = Belief(kept.episodes, 0)
    assert kept.beliefs.of("get_order_details", "timeout") == whole, "never half an update"
    assert kept.beliefs.switch("get_order_details", "get_orders_for_user") == whole
    with Store(path, RETAIL) as store:
        store.update(TIMEOUT)
        assert store.memory().episodes == kept.episodes + 1


@pytest.mark.slow
def test_a_hundred_thousand_updates_survive_a_kill(tmp_path):
    path = tmp_path / "memory.db"
    reported = killed_after(path, 10**9, 100_000)
    kept = Memory.load(path)
    assert 100_000 <= reported <= kept.episodes <= reported + 1
    assert kept.beliefs.of("calculate", "stale") == Belief(kept.episodes, 0)
