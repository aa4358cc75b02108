"""Agents and users that are awaited, but have nothing to wait for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from bench2robust.core.episode import End, Usage
from bench2robust.core.ports import Parting


@dataclass
class Awaiting:
    """An agent that answers at once, as one that is awaited; it gets the plan that models do not get."""

    agent: object
    benchmark: object

    @property
    def name(self):
        return self.agent.name

    def start(self, briefing):
        return Session(self.agent.play(replace(briefing, plan=self.benchmark.plan(briefing.task))))


@dataclass
class Session:
    play: object
    usage: Usage = field(default_factory=Usage)
    aside: str = ""
    ended: End | None = None

    async def act(self, reply):
        await asyncio.sleep(0)
        try:
            return self.play.send(reply)
        except StopIteration:
            return None


@dataclass
class Model:
    """An agent that does what its script says: actions, or (action, aside), or an `End`; each costs a request."""

    script: list
    name: str = "model"
    briefings: list = field(default_factory=list)
    got: list = field(default_factory=list)

    def start(self, briefing):
        self.briefings.append(briefing)
        return Scripted(self, list(self.script))


@dataclass
class Scripted:
    model: Model
    script: list
    usage: Usage = field(default_factory=Usage)
    aside: str = ""
    ended: End | None = None

    async def act(self, reply):
        self.model.got.append(reply)
        await asyncio.sleep(0)
        action = self.script.pop(0) if self.script else None
        if isinstance(action, Exception):
            raise action
        self.usage.requests += 1
        self.usage.prompt_tokens += 100
        self.usage.completion_tokens += 10
        self.usage.cost += 0.5
        self.usage.seconds += 0.25
        self.aside = ""
        if isinstance(action, tuple):
            action, self.aside = action
        if isinstance(action, End):
            self.ended, action = action, None
        return action


class Guest:
    """A user who says what the script says, and ends the talk with a `Parting`."""

    def __init__(self, scene, script):
        self.scene, self.script = scene, list(script)
        self.ends_talk, self.parting, self.usage = True, None, Usage()
        self.heard = []

    async def reply(self, said):
        self.heard.append(said)
        words = self.script.pop(0)
        if isinstance(words, Exception):
            raise words
        self.usage.requests += 1
        self.usage.prompt_tokens += 7
        if isinstance(words, Parting):
            self.parting = words
            return None
        return words


def guest(*script, met=None):
    """Make such users; each is added to `met`."""

    def new(scene):
        user = Guest(scene, script)
        if met is not None:
            met.append(user)
        return user

    return new
