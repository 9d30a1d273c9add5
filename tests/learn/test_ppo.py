"""The losses and the loop of PPO, against numbers computed by hand."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from standing_orders.errors import NumericsError
from standing_orders.learn.ppo import (
    Figures,
    divergence,
    entropy,
    explained_variance,
    fit,
    surrogate_loss,
    value_loss,
)


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# ---------------------------------------------------------------------------------- surrogate
@pytest.mark.parametrize(
    ("ratio", "advantage", "gain"),
    [
        (1.0, 2.0, 2.0),
        (1.5, 2.0, 2.4),  # clipped at 1.2
        (0.5, 2.0, 1.0),  # not clipped: the pessimistic side
        (1.5, -2.0, -3.0),
        (0.5, -2.0, -1.6),  # clipped at 0.8
        (1.1, 2.0, 2.2),
        (0.9, -2.0, -1.8),
    ],
)
def test_the_surrogate_is_the_smaller_of_the_ratio_and_the_clipped_ratio(
    ratio: float, advantage: float, gain: float
) -> None:
    up, down = max(advantage, 0.0), min(advantage, 0.0)
    loss = surrogate_loss(
        tensor(math.log(ratio)), tensor(0.0), tensor(up), tensor(down), tensor(1.0), clip=0.2
    )
    assert float(loss) == pytest.approx(-gain)


def test_the_surrogate_of_equal_rows_is_the_mean_over_all_of_them() -> None:
    # First row stands for three (+2, +1, -4) at ratio 1.5, the second for one (-1) at ratio 1.
    loss = surrogate_loss(
        tensor(math.log(1.5), 0.0), tensor(0.0, 0.0), tensor(3.0, 0.0), tensor(-4.0, -1.0),
        tensor(3.0, 1.0), clip=0.2,
    )  # fmt: skip
    assert float(loss) == pytest.approx(-(1.2 * 3 - 1.5 * 4 - 1) / 4)


@pytest.mark.parametrize(("ratio", "advantage"), [(1.5, 1.0), (0.5, -1.0)])
def test_beyond_the_clip_range_there_is_nothing_to_gain(ratio: float, advantage: float) -> None:
    log_prob = tensor(math.log(ratio)).requires_grad_()
    up, down = tensor(max(advantage, 0.0)), tensor(min(advantage, 0.0))
    surrogate_loss(log_prob, tensor(0.0), up, down, tensor(1.0), clip=0.2).backward()
    assert log_prob.grad is not None
    assert float(log_prob.grad) == 0


def test_a_positive_advantage_makes_its_action_likelier() -> None:
    log_prob = tensor(0.0).requires_grad_()
    loss = surrogate_loss(log_prob, tensor(0.0), tensor(2.0), tensor(0.0), tensor(1.0), clip=0.2)
    loss.backward()
    assert log_prob.grad is not None
    assert float(log_prob.grad) == pytest.approx(-2.0)


# --------------------------------------------------------------------------- value and entropy
def test_the_value_loss_is_half_the_weighted_mean_squared_error() -> None:
    loss = value_loss(tensor(1.0, 2.0), tensor(3.0, 1.0), tensor(3.0, 1.0))
    assert float(loss) == pytest.approx(0.5 * (3 * 4 + 1 * 1) / 4)


def test_the_entropy_is_the_weighted_mean_over_rows() -> None:
    log_probs = torch.log(torch.tensor([[0.5, 0.5], [0.9, 0.1]], dtype=torch.float64))
    sharp = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
    found = float(entropy(log_probs, tensor(1.0, 3.0)))
    assert found == pytest.approx((math.log(2) + 3 * sharp) / 4)


# ------------------------------------------------------------------------------------ figures
def test_the_divergence_of_all_actions_weighted_by_the_old_policy_is_exact() -> None:
    old, new = tensor(0.5, 0.3, 0.2), tensor(0.2, 0.3, 0.5)
    figures = divergence(new.log() - old.log(), old, clip=0.2)
    exact = float((old * (old.log() - new.log())).sum())
    assert float(figures["approx_kl"]) == pytest.approx(exact)
    assert float(figures["clipfrac"]) == pytest.approx(0.7)


def test_a_critic_explains_all_nothing_or_less() -> None:
    targets = np.array([1.0, 2.0, 3.0])
    assert explained_variance(targets + 5.0, targets) == 1.0  # a constant does not vary
    assert explained_variance(np.zeros(3), targets) == 0.0
    assert explained_variance(-targets, targets) == pytest.approx(-3.0)
    assert explained_variance(np.arange(3.0), np.ones(3)) is None


# --------------------------------------------------------------------------------------- loop
def least_squares(net: nn.Linear, seen: list[list[int]]) -> object:
    inputs = torch.arange(6.0)[:, None]

    def loss(items: Tensor) -> tuple[Tensor, Figures]:
        seen.append(items.tolist())
        total = ((net(inputs[items]) - 3 * inputs[items]) ** 2).mean()
        return total, {"loss": total, "approx_kl": torch.tensor(float(len(seen)))}

    return loss


def run(net: nn.Linear, seen: list[list[int]], rate: float = 0.01, **options: float) -> object:
    optimiser = torch.optim.SGD(net.parameters(), lr=rate)
    wanted = {"num_items": 6, "epochs": 3, "minibatches": 2, "max_gradient": 0.5, "seed": 1}
    return fit(net, optimiser, least_squares(net, seen), **(wanted | options))


def test_every_pass_goes_over_all_items_once_in_a_new_order() -> None:
    seen: list[list[int]] = []
    found = run(nn.Linear(1, 1), seen)
    passes = [seen[i] + seen[i + 1] for i in (0, 2, 4)]
    assert all(sorted(one) == list(range(6)) for one in passes)
    assert passes[0] != passes[1]
    assert found.num_epochs == 3
    assert found.means["approx_kl"] == pytest.approx(3.5)  # the mean over six steps
    assert set(found.means) == {"loss", "approx_kl", "gradient_norm"}


def test_the_passes_end_where_the_policy_has_moved_far_enough() -> None:
    assert run(nn.Linear(1, 1), [], max_kl=3.0).num_epochs == 2  # means 1.5 and 3.5
    assert run(nn.Linear(1, 1), [], max_kl=3.6).num_epochs == 3


def test_fewer_items_than_minibatches_are_a_minibatch_each() -> None:
    seen: list[list[int]] = []
    run(nn.Linear(1, 1), seen, num_items=2, minibatches=8, epochs=1)
    assert [len(items) for items in seen] == [1, 1]


def test_a_loss_or_a_weight_that_is_not_finite_is_named() -> None:
    net = nn.Linear(1, 1)
    with pytest.raises(NumericsError, match="weight weight is not finite"):
        run(net, [], rate=math.inf, epochs=1, minibatches=1)
    with pytest.raises(NumericsError, match=r"loss is (inf|nan)"):
        run(net, [])
