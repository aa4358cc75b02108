"""The mathematics: golden numbers, NumPy against torch, masks by finite differences."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bench2robust.core.errors import SpecError
from bench2robust.training import GroupSpec, Normalisation
from bench2robust.training.dapo import DapoSpec, LogProbs, arrays

torch = pytest.importorskip("torch", reason="torch is not installed (pip install 'bench2robust[train]')")
tensors = pytest.importorskip("bench2robust.training.dapo.tensors", reason="needs torch")
torch.set_num_threads(1)

SPEC = DapoSpec()
D = [0.1, -0.5, 1.0, -2.0, 4.0]
"""The reference's log-probability minus ours."""


def tensor(values):
    return torch.tensor(np.asarray(values), dtype=torch.float64)


# Golden numbers, computed with slime's, verl's and TRL's own functions.


def test_golden_k3_is_clamped_at_ten():
    expected = [0.00517, 0.10653, 0.71828, 1.13534, 10.0]
    assert arrays.k3(np.zeros(5), D, SPEC) == pytest.approx(expected, abs=5e-6)
    assert tensors.k3(torch.zeros(5), tensor(D), SPEC).tolist() == pytest.approx(expected, abs=5e-6)
    loose = DapoSpec(kl_clamp=1e9)
    assert arrays.k3(np.zeros(5), D, loose)[4] == pytest.approx(49.598, abs=5e-4)


def test_golden_gradient_of_k3_and_none_where_it_is_clamped():
    for spec, last in ((SPEC, 0.0), (DapoSpec(kl_clamp=1e9), -53.598)):
        logp = torch.zeros(5, dtype=torch.float64, requires_grad=True)
        tensors.k3(logp, tensor(D), spec).sum().backward()
        assert logp.grad.tolist() == pytest.approx([-0.105, 0.393, -1.718, 0.865, last], abs=5e-4)


def test_golden_policy_loss_is_clipped_on_the_side_that_is_pushed():
    ratios, advantage = [1.4, 1.4, 0.5, 0.5], [1.0, -1.0, 1.0, -1.0]
    assert arrays.policy_loss(ratios, advantage, SPEC) == pytest.approx([-1.28, 1.4, -0.5, 0.8])
    assert tensors.policy_loss(tensor(ratios), tensor(advantage), SPEC).tolist() == pytest.approx(
        [-1.28, 1.4, -0.5, 0.8]
    )
    assert arrays.clipped(ratios, advantage, SPEC).tolist() == [True, False, False, True]
    assert tensors.clipped(tensor(ratios), tensor(advantage), SPEC).tolist() == [True, False, False, True]


def test_golden_advantages_use_the_unbiased_standard_deviation():
    values, kept = arrays.advantages([1.0, 0.0, 0.0, 1.0], [0, 0, 0, 0], DapoSpec(epsilon=0))
    assert values == pytest.approx(np.array([1, -1, -1, 1]) * 0.5 / np.sqrt(1 / 3))
    assert kept.all()


# Advantages and masks.


def test_groups_are_found_by_key_in_whatever_order_they_arrive():
    rewards, keys = np.array([1.0, 0.3, 0.0, 0.9, 0.2, 0.1]), np.array([5, 9, 5, 9, 5, 9])
    values, kept = arrays.advantages(rewards, keys, SPEC)
    order = np.array([4, 1, 0, 5, 3, 2])
    again, also = arrays.advantages(rewards[order], keys[order], SPEC)
    assert again == pytest.approx(values[order])
    assert kept.all()
    assert also.all()


@pytest.mark.parametrize(("spread", "kept"), [(0.0, False), (0.0099, False), (0.0101, True)])
def test_rewards_that_hardly_vary_teach_nothing(spread, kept):
    # Of two values that differ by x the unbiased standard deviation is x / √2.
    rewards = [0.5, 0.5 + spread * np.sqrt(2)]
    values, mask = arrays.advantages(rewards, [0, 0], SPEC)
    assert mask.tolist() == [kept] * 2
    assert bool(np.any(values != 0)) is kept


def test_a_lone_rollout_teaches_nothing():
    assert not arrays.advantages([1.0], [0], SPEC).kept.any()
    assert not tensors.advantages(tensor([1.0]), torch.tensor([0]), SPEC).kept.any()


