"""How sure a number is: intervals, paired differences, corrections, power.

Everything works on a `Sample`: values of episodes, each with its task and seed (`Study.sample`). Every random step
is keyed, so equal samples give equal results.
"""

from .bootstrap import mean, unpaired
from .pairs import match, paired
from .power import Prior, Spread, doubled, spread, spread_of_difference
from .proportions import chances_of_all, holm, wilson
from .sample import FEW_TASKS, Difference, Estimate, Sample

__all__ = [
    "FEW_TASKS",
    "Difference",
    "Estimate",
    "Prior",
    "Sample",
    "Spread",
    "chances_of_all",
    "doubled",
    "holm",
    "match",
    "mean",
    "paired",
    "spread",
    "spread_of_difference",
    "unpaired",
    "wilson",
]
