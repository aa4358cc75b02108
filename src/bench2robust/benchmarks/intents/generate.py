"""Generates 3I-shaped tasks: draws errands, words them, proves each, and keeps what is new.

Every task is proved before it is kept: its words ground every argument in the domain's plan compiler,
and its plan, followed on a fresh environment with the user answering from the script, ends in the gold
state. The calls that this takes are the gold actions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from bench2robust.core.episode import Task, Trajectory
from bench2robust.core.errors import SpecError
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall, ToolKind

from .benchmark import IntentBenchmark
from .compose import Text, ambiguous, can_withhold, changing, general
from .follow import Dead, Follower
from .records import AMBIGUOUS, CHANGING, GENERAL, INFEASIBLE, actions, canonical, read_record, record
from .wishes import Errand, Refused, Wish

ATTEMPTS = 1500
"""Draws in a row without a new task after which the database counts as exhausted."""
MOST = 10_000
"""Tasks of one intent in one file: some eight times the paper's whole set, minutes of generating."""
REWORDINGS = 60
"""Wordings tried for one ambiguous rewrite."""


class Kit(Protocol):
    """What a domain offers the generator. Whatever it draws must be possible on its database."""

    domain: str
    people: Sequence[str]
    """The users who can want something."""

    def errand(self, draws: Draws, user_id: str) -> Errand | None:
        """Draw an errand; None where a draw cannot be said uniquely."""
        ...

    def rather(self, draws: Draws, errand: Errand) -> Wish | None:
        """Draw what the user first wants instead."""
        ...

    def refused(self, draws: Draws, user_id: str) -> Refused | None:
        """Draw an errand with a wish that the policy forbids."""
        ...


@dataclass(frozen=True, slots=True)
class Counts:
    """How many tasks of each intent.

    Raises:
        SpecError: a negative count, one above `MOST`, or more ambiguous tasks than general ones.
    """

    general: int = 0
    ambiguous: int = 0
    changing: int = 0
    infeasible: int = 0

    def __post_init__(self) -> None:
        for intent, count in self.to_dict().items():
            if count < 0:
                raise SpecError(f"expected a count of at least 0, got {intent}={count}")
            if count > MOST:
                raise SpecError(
                    f"expected at most {MOST} tasks of one intent in a file, got {intent}={count}; "
                    "make several files with different seeds for more"
                )
        if self.ambiguous > self.general:
            raise SpecError(
                f"expected at most as many ambiguous tasks as general ones (each rewrites one), "
                f"got ambiguous={self.ambiguous} with general={self.general}"
            )

    def to_dict(self) -> dict[str, int]:
        """Return intent to count."""
        return asdict(self)


def generate(
    kit: Kit,
    benchmark: IntentBenchmark,
    counts: Counts,
    seed: int,
    watch: Callable[[int], object] = lambda made: None,
) -> list[dict[str, Any]]:
    """Return task records, in the order general, ambiguous, changing, infeasible.

    Args:
        kit: the domain's draws and words.
        benchmark: its environment and plan compiler, on the same database.
        counts: how many of each.
        seed: the same seed gives the same records.
        watch: told after each task how many there are.

    Raises:
        SpecError: the database does not support so many different tasks.
    """
    if not kit.people:
        raise SpecError("expected a database with users for whom something can be done, got one without")
    made: list[dict[str, Any]] = []
    for raw in _Generator(kit, benchmark, seed).run(counts):
        made.append(raw)
        watch(len(made))
    return made


