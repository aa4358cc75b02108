"""Whole episodes: two models over HTTP, the toy library between them; disturbed, recorded and replayed."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from functools import partial

import pytest

from bench2robust.agents.chat import Cassette, ChatAgent, ChatSpec, Clock, Endpoint, LLMUser, TextTools
from bench2robust.core.episode import Assignment, End, Mode, Role
from bench2robust.core.ports import UserTools
from bench2robust.core.tools import ToolCall
from bench2robust.evaluation import Job, load, run_episode_async
from bench2robust.evaluation.lines import encode
from bench2robust.injection import InjectionSpec, NoiseProfile

from .serving import Answer, Ticks, calls, error, said, serve

LIBRARY = load("toy-library")
TASKS = LIBRARY.tasks()
NONE = InjectionSpec(NoiseProfile.empty())


def model(request):
    """Two models in one: a user who wants the task done, and an agent that carries out its gold calls."""
    messages = request.messages
    system = messages[0]["content"]
    if "<scenario>" in system:
        mine = [m["content"] for m in messages if m["role"] == "assistant"]
        scenario = system.split("<scenario>\n")[1].split("\n</scenario>")[0]
        return said([scenario, "Thanks! ###STOP###"][len(mine)])
    words = next(m["content"] for m in messages if m["role"] == "user")
    task = next(task for task in TASKS if words.startswith(task.instructions))
    answered = [m for m in messages[1:] if m["role"] == "tool" or "<tool_response>" in (m["content"] or "")]
    if answered or not task.gold:
        return said(f"<think>All done?</think>Done. {' '.join(task.tell)}")
    gold = [(action.call.name, dict(action.call.arguments)) for action in task.gold]
    if "tools" in request.body:
        return calls(*gold, text="<think>Now.</think>")
    tags = (json.dumps({"name": name, "arguments": arguments}) for name, arguments in gold)
    return said("".join(f"<tool_call>{tag}</tool_call>" for tag in tags))


def jobs(mode=Mode.CLEAN):
    spec = InjectionSpec(NoiseProfile.severe()) if mode.injected else NONE
    return [Job(task, mode, 0, Assignment(), spec, 25) for task in TASKS]


async def play_all(endpoint, what):
    agent, user = ChatAgent(endpoint), partial(LLMUser, endpoint)
    return await asyncio.gather(*(run_episode_async(LIBRARY, agent, user, job) for job in what))


def played(script=model, mode=Mode.CLEAN, **settings):
    return serve(script, lambda endpoint, server: play_all(endpoint, jobs(mode)), **settings)


def test_two_models_solve_every_task():
    episodes = played()
    assert all(episode.result.outcome.score.passed for episode in episodes)
    ends = {episode.trajectory.ended for episode in episodes}
    assert ends == {End.DONE, End.ESCALATED}
    for episode in episodes:
        assert episode.result.usage.requests == (2 if episode.trajectory.records else 1)
        assert episode.result.user_usage.requests == 2
        assert not any("think" in text for text in episode.trajectory.said)


@pytest.mark.parametrize("settings", [{"stream": True}, {"text_tools": TextTools.ON}], ids=str)
def test_however_they_are_asked(settings):
    assert [e.trajectory for e in played(**settings)] == [e.trajectory for e in played()]


def test_failures_on_the_way_change_nothing():
    """Every third request fails, in turn by overload, error, cut and silence."""
    seen = 0

    def failing(request):
        nonlocal seen
        seen += 1
        if seen % 3:
            return model(request)
        kinds = (
            error(429, "", retry_after="1"),
            error(500, ""),
            Answer(said("x").body, cut=50),
            Answer(hang=True),
        )
        return kinds[seen // 3 % 4]

    for stream in (False, True):
        disturbed = played(failing, Mode.INJECT, stream=stream, timeout=0.3)
        assert [encode(e) for e in disturbed] == [encode(e) for e in played(model, Mode.INJECT)]


def test_what_was_recorded_replays_to_the_same_lines(tmp_path):
    tape = Cassette(tmp_path / "tape", "record")
    recorded = played(mode=Mode.INJECT, cassette=tape)
    tape.close()

    async def replay():
        endpoint = Endpoint(ChatSpec("m"), cassette=Cassette(tmp_path / "tape", "replay"))
        return await play_all(endpoint, jobs(Mode.INJECT)[::-1])

    assert [encode(e) for e in asyncio.run(replay())[::-1]] == [encode(e) for e in recorded]


def test_a_replay_needs_no_client(tmp_path, monkeypatch):
    tape = Cassette(tmp_path / "tape", "record")
    played(cassette=tape)
    tape.close()
    monkeypatch.setitem(sys.modules, "openai", None)
    endpoint = Endpoint(ChatSpec("m"), cassette=Cassette(tmp_path / "tape", "replay"))
    assert len(asyncio.run(play_all(endpoint, jobs()))) == len(TASKS)


def test_real_time_passes():
    async def main():
        clock = Clock()
        begun = clock.now()
        await clock.sleep(0.02)
        return clock.now() - begun

    assert asyncio.run(main()) >= 0.02
    assert Clock().wall() > 1.7e9


@pytest.mark.tau2
@pytest.mark.skipif(importlib.util.find_spec("tau2") is None, reason="needs the tau2 wheel")
def test_a_simulated_user_holds_the_phone():
    telecom = load("tau2-telecom")
    task = telecom.tasks()[0]
    assert isinstance(telecom.open(task), UserTools)
    script = [
        said("My phone does not work."),  # the user
        said("Please check the status bar."),
        calls(("check_status_bar", {})),  # the user acts
        said("It shows something."),
        calls(("transfer_to_human_agents", {"summary": "x"})),
        said("Please hold."),
        said("###TRANSFER###"),
    ]

    async def talk(endpoint, server):
        job = Job(task, Mode.CLEAN, 0, Assignment(), NONE, 25)
        episode = await run_episode_async(telecom, ChatAgent(endpoint), partial(LLMUser, endpoint), job)
        return episode, server

    episode, server = serve(script, talk, clock=Ticks())
    acts = [m for m in episode.trajectory.messages if m.call is not None]
    assert [(m.role, m.call) for m in acts] == [(Role.USER, ToolCall("check_status_bar", {}))]
    assert server.requests[3].messages[-1]["content"] == acts[0].text
    assert len(server.requests[0].body["tools"]) == 30
    assert episode.trajectory.ended == End.ESCALATED
