"""An environment whose user acts in it: who is asked, where it is written down, what stays apart."""

from __future__ import annotations

import pytest

from bench2robust.cli.transcript import transcript
from bench2robust.core.episode import Assignment, Message, Mode, Role, Score, Task
from bench2robust.core.errors import BenchmarkError
from bench2robust.core.ports import DualControl, Utterance
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse, ToolSpec
from bench2robust.evaluation import Episode
from bench2robust.evaluation.episode import Job, run_episode
from bench2robust.evaluation.lines import decode, encode
from bench2robust.injection import InjectionSpec, Limits, NoiseProfile

ALWAYS = InjectionSpec(NoiseProfile({"timeout": 1.0}), Limits.unlimited())


class Lamp:
    """A world with a lamp that only the user can reach, and a user who does what is asked."""

    def __init__(self):
        self.on, self.done = False, []

    def call(self, call):
        return ToolResponse("on" if self.on else "off")

    def user(self):
        return self

    def reply(self, said):
        if said is None:
            return "It is dark."
        if "break" in said:
            raise RuntimeError("the lamp fell")
        if "switch" not in said:
            return "Nothing to do."
        self.on = not self.on
        self.done.append(Message(Role.USER, "click", call=ToolCall("switch", {"hand": "left"})))
        return "I did."

    def acts(self):
        done, self.done = self.done, []
        return done

    def score(self, trajectory):
        return Score(self.on, {"lamp": self.on})


class LampBenchmark:
    name, domain, version = "lamp", "helpdesk", "1"

    def tools(self, alternatives):
        return [ToolSpec("look", "Look.", {"type": "object", "properties": {}}, ToolKind.READ)]

    def policy(self, alternatives):
        return ""

    def open(self, task, *, alternatives=True):
        return Lamp()


class Talker:
    name, omniscient = "talker", False

    def __init__(self, *says):
        self.says = says

    def play(self, briefing):
        assert briefing.opening == "It is dark."
        self.heard = []
        for said in self.says:
            self.heard.append((yield said))
        yield Utterance("Bye.", last=True)


def play(*says):
    agent = Talker(*says)
    job = Job(Task("1", "unused"), Mode.INJECT, 0, Assignment(), ALWAYS, 50)
    return run_episode(LampBenchmark(), agent, job), agent.heard


def test_what_the_user_does_comes_before_what_the_user_says():
    episode, heard = play(Utterance("Hello."), Utterance("Please switch it."))
    assert heard == ["Nothing to do.", "I did."]
    assert [(m.role, m.text, m.call) for m in episode.trajectory.messages[3:]] == [
        (Role.ASSISTANT, "Please switch it.", None),
        (Role.USER, "click", ToolCall("switch", {"hand": "left"})),
        (Role.USER, "I did.", None),
        (Role.ASSISTANT, "Bye.", None),
    ]
    assert episode.result.outcome.score.passed


def test_nothing_is_injected_into_what_the_user_does():
    episode, heard = play(ToolCall("look"), Utterance("Please switch it."), ToolCall("look"))
    assert heard[0].error
    assert heard[2].error
    assert [record.call.name for record in episode.trajectory.records] == ["look", "look"]
    assert episode.result.outcome.injections == 2
    assert episode.result.outcome.steps == 4


def test_users_calls_are_kept_and_shown():
    episode, _ = play(Utterance("Please switch it."))
    assert decode(encode(episode)) == episode
    assert isinstance(episode, Episode)
    shown = [(line.label, line.text) for line in transcript(episode)]
    assert ("user does", 'switch(hand="left")') in shown
    assert shown[shown.index(("user does", 'switch(hand="left")')) + 1] == ("  answer", "click")


def test_a_user_that_breaks_is_the_benchmarks_fault():
    with pytest.raises(BenchmarkError, match=r"the user broke: .*the lamp fell"):
        play(Utterance("break it"))


def test_an_environment_without_a_user_of_its_own_is_none():
    assert isinstance(Lamp(), DualControl)
    assert not isinstance(object(), DualControl)
