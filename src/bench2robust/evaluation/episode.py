"""One episode: task, agent, user and injected environment in, trajectory and outcome out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from traceback import extract_tb
from types import TracebackType
from typing import Final

from bench2robust import agents, domains
from bench2robust.core.domain import Domain
from bench2robust.core.episode import Assignment, Message, Mode, Role, Task, Trajectory
from bench2robust.core.errors import AgentError, B2RError, BenchmarkError, SubjectError
from bench2robust.core.ports import (
    Agent,
    Benchmark,
    Briefing,
    DualControl,
    Environment,
    OwnTools,
    Play,
    User,
    Utterance,
)
from bench2robust.core.tools import ToolCall, ToolKind, ToolResponse
from bench2robust.injection import InjectionSpec, Injector, NoiseProfile

from .lines import Episode, Result
from .outcome import ESCALATED, judge

DONE, MAX_STEPS = "done", "max_steps"
_RETURNED: Final = object()
_NOTHING = InjectionSpec(profile=NoiseProfile.empty())


@dataclass(frozen=True, slots=True)
class Job:
    """What decides an episode besides the benchmark and the agent."""

    task: Task
    mode: Mode
    seed: int
    assignment: Assignment
    injection: InjectionSpec
    """What is injected, in the modes that inject."""
    max_steps: int


def run_episode(benchmark: Benchmark, agent: Agent, job: Job) -> Episode:
    """Play one episode and judge it.

    Raises:
        AgentError: the agent raised, or did something its port does not allow.
        BenchmarkError: the benchmark or its environment raised.
    """
    with _blaming(BenchmarkError, f"benchmark={benchmark.name!r} broke"):
        environment = benchmark.open(job.task, alternatives=job.mode.alternatives)
        plan = benchmark.plan(job.task) if agent.name in agents.REFERENCE else None
        tools, policy = benchmark.tools(job.mode.alternatives), benchmark.policy(job.mode.alternatives)
    injector = Injector(
        job.injection if job.mode.injected else _NOTHING,
        job.seed,
        job.task.id,
        domain=domain_of(benchmark),
        tools=tools,
        blocked=job.assignment.blocked,
    )
    dual = environment if isinstance(environment, DualControl) else None
    user = agents.Scripted.of(job.task) if dual is None else dual.user()
    briefing = Briefing(
        task=job.task,
        tools=environment.offered if isinstance(environment, OwnTools) else tools,
        policy=policy,
        opening=user.reply(None) or "",
        plan=plan,
        oracle=injector if agent.omniscient else None,
    )
    kinds = {tool.name: tool.kind for tool in tools}
    talk = _Talk(agent.name, agent.play(briefing), user, injector, environment, kinds, dual)
    trajectory = talk.run(briefing.opening, job.max_steps)
    with _blaming(BenchmarkError, f"benchmark={benchmark.name!r} broke"):
        score = environment.score(trajectory)
    outcome = judge(trajectory, score, job.task, job.assignment, kinds)
    return Episode(Result(job.task.id, agent.name, job.mode, job.seed, job.assignment, outcome), trajectory)


@cache
def _load_domain(name: str) -> Domain:
    return domains.load_file(name) if name.endswith(".toml") else domains.load(name)


def domain_of(benchmark: Benchmark) -> Domain:
    """Return the benchmark's domain, loaded once."""
    return _load_domain(benchmark.domain)


@dataclass(slots=True)
class _Talk:
    """The conversation of one episode."""

    agent: str
    play: Play
    user: User
    injector: Injector
    environment: Environment
    kinds: Mapping[str, ToolKind]
    dual: DualControl | None
    """The environment, where its user acts in it too."""

    def run(self, opening: str, max_steps: int) -> Trajectory:
        """Let the agent act until it is done, hands over or has used up its steps."""
        trajectory = Trajectory([Message(Role.USER, opening)])
        answer: ToolResponse | str | None = None
        while not trajectory.ended:
            action = self._next(answer)
            if action is _RETURNED:
                trajectory.ended = DONE
                break
            trajectory.steps += 1
            if isinstance(action, ToolCall):
                answer = self._call(action, trajectory)
            elif isinstance(action, Utterance):
                answer = self._say(action, trajectory)
            else:
                raise AgentError(
                    f"agent={self.agent!r} has to yield a ToolCall or an Utterance, got {type(action).__name__}={action!r}"
                )
            if trajectory.steps >= max_steps and not trajectory.ended:
                trajectory.ended = MAX_STEPS
        self.play.close()
        trajectory.records = list(self.injector.records)
        return trajectory

    def _next(self, answer: ToolResponse | str | None) -> object:
        """Return what the agent does next, or `_RETURNED`."""
        with _blaming(AgentError, f"agent={self.agent!r} broke"):
            try:
                return next(self.play) if answer is None else self.play.send(answer)
            except StopIteration:
                return _RETURNED

    def _call(self, call: ToolCall, trajectory: Trajectory) -> ToolResponse:
        if not isinstance(call.name, str) or not isinstance(call.arguments, Mapping):
            raise AgentError(
                f"agent={self.agent!r} has to call a name with a mapping of arguments, got call={call!r}"
            )
        response = self.injector.call(call, self._execute)
        record = self.injector.last()
        trajectory.messages.append(Message(Role.ASSISTANT, record=record.index))
        trajectory.messages.append(Message(Role.TOOL, response.text, record.index))
        handed_over = self.kinds.get(call.name) is ToolKind.ESCALATION
        if handed_over and record.executed and not record.genuine_error:
            trajectory.ended = ESCALATED
        return response

    def _execute(self, call: ToolCall) -> ToolResponse:
        with _blaming(BenchmarkError, f"the environment broke on tool={call.name!r}"):
            return self.environment.call(call)

    def _say(self, utterance: Utterance, trajectory: Trajectory) -> str:
        trajectory.messages.append(Message(Role.ASSISTANT, utterance.text))
        words = None if utterance.last else self._reply(utterance.text, trajectory)
        if words is None:
            trajectory.ended = DONE
            return ""
        trajectory.messages.append(Message(Role.USER, words))
        return words

    def _reply(self, said: str, trajectory: Trajectory) -> str | None:
        """Return what the user says, after what the user does."""
        if self.dual is None:
            return self.user.reply(said)
        with _blaming(BenchmarkError, "the environment broke on what its user does"):
            words = self.user.reply(said)
            trajectory.messages.extend(self.dual.acts())
        return words


class _blaming:
    """Turn whatever is raised inside, unless it is raised on purpose, into an error of one family.

    A class, because as a generator it would take four times as long, and every call passes through it.

    Args:
        family: whose fault it is.
        what: what happened, for the message, which also names the place.
    """

    __slots__ = ("_family", "_what")

    def __init__(self, family: type[SubjectError], what: str) -> None:
        self._family, self._what = family, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None or isinstance(error, B2RError) or not isinstance(error, Exception):
            return
        where, text = extract_tb(trace)[-1], " ".join(str(error).split())
        place = f"{where.filename}:{where.lineno}"
        raise self._family(f"{self._what}: {type(error).__name__}: {text} ({place})") from error