def test_the_outcome_gate_masks_groups_in_which_nothing_succeeded_whatever_their_shaping():
    rewards, keys = [0.3, 0.1, 0.2, 1.0, 0.1, 0.2], [0, 0, 0, 1, 1, 1]
    passed = [False, False, False, True, False, False]
    assert arrays.advantages(rewards, keys, SPEC).kept.all()
    gated = arrays.advantages(rewards, keys, SPEC, passed)
    assert gated.kept.tolist() == [False] * 3 + [True] * 3
    assert gated.values[:3].tolist() == [0, 0, 0]


def test_split_normalisation_does_not_punish_the_half_that_cannot_pass():
    """Clean rollouts pass, injected ones fail more or less well: apart, the best attempt has a good advantage."""
    rewards = [1.0] * 4 + [0.9] * 4 + [0.3, 0.2, 0.1, 0.0] * 2
    unified, split = (
        arrays.advantages(rewards, [GroupSpec(normalisation=n).key(0, i) for i in range(16)], SPEC).values
        for n in Normalisation
    )
    assert unified[8:].max() < 0
    assert split[8:].max() > 1


@pytest.mark.parametrize("library", [arrays, tensors])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0, float("nan")], [0, 0]), r"rewards\[1\]=.*nan"),
        (([1.0, 0.0], [0, 0, 0]), "one key for each reward"),
        (([1.0, 0.0], [0, 0], [True]), "one outcome for each reward"),
    ],
)
def test_bad_rewards_are_refused_in_one_line(library, arguments, said):
    given_ = [np.asarray(a) for a in arguments]
    if library is tensors:
        given_ = [torch.tensor(a) for a in given_]
    with pytest.raises(SpecError, match=said) as caught:
        library.advantages(*given_[:2], SPEC, *given_[2:])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"clip_low": 0}, "clip_low=0"), ({"clip_high": 1.5}, "clip_high=1.5"), ({"kl": -1}, "kl=-1"), ({"least_std": float("nan")}, "least_std=nan")],
)  # fmt: skip
def test_bad_constants_are_refused(wrong, said):
    with pytest.raises(SpecError, match=said):
        DapoSpec(**wrong)


# NumPy and torch.

FLOATS = st.floats(-6, 6, width=32)


@st.composite
def batches(draw):
    """A minibatch: three log-probabilities, rewards, keys, which tokens were sampled, outcomes."""
    rows, tokens = draw(st.integers(1, 8)), draw(st.integers(1, 6))
    shape = (rows, tokens)
    return {
        "now": draw(hnp.arrays(float, shape, elements=FLOATS)),
        "old": draw(hnp.arrays(float, shape, elements=FLOATS)),
        "reference": draw(hnp.arrays(float, shape, elements=FLOATS)),
        # Multiples of 1/8: no standard deviation is so near 0.01 that rounding decides.
        "rewards": draw(hnp.arrays(int, rows, elements=st.integers(0, 8))) / 8,
        "keys": draw(hnp.arrays(int, rows, elements=st.integers(0, 3))),
        "sampled": draw(hnp.arrays(bool, shape)),
        "succeeded": draw(hnp.arrays(bool, rows)),
    }


@given(batches(), st.booleans(), st.booleans())
def test_numpy_and_torch_agree(batch, gate, with_kl):
    gated = batch["succeeded"] if gate else None
    ours = arrays.advantages(batch["rewards"], batch["keys"], SPEC, gated)
    theirs = tensors.advantages(
        tensor(batch["rewards"]),
        torch.tensor(batch["keys"]),
        SPEC,
        torch.tensor(gated) if gate else None,
    )
    assert theirs.kept.tolist() == ours.kept.tolist()
    np.testing.assert_allclose(theirs.values.numpy(), ours.values, rtol=1e-9, atol=1e-9)
    mask = arrays.token_mask(batch["sampled"], ours.kept)
    their_mask = tensors.token_mask(torch.tensor(batch["sampled"]), theirs.kept)
    assert their_mask.tolist() == mask.tolist()
    names = ("now", "old", "reference") if with_kl else ("now", "old")
    expected = arrays.loss(LogProbs(*(batch[n] for n in names)), ours.values, mask, SPEC)
    got = tensors.loss(LogProbs(*(tensor(batch[n]) for n in names)), theirs.values, their_mask, SPEC)
    np.testing.assert_allclose([float(x) for x in got], [float(x) for x in expected], rtol=1e-9, atol=1e-9)


