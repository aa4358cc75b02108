"""DAPO in torch: the same functions as in `arrays`, differentiable with respect to `logp`.

Raises on import:
    NotInstalledError: torch is not installed.
"""

from __future__ import annotations

from bench2robust.core.errors import NotInstalledError, SpecError

from .spec import LOG_RATIO_LIMIT, Advantages, DapoSpec, LogProbs, Loss

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise NotInstalledError(
        "training needs torch, which is not installed; get it with: pip install 'bench2robust[train]'"
    ) from error


def advantages(rewards: Tensor, keys: Tensor, spec: DapoSpec, succeeded: Tensor | None = None) -> Advantages:
    """Return ``(r − mean) / (std + ε)`` among the rollouts with the same key; as `arrays.advantages`.

    Raises:
        SpecError: the arguments differ in length, or a reward is no number.
    """
    if rewards.ndim != 1 or rewards.shape != keys.shape:
        raise SpecError(
            f"expected one key for each reward, got shapes {tuple(rewards.shape)} and {tuple(keys.shape)}"
        )
    if not bool(torch.isfinite(rewards).all()):
        at = int((~torch.isfinite(rewards)).nonzero()[0])
        raise SpecError(f"expected finite rewards, got rewards[{at}]={float(rewards[at])!r}")
    if succeeded is not None and succeeded.shape != rewards.shape:
        raise SpecError(
            f"expected one outcome for each reward, got shapes {tuple(rewards.shape)} and {tuple(succeeded.shape)}"
        )
    _, group = torch.unique(keys, return_inverse=True)
    zero = torch.zeros(int(group.max()) + 1 if len(group) else 0, dtype=rewards.dtype, device=rewards.device)
    of = zero.index_add(0, group, torch.ones_like(rewards))
    mean = zero.index_add(0, group, rewards) / of
    away = rewards - mean[group]
    std = torch.sqrt(zero.index_add(0, group, away**2) / (of - 1).clamp(min=1))
    teaches = std >= spec.least_std
    if succeeded is not None:
        teaches &= zero.index_add(0, group, succeeded.to(rewards.dtype)) > 0
    kept = teaches[group]
    return Advantages(_masked(away / (std[group] + spec.epsilon), kept), kept)


def token_mask(sampled: Tensor, kept: Tensor) -> Tensor:
    """Return which tokens count: those the policy sampled, of rollouts that are kept (rollouts × tokens)."""
    return sampled.bool() & kept.bool()[:, None]


def ratio(logp: Tensor, old: Tensor) -> Tensor:
    """Return how much likelier each token has become since it was sampled."""
    return torch.exp(torch.clamp(logp - old, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT))


def clipped(ratios: Tensor, advantage: Tensor, spec: DapoSpec) -> Tensor:
    """Return where the clip acts: a ratio has left its range, on the side that its advantage pushes to."""
    above = (advantage > 0) & (ratios > 1 + spec.clip_high)
    below = (advantage < 0) & (ratios < 1 - spec.clip_low)
    return above | below


def policy_loss(ratios: Tensor, advantage: Tensor, spec: DapoSpec) -> Tensor:
    """Return ``−min(ρ A, clip(ρ) A)`` of each token."""
    cut = torch.clamp(ratios, 1 - spec.clip_low, 1 + spec.clip_high)
    return torch.maximum(-ratios * advantage, -cut * advantage)


def k3(logp: Tensor, reference: Tensor, spec: DapoSpec) -> Tensor:
    """Return ``exp(d) − d − 1`` of each token, at most the clamp; d is the reference's log-probability minus ours."""
    d = torch.clamp(reference - logp, -LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)
    return torch.clamp(torch.exp(d) - d - 1, -spec.kl_clamp, spec.kl_clamp)


def token_mean(values: Tensor, mask: Tensor, tokens: float | None = None) -> Tensor:
    """Return the sum over the masked-in tokens, divided by how many there are; 0 for none.

    What the other tokens hold does not matter, but a gradient through a value that is no number would: mask the
    inputs of `values` too, as `loss` does.
    """
    counts = mask.bool()
    return _masked(values, counts).sum() / _count(counts, tokens)


def loss(
    logp: LogProbs, advantage: Tensor, mask: Tensor, spec: DapoSpec, tokens: float | None = None
) -> Loss:
    """Return DAPO's loss of one minibatch; the arguments are those of `arrays.loss`.

    Only `total` and its two parts carry a gradient, and only to ``logp.now``.
    """
    counts = mask.bool()
    # Padding may hold anything: replaced before any arithmetic, so that no gradient passes through it.
    now, old = _masked(logp.now, counts), _masked(logp.old.detach(), counts)
    a = advantage.detach()[:, None].expand_as(now)
    ratios = ratio(now, old)
    policy = token_mean(policy_loss(ratios, a, spec), counts, tokens)
    kl, clamped = torch.zeros_like(policy), torch.zeros_like(policy)
    if logp.reference is not None and spec.kl:
        each = k3(now, _masked(logp.reference.detach(), counts), spec)
        kl = token_mean(each, counts, tokens)
        clamped = token_mean((each >= spec.kl_clamp).to(now.dtype), counts, tokens).detach()
    active = token_mean(clipped(ratios, a, spec).to(now.dtype), counts, tokens).detach()
    return Loss(policy + spec.kl * kl, policy, kl, active, clamped, _count(counts, tokens))


def _masked(values: Tensor, counts: Tensor) -> Tensor:
    return torch.where(counts, values, torch.zeros_like(values))


def _count(counts: Tensor, tokens: float | None) -> float:
    return max(1.0, float(counts.sum()) if tokens is None else float(tokens))
