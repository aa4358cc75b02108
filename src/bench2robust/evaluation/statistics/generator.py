"""Where numpy's random numbers come from: a generator for each purpose, seeded by a keyed draw.

The one module that may use `numpy.random`: drawing a bootstrap's millions of numbers through `Draws` one by one
would take minutes. Its seeds are keyed draws, so a result is the same in any order and any process.
"""

from __future__ import annotations

import numpy as np

from bench2robust.core.randomness import Draws, Part


def generator(*path: Part) -> np.random.Generator:
    """Return numpy's generator for one purpose; equal paths give equal numbers."""
    draws = Draws("statistics", *path)
    return np.random.Generator(np.random.PCG64([draws.index(2**32) for _ in range(4)]))