# Gradients.


def gradient(batch, advantage, mask, tokens=None, spec=SPEC):
    now = tensor(batch["now"]).requires_grad_()
    logp = LogProbs(now, tensor(batch["old"]), tensor(batch["reference"]))
    loss = tensors.loss(logp, tensor(advantage), torch.tensor(mask), spec, tokens)
    loss.total.backward()
    return now.grad.numpy(), float(loss.total.detach())


def fixed(rows=6, tokens=5):
    """A minibatch in which nothing is near a kink: clip and clamp act or do not by a margin."""
    grid = np.arange(rows * tokens).reshape(rows, tokens)
    now = -1.0 - 0.37 * (grid % 7)
    return {
        "now": now,
        "old": now - np.choose(grid % 5, [0.02, 0.5, -0.5, 0.1, -0.1]),
        "reference": now + np.choose(grid % 4, [0.3, -0.6, 3.5, -1.0]),
        "rewards": np.array([1.0, 0.0, 0.3, 0.5, 0.5, 0.5]),
        "keys": np.array([0, 0, 0, 1, 1, 1]),
        "sampled": grid % 3 != 1,
    }


def test_the_gradient_is_that_of_finite_differences():
    batch = fixed()
    advantage, kept = arrays.advantages(batch["rewards"], batch["keys"], SPEC)
    mask = arrays.token_mask(batch["sampled"], kept)
    exact, _ = gradient(batch, advantage, mask)
    step = 1e-6
    for place in np.ndindex(*exact.shape):
        values = []
        for sign in (1, -1):
            moved = batch["now"].copy()
            moved[place] += sign * step
            logp = LogProbs(moved, batch["old"], batch["reference"])
            values.append(arrays.loss(logp, advantage, mask, SPEC).total)
        assert (values[0] - values[1]) / (2 * step) == pytest.approx(exact[place], abs=1e-7)
    assert (exact[mask] != 0).sum() > 5


def test_a_masked_group_or_token_changes_no_gradient_and_no_loss():
    """Finite differences: whatever a masked token's log-probabilities are, loss and gradients stay what they were."""
    batch = fixed()
    advantage, kept = arrays.advantages(batch["rewards"], batch["keys"], SPEC)
    assert kept.tolist() == [True] * 3 + [False] * 3  # the second group does not vary
    mask = arrays.token_mask(batch["sampled"], kept)
    before, total = gradient(batch, advantage, mask)
    assert (before[~mask] == 0).all()
    for place in zip(*np.nonzero(~mask), strict=True):
        for name in ("now", "old", "reference"):
            moved = {**batch, name: batch[name].copy()}
            moved[name][place] += 0.7
            after, also = gradient(moved, advantage, mask)
            assert also == total
            assert (after == before).all()
    for place in zip(*np.nonzero(mask), strict=True):  # the same disturbance of any other token is seen
        moved = {**batch, "reference": batch["reference"].copy()}
        moved["reference"][place] -= 2.0
        assert gradient(moved, advantage, mask)[1] != total


def test_a_masked_group_is_as_good_as_absent():
    """Not in the policy loss, not in KL, not in the token count: the rest learns as if it had never been rolled out."""
    batch = fixed()
    advantage, kept = arrays.advantages(batch["rewards"], batch["keys"], SPEC)
    mask = arrays.token_mask(batch["sampled"], kept)
    with_it, total = gradient(batch, advantage, mask)
    alone = {name: value[:3] for name, value in batch.items()}
    without, also = gradient(alone, advantage[:3], mask[:3])
    assert also == total
    assert (with_it[:3] == without).all()


