"""Which episodes a run consists of, and in which order: agents × modes × seeds × tasks."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

from bench2robust import __version__, agents
from bench2robust.core.episode import Assignment, Mode, Task
from bench2robust.core.errors import SpecError
from bench2robust.injection import TEXTS_VERSION, InjectionSpec, Mix, NoiseProfile, ScenarioSpec, assign
from bench2robust.measures import RunFacts
from bench2robust.memory.knowledge import Knowledge
from bench2robust.memory.memory import Memory

from . import registry
from .cast import Cast
from .certificate import certify, eligibility
from .episode import Job, domain_of, run_episode, run_episode_async
from .lines import Episode, episode_id
from .memory import Recall
from .models import is_chat
from .spec import RunSpec, select
from .store import FORMAT


class Schedule:
    """A spec that has met its benchmark: every episode has a place, from 0.

    Args:
        spec: what to run.

    Raises:
        UnknownNameError: a benchmark, a task, or a tool in the profile that nobody knows.
        NotInstalledError: what the benchmark needs is not installed.
    """

    def __init__(self, spec: RunSpec) -> None:
        self.benchmark = registry.load(spec.benchmark)
        known = {task.id: task for task in self.benchmark.tasks()}
        self.spec = replace(spec, tasks=select(spec.tasks, tuple(known)))
        """The spec with its tasks spelled out, in the benchmark's order."""
        self.tasks: tuple[Task, ...] = tuple(known[name] for name in self.spec.tasks)
        self._told: dict[Mode, Knowledge] = {}
        self._recalls: dict[int, Recall] = {}
        self._recall = self._begin()
        spec.injection.profile.check_tools(tool.name for tool in self.benchmark.tools(alternatives=True))

    def __len__(self) -> int:
        spec = self.spec
        return len(spec.agents) * len(spec.modes) * len(spec.seeds) * len(self.tasks)

    def ids(self) -> Iterator[str]:
        """Return the id of every episode, in order."""
        for place in range(len(self)):
            yield self.id(place)

    def id(self, place: int) -> str:
        """Return the id of the episode at a place."""
        agent, mode, seed, task = self._at(place)
        return episode_id(task.id, agent, mode, seed)

    def task(self, place: int) -> Task:
        """Return the task of the episode at a place."""
        return self.tasks[place % len(self.tasks)]

    def play(self, place: int) -> Episode:
        """Play the episode at a place.

        Raises:
            AgentError: the agent broke.
            BenchmarkError: the benchmark broke.
        """
        name, mode, _, _ = self._at(place)
        knowledge = self._knowledge(mode) if name in agents.INFORMED else None
        return run_episode(self.benchmark, agents.create(name, knowledge), self._job(place))

    def waits(self, place: int) -> bool:
        """Whether the episode at a place waits for a model: then it is for `play_waiting`."""
        return is_chat(self._at(place)[0])

    async def play_waiting(self, place: int, cast: Cast) -> Episode:
        """Play the episode at a place, whose agent is a model.

        Raises:
            AgentError: the agent broke.
            BenchmarkError: the benchmark or the user broke.
            EndpointFatalError: no episode of the run can work.
            EpisodeLostError: this one is lost to its endpoint.
        """
        agent = cast.agent(self._at(place)[0])
        return await run_episode_async(self.benchmark, agent, cast.user(), self._job(place))

    def stream(self, place: int) -> int:
        """Return which episodes an online run learns from for the one at a place: those of its agent, mode and seed.

        The places of stream n are those from n times the number of tasks on.
        """
        return place // len(self.tasks)

    @property
    def wave(self) -> int:
        """How many episodes of a stream an online run plays before it learns from them; 0 for any other run."""
        spec = self.spec.memory
        return spec.wave if spec is not None and spec.online else 0

    @property
    def start(self) -> Memory:
        """What agents are told at the start; SpecError where they are told nothing."""
        if self._recall is None:
            raise SpecError("expected a run with a memory, got memory=None")
        return self._recall.memory

    def learn(self, memories: Mapping[int, Memory]) -> None:
        """From now on tell the agents of some streams what has been learned."""
        if self._recall is None:
            return
        for stream, memory in memories.items():
            known = self._recalls.get(stream)
            if known is None or known.memory != memory:
                self._recalls[stream] = replace(self._recall, memory=memory)

    def learned(self, places: Iterable[int]) -> dict[int, Memory]:
        """Return what `learn` was told of the streams of some places."""
        streams = {self.stream(place) for place in places}
        return {stream: self._recalls[stream].memory for stream in streams if stream in self._recalls}

    def prepare(self) -> None:
        """Establish the certificates, if a scenario needs them; worker processes then share them."""
        mix = self.spec.scenarios.mix
        if Mode.INJECT_ALT in self.spec.modes and mix.s1 < 100:
            for task in self.tasks:
                eligibility(self.spec.benchmark, task.id)
            if any(name in agents.INFORMED for name in self.spec.agents):
                self._knowledge(Mode.INJECT_ALT)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that decides the results, as JSON values."""
        versions = {"bench2robust": __version__, "benchmark": self.benchmark.version, "texts": TEXTS_VERSION}
        spec = self.spec.to_dict()
        if self.spec.memory is not None:
            spec["memory"] = self.spec.memory.to_dict(domain_of(self.benchmark).name)
        return {**spec, "versions": versions, "contents": self._contents}

    @cached_property
    def facts(self) -> RunFacts:
        """What the episodes are measured by."""
        return RunFacts.of(self.benchmark.tools(alternatives=True), domain_of(self.benchmark), self.tasks)

    @cached_property
    def _contents(self) -> dict[str, str]:
        """Return a hash of everything that the benchmark brings along, whatever its version says."""
        tools = self.benchmark.tools(alternatives=True)
        facts = self.facts.to_dict()
        return {
            "tools": _hash([[tool.openai(), tool.kind, tool.alternative] for tool in tools]),
            "policy": _hash([self.benchmark.policy(alternatives) for alternatives in (False, True)]),
            "domain": _hash(facts["domain"]),
            "gold": _hash(facts["gold"]),
        }

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits; runs with the same digits have the same results."""
        return _hash(self.identity)

    def manifest(self) -> dict[str, Any]:
        """Return the manifest of a run folder."""
        return {
            "format": FORMAT,
            "fingerprint": self.fingerprint,
            "episodes": len(self),
            "spec": self.identity,
            "python": platform.python_version(),
        }

    def _at(self, place: int) -> tuple[str, Mode, int, Task]:
        spec = self.spec
        rest, task = divmod(place, len(self.tasks))
        rest, seed = divmod(rest, len(spec.seeds))
        agent, mode = divmod(rest, len(spec.modes))
        return spec.agents[agent], spec.modes[mode], spec.seeds[seed], self.tasks[task]

    def _job(self, place: int) -> Job:
        _, mode, seed, task = self._at(place)
        assignment = self._assignment(mode, seed, task)
        recall = self._recalls.get(self.stream(place), self._recall)
        return Job(task, mode, seed, assignment, self.spec.injection, self.spec.max_steps, recall)

    def _begin(self) -> Recall | None:
        """Return what agents are told at the start, checked against the benchmark; None for nothing."""
        spec = self.spec.memory
        if spec is None:
            return None
        domain = domain_of(self.benchmark)
        tools = [tool.name for tool in self.benchmark.tools(alternatives=True)]
        if spec.memory is not None:
            spec.memory.check(domain.name, tools)
        return Recall(spec, domain, spec.start(domain.name))

    def _knowledge(self, mode: Mode) -> Knowledge:
        """Return what a policy is told about the episodes of a mode."""
        if mode not in self._told:
            blocks = mode is Mode.INJECT_ALT and self.spec.scenarios.mix.s1 < 100
            self._told[mode] = Knowledge(
                domain_of(self.benchmark),
                self.spec.injection if mode.injected else InjectionSpec(NoiseProfile.empty()),
                self.spec.scenarios if blocks else ScenarioSpec(Mix(100, 0, 0)),
                None if self._recall is None else self._recall.memory.beliefs,
                population=tuple(certify(self.spec.benchmark).values()) if blocks else (),
            )
        return self._told[mode]

    def _assignment(self, mode: Mode, seed: int, task: Task) -> Assignment:
        if mode is not Mode.INJECT_ALT:
            return Assignment()
        mix = self.spec.scenarios.mix
        if mix.s1 == 100:
            return Assignment()
        certified = eligibility(self.spec.benchmark, task.id)
        return assign(seed, task.id, self.spec.scenarios, certified, domain_of(self.benchmark))


def _hash(data: Any) -> str:
    """Return sixteen hexadecimal digits that are equal for equal JSON values."""
    return blake2b(json.dumps(data, sort_keys=True).encode(), digest_size=8).hexdigest()
