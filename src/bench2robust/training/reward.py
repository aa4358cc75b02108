"""What an episode is worth (paper, Eq. 2; DESIGN 4.12), with every term kept beside the sum.

    passed      eff · rep
    otherwise   0.3 · matched gold actions / all gold actions · rep

    eff = max(0.3, 1 − 0.02 · max(0, steps − 12))
    rep = 1, 0.5 or 0, by how often the most repeated identical call was made (3: 0.5; 4 or more: 0)

Where the paper is silent:

- A gold action counts as matched only if it was *executed*; each call stands for one gold action. What a gold
  action of the user's (dual control) needs is that the user made it.
- A gold read also counts if what it gives was had through an equivalent side (`_Sides`); `Reward.literal` is the
  count without that credit, which would punish switching.
- A task without gold actions has no partial credit.

The S3-aware variant, off by default, is worth eff · rep for an episode of S3 that was handed over as it
should be: after a retry and every viable alternative, and without a wrong write. The paper has no such term
(section 3.2).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench2robust.core.domain import Domain, Side
from bench2robust.core.episode import Action, Escalation, Role, Scenario, Trajectory
from bench2robust.core.errors import SpecError
from bench2robust.core.reading import parse
from bench2robust.core.tools import CallRecord, ToolCall, ToolKind
from bench2robust.measures import Played, RunFacts, count_writes, most_repeated
from bench2robust.measures.writes import happened, same


@dataclass(frozen=True, slots=True)
class RewardSpec:
    """The constants of Eq. 2 (paper, Table 12), and which variant is used.

    Raises:
        SpecError: a share outside 0 to 1, or steps or a slope below 0.
    """

    partial: float = 0.3
    """What all gold actions are worth in an episode that failed; 0 for no partial credit."""
    free_steps: int = 12
    """Steps that cost nothing."""
    slope: float = 0.02
    """What each step more costs."""
    floor: float = 0.3
    """Below this the cost of steps does not bring a pass."""
    s3_aware: bool = False
    """Whether handing over in S3, rightly, is worth what a pass is."""

    def __post_init__(self) -> None:
        for name in ("partial", "floor"):
            if not 0 <= getattr(self, name) <= 1:
                raise SpecError(
                    f"expected a share from 0 to 1, got {name}={getattr(self, name)!r}; the paper's is 0.3"
                )
        for name, usual in (("free_steps", 12), ("slope", 0.02)):
            if not getattr(self, name) >= 0:
                raise SpecError(
                    f"expected at least 0, got {name}={getattr(self, name)!r}; the paper's is {usual}"
                )

    def efficiency(self, steps: int) -> float:
        """Return eff of Eq. 2: what is left of a pass after so many assistant actions."""
        return max(self.floor, 1.0 - self.slope * max(0, steps - self.free_steps))


def repetition(repeated: int) -> float:
    """Return rep of Eq. 2, for the number of times the most repeated identical call was made."""
    return 1.0 if repeated < 3 else 0.5 if repeated == 3 else 0.0


@dataclass(frozen=True, slots=True)
class Reward:
    """What an episode is worth, and why."""

    total: float
    passed: bool
    abstained: bool
    """The S3-aware variant counts the episode as handed over rightly; always false where it is off."""
    eff: float
    steps: int
    rep: float
    repeated: int
    """How often the most repeated identical call was made."""
    matched: int
    """Gold actions that were carried out, a read through an equivalent side included."""
    literal: int
    """Gold actions that were carried out as they are written."""
    required: int
    """Gold actions of the task."""

    @property
    def succeeded(self) -> bool:
        """Whether the episode reached what it could: what an outcome gate asks of a group."""
        return self.passed or self.abstained

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as JSON values."""
        return asdict(self)


def reward(
    episode: Played,
    facts: RunFacts,
    spec: RewardSpec | None = None,
    viable: Collection[str] | None = None,
) -> Reward:
    """Return what an episode is worth; a pure function of what it is given.

    Args:
        episode: the episode, judged.
        facts: tool kinds, domain and the task's gold actions.
        spec: the constants and the variant; the paper's by default.
        viable: for the S3-aware variant, the sides of the class made impossible that this user's task could
            have used (`evaluation.certificate`: the class's counting sides); None for all there are.
    """
    spec = spec or RewardSpec()
    trajectory, outcome = episode.trajectory, episode.result.outcome
    gold = facts.gold.get(episode.result.task, ())
    repeated = most_repeated(trajectory.records)
    eff, rep = spec.efficiency(trajectory.steps), repetition(repeated)
    matched, literal = _matched(trajectory, gold, facts)
    abstained = spec.s3_aware and abstained_rightly(episode, facts, viable)
    if outcome.score.passed or abstained:
        total = eff * rep
    else:
        total = spec.partial * (matched / len(gold) if gold else 0.0) * rep
    return Reward(
        total=total,
        passed=outcome.score.passed,
        abstained=abstained,
        eff=eff,
        steps=trajectory.steps,
        rep=rep,
        repeated=repeated,
        matched=matched,
        literal=literal,
        required=len(gold),
    )


