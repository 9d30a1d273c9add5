"""PPO for both halves: losses as pure functions of tensors, and the loop over minibatches.

Schulman et al., "Proximal policy optimization algorithms", 2017. What is learned from comes as
items (distinct rows, or whole sessions); a loss is a function of the numbers of some of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from standing_orders.errors import NumericsError

Figures = dict[str, Tensor]  # parts of a loss and what is said about it, by name
Loss = Callable[[Tensor], tuple[Tensor, Figures]]  # (n,) numbers of items -> loss, figures
_MIN_VARIANCE = 1e-9  # of targets that are not constant


def use_one_thread() -> None:
    """Let torch use one thread, before any weight is drawn.

    More of them only wait for each other at this size, and the last bits of orthogonal weights
    depend on how many there are.
    """
    torch.set_num_threads(1)


def surrogate_loss(
    log_probs: Tensor,
    old_log_probs: Tensor,
    advantages_up: Tensor,
    advantages_down: Tensor,
    weights: Tensor,
    *,
    clip: float,
) -> Tensor:
    """Clipped surrogate of PPO (Schulman et al. 2017, eq. 7), negated, mean over original rows.

    For a positive advantage min(r A, clip(r) A) = min(r, 1 + clip) A, for a negative one
    max(r, 1 - clip) A: so equal rows need only their two sums.
    """
    ratio = torch.exp(log_probs - old_log_probs)
    gain = torch.clamp(ratio, max=1 + clip) * advantages_up
    gain = gain + torch.clamp(ratio, min=1 - clip) * advantages_down
    return -gain.sum() / weights.sum()


def value_loss(values: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Half the mean squared error; the spread inside equal rows, a constant, is left out."""
    return 0.5 * (weights * (values - targets) ** 2).sum() / weights.sum()


def entropy(log_probs_all: Tensor, weights: Tensor) -> Tensor:
    """Mean entropy of the policy."""
    per_row = -(log_probs_all.exp() * log_probs_all).sum(dim=1)
    return (weights * per_row).sum() / weights.sum()


def divergence(log_ratio: Tensor, shares: Tensor, *, clip: float) -> Figures:
    """How far a policy has moved: CleanRL's `approx_kl`, and the share of ratios that are clipped.

    Args:
        log_ratio: log of new over old probability of actions.
        shares: of the same shape, how much each counts; they sum to 1. With the old probabilities
            of all actions in them the divergence is exact.
        clip: range of the ratio.
    """
    with torch.no_grad():
        ratio = log_ratio.exp()
        return {
            "approx_kl": ((ratio - 1 - log_ratio) * shares).sum(),
            "clipfrac": (((ratio - 1).abs() > clip) * shares).sum(),
        }


def explained_variance(
    values: NDArray[np.floating],
    targets: NDArray[np.floating],  # the same shape
) -> float | None:
    """Share of the targets' variance that a critic knew; None if there is none.

    1 is perfect, 0 no better than the mean of these very targets, below 0 worse.

    Example:
        >>> explained_variance(np.array([0.0, 0.5]), np.array([0.0, 1.0]))
        0.75
    """
    variance = float(np.var(targets, dtype=np.float64))
    if variance < _MIN_VARIANCE:
        return None
    return 1 - float(np.var(targets - values, dtype=np.float64)) / variance


@dataclass(frozen=True, kw_only=True)
class UpdateStats:
    """What an update did, mean over its gradient steps; named as in CleanRL."""

    num_epochs: int
    policy_loss: float
    value_loss: float
    entropy: float
    approx_kl: float
    clipfrac: float
    gradient_norm: float
    explained_variance: float | None  # before the update; None without a critic


@dataclass(frozen=True)
class Fitted:
    """What came of `fit`."""

    num_epochs: int
    means: dict[str, float]  # of the figures over the gradient steps, and of the gradient's norm


def fit(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    *,
    num_items: int,
    epochs: int,
    minibatches: int,
    max_gradient: float,
    max_kl: float | None = None,
    seed: int,
) -> Fitted:
    """Go over all items in shuffled minibatches, several times, and improve the network.

    Args:
        network: whose weights are checked, and whose gradients are clipped together.
        optimiser: of these weights, at the step size wanted.
        loss: of some items.
        num_items: there are.
        epochs: passes over them.
        minibatches: gradient steps a pass.
        max_gradient: norm that gradients are clipped to.
        max_kl: no further pass once the mean `approx_kl` of one exceeds it.
        seed: of the shuffling.

    Raises:
        NumericsError: a figure, a gradient or a weight is not finite; the network is of no use.
    """
    generator = torch.Generator().manual_seed(seed)
    sums: dict[str, float] = {}
    count = num_epochs = 0
    has_moved = False
    while num_epochs < epochs and not has_moved:
        kl: list[float] = []
        for items in torch.randperm(num_items, generator=generator).chunk(minibatches):
            total, figures = loss(items)
            optimiser.zero_grad()
            total.backward()
            norm = nn.utils.clip_grad_norm_(network.parameters(), max_gradient)
            step = _finite(figures | {"gradient_norm": norm})
            optimiser.step()
            sums = {name: sums.get(name, 0.0) + value for name, value in step.items()}
            kl.append(step.get("approx_kl", 0.0))
            count += 1
        num_epochs += 1
        has_moved = max_kl is not None and sum(kl) / len(kl) > max_kl
    for name, weight in network.named_parameters():
        if not torch.isfinite(weight).all():
            raise NumericsError(f"weight {name} is not finite")
    return Fitted(num_epochs, {name: value / count for name, value in sums.items()})


def _finite(figures: Figures) -> dict[str, float]:
    numbers = {name: float(figure.detach()) for name, figure in figures.items()}
    for name, number in numbers.items():
        if not np.isfinite(number):
            raise NumericsError(f"{name} is {number}")
    return numbers
