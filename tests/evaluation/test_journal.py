"""Episodes that ended before their turn: torn anywhere, in any order, the folder ends the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench2robust.core.episode import Usage
from bench2robust.core.errors import FolderError
from bench2robust.evaluation import RunSpec, Schedule, load_run, run
from bench2robust.evaluation.books import Books
from bench2robust.evaluation.budget import Budget, Meter
from bench2robust.evaluation.inflight import Lost
from bench2robust.evaluation.journal import LOST, PART, Journal
from bench2robust.evaluation.store import EPISODES, FACTS, MANIFEST, SUMMARY, RunFolder
from bench2robust.evaluation.workers import play_all

SPEC = RunSpec("toy-library", agents=("naive", "strategic"), seeds=(0,))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(SPEC, folder, workers=1)
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_where_when_a_run_is_killed_it_ends_the_same(tmp_path_factory, whole, data):
    """Some episodes in their place, some ahead in any order, both files torn: none lost, none twice."""
    folder = tmp_path_factory.mktemp("killed")
    lines = whole[EPISODES].splitlines(keepends=True)
    placed = data.draw(st.integers(0, len(lines)))
    early = data.draw(st.lists(st.sampled_from(range(len(lines))), unique=True))
    part = b"".join(lines[place] for place in early)
    (folder / MANIFEST).write_bytes(whole[MANIFEST])
    (folder / EPISODES).write_bytes(b"".join(lines[:placed]) + lines[0][: data.draw(st.integers(0, 40))])
    (folder / PART).write_bytes(part[: len(part) - data.draw(st.integers(0, min(len(part), 500)))])
    left = (folder / PART).read_bytes().count(b"\n")
    there = load_run(folder)
    seen = [episode.result.id for episode in there.episodes()]
    ids = list(Schedule(SPEC).ids())
    assert sorted(set(seen), key=ids.index) == seen, "an unfinished run is read in schedule order, each once"
    assert set(seen) == {*ids[:placed], *(ids[place] for place in early[:left])}
    run(SPEC, folder, workers=1)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == whole


def test_a_changed_file_is_refused(tmp_path, whole):
    lines = whole[EPISODES].splitlines(keepends=True)
    (tmp_path / MANIFEST).write_bytes(whole[MANIFEST])
    for content, problem in (
        (lines[3] + lines[3], "line 2: .* is an episode that is there already"),
        (lines[3].replace(b'"naive"', b'"nobody"', 2), "line 1: .* is no episode of this run"),
        (b"{}\n", "line 1: not an episode"),
    ):
        (tmp_path / PART).write_bytes(content)
        with pytest.raises(FolderError, match=problem):
            run(SPEC, tmp_path, workers=1)


def test_the_lost_are_listed_and_the_list_begins_anew(tmp_path, whole):
    schedule = Schedule(SPEC)
    places = {name: place for place, name in enumerate(schedule.ids())}
    journal = Journal(tmp_path, places)
    journal.lose(schedule.id(2), "no answer")
    played = next(play_all(schedule, [5], 1))
    journal.add(5, played.line)
    journal.close()
    (tmp_path / MANIFEST).write_bytes(whole[MANIFEST])
    there = load_run(tmp_path)
    assert there.lost == {schedule.id(2): "no answer"}
    assert not there.complete
    assert json.loads((tmp_path / LOST).read_text()) == {"id": schedule.id(2), "problem": "no answer"}
    assert [row.episodes for row in there.rows] == [1]
    run(SPEC, tmp_path, workers=1)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([MANIFEST, FACTS, EPISODES, SUMMARY])
    assert load_run(tmp_path).lost == {}


def test_what_a_lost_episode_has_cost_counts_for_the_budget_and_is_in_no_row(tmp_path):
    schedule = Schedule(SPEC)
    with RunFolder(tmp_path / "run", schedule.manifest()) as folder:
        books = Books(schedule, folder, Meter(Budget(tokens=100)), None)
        assert books.exhausted() == ""
        books.keep(Lost(0, "kept from answering", Usage(requests=1, prompt_tokens=90, completion_tokens=9)))
        assert books.exhausted() == "max-tokens=100 leaves no room for another episode"
        books.close()
    assert list(load_run(tmp_path / "run").rows) == []