def dump(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Return records as the bytes of a task file."""
    return json.dumps(records, indent=1, ensure_ascii=False).encode() + b"\n"


@dataclass(slots=True)
class _Generator:
    kit: Kit
    benchmark: IntentBenchmark
    seed: int
    texts: set[str] = field(default_factory=set)
    """The users' words so far."""
    standard: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        tools = self.benchmark.tools(alternatives=False)
        self.standard = frozenset(tool.name for tool in tools)
        self.writes = frozenset(tool.name for tool in tools if tool.kind is ToolKind.WRITE)

    def run(self, counts: Counts) -> Iterator[dict[str, Any]]:
        kept: list[tuple[Errand, dict[str, Any]]] = []
        for errand, raw in self.several(GENERAL, counts.general, self.one_general):
            kept.append((errand, raw))
            yield raw
        for n, (errand, raw) in enumerate(kept[: counts.ambiguous]):
            yield self.rewrite(n, errand, raw)
        for _, raw in self.several(CHANGING, counts.changing, self.one_changing):
            yield raw
        for _, raw in self.several(INFEASIBLE, counts.infeasible, self.one_infeasible):
            yield raw

    def several(
        self, intent: str, count: int, one: Callable[[Draws, str, str], tuple[Errand, dict[str, Any]] | None]
    ) -> Iterator[tuple[Errand, dict[str, Any]]]:
        """Draw tasks of one intent until there are enough with different gold."""
        golds: set[str] = set()
        for n in range(count):
            for attempt in range(ATTEMPTS):
                draws = Draws(self.seed, "3i", self.kit.domain, intent, n, attempt)
                made = one(draws, draws.choice(self.kit.people), f"{intent}-{n}")
                if made is None:
                    continue
                gold = self.gold_of(made[1])
                if gold not in golds and self.is_new(made[1]):
                    golds.add(gold)
                    yield made
                    break
            else:
                raise SpecError(
                    f"expected at most {n} {intent} tasks from this database, got {intent}={count}; "
                    f"no other was found in {ATTEMPTS} draws in a row"
                )

    def one_general(self, draws: Draws, user_id: str, task_id: str) -> tuple[Errand, dict[str, Any]] | None:
        errand = self.kit.errand(draws, user_id)
        if errand is None or not can_withhold(errand):
            return None
        raw = self.raw(task_id, errand, general(errand, draws), {"intent": GENERAL})
        calls = self.proved(raw)
        return None if calls is None else (errand, with_gold(raw, calls))

    def rewrite(self, n: int, errand: Errand, of: dict[str, Any]) -> dict[str, Any]:
        """Rewrite a general task: the same gold, details withheld."""
        for attempt in range(REWORDINGS):
            draws = Draws(self.seed, "3i", self.kit.domain, AMBIGUOUS, n, attempt)
            raw = self.raw(
                f"{AMBIGUOUS}-{n}", errand, ambiguous(errand, draws), {"intent": AMBIGUOUS, "of": of["id"]}
            )
            if self.proved(raw) is not None and self.is_new(raw):
                gold = [ToolCall(a["name"], a["arguments"]) for a in of["evaluation_criteria"]["actions"]]
                return with_gold(raw, gold)
        raise SpecError(
            f"expected an ambiguous wording for task={of['id']!r}, found none in {REWORDINGS} draws"
        )

    def one_changing(self, draws: Draws, user_id: str, task_id: str) -> tuple[Errand, dict[str, Any]] | None:
        errand = self.kit.errand(draws, user_id)
        rather = self.kit.rather(draws, errand) if errand else None
        if errand is None or rather is None or not self.matters(rather, errand):
            return None
        abandoned = {"name": rather.call.name, "arguments": dict(rather.call.arguments)}
        extras = {"intent": CHANGING, "abandoned": abandoned}
        raw = self.raw(task_id, errand, changing(errand, rather, draws), extras)
        calls = self.proved(raw)
        if calls is None or rather.call.signature() in {call.signature() for call in calls}:
            return None
        return errand, with_gold(raw, calls)

    def one_infeasible(
        self, draws: Draws, user_id: str, task_id: str
    ) -> tuple[Errand, dict[str, Any]] | None:
        refused = self.kit.refused(draws, user_id)
        if refused is None:
            return None
        wishes = (*refused.errand.wishes, refused.wish)
        said = replace(refused.errand, wishes=wishes)
        forbidden = {"name": refused.wish.call.name, "arguments": dict(refused.forbidden)}
        attempt = {"name": refused.wish.call.name, "arguments": dict(refused.wish.call.arguments)}
        extras = {
            "intent": INFEASIBLE,
            "rule": refused.rule,
            "forbidden": [forbidden],
            "attempt": attempt,
            **refused.facts,
        }
        raw = self.raw(task_id, refused.errand, general(said, draws), extras)
        calls = self.proved(raw)
        return None if calls is None else (refused.errand, with_gold(raw, calls))

    def matters(self, rather: Wish, errand: Errand) -> bool:
        """Whether what the user wants first is possible, and would spoil the gold state."""
        spoiled, gold = self.open(), self.open()
        if spoiled.call(rather.call).error:
            return False
        for wish in errand.wishes:
            spoiled.call(wish.call)
            if gold.call(wish.call).error:
                return False
        return bool(spoiled.changes() != gold.changes())

    def open(self) -> Any:
        return self.benchmark.open(Task("none", ""), alternatives=False)

    def raw(self, task_id: str, errand: Errand, text: Text, extras: Mapping[str, Any]) -> dict[str, Any]:
        calls = [wish.call for wish in errand.wishes]
        return record(task_id, self.kit.domain, text, calls, errand.tell, extras)

    def proved(self, raw: Mapping[str, Any]) -> list[ToolCall] | None:
        """Follow the task's plan; return the calls it takes, or None when the task is not valid."""
        task = read_record(raw)
        environment = self.open()
        if any(environment.call(action.call).error for action in task.gold):
            return None
        try:
            plan = self.benchmark.compile(task)
            if plan.ungrounded or plan.notes:
                return None
            environment = self.benchmark.open(task, alternatives=False)
            follower = Follower(environment, self.standard, _answers(task))
            follower.follow(plan)
        except Dead:
            return None
        score = environment.score(Trajectory.saying(follower.said))
        done = sorted(canonical(call) for call in follower.calls if call.name in self.writes)
        if not score.passed or done != sorted(canonical(action.call) for action in task.gold):
            return None
        return follower.calls

    def gold_of(self, raw: Mapping[str, Any]) -> str:
        """Return what may not be gold twice: the writes, of infeasible tasks (few have any) all calls."""
        calls = [ToolCall(a["name"], a["arguments"]) for a in raw["evaluation_criteria"]["actions"]]
        every = raw["bench2robust"]["intent"] == INFEASIBLE
        return json.dumps(sorted(canonical(call) for call in calls if every or call.name in self.writes))

    def is_new(self, raw: Mapping[str, Any]) -> bool:
        """Whether no task so far has the same words; remembers them."""
        words = raw["user_scenario"]["instructions"]
        text = " ".join(f"{words['reason_for_call']} {words['task_instructions']}".lower().split())
        if text in self.texts:
            return False
        self.texts.add(text)
        return True


def with_gold(raw: dict[str, Any], calls: Sequence[ToolCall]) -> dict[str, Any]:
    """Return the record with these gold actions."""
    criteria = {**raw["evaluation_criteria"], "actions": actions(raw["id"], calls)}
    return {**raw, "evaluation_criteria": criteria}


def _answers(task: Task) -> Callable[[str], str | None]:
    """Return how the task's user answers questions."""
    left = list(task.script.answers) if task.script else []

    def answer(question: str) -> str | None:
        said = [a for a in left if any(cue.lower() in question.lower() for cue in a.cues)]
        for one in said:
            left.remove(one)
        return " ".join(a.text for a in said)

    return answer