@pytest.mark.parametrize("junk", [float("nan"), float("inf"), -float("inf"), 1e30])
def test_what_masked_tokens_hold_does_not_matter(junk):
    batch = fixed()
    advantage, kept = arrays.advantages(batch["rewards"], batch["keys"], SPEC)
    mask = arrays.token_mask(batch["sampled"], kept)
    clean, total = gradient(batch, advantage, mask)
    dirty = {**batch, **{n: np.where(mask, batch[n], junk) for n in ("now", "old", "reference")}}
    got, also = gradient(dirty, advantage, mask)
    assert also == total
    assert (got == clean).all()
    logp = LogProbs(dirty["now"], dirty["old"], dirty["reference"])
    assert arrays.loss(logp, advantage, mask, SPEC).total == pytest.approx(total)


def test_a_minibatch_in_which_everything_is_masked_changes_nothing():
    batch = fixed()
    nothing = np.zeros_like(batch["sampled"])
    grad, total = gradient(batch, np.zeros(6), nothing)
    assert total == 0
    assert (grad == 0).all()


@pytest.mark.parametrize("gap", [-1000.0, -25.0, 25.0, 1000.0])
def test_nothing_overflows_far_from_the_reference_or_the_sampling_policy(gap):
    batch = {"now": np.zeros((1, 2)), "old": np.full((1, 2), gap), "reference": np.full((1, 2), gap)}
    grad, total = gradient(batch, np.ones(1), np.ones((1, 2), bool))
    assert np.isfinite(grad).all()
    assert np.isfinite(total)


def test_every_token_counts_alike_however_long_its_rollout():
    now = np.full((2, 4), -1.0)
    sampled = np.array([[1, 1, 1, 1], [1, 0, 0, 0]], bool)
    batch = {"now": now, "old": now, "reference": now}
    grad, _ = gradient(batch, np.ones(2), sampled)
    assert grad[sampled] == pytest.approx([-1 / 5] * 5)


def test_the_parts_of_a_minibatch_add_up_to_the_whole():
    """Gradient accumulation: with the count of the whole, parts need not be equally long."""
    batch = fixed()
    advantage, kept = arrays.advantages(batch["rewards"], batch["keys"], SPEC)
    mask = arrays.token_mask(batch["sampled"], kept)
    whole, total = gradient(batch, advantage, mask)
    parts = [
        gradient({k: v[rows] for k, v in batch.items()}, advantage[rows], mask[rows], float(mask.sum()))
        for rows in (slice(0, 1), slice(1, 6))
    ]
    assert sum(value for _, value in parts) == pytest.approx(total)
    np.testing.assert_allclose(np.concatenate([grad for grad, _ in parts]), whole, rtol=1e-12)


def test_on_the_policy_that_sampled_the_clip_is_inert_and_off_it_it_acts():
    batch = fixed()
    mask = np.ones((6, 5), bool)
    advantage = np.array([1.0, -1.0] * 3)
    on = arrays.loss(LogProbs(batch["now"], batch["now"]), advantage, mask, SPEC)
    off = arrays.loss(LogProbs(batch["now"], batch["old"]), advantage, mask, SPEC)
    assert on.clipped == 0
    assert (
        0.1 < off.clipped < 0.4
    )  # a fifth of the ratios is above and one below, half of them pushed outwards
    grad, _ = gradient(batch, advantage, mask, spec=DapoSpec(kl=0))
    ratios = arrays.ratio(batch["now"], batch["old"])
    active = arrays.clipped(ratios, np.repeat(advantage[:, None], 5, 1), SPEC)
    assert ((grad == 0) == active).all()


def test_the_clamped_share_counts_tokens_without_a_kl_gradient():
    now = np.zeros((1, 5))
    got = arrays.loss(LogProbs(now, now, np.array([D])), np.zeros(1), np.ones((1, 5), bool), SPEC)
    assert got.clamped == pytest.approx(1 / 5)
    assert got.total == pytest.approx(0.02 * got.kl)


def test_torch_is_imported_by_tensors_only():
    program = (
        "import sys; import bench2robust.training, bench2robust.training.dapo.arrays; "
        "assert 'torch' not in sys.modules; sys.modules['torch'] = None\n"
        "try:\n    import bench2robust.training.dapo.tensors\n"
        "except Exception as error:\n    print(type(error).__name__, error)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown == (
        "NotInstalledError training needs torch, which is not installed; "
        "get it with: pip install 'bench2robust[train]'\n"
    )
