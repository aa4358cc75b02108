"""What one episode adds to the beliefs (paper, section 3.1).

Each pair of tool and noise type that was met counts once an episode, however often it was met, as a
success if the episode was passed and as a failure otherwise. A switch counts the same way: an answer
was plainly a failure, and the next call was of a tool on another side of the failed tool's class.
A tool's own error is no failure of the kinds that are counted, and a blocked tool's answer counts as the
noise type that its text shows, for that is all an agent can tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import pairwise

from bench2robust.core.domain import Domain
from bench2robust.core.episode import Trajectory
from bench2robust.core.noise import NoiseType
from bench2robust.core.reading import classify, read
from bench2robust.core.tools import CallRecord, ToolResponse

from .beliefs import Counts


class Sight(StrEnum):
    """Where the knowledge comes from of what an answer was."""

    TRUTH = "truth"
    """From the records of the injector: silent types are seen too, and an error of the tool itself that reads
    like a timeout is not mistaken for one. For episodes that this package played."""
    DELIVERED = "delivered"
    """From the texts that were delivered: the six observable types only. For an agent in production."""


def counts(trajectory: Trajectory, passed: bool, domain: Domain, sight: Sight = Sight.TRUTH) -> Counts:  # noqa: FBT001
    """Return what an episode adds to the beliefs.

    Args:
        trajectory: the episode.
        passed: whether it was passed.
        domain: which tools there are (calls of others are left out), and which are on other sides.
        sight: whether the records or only the delivered texts are looked at.
    """
    see = _true_noise if sight is Sight.TRUTH else _seen_noise
    return _counts(((r.call.name, see(r)) for r in trajectory.records), domain, passed=passed)


def observed(answers: Iterable[tuple[str, ToolResponse]], passed: bool, domain: Domain) -> Counts:  # noqa: FBT001
    """Return what an episode adds of which only the answers are known: `Sight.DELIVERED` without a trajectory.

    Args:
        answers: each tool that was called, in order, and what it answered.
        passed: whether the episode reached what it was for.
        domain: as for `counts`.
    """
    return _counts(((tool, read(response).noise) for tool, response in answers), domain, passed=passed)


def _counts(met: Iterable[tuple[str, NoiseType | None]], domain: Domain, *, passed: bool) -> Counts:
    """Return the counts of what every call met; None for nothing that counts."""
    known = frozenset(domain.tools)
    calls = list(met)
    errors = frozenset((tool, noise) for tool, noise in calls if noise and (not known or tool in known))
    switches = frozenset(
        (source, target)
        for (source, noise), (target, _) in pairwise(calls)
        if noise and noise.observable and domain.switches(source, target)
    )
    return Counts(errors, switches, passed)


def _true_noise(record: CallRecord) -> NoiseType | None:
    if record.blocked:
        return classify(record.delivered.text)
    return record.noise if record.landed else None


def _seen_noise(record: CallRecord) -> NoiseType | None:
    return read(record.delivered).noise
