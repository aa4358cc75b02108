"""What a run may cost before it stops by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from bench2robust.core.episode import Usage
from bench2robust.core.errors import SpecError


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run; None is no limit. They change nothing in the results.

    Raises:
        SpecError: a limit that is not more than 0.
    """

    cost: float | None = None
    """US dollars, for all episodes in the run folder."""
    tokens: int | None = None
    """Prompt and completion tokens, likewise."""
    hours: float | None = None
    """Hours that this command may begin episodes in."""

    def __post_init__(self) -> None:
        for name in ("cost", "tokens", "hours"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise SpecError(f"expected more than 0, got max-{name}={value!r}; leave it out for no limit")


class Meter:
    """What a run has cost so far, against its budget.

    An episode is begun only if those in flight, each as dear as the average so far, leave room for it; so a
    budget is passed by no more than what the first episodes, of unknown price, cost.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = monotonic) -> None:
        self.spent = Usage()
        self._budget, self._clock = budget, clock
        self._start = clock()
        self._episodes = 0

    def add(self, usage: Usage | None) -> None:
        """Count one episode; None where no model was asked."""
        if usage is not None:
            self.spent = self.spent + usage
            self._episodes += 1

    def exhausted(self, in_flight: int) -> str:
        """Return which limit leaves no room for one more episode, empty where none does."""
        budget, spent = self._budget, self.spent
        tokens = spent.prompt_tokens + spent.completion_tokens
        for name, limit, used in (("cost", budget.cost, spent.cost), ("tokens", budget.tokens, tokens)):
            mean = used / self._episodes if self._episodes else 0.0
            if limit is not None and used + mean * (in_flight + 1) > limit:
                return f"max-{name}={limit:g} leaves no room for another episode"
        if budget.hours is not None and self._clock() - self._start >= budget.hours * 3600:
            return f"max-hours={budget.hours:g} are over"
        return ""
