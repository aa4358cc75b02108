"""DAPO as small pure functions, twice: `arrays` in NumPy is the reference, `tensors` in torch is what trains.

The names and the order of arguments are the same in both. What is minimised (Yu et al. 2025, with the paper's
KL term and masked groups in place of resampling)::

    Σ_kept tokens [ −min(ρ A, clip(ρ, 1 − 0.20, 1 + 0.28) A) + 0.02 · k3 ] / number of kept tokens

A token is kept if the policy sampled it (tool output is not) and its group taught something: the standard
deviation of the rewards compared is at least 0.01. The number of tokens is that of the whole minibatch, so
every token counts alike, however long its rollout.

`tensors` needs torch (``pip install 'bench2robust[train]'``) and is not imported from here.
"""

from .spec import Advantages, DapoSpec, LogProbs, Loss

__all__ = ["Advantages", "DapoSpec", "LogProbs", "Loss"]