def abstained_rightly(episode: Played, facts: RunFacts, viable: Collection[str] | None = None) -> bool:
    """Whether an episode of S3 was handed over after a retry and every viable alternative, with no wrong write.

    A side counts as tried once any of its tools was called; a retry is a tool of the class called again after
    it had failed. `viable` is as for `reward`.
    """
    assignment = episode.result.assignment
    if (
        assignment.effective is not Scenario.S3
        or episode.result.outcome.escalation is not Escalation.ABSTAIN
        or assignment.equivalence not in {cls.name for cls in facts.domain.classes}
    ):
        return False
    cls = facts.domain.equivalence(assignment.equivalence)
    records = episode.trajectory.records
    called = Counter(record.call.name for record in records)
    blocked = Counter(record.call.name for record in records if record.blocked)
    sides = [side for side in cls.sides if viable is None or side.name in viable]
    return (
        any(blocked[tool] >= 2 for tool in cls.tools)
        and all(any(called[tool] for tool in side.tools) for side in sides)
        and count_writes(records, facts.kinds, facts.gold.get(episode.result.task, ())).wrong == 0
    )


def _matched(trajectory: Trajectory, gold: Sequence[Action], facts: RunFacts) -> tuple[int, int]:
    """Return how many gold actions were carried out, and how many of them as they are written."""
    made = {
        False: Counter(same(record.call) for record in trajectory.records if record.executed),
        True: Counter(
            same(m.call) for m in trajectory.messages if m.role is Role.USER and m.call is not None
        ),
    }
    literal = 0
    found: set[str] = set()
    reads: list[ToolCall] = []
    for action in gold:
        key = same(action.call)
        if made[action.by_user][key] > 0:
            made[action.by_user][key] -= 1
            literal += 1
            found.add(key)
        elif not action.by_user and facts.kinds.get(action.call.name) is ToolKind.READ:
            reads.append(action.call)
    if not reads:
        return literal, literal
    sides = _Sides(trajectory.records, gold, found, facts.domain)
    return literal + sum(map(sides.cover, reads)), literal


class _Sides:
    """Whether what a gold read gives was had through another side of its class.

    Every tool of the side must have answered, and not about something else: where such a call has a parameter
    of the gold read's, the values agree. And one of the calls must be about the same thing: an argument of the
    gold read is among its arguments or in its answer, or its answer names something (`_names`) that the gold
    actions, or the answers to those carried out, name too. A call that is a gold action itself is not that one:
    it would make the other gold action unnecessary.
    """

    def __init__(
        self, records: Sequence[CallRecord], gold: Sequence[Action], found: Collection[str], domain: Domain
    ) -> None:
        self._answered = [record for record in records if happened(record)]
        self._found = found
        self._domain = domain
        self._known: set[str] = set()
        for action in gold:
            self._known.update(_names(action.call.arguments))
        for record in self._answered:
            if same(record.call) in found:
                self._known.update(_names(_answer(record)))

    def cover(self, read: ToolCall) -> bool:
        """Whether another side covers a gold read that was not made itself."""
        own = {pair for pair in self._domain.sides_of(read.name)}
        classes = (cls for cls in self._domain.classes if any(cls.name == name for name, _ in own))
        return any(
            self._covers(side, read)
            for cls in classes
            for side in cls.sides
            if (cls.name, side.name) not in own
        )

    def _covers(self, side: Side, read: ToolCall) -> bool:
        linked = False
        for tool in side.tools:
            calls = [r for r in self._answered if r.call.name == tool and _agree(r.call, read)]
            if not calls:
                return False
            linked = linked or any(self._about(r, read) for r in calls if same(r.call) not in self._found)
        return linked

    def _about(self, record: CallRecord, read: ToolCall) -> bool:
        answer = _answer(record)
        there = {*_leaves(record.call.arguments), *_leaves(answer)}
        return not there.isdisjoint(_leaves(read.arguments)) or not self._known.isdisjoint(_names(answer))


def _agree(call: ToolCall, read: ToolCall) -> bool:
    shared = call.arguments.keys() & read.arguments.keys()
    return all(call.arguments[name] == read.arguments[name] for name in shared)


def _answer(record: CallRecord) -> Any:
    """Return what the tool itself said, whatever was delivered."""
    return None if record.true is None else parse(record.true.text)


def _leaves(value: Any) -> Iterator[str]:
    """Yield every text and number in a JSON value, keys included (ids are often keys), as text."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


_NAME = re.compile(r"(?=.*\d)(?:(?=.*[^\W\d])\S+|\d{4,})")


def _names(value: Any) -> Iterable[str]:
    """Return the values that can only mean one thing: words with letters and digits, and long numbers."""
    return filter(_NAME.fullmatch, _leaves(value))
