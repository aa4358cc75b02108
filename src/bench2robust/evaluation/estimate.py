"""What a run's models are going to cost, from a few episodes played for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bench2robust.core.episode import Usage
from bench2robust.core.errors import EpisodeLostError

from .cast import Cast
from .inflight import Flight, Lost, play_waiting
from .schedule import Schedule
from .workers import Played

_SAMPLES = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """About what the episodes with models of a run take."""

    episodes: int
    played: int
    """Episodes that were played to find out."""
    tokens: float
    cost: float
    """US dollars."""
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON values."""
        return {
            "episodes": self.episodes,
            "played": self.played,
            "tokens": round(self.tokens),
            "cost": self.cost,
            "seconds": round(self.seconds, 3),
        }


def sample(schedule: Schedule, concurrency: int) -> Estimate:
    """Play a few episodes, evenly spread over the schedule, and multiply; nothing is kept.

    Args:
        schedule: the episodes; those without a model are left out.
        concurrency: how many are going to be in flight.

    Raises:
        EpisodeLostError: all of them were lost to the endpoint.
        UsageError, SubjectError, EndpointFatalError, KeyboardInterrupt: as `inflight.play_waiting`.
    """
    places = [place for place in range(len(schedule)) if schedule.waits(place)]
    if not places:
        return Estimate(0, 0, 0.0, 0.0, 0.0)
    some = min(len(places), _SAMPLES)
    ended: list[Played | Lost] = []
    chosen = [places[len(places) * at // some] for at in range(some)]
    cast = Cast(schedule.spec.models, min(concurrency, some))
    play_waiting(schedule, (chosen,), cast, ended.append, Flight())
    spent = [item.result.spent or Usage() for item in ended if isinstance(item, Played)]
    if not spent:
        raise EpisodeLostError(next(item.problem for item in ended if isinstance(item, Lost)))
    total = sum(spent, Usage())
    times = len(places) / len(spent)
    return Estimate(
        len(places),
        len(spent),
        (total.prompt_tokens + total.completion_tokens) * times,
        total.cost * times,
        total.seconds * times / min(concurrency, len(places)),
    )
