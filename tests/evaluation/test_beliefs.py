"""A memory estimated from run folders: ten episodes by hand, and what may not be learned from."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench2robust.core.episode import Assignment, Escalation, Mode, Outcome, Score, Trajectory
from bench2robust.core.errors import FolderError, SpecError, UnknownNameError, UsageError
from bench2robust.core.noise import NoiseType
from bench2robust.core.tools import CallRecord, ToolCall, ToolResponse
from bench2robust.evaluation import RunSpec, run
from bench2robust.evaluation.beliefs import Choice, estimate_memory
from bench2robust.evaluation.lines import Episode, Result, encode
from bench2robust.evaluation.splits import Split
from bench2robust.memory import Belief, Memory

CARD, NAME, LIST, SEARCH = "find_member_by_card", "find_member_by_name", "get_loans", "search_loan"
RENEW, LIBRARIAN = "renew_loan", "transfer_to_librarian"
SHOWN = {
    "timeout": "Error: request timed out after 30s",
    "rate_limit": "HTTP 429 Too Many Requests",
    "server_error": "HTTP 503 Service Unavailable",
    "malformed_response": "Error: failed to parse tool response as JSON: unexpected end of input",
    "auth_error": "HTTP 401 Unauthorized",
    "schema_drift": "Unknown field 'loans_v2'",
}
TEN = (
    # Passed?, then what happened, in order: a tool, and what it met.
    (True, (CARD, "timeout"), (CARD, ""), (LIST, ""), (RENEW, "")),
    (True, (CARD, "timeout"), (CARD, "timeout"), (NAME, ""), (LIST, "stale"), (RENEW, "")),
    (False, (CARD, "timeout"), (NAME, "timeout"), (LIBRARIAN, "")),
    (False, (CARD, "blocked"), (CARD, "blocked"), (NAME, ""), (LIST, "factual_error")),
    (True, (CARD, "auth_error"), (NAME, ""), (LIST, "partial"), (RENEW, "")),
    (True, (CARD, ""), (LIST, "malformed_response"), (SEARCH, ""), (RENEW, "")),
    (False, (CARD, ""), (LIST, "schema_drift"), (SEARCH, "server_error"), (LIST, "rate_limit"), (LIST, "")),
    (True, (CARD, ""), (LIST, "stale"), (SEARCH, ""), (RENEW, "")),
    (False, (CARD, "refused"), (NAME, "refused"), (LIBRARIAN, "")),
    (True, (CARD, ""), (LIST, ""), (RENEW, "rate_limit"), (RENEW, "rate_limit"), (RENEW, "")),
)
BY_HAND = {
    # Tool and error: passed and failed episodes that met it, and (passed + 1) / (met + 2).
    (CARD, "timeout"): (2, 1, 3 / 5),  # episodes 1, 2 | 3
    (CARD, "auth_error"): (1, 1, 2 / 4),  # 5 | 4, whose blocked tool showed that text
    (NAME, "timeout"): (0, 1, 1 / 3),  # | 3
    (LIST, "rate_limit"): (0, 1, 1 / 3),  # | 7
    (LIST, "malformed_response"): (1, 0, 2 / 3),  # 6
    (LIST, "schema_drift"): (0, 1, 1 / 3),  # | 7
    (LIST, "partial"): (1, 0, 2 / 3),  # 5
    (LIST, "stale"): (2, 0, 3 / 4),  # 2, 8
    (LIST, "factual_error"): (0, 1, 1 / 3),  # | 4
    (SEARCH, "server_error"): (0, 1, 1 / 3),  # | 7
    (RENEW, "rate_limit"): (1, 0, 2 / 3),  # 10, once though met twice
}
SWITCHES_BY_HAND = {
    (CARD, NAME): (2, 2, 3 / 6),  # 2 after a retry, 5 | 3, 4; not 9, where the tools themselves said no
    (LIST, SEARCH): (1, 1, 2 / 4),  # 6 | 7; not 8, whose failure nobody saw
    (SEARCH, LIST): (0, 1, 1 / 3),  # | 7
}


def record(index, tool, met):
    true = ToolResponse('{"ok": 1}')
    if met == "blocked":
        refusal = ToolResponse("HTTP 403 Forbidden", error=True)
        return CallRecord(index, ToolCall(tool), 0, None, refusal, None, blocked=True)
    if met == "refused":
        no = ToolResponse("Error: no such member", error=True)
        return CallRecord(index, ToolCall(tool), 0, no, no, NoiseType.CLEAN)
    noise = NoiseType(met or "clean")
    shown = ToolResponse(SHOWN[met], error=True) if noise.observable else ToolResponse('{"ok": 2}')
    return CallRecord(index, ToolCall(tool), 0, true, shown if met else true, noise, noise)


def episode(number, passed, calls, agent="hand", mode=Mode.INJECT_ALT):
    records = [record(index, *call) for index, call in enumerate(calls)]
    outcome = Outcome(Score(passed), Escalation.NONE, len(calls), len(calls), 0, 0, 0)
    result = Result(str(number % 5), agent, mode, number // 5, Assignment(), outcome)
    return Episode(result, Trajectory(records=records, steps=len(calls), ended="done"))


def folder(path, episodes, fingerprint="0123456789abcdef", **spec):
    """Write a run folder by hand."""
    path.mkdir()
    spec = {
        "benchmark": "toy-library",
        "agents": list(dict.fromkeys(e.result.agent for e in episodes)),
        "modes": list(dict.fromkeys(e.result.mode for e in episodes)),
        "seeds": [0, 1],
        "tasks": [str(n) for n in range(5)],
    } | spec
    manifest = {"format": 1, "fingerprint": fingerprint, "episodes": len(episodes), "spec": spec}
    (path / "manifest.json").write_text(json.dumps(manifest))
    (path / "episodes.jsonl").write_bytes(b"".join(map(encode, episodes)))
    return path


def ten():
    return [episode(number, passed, calls) for number, (passed, *calls) in enumerate(TEN)]


def test_ten_episodes_by_hand(tmp_path):
    memory = estimate_memory([folder(tmp_path / "ten", ten())])
    assert {
        (tool, str(noise)): (b.successes, b.failures, b.mean)
        for (tool, noise), b in memory.beliefs.errors.items()
    } == BY_HAND
    assert {
        pair: (b.successes, b.failures, b.mean) for pair, b in memory.beliefs.switches.items()
    } == SWITCHES_BY_HAND
    assert memory.domain == "library"
    assert memory.episodes == 10


def test_where_it_is_from(tmp_path):
    memory = estimate_memory([folder(tmp_path / "ten", ten())])
    (source,) = memory.sources
    everything = Split(tuple(str(n) for n in range(7)), ())
    assert (source.run, source.benchmark, source.split) == (
        "0123456789abcdef",
        "toy-library",
        everything.hash,
    )
    assert (source.agents, source.modes, source.seeds) == (("hand",), ("inject_alt",), (0, 1))
    memory.save(tmp_path / "memory.json")
    assert Memory.load(tmp_path / "memory.json") == memory


def test_two_runs_together_are_the_two_merged(tmp_path):
    first = folder(tmp_path / "first", ten()[:4], "1")
    second = folder(tmp_path / "second", ten()[4:], "2")
    both = estimate_memory([first, second])
    assert both == estimate_memory([first]).merged(estimate_memory([second]))
    assert both.beliefs == estimate_memory([folder(tmp_path / "ten", ten())]).beliefs
    assert both == estimate_memory([second, first])


def test_an_earlier_run_ages_by_the_episodes_of_a_later_one(tmp_path):
    """The later run's six episodes are two half-lives: the first run's counts are a quarter."""
    first = folder(tmp_path / "first", ten()[:4], "1")
    second = folder(tmp_path / "second", ten()[4:], "2")
    memory = estimate_memory([first, second], Choice(half_life=3))
    assert memory.half_life == 3
    assert memory.beliefs.of(CARD, "timeout") == Belief(2 / 4, 1 / 4)
    assert memory.beliefs.of(CARD, "auth_error") == Belief(1, 1 / 4)
    assert memory.beliefs.switch(CARD, NAME) == Belief(1 + 1 / 4, 2 / 4)


def test_pooling_keeps_the_counts(tmp_path):
    path = folder(tmp_path / "ten", ten())
    pooled = estimate_memory([path], Choice(pooling=4)).beliefs
    assert pooled == estimate_memory([path]).beliefs.pooled(4)
    assert pooled.of(NAME, "timeout").mean == pytest.approx((4 * 3 / 5) / 5), "towards the card's 3/5"


def test_agents_and_modes_are_chosen(tmp_path):
    mixed = [
        *ten(),
        episode(0, False, [(CARD, "timeout")], agent="other"),
        episode(0, False, [(CARD, "timeout")], mode=Mode.INJECT),
    ]
    path = folder(tmp_path / "mixed", mixed)
    with pytest.raises(SpecError, match="expected the episodes of one agent, got agents='hand,other'"):
        estimate_memory([path])

    def card(**choice):
        return estimate_memory([path], Choice(**choice)).beliefs.of(CARD, "timeout")

    assert card(agents=("all",)) == Belief(2, 3)
    assert card(agents=("hand",)) == Belief(2, 2)
    assert card(agents=("other",)) == Belief(0, 1)
    assert card(agents=("hand",), modes=(Mode.INJECT_ALT,)) == Belief(2, 1)
    assert estimate_memory([path], Choice(agents=("other",))).sources[0].agents == ("other",)
    with pytest.raises(UnknownNameError, match="unknown agent of these runs='othr'; did you mean 'other'"):
        card(agents=("othr",))
    with pytest.raises(UnknownNameError, match="unknown mode of these runs='clean'"):
        card(agents=("hand",), modes=(Mode.CLEAN,))
    with pytest.raises(UsageError, match=r"got none in .*mixed' with --agents other --modes inject$"):
        card(agents=("other",), modes=(Mode.INJECT,))


@pytest.fixture
def held_out(monkeypatch):
    """Task 4 of the library is held out."""
    split = Split(("0", "1", "2", "3", "5", "6"), ("4",))
    for module in ("splits", "beliefs"):
        monkeypatch.setattr(f"bench2robust.evaluation.{module}.split_of", lambda _: split)
    return split


def test_a_run_with_held_out_tasks_is_refused(tmp_path, held_out):
    path = folder(tmp_path / "ten", ten())
    message = r"ten': expected training tasks .* got 1 that are held out, such as task='4'.*--training-only"
    with pytest.raises(UsageError, match=message):
        estimate_memory([path])


def test_an_episode_is_refused_even_where_the_manifest_keeps_quiet(tmp_path, held_out):
    path = folder(tmp_path / "ten", ten(), tasks=["0", "1", "2", "3"])
    with pytest.raises(UsageError, match="that are held out, such as task='4'"):
        estimate_memory([path])


def test_the_training_part_alone(tmp_path, held_out):
    """Task 4 is that of episodes 5 and 10."""
    memory = estimate_memory([folder(tmp_path / "ten", ten())], Choice(training_only=True))
    assert memory.episodes == 8
    assert memory.beliefs.of(CARD, "auth_error") == Belief(0, 1)
    assert memory.beliefs.of(RENEW, "rate_limit") == Belief()
    assert memory.sources[0].split == held_out.hash
    only = [e for e in ten() if e.result.task == "4"]
    with pytest.raises(
        UsageError, match=r"expected episodes to learn from, got none in .* with --training-only"
    ):
        estimate_memory([folder(tmp_path / "only", only)], Choice(training_only=True))


def test_a_task_that_the_benchmark_does_not_have(tmp_path):
    stray = replace(ten()[0], result=replace(ten()[0].result, task="77"))
    with pytest.raises(UnknownNameError, match="unknown task='77'"):
        estimate_memory([folder(tmp_path / "stray", [stray])])


def test_runs_that_do_not_go_together(tmp_path):
    path = folder(tmp_path / "ten", ten())
    again = folder(tmp_path / "again", ten()[:5])
    with pytest.raises(
        UsageError, match=r"expected each run once, got .*ten' and .*again', which both are run="
    ):
        estimate_memory([path, again])
    other = folder(tmp_path / "desk", ten(), "2", benchmark="helpdesk", tasks=[])
    with pytest.raises(UsageError, match="expected runs of one domain, got domain='library' in"):
        estimate_memory([path, other])
    with pytest.raises(UsageError, match="expected one run folder or more, got none"):
        estimate_memory([])
    with pytest.raises(UsageError, match="expected episodes to learn from, got none in"):
        estimate_memory([folder(tmp_path / "empty", [], "3", agents=["hand"])])
    with pytest.raises(FolderError, match="expected a run folder"):
        estimate_memory([tmp_path])


def test_a_real_run_is_counted_by_its_records(tmp_path):
    """What no hand has written: every pair of tool and noise type of a record is in some belief, and no other."""
    spec = RunSpec("toy-library", ("strategic",), (Mode.CLEAN, Mode.INJECT, Mode.INJECT_ALT), seeds=(0, 1, 2))
    played = list(run(spec, tmp_path / "run").episodes())
    memory = estimate_memory([tmp_path / "run"])
    assert memory.episodes == len(played) == 63
    silent = {(t, n) for t, n in memory.beliefs.errors if n.silent}
    landed = {(r.call.name, r.noise) for e in played for r in e.trajectory.records if r.landed}
    assert silent == {(t, n) for t, n in landed if n.silent}
    assert silent
    assert landed <= set(memory.beliefs.errors)
    assert memory.beliefs.switches


@pytest.mark.tau2
def test_retails_held_out_tasks_stay_out(tmp_path):
    spec = RunSpec("tau2-retail", ("strategic",), (Mode.INJECT,), seeds=(0,), tasks=("0-9",))
    run(spec, tmp_path / "run")
    with pytest.raises(UsageError, match="that are held out"):
        estimate_memory([tmp_path / "run"])
    memory = estimate_memory([tmp_path / "run"], Choice(training_only=True))
    assert 0 < memory.episodes < 10


@pytest.mark.tau2
def test_an_online_run_over_held_out_tasks_teaches_nothing(tmp_path):
    from bench2robust.evaluation import RunSpec, run
    from bench2robust.evaluation.splits import split_of

    split = split_of("tau2-retail")
    tasks = [split.train[0], split.held_out[0]]
    settings = {"benchmark": "tau2-retail", "agents": "reader", "modes": "inject", "seeds": 1, "tasks": tasks}
    run(RunSpec.from_settings({**settings, "update": "online"}), tmp_path / "online")
    with pytest.raises(UsageError, match="online"):
        estimate_memory([tmp_path / "online"], Choice(training_only=True))
    run(RunSpec.from_settings({**settings, "memory-variant": "static"}), tmp_path / "fixed")
    assert estimate_memory([tmp_path / "fixed"], Choice(training_only=True)).sources[0].episodes == 1
