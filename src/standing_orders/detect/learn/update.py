"""One update of a team: a batch in, better networks out, with the losses of `learn.ppo`."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from standing_orders.detect.config import LearnConfig
from standing_orders.detect.learn.rollout import Rollout
from standing_orders.detect.learn.team import TeamNetwork
from standing_orders.errors import NumericsError
from standing_orders.learn.ppo import entropy, surrogate_loss, value_loss


@dataclass(frozen=True)
class UpdateStats:
    """What an update did, mean over its gradient steps."""

    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    clip_fraction: float
    gradient_norm: float


@dataclass(frozen=True, eq=False)
class Batch:
    """Whole sessions with everything the loss needs."""

    features: Tensor  # (rows, num_features)
    starts: NDArray[np.int64]  # (num_sessions + 1,)
    old_log_probs: Tensor  # (agents, rows, NUM_ACTIONS)
    gains: Tensor  # (agents, rows, NUM_ACTIONS): positive parts of weight * advantage
    losses: Tensor  # (agents, rows, NUM_ACTIONS): negative parts
    targets: Tensor  # (agents, rows): of the critics, normalised
    weights: Tensor  # (agents, rows)


def build_batch(rollout: Rollout, config: LearnConfig, value_scale: tuple[float, float]) -> Batch:
    """Everything the loss needs.

    An action's advantage counts with the probability that it was chosen with: pi(a) for all
    actions, or 1 for the one that was drawn. So plain PPO and the all-actions gradient are one
    loss over (agents, rows, actions).
    """
    credit = rollout.credit
    drawn = (rollout.actions[:, :, None] == np.arange(rollout.old_log_probs.shape[-1])).astype(
        float
    )
    if credit.advantages.ndim == 3:
        chosen, advantages = np.exp(rollout.old_log_probs.numpy().astype(float)), credit.advantages
    else:
        chosen, advantages = drawn, credit.advantages[:, :, None] * drawn
    scale = spread_of(advantages, chosen * credit.weights[:, :, None], config.advantages)
    if credit.advantages.ndim == 2 and config.advantages != "none":
        axes = 1 if config.advantages == "agent" else None
        total = credit.weights.sum(axis=axes, keepdims=True)
        mean = (credit.advantages * credit.weights).sum(axis=axes, keepdims=True) / total
        advantages = (credit.advantages - mean)[:, :, None] * drawn
    parts = (
        (advantages, chosen * credit.weights[:, :, None]),
        (rollout.rule_advantages * config.reward_scale, chosen),
    )
    up, down = (
        sum(pick(worth / scale, 0.0) * share for worth, share in parts)
        for pick in (np.maximum, np.minimum)
    )
    mean_value, spread_value = value_scale
    return Batch(
        features=rollout.features,
        starts=rollout.game.starts,
        old_log_probs=rollout.old_log_probs,
        gains=_tensor(up),
        losses=_tensor(down),
        targets=_tensor((credit.targets - mean_value) / spread_value),
        weights=_tensor(credit.weights),
    )


def spread_of(
    advantages: NDArray[np.float64],  # (agents, rows, NUM_ACTIONS)
    weights: NDArray[np.float64],  # the same shape
    how: str,
) -> NDArray[np.float64]:  # (agents, 1, 1) or (1, 1, 1)
    """Standard deviation of the advantages over all agents, for each agent, or 1."""
    if how == "none":
        return np.ones((1, 1, 1))
    axes = (1, 2) if how == "agent" else None
    total = weights.sum(axis=axes, keepdims=True)
    mean = (weights * advantages).sum(axis=axes, keepdims=True) / total
    variance = (weights * (advantages - mean) ** 2).sum(axis=axes, keepdims=True) / total
    return np.asarray(np.sqrt(variance) + 1e-8)


def _tensor(values: NDArray[np.float64]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def minibatches(batch: Batch, count: int, generator: torch.Generator) -> Iterator[Batch]:
    """Parts of a batch, each of whole sessions in a new order."""
    lengths = np.diff(batch.starts)
    order = torch.randperm(len(lengths), generator=generator)
    for part in order.chunk(min(count, len(order))):
        sessions = part.numpy()
        ends = np.cumsum(lengths[sessions])
        rows = torch.from_numpy(
            np.arange(ends[-1])
            + np.repeat(batch.starts[sessions] - ends + lengths[sessions], lengths[sessions])
        )
        cut = {
            field.name: value[rows] if field.name == "features" else value[:, rows]
            for field in fields(batch)
            if isinstance(value := getattr(batch, field.name), Tensor)
        }
        yield Batch(starts=np.concatenate([[0], ends]), **cut)


def update(
    network: TeamNetwork,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    config: LearnConfig,
    *,
    seed: int,
) -> UpdateStats:
    """Improve the networks on a batch.

    Raises:
        NumericsError: a loss, a gradient or a weight is not finite; the networks are of no use.
    """
    generator = torch.Generator().manual_seed(seed)
    sums, count = np.zeros(len(fields(UpdateStats))), 0
    for _ in range(config.epochs):
        for part in minibatches(batch, config.minibatches, generator):
            loss, figures = total_loss(network, part, config)
            optimiser.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(network.parameters(), config.max_gradient)
            numbers = figures | {"gradient norm": float(norm)}
            for name, figure in numbers.items():
                if not np.isfinite(figure):
                    raise NumericsError(f"{name} is {figure}")
            optimiser.step()
            sums += list(numbers.values())
            count += 1
    for name, weight in network.named_parameters():
        if not torch.isfinite(weight).all():
            raise NumericsError(f"weight {name} is not finite")
    return UpdateStats(*(float(value) for value in sums / count))


def total_loss(
    network: TeamNetwork, part: Batch, config: LearnConfig
) -> tuple[Tensor, dict[str, float]]:
    """The loss of one minibatch, and its parts by name."""
    judged = network.judge(part.features, part.starts)
    log_probs, old = judged.log_probs, part.old_log_probs
    weights = part.weights.flatten()
    policy = surrogate_loss(log_probs, old, part.gains, part.losses, weights, clip=config.clip)
    spread = entropy(log_probs.flatten(0, 1), weights)
    assert config.entropy is not None  # settled
    loss = policy - config.entropy * spread
    value = torch.zeros(())
    if config.value and config.gradient == "sampled":
        found = network.value(part.features, part.starts)
        value = value_loss(found.flatten(), part.targets.flatten(), weights)
        loss = loss + config.value * value
    with torch.no_grad():
        share = part.weights / part.weights.sum()
        kl = ((old.exp() * (old - log_probs)).sum(dim=-1) * share).sum()
        far = ((log_probs - old).exp() - 1).abs() > config.clip
        clipped = ((old.exp() * far).sum(dim=-1) * share).sum()
    figures = {"policy": policy, "value": value, "entropy": spread, "kl": kl, "clip": clipped}
    return loss, {name: float(figure.detach()) for name, figure in figures.items()}
