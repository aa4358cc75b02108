"""Which rollouts an iteration consists of, and how their rewards are compared.

Each prompt is rolled out sixteen times, the first eight clean, the last eight injected (paper, section 3.3
and Table 12). A rollout is named by task, index, seed and condition; which there are is a pure function of
(sampler's seed, iteration), so that a resumed training, another rank or another engine has the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeVar

from bench2robust.core.episode import Assignment, Mode, Task
from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.randomness import Draws
from bench2robust.evaluation import Job, registry, splits
from bench2robust.evaluation.certificate import eligibility
from bench2robust.evaluation.episode import domain_of
from bench2robust.evaluation.memory import Recall
from bench2robust.injection import InjectionSpec, ScenarioSpec, assign

_SEEDS: Final = 2**31
T = TypeVar("T")


class Normalisation(StrEnum):
    """What a rollout's reward is compared with."""

    UNIFIED = "unified"
    """All rollouts of the prompt (the paper's)."""
    SPLIT = "split"
    """Those of the same half: a recovery attempt is not measured against rollouts that needed none."""


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """How many rollouts, and how they are compared (paper, Table 12).

    Raises:
        SpecError: a number below 1, more clean rollouts than there are, prompts that do not come out even,
            or halves too small to be compared.
    """

    prompts: int = 16
    """Prompts in an iteration."""
    rollouts: int = 16
    """Rollouts of each prompt."""
    clean: int = 8
    """How many of them are clean: the first ones."""
    minibatches: int = 4
    """Updates made of one iteration's rollouts; with one the policy is still the one that sampled, and
    clipping does nothing. Groups are kept whole."""
    normalisation: Normalisation = Normalisation.UNIFIED
    outcome_gate: bool = False
    """Whether a group in which nothing succeeded teaches nothing, whatever its rewards."""
    alternatives: bool = True
    """Whether the alternative tools exist; for all rollouts alike, since a group shares its prompt."""

    def __post_init__(self) -> None:
        for name in ("prompts", "rollouts", "minibatches"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SpecError(f"expected an integer of at least 1, got {name}={value!r}")
        if not 0 <= self.clean <= self.rollouts:
            raise SpecError(
                f"expected from 0 to rollouts={self.rollouts} clean rollouts, got clean={self.clean!r}"
            )
        if self.prompts % self.minibatches:
            raise SpecError(
                f"expected prompts={self.prompts} to be divisible by minibatches, got minibatches={self.minibatches!r}; "
                "groups are kept whole"
            )
        smallest = min(self.compared)
        if smallest < 2:
            raise SpecError(
                f"expected at least 2 rollouts to compare, got {smallest} with rollouts={self.rollouts}, "
                f"clean={self.clean}, normalisation={str(self.normalisation)!r}"
            )

    @property
    def compared(self) -> tuple[int, ...]:
        """Sizes of the sets of rollouts of one prompt that are compared with each other."""
        if self.normalisation is Normalisation.UNIFIED:
            return (self.rollouts,)
        return tuple(size for size in (self.clean, self.rollouts - self.clean) if size)

    @property
    def batch(self) -> int:
        """Rollouts in an iteration."""
        return self.prompts * self.rollouts

    def condition(self, index: int) -> Mode:
        """Return how a rollout is played, by its index in the group.

        Raises:
            SpecError: there is no such index.
        """
        if not 0 <= index < self.rollouts:
            raise SpecError(f"expected an index from 0 to {self.rollouts - 1}, got index={index!r}")
        if index < self.clean:
            return Mode.CLEAN_ALT if self.alternatives else Mode.CLEAN
        return Mode.INJECT_ALT if self.alternatives else Mode.INJECT

    def key(self, group: int, index: int) -> int:
        """Return a number that is equal for the rollouts whose rewards are compared.

        Args:
            group: number of the group, from 0.
            index: of the rollout in its group.
        """
        injected = self.condition(index).injected
        return group if self.normalisation is Normalisation.UNIFIED else 2 * group + injected


@dataclass(frozen=True, slots=True)
class Rollout:
    """One episode to be played."""

    task: Task
    index: int
    """Place in its group, from 0."""
    seed: int
    """Keys what is injected, and what is sampled; no two rollouts of a training share it (but by chance)."""
    condition: Mode
    assignment: Assignment

    def job(self, injection: InjectionSpec, max_steps: int, recall: Recall | None = None) -> Job:
        """Return what `evaluation.run_episode` plays."""
        return Job(self.task, self.condition, self.seed, self.assignment, injection, max_steps, recall)


@dataclass(frozen=True, slots=True)
class Group:
    """The rollouts of one prompt."""

    number: int
    """Place in the iteration, from 0."""
    task: Task
    rollouts: tuple[Rollout, ...]


@dataclass(frozen=True, slots=True)
class TaskPool:
    """The training tasks of a benchmark, or some of them.

    Raises:
        UsageError: a task is held out.
        UnknownNameError: the benchmark has no such task.
        SpecError: no task, or one given twice.
    """

    benchmark: str
    tasks: tuple[Task, ...] = field(repr=False)

    def __post_init__(self) -> None:
        ids = [task.id for task in self.tasks]
        if not ids:
            raise SpecError(
                f"expected at least one training task of benchmark={self.benchmark!r}, got tasks=()"
            )
        if len(set(ids)) < len(ids):
            twice = next(name for name in ids if ids.count(name) > 1)
            raise SpecError(f"expected each task once, got task={twice!r} twice")
        splits.refuse_held_out(self.benchmark, ids)

    @classmethod
    def of(cls, benchmark: str, ids: Iterable[str] | None = None) -> TaskPool:
        """Return all training tasks of a benchmark, or those of these ids, in the benchmark's order."""
        if ids is None:
            return cls(benchmark, splits.training_tasks(benchmark))
        wanted = tuple(ids)
        splits.refuse_held_out(benchmark, wanted)
        return cls(benchmark, tuple(t for t in splits.training_tasks(benchmark) if t.id in set(wanted)))


@dataclass(frozen=True, slots=True)
class Sampler:
    """Draws the groups of each iteration: every task once before any comes again, in an order of each epoch's own."""

    pool: TaskPool
    spec: GroupSpec = field(default_factory=GroupSpec)
    seed: int = 0

    def epoch(self, iteration: int) -> int:
        """Return the epoch in which an iteration begins, from 0."""
        return iteration * self.spec.prompts // len(self.pool.tasks)

    def iterations(self, epochs: int) -> int:
        """Return how many iterations are so many epochs, the last one filled up."""
        return -(-epochs * len(self.pool.tasks) // self.spec.prompts)

    def tasks(self, iteration: int) -> tuple[Task, ...]:
        """Return the tasks of an iteration."""
        there = len(self.pool.tasks)
        first = iteration * self.spec.prompts
        places = range(first, first + self.spec.prompts)
        orders = {epoch: self._order(epoch) for epoch in {place // there for place in places}}
        return tuple(self.pool.tasks[orders[place // there][place % there]] for place in places)

    def groups(self, iteration: int, scenarios: ScenarioSpec) -> tuple[Group, ...]:
        """Return the groups of an iteration.

        Args:
            iteration: from 0.
            scenarios: of the curriculum's phase.
        """
        first = iteration * self.spec.prompts
        return tuple(
            self._group(number, first + number, task, scenarios)
            for number, task in enumerate(self.tasks(iteration))
        )

    def rollout(self, place: int, index: int, task: str, scenarios: ScenarioSpec) -> Rollout:
        """Return one rollout, for engines that choose the tasks and ask for rollouts one by one.

        The scenario is the group's: injected rollouts differ in noise and in what the policy does, not in what
        stays recoverable, so that their rewards can be compared.

        Args:
            place: number of the group in the whole training, from 0.
            index: in its group.
            task: id of the group's task.
            scenarios: of the curriculum's phase.

        Raises:
            UsageError: the task is held out.
            UnknownNameError: the pool has no such task.
        """
        for known in self.pool.tasks:
            if known.id == task:
                return self._rollout(place, index, known, self._assignment(place, known, scenarios))
        splits.refuse_held_out(self.pool.benchmark, [task])
        raise UnknownNameError("task of the pool", task, [known.id for known in self.pool.tasks])

    def _group(self, number: int, place: int, task: Task, scenarios: ScenarioSpec) -> Group:
        assignment = self._assignment(place, task, scenarios)
        rollouts = (self._rollout(place, index, task, assignment) for index in range(self.spec.rollouts))
        return Group(number, task, tuple(rollouts))

    def _rollout(self, place: int, index: int, task: Task, assignment: Assignment) -> Rollout:
        condition = self.spec.condition(index)
        seed = Draws("training", self.seed, place, task.id, index).index(_SEEDS)
        return Rollout(
            task, index, seed, condition, assignment if condition is Mode.INJECT_ALT else Assignment()
        )

    def _assignment(self, place: int, task: Task, scenarios: ScenarioSpec) -> Assignment:
        if not self.spec.alternatives or scenarios.mix.s1 == 100:
            return Assignment()
        seed = Draws("scenario", self.seed, place, task.id).index(_SEEDS)
        domain = domain_of(registry.load(self.pool.benchmark))
        return assign(seed, task.id, scenarios, eligibility(self.pool.benchmark, task.id), domain)

    def _order(self, epoch: int) -> Sequence[int]:
        draws = Draws("order", self.seed, epoch)
        keys = [draws.uniform() for _ in self.pool.tasks]
        return sorted(range(len(keys)), key=lambda place: (keys[place], place))


def minibatches(groups: Sequence[T], spec: GroupSpec) -> tuple[tuple[T, ...], ...]:
    """Return an iteration's groups in the parts that are one update each, in order.

    Raises:
        SpecError: the parts would not be equal.
    """
    return shards(groups, spec.minibatches, "minibatches")


def shards(groups: Sequence[T], parts: int, what: str = "ranks") -> tuple[tuple[T, ...], ...]:
    """Return groups in equal parts, one for each rank, without parting a group.

    Raises:
        SpecError: the parts would not be equal.
    """
    if parts < 1 or len(groups) % parts:
        raise SpecError(f"expected a number of groups divisible by {what}={parts}, got groups={len(groups)}")
    size = len(groups) // parts
    return tuple(tuple(groups[n * size : (n + 1) * size]) for n in range(parts))
