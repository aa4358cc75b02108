"""What other processes do to a store, for the tests of it: run as a script, or imported."""

from __future__ import annotations

import os
import sys

from bench2robust import domains
from bench2robust.core.noise import NoiseType
from bench2robust.memory import Counts, keep

RETAIL = domains.load("retail")
EPISODE = Counts(
    frozenset({("get_order_details", NoiseType.TIMEOUT), ("calculate", NoiseType.STALE)}),
    frozenset({("get_order_details", "get_orders_for_user")}),
    passed=True,
)


def update(path: str, times: int, reports: int = -1) -> None:
    """Count the episode many times, and say after each on a file descriptor that it is kept."""
    memory = keep(path, RETAIL)
    for _ in range(times):
        memory.update(EPISODE)
        if reports >= 0:
            os.write(reports, b".")
    memory.close()


if __name__ == "__main__":
    update(sys.argv[1], int(sys.argv[2]), 1)
