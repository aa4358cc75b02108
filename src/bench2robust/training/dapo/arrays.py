"""DAPO in NumPy: the reference that `tensors` is tested against. Everything is float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bench2robust.core.errors import SpecError

from .spec import LOG_RATIO_LIMIT, Advantages, DapoSpec, LogProbs, Loss

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def advantages(
    rewards: ArrayLike, keys: ArrayLike, spec: DapoSpec, succeeded: ArrayLike | None = None
) -> Advantages:
    """Return ``(r − mean) / (std + ε)`` among the rollouts with the same key; std is the unbiased one.

    Args:
        rewards: of each rollout.
        keys: integers, equal for rollouts that are compared (`groups.GroupSpec.key`); in any order.
        spec: the constants.
        succeeded: the outcome gate: which rollouts reached what they could. Where no rollout of a key did, all
            are masked, whatever their rewards. None for no gate.

    Raises:
        SpecError: the arguments differ in length, or a reward is no number.
    """
    values = np.asarray(rewards, dtype=np.float64)
    groups = np.asarray(keys)
    if values.ndim != 1 or values.shape != groups.shape:
        raise SpecError(f"expected one key for each reward, got shapes {values.shape} and {groups.shape}")
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise SpecError(f"expected finite rewards, got rewards[{at}]={values[at]!r}")
    reached = None if succeeded is None else np.asarray(succeeded, dtype=bool)
    if reached is not None and reached.shape != values.shape:
        raise SpecError(
            f"expected one outcome for each reward, got shapes {values.shape} and {reached.shape}"
        )
    out, kept = np.zeros_like(values), np.zeros(values.shape, dtype=bool)
    for key in np.unique(groups):
        here = groups == key
        std = values[here].std(ddof=1) if here.sum() > 1 else 0.0
        if std < spec.least_std or (reached is not None and not reached[here].any()):
            continue
        out[here] = (values[here] - values[here].mean()) / (std + spec.epsilon)
        kept[here] = True
    return Advantages(out, kept)


def token_mask(sampled: ArrayLike, kept: ArrayLike) -> Bools:
    """Return which tokens count: those the policy sampled, of rollouts that are kept (rollouts × tokens)."""
    mask: Bools = np.asarray(sampled, dtype=bool) & np.asarray(kept, dtype=bool)[:, None]
    return mask


def ratio(logp: ArrayLike, old: ArrayLike) -> Floats:
    """Return how much likelier each token has become since it was sampled."""
    difference = np.asarray(logp, dtype=np.float64) - np.asarray(old, dtype=np.float64)
    return np.exp(np.clip(difference, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT))


def clipped(ratios: ArrayLike, advantage: ArrayLike, spec: DapoSpec) -> Bools:
    """Return where the clip acts: a ratio has left its range, on the side that its advantage pushes to."""
    r, a = np.asarray(ratios, dtype=np.float64), np.asarray(advantage, dtype=np.float64)
    return ((a > 0) & (r > 1 + spec.clip_high)) | ((a < 0) & (r < 1 - spec.clip_low))


def policy_loss(ratios: ArrayLike, advantage: ArrayLike, spec: DapoSpec) -> Floats:
    """Return ``−min(ρ A, clip(ρ) A)`` of each token.

    >>> policy_loss([1.4, 1.4, 0.5, 0.5], [1, -1, 1, -1], DapoSpec()).tolist()
    [-1.28, 1.4, -0.5, 0.8]
    """
    r, a = np.asarray(ratios, dtype=np.float64), np.asarray(advantage, dtype=np.float64)
    return np.maximum(-r * a, -np.clip(r, 1 - spec.clip_low, 1 + spec.clip_high) * a)


def k3(logp: ArrayLike, reference: ArrayLike, spec: DapoSpec) -> Floats:
    """Return ``exp(d) − d − 1`` of each token, at most the clamp; d is the reference's log-probability minus ours."""
    d = np.asarray(reference, dtype=np.float64) - np.asarray(logp, dtype=np.float64)
    d = np.clip(d, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return np.clip(np.exp(d) - d - 1, -spec.kl_clamp, spec.kl_clamp)


def token_mean(values: ArrayLike, mask: ArrayLike, tokens: float | None = None) -> float:
    """Return the sum over the masked-in tokens, divided by how many there are; 0 for none.

    Args:
        values: of each token.
        mask: which tokens count; what the others hold does not matter, not even if it is no number.
        tokens: what to divide by, where these tokens are only a part of the minibatch.
    """
    counts = np.asarray(mask, dtype=bool)
    return float(_masked(values, counts).sum()) / _count(counts, tokens)


def loss(
    logp: LogProbs, advantage: ArrayLike, mask: ArrayLike, spec: DapoSpec, tokens: float | None = None
) -> Loss:
    """Return DAPO's loss of one minibatch.

    Args:
        logp: of each token, under three policies.
        advantage: of each rollout.
        mask: which tokens count (`token_mask`); what the others hold does not matter.
        spec: the constants.
        tokens: kept tokens of the whole minibatch, where this is only a part of it: the losses of the parts
            then add up to that of the whole.
    """
    counts = np.asarray(mask, dtype=bool)
    now, old = _masked(logp.now, counts), _masked(logp.old, counts)
    a = np.broadcast_to(np.asarray(advantage, dtype=np.float64)[:, None], counts.shape)
    ratios = ratio(now, old)
    policy = token_mean(policy_loss(ratios, a, spec), counts, tokens)
    kl = clamped = 0.0
    if logp.reference is not None and spec.kl:
        each = k3(now, _masked(logp.reference, counts), spec)
        kl = token_mean(each, counts, tokens)
        clamped = token_mean(each >= spec.kl_clamp, counts, tokens)
    active = token_mean(clipped(ratios, a, spec), counts, tokens)
    return Loss(policy + spec.kl * kl, policy, kl, active, clamped, _count(counts, tokens))


def _masked(values: ArrayLike, counts: Bools) -> Floats:
    return np.where(counts, np.asarray(values, dtype=np.float64), 0.0)


def _count(counts: Bools, tokens: float | None) -> float:
    return max(1.0, float(counts.sum()) if tokens is None else float(tokens))
