"""Episodes that wait: the same conversation, τ²'s rules where the user leads, usage beside the result."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from bench2robust import agents
from bench2robust.agents.users import NOTHING_TO_ADD, PATIENCE, TICKET, ticket
from bench2robust.core.episode import Assignment, End, Escalation, Message, Mode, Role, Scenario, Usage
from bench2robust.core.errors import (
    AgentError,
    BenchmarkError,
    EndpointFatalError,
    EpisodeLostError,
    SpecError,
)
from bench2robust.core.noise import NoiseType
from bench2robust.core.ports import Parting, Utterance
from bench2robust.core.tools import ToolCall
from bench2robust.evaluation import Job, load, run_episode, run_episode_async
from bench2robust.evaluation.lines import decode, encode
from bench2robust.injection import InjectionSpec, Limits, NoiseProfile

from .waiting import Awaiting, Model, guest

LIBRARY = load("toy-library")
TASKS = {task.id: task for task in LIBRARY.tasks()}
RENEW = ToolCall("renew_loan", {"loan_id": "L1"})
WRONG = ToolCall("renew_loan", {"loan_id": "L9"})
HAND_OVER = ToolCall("transfer_to_librarian", {"summary": "x"})
BYE = Parting("Thanks! ###STOP###")
NONE = InjectionSpec(NoiseProfile.empty())


def job(task="0", mode=Mode.CLEAN, *, injection=NONE, max_steps=100, seed=0, assignment=None):
    return Job(TASKS[task], mode, seed, assignment or Assignment(), injection, max_steps)


def played(script, user=agents.scripted, benchmark=LIBRARY, **how):
    model = Model(script)
    return model, asyncio.run(run_episode_async(benchmark, model, user, job(**how)))


def said(episode):
    return [(m.role, m.text) for m in episode.trajectory.messages]


HARD = InjectionSpec(NoiseProfile.severe().with_clean_probability(0.2), Limits.unlimited())
S2 = Assignment(Scenario.S2, Scenario.S2, frozenset({"find_member_by_card"}))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("name", [name for name in agents.REFERENCE if name != "omniscient"])
def test_a_policy_plays_the_same_whether_it_is_awaited_or_not(name, mode):
    for task in TASKS:
        for seed in range(3):
            what = job(
                task, mode, injection=HARD, seed=seed, assignment=S2 if mode is Mode.INJECT_ALT else None
            )
            at_once = run_episode(LIBRARY, agents.create(name), what)
            awaiting = Awaiting(agents.create(name), LIBRARY)
            awaited = asyncio.run(run_episode_async(LIBRARY, awaiting, agents.scripted, what))
            assert awaited.trajectory == at_once.trajectory
            assert replace(awaited.result, usage=None, user_usage=None) == at_once.result


def test_many_at_once_are_as_one_after_the_other():
    jobs = [job(task, Mode.INJECT, injection=HARD, seed=seed) for task in TASKS for seed in range(4)]
    agent = Awaiting(agents.create("retry"), LIBRARY)

    async def at_once():
        runs = (run_episode_async(LIBRARY, agent, agents.scripted, what) for what in jobs)
        return await asyncio.gather(*runs)

    alone = [asyncio.run(run_episode_async(LIBRARY, agent, agents.scripted, what)) for what in jobs]
    assert asyncio.run(at_once()) == alone


def test_a_user_who_leads_is_greeted_and_has_the_last_word():
    met = []
    model, episode = played([RENEW, Utterance("Renewed.")], guest("Renew Dune.", BYE, met=met))
    assert said(episode) == [
        (Role.ASSISTANT, agents.GREETING),
        (Role.USER, "Renew Dune."),
        (Role.ASSISTANT, ""),
        (Role.TOOL, episode.trajectory.records[0].delivered.text),
        (Role.ASSISTANT, "Renewed."),
        (Role.USER, "Thanks! ###STOP###"),
    ]
    assert met[0].heard == [agents.GREETING, "Renewed."]
    assert (model.briefings[0].greeting, model.briefings[0].opening) == (agents.GREETING, "Renew Dune.")
    assert model.got[0] is None
    assert (episode.trajectory.ended, episode.trajectory.steps) == (End.DONE, 2)
    assert episode.result.outcome.score.passed


def test_who_does_not_lead_speaks_first():
    model, episode = played([Utterance("Bye.", last=True)])
    assert said(episode) == [(Role.USER, TASKS["0"].instructions), (Role.ASSISTANT, "Bye.")]
    assert model.briefings[0].greeting == ""


def test_what_the_model_and_the_user_are_told_about_the_episode():
    met = []
    model, _ = played([], guest("Hi.", met=met), task="2", mode=Mode.INJECT, seed=7)
    brief, scene = model.briefings[0], met[0].scene
    assert (brief.episode, brief.seed, brief.plan, brief.oracle) == ("2:model:inject:7", 7, None, None)
    assert (scene.episode, scene.seed, scene.task) == ("2:model:inject:7", 7, TASKS["2"])


def test_a_user_who_leaves_at_once():
    model, episode = played([RENEW], guest(Parting("Wrong number. ###STOP###")))
    assert said(episode) == [(Role.ASSISTANT, agents.GREETING), (Role.USER, "Wrong number. ###STOP###")]
    assert model.briefings == []
    assert (episode.trajectory.steps, episode.result.usage) == (0, Usage())


@pytest.mark.parametrize("end", [End.DONE, End.TRANSFERRED, End.OUT_OF_SCOPE])
def test_how_the_user_ends_is_kept_and_the_world_is_scored(end):
    _, episode = played([RENEW, Utterance("Done.")], guest("Hi.", Parting("x", end)))
    assert episode.trajectory.ended == end
    assert episode.result.outcome.score.passed
    assert episode.result.outcome.escalation is Escalation.NONE


def test_after_an_escalation_a_user_who_leads_goes_on_until_satisfied():
    script = [HAND_OVER, Utterance("Please hold."), RENEW, Utterance("Renewed after all.")]
    parting = Parting("###TRANSFER###", End.TRANSFERRED)
    _, episode = played(script, guest("Hi.", "Wait!", parting))
    assert episode.trajectory.ended == End.ESCALATED
    assert len(episode.trajectory.records) == 2
    assert episode.result.outcome.score.passed
    assert episode.result.outcome.escalation is Escalation.PREMATURE


def test_with_any_other_user_an_escalation_ends_the_talk():
    _, episode = played([HAND_OVER, RENEW])
    assert (episode.trajectory.ended, len(episode.trajectory.records)) == (End.ESCALATED, 1)


def test_an_escalation_does_not_save_who_runs_out_of_steps():
    _, episode = played([HAND_OVER, RENEW, Utterance("x")], guest("Hi.", "Go on."), max_steps=3)
    assert episode.trajectory.ended == End.MAX_STEPS
    assert not episode.result.outcome.score.passed


@pytest.mark.parametrize("end", [end for end in End if not end.scored and end is not End.TOO_MANY_ERRORS])
def test_ends_that_score_zero_whatever_the_world_is(end):
    script = [RENEW, RENEW, RENEW] if end is End.MAX_STEPS else [RENEW, end]
    _, episode = played(script, max_steps=3)
    assert episode.trajectory.ended == end
    assert episode.result.outcome.score.parts == {"database": True, "communicated": True, "finished": False}
    assert not episode.result.outcome.score.passed


class Capped(type(LIBRARY)):
    max_errors = 3


def test_the_tools_own_errors_end_the_talk_at_the_benchmarks_cap():
    _, episode = played([RENEW, *[WRONG] * 9], benchmark=Capped())
    assert episode.trajectory.ended == End.TOO_MANY_ERRORS
    assert len(episode.trajectory.records) == 4
    assert not episode.result.outcome.score.passed
    assert (
        played([RENEW, WRONG, RENEW, Utterance("x", last=True)], benchmark=Capped())[1].trajectory.ended
        == "done"
    )
    assert played([WRONG] * 9)[1].trajectory.ended == "done"  # without a cap


def test_injected_failures_never_count_towards_it():
    timeouts = InjectionSpec(NoiseProfile({NoiseType.TIMEOUT: 1.0}), Limits.unlimited())
    script = [ToolCall("get_loans", {"member_id": "m1"})] * 9
    _, episode = played(script, benchmark=Capped(), mode=Mode.INJECT, injection=timeouts)
    assert all(record.delivered.error for record in episode.trajectory.records)
    assert episode.trajectory.ended == End.DONE
    blocked = Assignment(blocked=frozenset({"get_loans"}))
    _, episode = played(script, benchmark=Capped(), mode=Mode.INJECT, assignment=blocked)
    assert (episode.trajectory.ended, episode.result.outcome.blocked_calls) == (End.DONE, 9)
    wrong = [ToolCall("get_loans", {"member_id": "m9"})] * 9
    _, episode = played(wrong, benchmark=Capped(), mode=Mode.INJECT, injection=timeouts)
    assert episode.trajectory.ended == End.TOO_MANY_ERRORS  # the tool's own, hidden behind ours


def test_what_is_written_beside_a_call_is_in_the_transcript_and_counts_as_sent():
    fee = ToolCall("get_loans", {"member_id": "m1"})
    _, episode = played([(fee, "It should be 2.25."), Utterance("Bye.", last=True)], task="2")
    call = episode.trajectory.messages[1]
    assert (call.role, call.text, call.record) == (Role.ASSISTANT, "It should be 2.25.", 0)
    assert episode.trajectory.said == ["It should be 2.25.", "Bye."]
    assert episode.result.outcome.score.passed  # as τ²'s evaluator has it


def test_usage_by_message_and_in_sum():
    script = [RENEW, Utterance("Renewed.")]
    _, episode = played(script, guest("Hi.", BYE))
    one = Usage(1, 100, 10, 0.5, 0.25)
    user = Usage(1, 7)
    assert [m.usage for m in episode.trajectory.messages] == [None, user, one, None, one, user]
    assert episode.trajectory.messages[2].usage.seconds == 0.25
    assert episode.result.usage == Usage(2, 200, 20, 1.0)
    assert episode.result.user_usage == Usage(2, 14)
    assert run_episode(LIBRARY, agents.create("idle"), job()).result.usage is None


def test_the_line_of_an_episode_holds_tokens_and_no_times():
    _, episode = played([(RENEW, "Hm."), Utterance("Renewed.")], guest("Hi.", BYE))
    line = encode(episode)
    assert b"seconds" not in line
    assert json.loads(line)["usage"] == {
        "agent": {"requests": 2, "prompt_tokens": 200, "completion_tokens": 20, "cost": 1.0},
        "user": {"requests": 2, "prompt_tokens": 14, "completion_tokens": 0, "cost": 0.0},
        "messages": [[1, 1, 7, 0, 0.0], [2, 1, 100, 10, 0.5], [4, 1, 100, 10, 0.5], [5, 1, 7, 0, 0.0]],
    }
    assert decode(line) == episode
    episode.result.usage.seconds += 1.0
    episode.trajectory.messages[2].usage.seconds += 1.0
    assert encode(episode) == line


def test_who_breaks_is_named():
    with pytest.raises(AgentError, match=r"agent='model' broke: KeyError: 'x' \(.*waiting.py:\d+\)"):
        played([KeyError("x")])
    with pytest.raises(AgentError, match="has to yield a ToolCall or an Utterance, got str='renew'"):
        played(["renew"])
    with pytest.raises(BenchmarkError, match="the user broke: KeyError"):
        played([], guest(KeyError("x")))
    with pytest.raises(BenchmarkError, match="the user broke: ZeroDivisionError"):
        played([], lambda scene: 1 / 0)


@pytest.mark.parametrize("error", [EndpointFatalError("no key"), EpisodeLostError("lost")])
def test_failures_of_an_endpoint_pass_through(error):
    for script, user in (([error], agents.scripted), ([], guest(error))):
        with pytest.raises(type(error), match=str(error)):
            played(script, user)


def test_a_lost_episode_says_what_it_has_cost():
    with pytest.raises(EpisodeLostError) as lost:
        played([RENEW, EpisodeLostError("kept from answering")])
    assert lost.value.usage.requests > 0


def test_cancelling_passes_through():
    async def main():
        endless = Model([RENEW] * 10_000)
        task = asyncio.create_task(run_episode_async(LIBRARY, endless, agents.scripted, job(max_steps=10**6)))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_a_ticket_says_everything_at_once_and_never_more():
    _, episode = played([Utterance("Sure?"), Utterance("Done.", last=True)], ticket)
    assert said(episode)[:3] == [
        (Role.USER, TASKS["0"].instructions),
        (Role.ASSISTANT, "Sure?"),
        (Role.USER, TICKET),
    ]


@pytest.mark.parametrize(("user", "words"), [(agents.scripted, NOTHING_TO_ADD), (ticket, TICKET)])
def test_who_has_nothing_to_add_leaves_in_the_end(user, words):
    _, episode = played([RENEW, *[Utterance("And?")] * 50], user)
    assert episode.trajectory.ended == End.DONE
    assert said(episode).count((Role.USER, words)) == PATIENCE - 1
    assert episode.result.outcome.score.passed


class TwoHands:
    """An environment whose user acts."""

    def __init__(self, desk):
        self.desk, self.done = desk, []

    def call(self, call):
        return self.desk.call(call)

    def score(self, trajectory):
        return self.desk.score(trajectory)

    def user(self):
        return self

    def reply(self, said):
        self.done = [] if said is None else [Message(Role.USER, "ok", call=RENEW)]
        return "Hello." if said is None else "I did."

    def acts(self):
        done, self.done = self.done, []
        return done


class Shared(type(LIBRARY)):
    def open(self, task, *, alternatives=True):
        return TwoHands(super().open(task, alternatives=alternatives))


def test_what_a_user_does_is_written_down_before_what_it_says():
    _, episode = played([Utterance("Press it."), Utterance("Bye.", last=True)], benchmark=Shared())
    assert [(m.role, m.text, m.call) for m in episode.trajectory.messages] == [
        (Role.USER, "Hello.", None),
        (Role.ASSISTANT, "Press it.", None),
        (Role.USER, "ok", RENEW),
        (Role.USER, "I did.", None),
        (Role.ASSISTANT, "Bye.", None),
    ]
    with pytest.raises(SpecError, match="use user='scripted'"):
        played([], ticket, benchmark=Shared())
