"""What one episode shows: pure functions of a trajectory, for metrics, memory, rewards and assertions alike."""

from .facts import RunFacts
from .measure import (
    BLOCKED,
    ERRORS,
    MOVES,
    SILENT_ERRORS,
    VERSION,
    VISIBLE,
    Measures,
    Played,
    measure,
    realised,
)
from .moves import Move, failed_visibly, longest_loop, most_repeated, move
from .writes import count_writes

__all__ = [
    "BLOCKED",
    "ERRORS",
    "MOVES",
    "SILENT_ERRORS",
    "VERSION",
    "VISIBLE",
    "Measures",
    "Move",
    "Played",
    "RunFacts",
    "count_writes",
    "failed_visibly",
    "longest_loop",
    "measure",
    "most_repeated",
    "move",
    "realised",
]
