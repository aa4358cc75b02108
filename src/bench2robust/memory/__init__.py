"""Bayesian Tool Memory (paper, section 3.1): beliefs, structure, the block and the notes that agents read."""

from .beliefs import Belief, Beliefs, Counts
from .counting import Sight, counts, observed
from .keeping import JsonFile, Keeper, keep
from .memory import Memory
from .source import Source
from .store import Store

__all__ = [
    "Belief",
    "Beliefs",
    "Counts",
    "JsonFile",
    "Keeper",
    "Memory",
    "Sight",
    "Source",
    "Store",
    "counts",
    "keep",
    "observed",
]
