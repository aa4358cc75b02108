"""One episode on the toy library: what the agent is given, what ends it, what is scored."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from bench2robust import agents
from bench2robust.agents.users import Scripted as ScriptedUser
from bench2robust.core.episode import Assignment, Message, Mode, Role, Scenario, Trajectory
from bench2robust.core.errors import AgentError, SpecError
from bench2robust.core.noise import NoiseType
from bench2robust.core.ports import Briefing, Utterance
from bench2robust.core.tools import CallRecord, ToolCall
from bench2robust.evaluation import Job, load, run_episode
from bench2robust.injection import Effects, InjectionSpec, Limits, NoiseProfile

LIBRARY = load("toy-library")
TASKS = {task.id: task for task in LIBRARY.tasks()}
CLEAN = {NoiseType.CLEAN: 1.0}


def job(
    task="0", mode=Mode.INJECT_ALT, *, blocked=(), noise=None, max_steps=100, effects=Effects.OBSERVATION
):
    """Return a job in which each tool of `noise` always fails that way, once, and nothing else does."""
    profile = NoiseProfile(CLEAN, {tool: {kind: 1.0} for tool, kind in (noise or {}).items()})
    assignment = Assignment(Scenario.S2, Scenario.S2, frozenset(blocked)) if blocked else Assignment()
    spec = InjectionSpec(profile, Limits(budget=1), effects)
    return Job(TASKS[task], mode, 0, assignment, spec, max_steps)


@dataclass
class Scripted:
    """An agent that does what it is told, and keeps what it got."""

    script: list
    name: str = "scripted"
    omniscient: bool = False
    got: list = field(default_factory=list)
    briefing: Briefing | None = None

    def play(self, briefing):
        self.briefing = briefing
        for action in self.script:
            self.got.append((yield action))


def played(script, **how):
    agent = Scripted(script)
    return agent, run_episode(LIBRARY, agent, job(**how))


RENEW = ToolCall("renew_loan", {"loan_id": "L1"})


def directly(agent, task, mode):
    """Play a task against the bare environment: no injector anywhere."""
    environment = LIBRARY.open(task, alternatives=mode.alternatives)
    opening = task.instructions
    briefing = Briefing(
        task, LIBRARY.tools(mode.alternatives), LIBRARY.policy(mode.alternatives), opening, LIBRARY.plan(task)
    )
    if agent.omniscient:
        briefing = Briefing(
            *(getattr(briefing, name) for name in ("task", "tools", "policy", "opening", "plan")), Nothing()
        )
    trajectory = Trajectory([Message(Role.USER, opening)])
    ordinals: dict[str, int] = {}
    play, answer = agent.play(briefing), None
    while True:
        try:
            action = play.send(answer)
        except StopIteration:
            trajectory.ended = "done"
            return trajectory
        trajectory.steps += 1
        if isinstance(action, ToolCall):
            answer = environment.call(action)
            index, ordinal = len(trajectory.records), ordinals.get(action.name, 0)
            ordinals[action.name] = ordinal + 1
            drawn = None if action.name == "transfer_to_librarian" else NoiseType.CLEAN
            record = CallRecord(index, action, ordinal, answer, answer, drawn)
            if agent.omniscient:
                briefing.oracle.record = record
            trajectory.records.append(record)
            trajectory.messages += [
                Message(Role.ASSISTANT, record=index),
                Message(Role.TOOL, answer.text, index),
            ]
            if action.name == "transfer_to_librarian":
                trajectory.ended = "escalated"
                return trajectory
        else:
            trajectory.messages.append(Message(Role.ASSISTANT, action.text))
            if action.last:
                trajectory.ended = "done"
                return trajectory
            answer = ScriptedUser.of(task).reply(action.text)
            trajectory.messages.append(Message(Role.USER, answer))


class Nothing:
    """An oracle in a world where nothing is injected."""

    blocked: frozenset[str] = frozenset()
    record: CallRecord

    def last(self):
        return self.record


@pytest.mark.parametrize("mode", [Mode.CLEAN, Mode.CLEAN_ALT])
@pytest.mark.parametrize("name", agents.REFERENCE)
@pytest.mark.parametrize("task", TASKS)
def test_without_injection_an_episode_is_what_it_is_without_an_injector(task, name, mode):
    agent = agents.create(name)
    severe = Job(TASKS[task], mode, 0, Assignment(), InjectionSpec(NoiseProfile.severe()), 100)
    episode = run_episode(LIBRARY, agent, severe)
    assert episode.trajectory == directly(agent, TASKS[task], mode)
    assert episode.result.outcome.score.passed


def test_the_user_says_everything_at_once():
    agent, episode = played([Utterance("One moment."), Utterance("Done.", last=True)])
    assert agent.briefing.opening == TASKS["0"].instructions
    assert agent.got == ["That is all I can tell you. Please go on."]  # the last word gets no answer
    assert [message.role for message in episode.trajectory.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert episode.trajectory.ended == "done"
    assert episode.trajectory.said == ["One moment.", "Done."]


def test_an_agent_may_just_return():
    _, episode = played([])
    assert (episode.trajectory.ended, episode.trajectory.steps) == ("done", 0)


def test_an_executed_escalation_ends_the_episode():
    agent, episode = played([ToolCall("transfer_to_librarian", {"summary": "x"}), RENEW])
    assert episode.trajectory.ended == "escalated"
    assert len(episode.trajectory.records) == 1
    assert agent.got == []


def test_an_escalation_that_the_tool_itself_refuses_does_not_end_the_episode():
    _, episode = played([ToolCall("transfer_to_librarian", {"wrong": "x"}), RENEW])
    assert episode.trajectory.ended == "done"
    assert episode.result.outcome.score.passed


@pytest.mark.parametrize("limit", [1, 4])
def test_steps_are_limited(limit):
    _, episode = played([RENEW] * 9, max_steps=limit)
    assert (episode.trajectory.ended, episode.trajectory.steps) == ("max_steps", limit)
    assert episode.result.outcome.score.parts == {"database": True, "communicated": True, "finished": False}


def test_the_last_word_at_the_last_step_counts():
    _, episode = played([RENEW, Utterance("Done.", last=True)], max_steps=2)
    assert episode.trajectory.ended == "done"


@pytest.mark.parametrize("mode", Mode)
def test_the_alternative_tools_exist_only_in_the_modes_with_alternatives(mode):
    search = ToolCall("search_loan", {"member_id": "m1", "title": "Dune"})
    agent, _ = played([search], mode=mode)
    assert agent.got[0].error is not mode.alternatives
    assert ("search_loan" in agent.briefing.policy) is mode.alternatives
    assert ("search_loan" in [tool.name for tool in agent.briefing.tools]) is mode.alternatives


def test_only_reference_policies_get_the_plan_and_only_the_omniscient_gets_the_oracle():
    agent, _ = played([])
    assert agent.briefing.plan is None
    assert agent.briefing.oracle is None
    seeing = Scripted([], omniscient=True)
    run_episode(LIBRARY, seeing, job(blocked=["search_loan"]))
    assert seeing.briefing.oracle.blocked == {"search_loan"}
    strategic = Scripted([], name="strategic")
    run_episode(LIBRARY, strategic, job())
    assert strategic.briefing.plan is not None


def test_a_blocked_write_leaves_the_world_as_it_was_and_counts_as_not_done():
    agent, episode = played([RENEW], blocked=["renew_loan"])
    assert agent.got[0].error
    assert episode.trajectory.records[0].true is None
    assert episode.result.outcome.score.parts["database"] is False
    assert episode.result.outcome.blocked_calls == 1
    assert episode.result.outcome.injections == 0


def test_a_write_whose_answer_was_lost_counts_as_done():
    agent, episode = played([RENEW], noise={"renew_loan": NoiseType.TIMEOUT})
    assert agent.got[0].error
    assert episode.trajectory.records[0].answer_lost
    assert episode.result.outcome.score.passed
    assert episode.result.outcome.injections == 1
    assert episode.result.outcome.blind_repeats == 0


def test_a_write_repeated_blindly_after_a_lost_answer_is_visible():
    _, episode = played([RENEW, RENEW], noise={"renew_loan": NoiseType.TIMEOUT})
    assert episode.result.outcome.blind_repeats == 1
    looking = [RENEW, ToolCall("get_loans", {"member_id": "m1"}), RENEW]
    _, episode = played(looking, noise={"renew_loan": NoiseType.TIMEOUT})
    assert episode.result.outcome.blind_repeats == 0


def test_a_rejected_write_counts_as_not_done():
    _, episode = played([RENEW], noise={"renew_loan": NoiseType.RATE_LIMIT}, effects=Effects.REQUEST)
    assert not episode.trajectory.records[0].executed
    assert not episode.result.outcome.score.passed


def test_what_was_executed_is_scored_even_where_a_value_was_corrupted():
    search = ToolCall("search_loan", {"member_id": "m1", "title": "Emma"})
    agent, episode = played(
        [search, Utterance("The fee is 2.25.")], task="2", noise={"search_loan": NoiseType.FACTUAL}
    )
    assert "2.25" not in agent.got[0].text
    assert episode.result.outcome.score.passed


class Broken(Scripted):
    """An agent with a bug."""

    def play(self, briefing):
        yield RENEW
        raise KeyError("no such\nthing")


def test_an_agent_that_raises_is_named_with_the_place():
    with pytest.raises(
        AgentError, match=r"agent='scripted' broke: KeyError: 'no such\\nthing' \(.*test_episode.py:\d+\)"
    ):
        run_episode(LIBRARY, Broken([]), job())


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("renew", "has to yield a ToolCall or an Utterance, got str='renew'"),
        (None, "got NoneType=None"),
        (ToolCall("renew_loan", ["L1"]), "a name with a mapping of arguments"),
        (ToolCall(7, {}), "a name with a mapping of arguments"),
    ],
)
def test_an_agent_that_leaves_its_port(action, message):
    with pytest.raises(AgentError, match=message):
        played([action])


def test_errors_on_purpose_pass_through():
    class Refusing(Scripted):
        def play(self, briefing):
            raise SpecError("no oracle")
            yield

    with pytest.raises(SpecError, match="no oracle"):
        run_episode(LIBRARY, Refusing([]), job())


def test_the_play_is_closed_whatever_ends_it():
    closed, kept = [], []

    class Careful(Scripted):
        def play(self, briefing):
            kept.append(self.loop())
            return kept[0]

        def loop(self):
            try:
                while True:
                    yield RENEW
            finally:
                closed.append(True)

    run_episode(LIBRARY, Careful([]), job(max_steps=2))
    assert closed == [True]
