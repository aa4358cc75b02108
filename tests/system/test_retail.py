"""The whole thing on τ²-bench retail: what the certificates promise, what the policies reach, what is scored."""

from __future__ import annotations

import importlib.util
import json
import signal
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from bench2robust import agents
from bench2robust.core.episode import Assignment, Escalation, Mode, Scenario
from bench2robust.core.noise import NoiseType
from bench2robust.core.ports import Utterance
from bench2robust.core.tools import ToolCall, ToolKind
from bench2robust.evaluation import Job, RunSpec, Schedule, certify, load, load_run, run, run_episode
from bench2robust.evaluation.episode import domain_of
from bench2robust.evaluation.workers import play_all
from bench2robust.injection import (
    Block,
    Eligibility,
    InjectionSpec,
    Injector,
    Limits,
    Mix,
    NoiseProfile,
    ScenarioSpec,
    assign,
)

pytestmark = [
    pytest.mark.tau2,
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("tau2") is None, reason="needs the tau2 wheel: run `b2r setup tau2`"
    ),
]
RETAIL = "tau2-retail"
QUIET = InjectionSpec(NoiseProfile.empty())
EXCEPTIONS: dict[str, str] = {}
"""Task to why a reference policy cannot pass it without injection. At most four; none is needed."""
UNCHANGED = {"10", "12", "24", "25", "50", "57", "62", "65", "67", "68", "105"}
"""Tasks without an effective gold write (measured on upstream's own replay)."""
ALONE = {"10", "12", "25", "50", "57", "65", "105"}
"""Tasks that doing nothing passes: neither a write nor a value to tell."""


@pytest.fixture(scope="module")
def retail() -> Any:
    return load(RETAIL)


@pytest.fixture(scope="module")
def tasks(retail):
    return {task.id: task for task in retail.tasks()}


@pytest.fixture(scope="module")
def found():
    return certify(RETAIL)


def outcome(retail, agent, task, assignment=None, injection=QUIET, mode=Mode.INJECT_ALT):
    player = agents.create(agent) if isinstance(agent, str) else agent
    job = Job(task, mode, 0, assignment or Assignment(), injection, 200)
    return run_episode(retail, player, job).result.outcome


@pytest.mark.parametrize("mode", [Mode.CLEAN, Mode.CLEAN_ALT])
@pytest.mark.parametrize("agent", agents.REFERENCE)
def test_without_injection_every_reference_policy_passes(retail, tasks, agent, mode):
    failed = {
        name for name, task in tasks.items() if not outcome(retail, agent, task, mode=mode).score.passed
    }
    assert failed == set(EXCEPTIONS)
    assert len(tasks) - len(EXCEPTIONS) >= 110


def test_eligibility_is_what_was_measured_by_hand(found):
    """Order 107, identity 14 (no user knows e-mail and name, sixteen know an order number as well)."""
    by_class = {
        name: {task for task, e in found.items() if len(e.sides.get(name, ())) >= 2}
        for name in ("identity", "order", "product")
    }
    assert sum(e.s2 for e in found.values()) == 107
    assert {name: len(eligible) for name, eligible in by_class.items()} == {
        "identity": 14,
        "order": 107,
        "product": 70,
    }
    assert {task for task, e in found.items() if not e.s2} == ALONE
    assert {task for task, e in found.items() if not e.s3} == UNCHANGED


def test_every_ineligible_task_has_a_printed_reason(b2r, found):
    printed = b2r("tasks", "certify", "--benchmark", RETAIL).stdout.splitlines()
    rows = {line.split()[0]: line for line in printed[1:115]}
    for task, eligibility in found.items():
        for scenario, eligible in (("s2", eligibility.s2), ("s3", bool(eligibility.s3))):
            assert eligible is (scenario not in eligibility.reasons)
            if not eligible:
                assert f"{scenario.upper()}: {eligibility.reasons[scenario]}" in rows[task]


def test_whatever_s1_or_s2_leaves_is_enough(retail, tasks, found):
    """The certificate: every side of every class that S2 can block, for every task."""
    domain = domain_of(retail)
    played = 0
    for name, task in tasks.items():
        assert outcome(retail, "omniscient", task).score.passed or name in EXCEPTIONS
        for cls in domain.classes:
            counting = found[name].sides.get(cls.name, ())
            blockable = {*counting, found[name].primary.get(cls.name)} if len(counting) >= 2 else ()
            for side in cls.sides:
                if side.name in blockable:
                    blocked = Assignment(Scenario.S2, Scenario.S2, frozenset(side.tools), cls.name, side.name)
                    assert outcome(retail, "omniscient", task, blocked).score.passed, (
                        name,
                        cls.name,
                        side.name,
                    )
                    played += 1
    assert played > 350


