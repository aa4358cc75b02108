"""The explorer's data: nothing is lost, what does not fit is left out by group and counted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.episode import Mode
from bench2robust.core.noise import NOISE_TYPES
from bench2robust.evaluation.report.explorer import BLOCKED_BIT, Explorer, Player, Subject, deflated, met
from bench2robust.evaluation.report.timeline import LONGEST, Texts, numbers, renumbered, timeline
from bench2robust.evaluation.store import read_episodes

from .making import AGENTS, inflated

SHARED = -2


@pytest.fixture(scope="module")
def episodes(folder):
    return [e for e in read_episodes(folder) if int(e.result.task) < 25]


def explorer_of(episodes):
    explorer = Explorer([Player(name, name, "runs/desk") for name in AGENTS])
    for episode in episodes:
        explorer.add(
            AGENTS.index(episode.result.agent), Subject("helpdesk", episode.result.task, ""), episode
        )
    return explorer


def read_back(packed):
    """Return every timeline with its texts put back, by what the index calls its episode."""
    index, shared = inflated(packed.index), inflated(packed.shared)
    pieces = [inflated(piece) for piece in packed.pieces]
    columns, found = index["columns"], {}
    for at in range(len(columns["task"])):
        key = (
            index["tasks"][columns["task"][at]][1],
            index["systems"][columns["system"][at]][1],
            index["modes"][columns["mode"][at]],
            columns["seed"][at],
        )
        if columns["piece"][at] < 0:
            found[key] = None
            continue
        texts, timelines = pieces[columns["piece"][at]]
        row = timelines[columns["place"][at]]
        found[key] = renumbered(row, lambda n, texts=texts: shared[SHARED - n] if n <= SHARED else texts[n])
    return index, found


def key_of(episode):
    result = episode.result
    return result.task, result.agent, str(result.mode), result.seed


def as_written(episode):
    texts = Texts()
    row = timeline(episode, texts)
    return renumbered(row, texts.all().__getitem__)


def test_every_timeline_comes_back_as_it_was(episodes):
    packed = explorer_of(episodes).pack(10**9)
    _, found = read_back(packed)
    assert found == {key_of(e): as_written(e) for e in episodes}
    assert packed.kept == packed.episodes == len(episodes)


def test_the_index_says_what_each_episode_was(episodes):
    index, _ = read_back(explorer_of(episodes).pack(10**9))
    columns = index["columns"]
    by_key = {key_of(e): e for e in episodes}
    for at in range(len(columns["task"])):
        episode = by_key[
            index["tasks"][columns["task"][at]][1],
            index["systems"][columns["system"][at]][1],
            index["modes"][columns["mode"][at]],
            columns["seed"][at],
        ]
        outcome, assignment = episode.result.outcome, episode.result.assignment
        assert columns["passed"][at] == outcome.score.passed
        assert index["scenarios"][columns["effective"][at]] == assignment.effective
        assert index["scenarios"][columns["assigned"][at]] == assignment.assigned
        assert index["escalations"][columns["escalation"][at]] == outcome.escalation
        assert index["ends"][columns["ended"][at]] == episode.trajectory.ended
        assert (columns["steps"][at], columns["calls"][at]) == (outcome.steps, outcome.calls)
        assert columns["met"][at] == met(episode)


def test_what_was_met_is_one_bit_for_each_noise_type_and_one_for_a_block(episodes):
    for episode in episodes:
        records = episode.trajectory.records
        expected = {NOISE_TYPES.index(r.noise) for r in records if r.landed and not r.blocked}
        bits = met(episode)
        assert {bit for bit in range(len(NOISE_TYPES)) if bits & 1 << bit} == expected
        assert bool(bits & BLOCKED_BIT) == any(r.blocked for r in records)


@settings(deadline=None, max_examples=8)
@given(share=st.floats(0.05, 0.95))
def test_what_does_not_fit_is_left_out_by_group_and_every_episode_stays_listed(episodes, share):
    explorer = explorer_of(episodes)
    whole, least = explorer.pack(10**9), explorer.pack(0)
    most = int(least.size + share * (whole.size - least.size))
    packed = explorer.pack(most)
    assert packed.size <= most
    assert packed.episodes == len(episodes)
    _, found = read_back(packed)
    assert found.keys() == {key_of(e) for e in episodes}
    kept = {key for key, row in found.items() if row is not None}
    assert len(kept) == packed.kept
    groups = {(task, mode, seed) for task, _, mode, seed in kept}
    assert kept == {key for key in found if (key[0], *key[2:]) in groups}, (
        "a group is kept whole or not at all"
    )


def test_where_systems_disagree_comes_first_and_wanted_groups_before_that(episodes):
    explorer = explorer_of(episodes)
    verdicts = {}
    for episode in episodes:
        task, _, *rest = key_of(episode)
        verdicts.setdefault((task, *rest), set()).add(episode.result.outcome.score.passed)
    least, whole = explorer.pack(0).size, explorer.pack(10**9).size
    _, found = read_back(explorer.pack(least + (whole - least) // 4))
    kept = {(key[0], *key[2:]) for key, row in found.items() if row is not None}
    assert kept
    assert all(len(verdicts[group]) == 2 for group in kept)
    dull = next(group for group, seen in verdicts.items() if seen == {True} and group[1] == Mode.CLEAN)
    _, found = read_back(explorer.pack(least + (whole - least) // 4, {("helpdesk", *dull)}))
    assert found[dull[0], AGENTS[0], *dull[1:]] is not None


def test_equal_episodes_in_any_order_give_equal_data(episodes):
    packed = explorer_of(episodes).pack(10**9)
    assert explorer_of(episodes).pack(10**9) == packed


def test_a_text_is_cut_to_what_a_report_carries_and_says_so():
    texts = Texts()
    number = texts.number("x" * (LONGEST + 1234))
    kept = texts.all()[number]
    assert kept.startswith("x" * LONGEST + "… (1,234 more characters")
    assert texts.cut == 1
    assert texts.number("x" * (LONGEST + 1234)) == number
    assert texts.cut == 1


@given(st.lists(st.text(), min_size=1))
def test_any_text_survives_packing(words):
    surrogates = [word.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass") for word in words]
    assert inflated(deflated(surrogates)) == surrogates


def test_a_lone_surrogate_survives_packing():
    assert inflated(deflated(["a\ud83dz"])) == ["a\ud83dz"]


def test_the_numbers_of_a_timeline_are_all_it_refers_to(episodes):
    texts = Texts()
    for episode in episodes[:50]:
        row = timeline(episode, texts)
        used = numbers(row)
        places = {number: place for place, number in enumerate(sorted(used))}
        back = {place: number for number, place in places.items()}
        assert renumbered(renumbered(row, places.__getitem__), back.__getitem__) == row
