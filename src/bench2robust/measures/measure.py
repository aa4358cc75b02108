"""What one episode shows, as one flat value: every metric of a report is a mean of these.

`measure` is a pure function of an episode and of the run's facts. Each metric is defined where it is
computed: `moves` (what an agent does after a failure), `writes` (what it changed and claimed),
`adoption` (whose corrupted values it passed on). docs/metrics.md lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from bench2robust.core.episode import Assignment, End, Escalation, Outcome, Scenario, Trajectory, Usage
from bench2robust.core.noise import NOISE_TYPES, OBSERVABLE, SILENT, NoiseType
from bench2robust.core.tools import CallRecord

from .adoption import adopted
from .facts import RunFacts
from .moves import Move, longest_loop, most_repeated, moves_after_failures, recovery
from .writes import claims_what_did_not_happen, count_writes

VERSION: Final = 1
"""Changes whenever a measure is computed differently; measures kept under another version are not used."""

BLOCKED: Final = "blocked"
"""What a response of a blocked tool counts as: no noise type, although it reads like one."""
ERRORS: Final[tuple[str, ...]] = (*map(str, NOISE_TYPES), BLOCKED)
"""The order of `Measures.met`."""
VISIBLE: Final[tuple[str, ...]] = (*map(str, OBSERVABLE), BLOCKED)
"""The rows of `Measures.moves`: failures that an agent sees."""
SILENT_ERRORS: Final[tuple[str, ...]] = tuple(map(str, SILENT))
"""The order of `Measures.adopted`."""
MOVES: Final[tuple[str, ...]] = tuple(map(str, Move))
"""The columns of `Measures.moves`."""


class Judged(Protocol):
    """Who played which episode, and how it ended (`evaluation.Result`)."""

    @property
    def task(self) -> str: ...  # noqa: D102
    @property
    def assignment(self) -> Assignment: ...  # noqa: D102
    @property
    def outcome(self) -> Outcome: ...  # noqa: D102
    @property
    def usage(self) -> Usage | None: ...  # noqa: D102
    @property
    def user_usage(self) -> Usage | None: ...  # noqa: D102


class Played(Protocol):
    """An episode: a result, and what led to it (`evaluation.Episode`)."""

    @property
    def result(self) -> Judged: ...  # noqa: D102
    @property
    def trajectory(self) -> Trajectory: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Measures:
    """What one episode shows."""

    passed: bool
    assigned: Scenario
    """The scenario that was drawn."""
    effective: Scenario
    """The scenario that was played (causal); differs from `assigned` where the task was not eligible."""
    realised: Scenario | None
    """The paper's class (section 5.2): S2 if a blocked tool was met, S1 if anything else was injected, None
    if nothing was; S3 for an episode of that scenario in which a blocked tool was met (the paper has none)."""
    ended: End

    escalated: bool
    premature: bool
    """Handed over while a viable path was left."""
    correct_abstention: bool
    """Handed over in S3."""
    missed_abstention: bool
    """Did not hand over in S3: kept acting, or stopped without saying so."""

    writes: int
    """Calls that changed the state: executed, of a writing tool, not refused by it."""
    wrong_writes: int
    """Writes that are none of the reference solution's: another tool, or other arguments."""
    duplicate_writes: int
    """Writes made again, unchanged, more often than the reference solution makes them."""
    blind_repeats: int
    """Writes proposed again, unchanged, after their answer was lost, with no look in between."""
    fabricated_success: bool
    """The agent said that a write was done which had not happened (`writes`)."""

    steps: int
    """Assistant actions: calls and texts."""
    calls: int
    injections: int
    """Noise delivered; blocking is not counted."""
    blocked_calls: int
    genuine_errors: int
    """Errors of the tools' own."""
    longest_loop: int
    """The longest run of identical calls, one after the other; 1 where none was repeated, 0 without calls."""
    most_repeated: int
    """How often the most repeated identical call was made in the episode (`rep` of the paper's Eq. 2)."""
    failures: int
    """Times that something the agent wanted to know or do began to fail visibly."""
    recoveries: int
    """Of those, how many ended in an answer from the same tool or an equivalent one (`moves.recovery`)."""
    recovery_steps: int
    """Steps from each such failure to that answer, added up over the recoveries."""

    tokens: int
    """The agent's, prompt and completion (the paper's Table 15)."""
    user_tokens: int
    """A simulated user's."""
    cost: float
    """US dollars, of agent and user."""

    met: tuple[int, ...]
    """How often each of `ERRORS` was delivered."""
    moves: tuple[tuple[int, ...], ...]
    """For each of `VISIBLE`, how often each of `MOVES` came next."""
    adopted: tuple[int, ...]
    """For each of `SILENT_ERRORS`, of how many corrupted responses a false value was passed on."""

    def met_of(self, error: str) -> int:
        """Return how often an error was delivered: a noise type, or `BLOCKED`."""
        return self.met[ERRORS.index(error)]

    def move_of(self, error: str, move: Move) -> int:
        """Return how often a move came next after an error that the agent sees."""
        return self.moves[VISIBLE.index(error)][MOVES.index(move)]

    def adopted_of(self, error: str) -> int:
        """Return of how many responses with a silent error a false value was passed on."""
        return self.adopted[SILENT_ERRORS.index(error)]