def test_nothing_passes_what_s3_makes_impossible(retail, tasks, found):
    """Every class that S3 can take away, for every task: blind writes, doing nothing, and every policy fail."""
    domain = domain_of(retail)
    only_s3 = ScenarioSpec(Mix(0, 0, 100))
    played = 0
    for name, task in tasks.items():
        for cls in found[name].s3:
            blocked = assign(0, name, only_s3, Eligibility(s3=(cls,)), domain)
            for agent in ("adversary", "idle", *agents.REFERENCE):
                assert not outcome(retail, agent, task, blocked).score.passed, (name, cls, agent)
            played += 1
    assert played > 200


def test_where_nothing_is_left_the_omniscient_policy_abstains(retail, tasks, found):
    domain = domain_of(retail)
    for name in found:
        blocked = assign(0, name, ScenarioSpec(Mix(0, 0, 100)), found[name], domain)
        if blocked.effective is Scenario.S3:
            assert outcome(retail, "omniscient", tasks[name], blocked).escalation is Escalation.ABSTAIN, name


@pytest.mark.parametrize("block", Block)
@pytest.mark.parametrize("mix", [Mix(100, 0, 0), Mix(0, 100, 0), Mix(0, 0, 100)])
def test_the_same_through_a_run(tmp_path, mix, block):
    """Noise off, as a person would run it."""
    names = ("omniscient", "adversary", "idle")
    spec = RunSpec(
        RETAIL, names, (Mode.INJECT_ALT,), (0, 1), injection=QUIET, scenarios=ScenarioSpec(mix, block)
    )
    rows = {row.agent: row for row in run(spec, tmp_path).rows}
    counts = {agent: rows[agent].scenarios for agent in names}
    if mix.s3:
        assert counts["omniscient"][Scenario.S3].episodes == 206
        assert all(counts[agent][Scenario.S3].passed == 0 for agent in names)
        assert rows["omniscient"].ineligible == {Scenario.S3: 22}
    else:
        assert rows["omniscient"].pass_rate.mean == 1.0
        assert (
            counts["omniscient"].get(Scenario.S2) is None or counts["omniscient"][Scenario.S2].episodes == 214
        )


@dataclass
class Blind:
    """Makes every gold write, so many times each, and says what is to be told."""

    times: int = 1
    name: str = "blind"
    omniscient: bool = False
    made: list[ToolCall] = field(default_factory=list)

    def play(self, briefing):
        writes = {tool.name for tool in briefing.tools if tool.kind is ToolKind.WRITE}
        for action in briefing.task.gold:
            if action.call.name in writes:
                for _ in range(self.times):
                    self.made.append(action.call)
                    yield action.call
        yield Utterance(" ".join(briefing.task.tell), last=True)


def test_a_blocked_write_leaves_the_database_as_it_was(retail, tasks):
    """Every gold write of every task, straight through the injector."""
    tools = retail.tools(alternatives=True)
    writes = frozenset(tool.name for tool in tools if tool.kind is ToolKind.WRITE)
    tried = 0
    for task in tasks.values():
        environment = retail.open(task)
        injector = Injector(QUIET, 0, task.id, domain=domain_of(retail), tools=tools, blocked=writes)
        for action in task.gold:
            if action.call.name in writes:
                assert injector.call(action.call, environment.call).error
                tried += 1
        assert environment.changes() == {}
        assert not any(record.executed for record in injector.records)
    assert tried > 170


def test_a_blocked_write_scores_as_not_done(retail, tasks):
    writes = frozenset(t.name for t in retail.tools(alternatives=True) if t.kind is ToolKind.WRITE)
    blocked = Assignment(Scenario.S3, Scenario.S3, writes)
    done = {
        name
        for name, task in tasks.items()
        if outcome(retail, Blind(), task, blocked).score.parts["database"]
    }
    assert done == UNCHANGED


LOST = InjectionSpec(NoiseProfile({NoiseType.TIMEOUT: 1.0}), Limits.unlimited())
"""Every answer is lost."""


def test_a_write_whose_answer_was_lost_scores_as_done(retail, tasks):
    for name, task in tasks.items():
        found = outcome(retail, Blind(), task, injection=LOST)
        assert found.score.passed, name
        assert found.blind_repeats == 0


