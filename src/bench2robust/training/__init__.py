"""Training: reward, curriculum, grouped rollouts and the mathematics of DAPO.

Read in this order: `reward` (what an episode is worth), `statistics` and `curriculum` (which episodes are
trained on), `groups` (which rollouts an iteration has), `dapo` (what is made of their rewards). All of it is
pure; whoever trains calls it in this order, once an iteration::

    phase = curriculum.phase(progress)
    groups = sampler.groups(iteration, phase.scenarios())
    episodes = …                                   # each rollout's job, played by the policy
    rewards = [reward(episode, facts, spec) for episode in episodes]
    taught = advantages([r.total for r in rewards], keys, dapo)
    …                                              # one update for each of `minibatches(groups, …)`
    progress = curriculum.observe(progress, Statistics.total(…))

Nothing here imports torch but `dapo.tensors`.
"""

from .curriculum import PAPER, Criterion, Curriculum, Phase, Progress, Transition
from .dapo import DapoSpec
from .groups import Group, GroupSpec, Normalisation, Rollout, Sampler, TaskPool, minibatches, shards
from .reward import Reward, RewardSpec, reward
from .statistics import Quantity, Statistics

__all__ = [
    "PAPER",
    "Criterion",
    "Curriculum",
    "DapoSpec",
    "Group",
    "GroupSpec",
    "Normalisation",
    "Phase",
    "Progress",
    "Quantity",
    "Reward",
    "RewardSpec",
    "Rollout",
    "Sampler",
    "Statistics",
    "TaskPool",
    "Transition",
    "minibatches",
    "reward",
    "shards",
]