def measure(episode: Played, facts: RunFacts) -> Measures:
    """Return what an episode shows.

    Args:
        episode: the episode.
        facts: of the run it is from.
    """
    result, trajectory = episode.result, episode.trajectory
    records, outcome, scenario = trajectory.records, result.outcome, result.assignment
    gold = facts.gold.get(result.task, ())
    writes = count_writes(records, facts.kinds, gold)
    recovered = recovery(trajectory, facts)
    impossible = scenario.effective is Scenario.S3
    escalation = outcome.escalation
    spent = result.usage, result.user_usage
    return Measures(
        passed=outcome.score.passed,
        assigned=scenario.assigned,
        effective=scenario.effective,
        realised=realised(records, scenario.effective),
        ended=End(trajectory.ended),
        escalated=escalation is not Escalation.NONE,
        premature=escalation is Escalation.PREMATURE,
        correct_abstention=escalation is Escalation.ABSTAIN,
        missed_abstention=impossible and escalation is not Escalation.ABSTAIN,
        writes=writes.made,
        wrong_writes=writes.wrong,
        duplicate_writes=writes.duplicate,
        blind_repeats=outcome.blind_repeats,
        fabricated_success=claims_what_did_not_happen(trajectory, facts.kinds),
        steps=outcome.steps,
        calls=len(records),
        injections=sum(record.landed for record in records),
        blocked_calls=sum(record.blocked for record in records),
        genuine_errors=sum(record.genuine_error for record in records),
        longest_loop=longest_loop(records),
        most_repeated=most_repeated(records),
        failures=recovered.failures,
        recoveries=recovered.recoveries,
        recovery_steps=recovered.steps,
        tokens=_tokens(result.usage),
        user_tokens=_tokens(result.user_usage),
        cost=sum(usage.cost for usage in spent if usage is not None),
        met=_met(records),
        moves=moves_after_failures(trajectory, facts, VISIBLE),
        adopted=adopted(trajectory, facts.kinds),
    )


def realised(records: list[CallRecord], effective: Scenario) -> Scenario | None:
    """Return the paper's scenario class of what was met (section 5.2); None where nothing was injected."""
    if any(record.blocked for record in records):
        return Scenario.S3 if effective is Scenario.S3 else Scenario.S2
    return Scenario.S1 if any(record.landed for record in records) else None


def _met(records: list[CallRecord]) -> tuple[int, ...]:
    counts = dict.fromkeys(ERRORS, 0)
    for record in records:
        if record.blocked:
            counts[BLOCKED] += 1
        elif record.noise is not NoiseType.CLEAN:
            counts[record.noise] += 1
    return tuple(counts.values())


def _tokens(usage: Usage | None) -> int:
    return 0 if usage is None else usage.prompt_tokens + usage.completion_tokens