def test_a_write_repeated_blindly_is_visible(retail, tasks):
    """Each gold write twice: every one that was carried out the first time counts."""
    for name, task in tasks.items():
        agent = Blind(times=2)
        job = Job(task, Mode.INJECT, 0, Assignment(), LOST, 200)
        episode = run_episode(retail, agent, job)
        lost, repeats = set(), 0
        for record in episode.trajectory.records:
            repeats += record.call.signature() in lost
            if not record.genuine_error:
                lost.add(record.call.signature())
        assert episode.result.outcome.blind_repeats == repeats, name
        if name not in UNCHANGED:
            assert repeats >= 1


SOME = RunSpec(RETAIL, seeds=(3,), tasks=("0-113",))


def test_one_process_and_four_give_the_same_bytes():
    alone = [played.line for played in play_all(Schedule(SOME), range(len(Schedule(SOME))), 1)]
    assert [played.line for played in play_all(Schedule(SOME), range(len(Schedule(SOME))), 4)] == alone


@pytest.mark.parametrize("hash_seed", ["1", "99"])
def test_the_hash_seed_changes_nothing(b2r, tmp_path, hash_seed):
    small = RunSpec(RETAIL, ("strategic",), (Mode.INJECT_ALT,), (0,))
    run(small, tmp_path / "here", workers=1)
    done = b2r(
        "run", "--benchmark", RETAIL, "--agents", "strategic", "--modes", "inject_alt", "--seeds", "1",
        "--out", str(tmp_path / "there"), PYTHONHASHSEED=hash_seed,
    )  # fmt: skip
    assert done.returncode == 0
    for name in ("episodes.jsonl", "summary.json", "manifest.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_killed_and_resumed_it_ends_as_if_undisturbed(start_b2r, tmp_path):
    command = ("run", "--benchmark", RETAIL, "--seeds", "1", "--agents", "retry,strategic", "--out")
    assert start_b2r(*command, str(tmp_path / "whole")).wait(120) == 0
    whole = (tmp_path / "whole" / "episodes.jsonl").read_bytes()
    file = tmp_path / "torn" / "episodes.jsonl"
    for share in (0.1, 0.5, 0.9):
        process = start_b2r(*command, str(tmp_path / "torn"))
        while process.poll() is None and not (file.exists() and file.stat().st_size > share * len(whole)):
            time.sleep(0.001)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert whole.startswith(file.read_bytes())
    assert start_b2r(*command, str(tmp_path / "torn")).wait(120) == 0
    assert file.read_bytes() == whole
    assert (tmp_path / "torn" / "summary.json").read_bytes() == (
        tmp_path / "whole" / "summary.json"
    ).read_bytes()


def test_policies_stand_as_they_should(tmp_path):
    """Under the default settings, two seeds: omniscient is the ceiling, strategic comes next, naive is last."""
    spec = RunSpec(RETAIL, seeds=(0, 1), modes=(Mode.INJECT, Mode.INJECT_ALT))
    rate = {(row.agent, row.mode): row.pass_rate.mean for row in run(spec, tmp_path).rows}
    for mode in spec.modes:
        assert rate["omniscient", mode] == 1.0
        assert rate["omniscient", mode] >= rate["strategic", mode] > rate["retry", mode] > rate["naive", mode]
        assert rate["strategic", mode] > rate["switch", mode]


def test_what_was_drawn_depends_on_no_agent_and_no_mode(tmp_path):
    """The same tool called for the n-th time in the same task and seed meets the same draw."""
    spec = RunSpec(RETAIL, seeds=(5,), modes=(Mode.INJECT, Mode.INJECT_ALT))
    drawn: dict[tuple[str, str, int], NoiseType] = {}
    compared = 0
    for episode in load_run(run(spec, tmp_path).folder).episodes():
        for record in episode.trajectory.records:
            if record.drawn is not None:
                key = (episode.result.task, record.call.name, record.ordinal)
                compared += key in drawn
                assert drawn.setdefault(key, record.drawn) is record.drawn
    assert compared > 3000


def test_the_scenario_depends_on_no_agent(tmp_path):
    spec = RunSpec(RETAIL, seeds=(0, 1), modes=(Mode.INJECT_ALT,), scenarios=ScenarioSpec(Mix(30, 45, 25)))
    run(spec, tmp_path)
    lines = map(json.loads, (tmp_path / "episodes.jsonl").read_text().splitlines())
    assigned: dict[tuple[str, int], Any] = {}
    for line in lines:
        assert assigned.setdefault((line["task"], line["seed"]), line["assignment"]) == line["assignment"]
    assert {a["effective"] for a in assigned.values()} == {"s1", "s2", "s3"}
