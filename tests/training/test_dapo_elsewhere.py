"""The same numbers from the functions of TRL and slime themselves, where those are installed."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest

from bench2robust.training.dapo import DapoSpec, LogProbs, arrays

torch = pytest.importorskip("torch", reason="torch is not installed (pip install 'bench2robust[train]')")
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # slime compiles two-line functions
torch.set_num_threads(1)

from bench2robust.training.dapo import tensors  # noqa: E402  (needs torch)

pytestmark = pytest.mark.filterwarnings("default")  # those of the libraries are theirs


@pytest.fixture
def batch():
    """Numbers without a pattern, some of them beyond clip and clamp."""
    make = torch.Generator().manual_seed(7)
    now = -3 * torch.rand(8, 12, generator=make, dtype=torch.float64)
    return SimpleNamespace(
        now=now,
        old=now + 0.4 * torch.randn(8, 12, generator=make, dtype=torch.float64),
        reference=now + 1.5 * torch.randn(8, 12, generator=make, dtype=torch.float64),
        rewards=torch.rand(8, generator=make, dtype=torch.float64),
        sampled=torch.rand(8, 12, generator=make) < 0.7,
    )


@pytest.fixture
def slime():
    reason = "slime is not installed (a checkout of its source on PYTHONPATH will do)"
    return pytest.importorskip("slime.utils.ppo_utils", reason=reason, exc_type=ImportError)


def test_policy_loss_and_clip_are_slimes(slime, batch):
    advantage = torch.randn(8, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    losses, active = slime.compute_policy_loss(batch.old - batch.now, advantage, 0.2, 0.28)
    ratios = tensors.ratio(batch.now, batch.old)
    torch.testing.assert_close(tensors.policy_loss(ratios, advantage, DapoSpec()), losses)
    assert tensors.clipped(ratios, advantage, DapoSpec()).tolist() == active.bool().tolist()


def test_k3_is_slimes_low_var_kl(slime, batch):
    far = torch.cat([batch.reference, batch.reference + 4, batch.reference - 30])
    now = torch.cat([batch.now] * 3)
    theirs = slime.compute_approx_kl(now, far, "low_var_kl")
    torch.testing.assert_close(tensors.k3(now, far, DapoSpec()).float(), theirs, rtol=1e-4, atol=1e-5)
    assert (theirs == 10).any()


@pytest.fixture
def trl():
    reason = "TRL is not installed (pip install trl)"
    return pytest.importorskip("trl.trainer.grpo_trainer", reason=reason, exc_type=ImportError)


def _same(values, **_):
    """What one process gathers and reduces."""
    return values


def _trl_trainer(trl, batch, beta):
    """A trainer that has been given its log-probabilities; the loss is TRL's own method."""

    class Recording(dict):
        def __missing__(self, key):
            return self.setdefault(key, [])

    trainer = SimpleNamespace(
        model=SimpleNamespace(training=True),
        args=SimpleNamespace(use_bias_correction_kl=False, delta=None, steps_per_generation=1),
        accelerator=SimpleNamespace(num_processes=1, gather=_same, reduce=_same, sync_gradients=False),
        _metrics={"train": Recording()},
        beta=beta,
        loss_type="dapo",
        epsilon_low=0.2,
        epsilon_high=0.28,
        importance_sampling_level="token",
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=False,
        aux_loss_enabled=False,
        _entropy_bonus_enabled=False,
        current_gradient_accumulation_steps=1,
        _get_per_token_logps_and_entropies=lambda *a, **k: (batch.now, torch.zeros_like(batch.now), None),
    )
    return lambda inputs: trl.GRPOTrainer._compute_loss(trainer, None, inputs)


@pytest.mark.parametrize("beta", [0.0, 0.02])
def test_the_loss_and_its_gradient_are_trls(trl, batch, beta):
    spec = DapoSpec(kl=beta, kl_clamp=1e9)  # TRL does not clamp
    batch.now.requires_grad_()
    advantage = tensors.advantages(batch.rewards, torch.tensor([0] * 4 + [1] * 4), spec).values
    inputs = {
        "prompt_ids": torch.zeros(8, 1, dtype=torch.long),
        "prompt_mask": torch.ones(8, 1, dtype=torch.long),
        "completion_ids": torch.zeros(8, 12, dtype=torch.long),
        "completion_mask": torch.ones(8, 12, dtype=torch.long),
        "tool_mask": batch.sampled.long(),
        "advantages": advantage,
        "old_per_token_logps": batch.old,
        "ref_per_token_logps": batch.reference,
        "num_items_in_batch": batch.sampled.sum(),
    }
    theirs = _trl_trainer(trl, batch, beta)(inputs)
    (expected,) = torch.autograd.grad(theirs, batch.now)
    ours = tensors.loss(LogProbs(batch.now, batch.old, batch.reference), advantage, batch.sampled, spec)
    (got,) = torch.autograd.grad(ours.total, batch.now)
    torch.testing.assert_close(ours.total, theirs)
    torch.testing.assert_close(got, expected)
    assert 0 < ours.clipped < 1


def test_advantages_differ_from_trls_and_slimes_by_the_epsilon_only(batch):
    """Both divide by the unbiased standard deviation of the group, plus 1e-4 or 1e-6."""
    rewards = batch.rewards.view(2, 4)
    for epsilon in (1e-4, 1e-6):
        expected = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + epsilon)
        got = arrays.advantages(batch.rewards, np.repeat([0, 1], 4), DapoSpec(epsilon=epsilon))
        np.testing.assert_allclose(got.values, expected.flatten().numpy())
