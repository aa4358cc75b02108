"""Our loop is τ²'s: the same agent and user have the same conversation, which ends alike with the same reward.

The golden files hold what τ²'s own orchestrator and evaluators made of every conversation
(`orchestrator.py` records them, `conversations.py` scripts them).
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench2robust.core.episode import Assignment, End, Mode, Role, Usage
from bench2robust.core.noise import NoiseType
from bench2robust.core.ports import Parting, Utterance
from bench2robust.core.tools import ToolCall
from bench2robust.evaluation import Job, load, run_episode_async
from bench2robust.injection import InjectionSpec, Limits, NoiseProfile

from .conversations import BAD, ENDLESS, OUT_OF_SCOPE, STOP, TRANSFER, Calls, conversations, digest, signature

pytestmark = pytest.mark.tau2
GOLDEN = Path(__file__).parents[1] / "golden"
ENDS = {"user_stop": End.DONE, "too_many_errors": End.TOO_MANY_ERRORS, "max_steps": End.MAX_STEPS}
SIGNALS = {STOP: End.DONE, TRANSFER: End.TRANSFERRED, OUT_OF_SCOPE: End.OUT_OF_SCOPE}


@dataclass
class Agent:
    """Says and calls what the conversation scripts."""

    moves: tuple
    name: str = "scripted"

    def start(self, briefing):
        flat = []
        for move in self.moves:
            if isinstance(move, Calls):
                flat += [(ToolCall(*call), "" if n else move.aside) for n, call in enumerate(move.calls)]
            else:
                flat.append((Utterance(move), ""))
        return Session(flat)


@dataclass
class Session:
    moves: list
    usage: Usage = field(default_factory=Usage)
    aside: str = ""
    ended: End | None = None

    async def act(self, reply):
        action, self.aside = self.moves.pop(0)
        return action


class Guest:
    def __init__(self, words):
        self.words = list(words)
        self.usage, self.ends_talk, self.parting = Usage(), True, None

    async def reply(self, said):
        text = self.words.pop(0) if len(self.words) > 1 else self.words[0]
        for signal, end in SIGNALS.items():
            if signal in text:
                self.parting = Parting(text, end)
                return None
        return text


def play(benchmark, task, talk, mode=Mode.CLEAN, injection=None):
    injection = injection or InjectionSpec(NoiseProfile.empty())
    steps = ENDLESS if talk.name == "endless" else 200
    job = Job(task, mode, 0, Assignment(), injection, steps)
    return asyncio.run(run_episode_async(benchmark, Agent(talk.agent), lambda scene: Guest(talk.user), job))


def flat(trajectory):
    written = []
    for message in trajectory.messages:
        if message.role is Role.TOOL:
            written.append(("tool", message.text))
        elif message.record is None:
            written.append((str(message.role), message.text))
        else:
            call = trajectory.records[message.record].call
            written.append(("call", signature(call.name, dict(call.arguments)), message.text))
    return written


@pytest.mark.parametrize("domain", ["retail", "airline"])
def test_every_conversation_is_what_upstream_makes_of_it(domain):
    benchmark = load(f"tau2-{domain}")
    golden = json.loads((GOLDEN / f"tau2_{domain}_talks.json").read_text())
    met = set()
    assert [task.id for task in benchmark.tasks()] == list(golden)
    for place, task in enumerate(benchmark.tasks()):
        for talk in conversations(task.data, place):
            upstream = golden[task.id][talk.name]
            episode = play(benchmark, task, talk)
            what = (task.id, talk.name)
            met.add((talk.name, upstream["end"], upstream["reward"]))
            assert episode.result.outcome.score.passed is (upstream["reward"] == 1.0), what
            assert End(episode.trajectory.ended).scored is ENDS[upstream["end"]].scored, what
            ours, theirs = digest(flat(episode.trajectory)).split(), upstream["messages"].split()
            if upstream["end"] != "user_stop":
                assert episode.trajectory.ended == ENDS[upstream["end"]], what
            if talk.name in ("errors together", "endless"):
                # τ² carries out what is left of a message's calls, and counts other things as steps.
                assert ours == theirs[: len(ours)], what
                assert 0 < len(theirs) - len(ours) <= 10, what
            else:
                assert ours == theirs, what
    assert {end for _, end, _ in met} == set(ENDS)
    assert {reward for name, end, reward in met if end == "user_stop"} == {0.0, 1.0}


def test_injected_errors_do_not_use_up_upstreams_cap():
    """A conversation that ends at the cap where the errors are the tools' own does not where they are ours."""
    benchmark = load("tau2-retail")
    task = benchmark.tasks()[0]
    call = ToolCall("get_order_details", {"order_id": "#W2378156"})
    failing = InjectionSpec(NoiseProfile({NoiseType.SERVER_ERROR: 1.0}), Limits.unlimited())
    talk = conversations(task.data, 0)[0]
    ours = Calls(((call.name, dict(call.arguments)),) * 20)
    own = Calls((BAD,) * 20)
    for calls, end in ((ours, End.DONE), (own, End.TOO_MANY_ERRORS)):
        scripted = type(talk)("x", (calls, *talk.agent[-1:]), ("Hello.", f"Bye {STOP}"))
        episode = play(benchmark, task, scripted, Mode.INJECT, failing)
        assert all(record.delivered.error for record in episode.trajectory.records)
        assert episode.trajectory.ended == end


@pytest.mark.slow
@pytest.mark.parametrize(("domain", "tasks"), [("retail", "0,1,5,18,44,102"), ("airline", "2,7,20")])
def test_the_golden_files_are_what_the_installed_upstream_makes(domain, tasks):
    script = Path(__file__).with_name("orchestrator.py")
    done = subprocess.run(
        [sys.executable, str(script), domain, tasks], capture_output=True, text=True, timeout=300, check=True
    )
    golden = json.loads((GOLDEN / f"tau2_{domain}_talks.json").read_text())
    fresh = json.loads(done.stdout)
    assert list(fresh) == tasks.split(",")
    assert fresh == {task: golden[task] for task in fresh}
